// Bytes from anywhere give an error or a module: never a crash, a hang or memory that the bytes do
// not pay for.
#include <algorithm>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/evaluate_together.h"

namespace heddle::hlo {
namespace {

// A loop with a constant, a tuple, a gather, and some of everything in its header.
std::string sample() {
  Module module;
  module.name = "sample";
  ComputationBuilder body(module, "body");
  auto p = body.parameter(Shape::tuple({Shape::scalar(s32), Shape(f32, {4, 2})}), "p");
  auto i = *body.add(Opcode::kGetTupleElement, {p}, TupleIndexAttrs{0});
  auto x = *body.add(Opcode::kGetTupleElement, {p}, TupleIndexAttrs{1});
  auto one = body.constant(Literal::scalar(s32, int64_t{1}));
  auto next = *body.add(Opcode::kAdd, {i, one});
  auto y = *body.add(Opcode::kReverse, {x}, DimensionsAttrs{{0}});
  ComputationId body_id = module.add(std::move(body).finish(*body.add(Opcode::kTuple, {next, y})));
  ComputationBuilder condition(module, "condition");
  auto q = condition.parameter(Shape::tuple({Shape::scalar(s32), Shape(f32, {4, 2})}));
  auto k = *condition.add(Opcode::kGetTupleElement, {q}, TupleIndexAttrs{0});
  auto limit = condition.constant(Literal::scalar(s32, int64_t{3}));
  auto less = *condition.add(Opcode::kCompare, {k, limit},
                             CompareAttrs{.direction = ComparisonDirection::kLt});
  ComputationId condition_id = module.add(std::move(condition).finish(less));
  ComputationBuilder main(module, "main");
  auto start = main.parameter(Shape::tuple({Shape::scalar(s32), Shape(f32, {4, 2})}));
  auto loop = *main.add(Opcode::kWhile, {start}, {}, {body_id, condition_id});
  main.mutable_at(loop).extras.mutate().backend_config = "{}";
  main.mutable_at(loop).extras.mutate().metadata.op_name = "loop";
  module.entry = module.add(std::move(main).finish(loop));
  module.extras.mutate().is_scheduled = true;
  return to_proto(module);
}

// Whatever comes out is a module that can be written and read again.
void expect_error_or_module(const std::string& bytes) {
  StatusOr<Module> module = from_proto(bytes);
  if (!module.ok()) {
    EXPECT_FALSE(module.status().message().empty());
    return;
  }
  EXPECT_TRUE(verify(*module).ok());
  EXPECT_TRUE(from_proto(to_proto(*module)).ok());
}

TEST(WireHostile, SampleIsGood) {
  EXPECT_TRUE(from_proto(sample()).ok()) << from_proto(sample()).status();
}

TEST(WireHostile, EveryPrefixGivesAnErrorOrAModule) {
  const std::string bytes = sample();
  for (size_t size = 0; size < bytes.size(); ++size) expect_error_or_module(bytes.substr(0, size));
}

TEST(WireHostile, EveryBitFlipGivesAnErrorOrAModule) {
  const std::string bytes = sample();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    expect_error_or_module(flipped);
  }
}

TEST(WireHostile, RandomEditsGiveAnErrorOrAModule) {
  std::mt19937 random(20240719);
  const std::string bytes = sample();
  for (int round = 0; round < 2000; ++round) {
    std::string edited = bytes;
    for (int edit = 0; edit < 3; ++edit) {
      const size_t at = random() % edited.size();
      if (random() % 2 == 0) edited.erase(at, random() % 9);
      if (random() % 2 == 0)
        edited.insert(at, edited.substr(random() % edited.size(), random() % 40));
      if (!edited.empty()) edited[random() % edited.size()] = static_cast<char>(random());
    }
    expect_error_or_module(edited);
  }
}

TEST(WireHostile, NoBytesAreNoModule) { EXPECT_FALSE(from_proto("").ok()); }

TEST(WireHostile, TextIsNoModule) {
  EXPECT_FALSE(from_proto("HloModule m\nENTRY e { ROOT x = f32[] parameter(0) }").ok());
}

TEST(WireHostile, LengthBeyondTheEndIsAnError) {
  EXPECT_THAT(base::message_of(from_proto("\x1a\xff\xff\xff\xff\x07").status()),
              HasSubstr("is no serialised proto"));
}

proto::HloModuleProto sample_message() {
  proto::HloModuleProto message;
  EXPECT_TRUE(message.ParseFromString(sample()));
  return message;
}

TEST(WireHostile, DeepShardingIsAnError) {
  auto message = sample_message();
  auto* sharding = message.mutable_computations(0)->mutable_instructions(0)->mutable_sharding();
  for (int i = 0; i < 80; ++i) sharding = sharding->add_tuple_shardings();
  EXPECT_THAT(base::message_of(from_proto(message.SerializeAsString()).status()),
              HasSubstr("tuples nest deeper than 64"));
}

TEST(WireHostile, DeepShapeIsAnError) {
  auto message = sample_message();
  auto* shape = message.mutable_computations(0)->mutable_instructions(0)->mutable_shape();
  for (int i = 0; i < 5000; ++i) shape = shape->add_tuple_shapes();
  EXPECT_FALSE(from_proto(message.SerializeAsString()).ok());
}

TEST(WireHostile, RankBeyondTheLimitIsAnError) {
  auto message = sample_message();
  auto* shape = message.mutable_computations(0)->mutable_instructions(3)->mutable_shape();
  for (int i = 0; i < 100; ++i) shape->add_dimensions(1);
  EXPECT_THAT(base::message_of(from_proto(message.SerializeAsString()).status()),
              HasSubstr("has rank 100"));
}

TEST(WireHostile, LongChainsNeedNoStack) {
  auto message = sample_message();
  auto& computation = *message.mutable_computations(1);
  const int64_t first = 1000;
  for (int64_t i = 0; i < 50000; ++i) {  // each depends on the next: the worst order
    auto& instruction = *computation.add_instructions();
    instruction.set_name(base::cat("n", i));
    instruction.set_opcode("negate");
    *instruction.mutable_shape() = computation.instructions(2).shape();
    instruction.set_id(first + i);
    instruction.add_operand_ids(i == 49999 ? computation.instructions(2).id() : first + i + 1);
  }
  message.clear_schedule();
  EXPECT_TRUE(from_proto(message.SerializeAsString()).ok())
      << from_proto(message.SerializeAsString()).status();
}

TEST(WireHostile, ErrorsDoNotRepeatWholeNames) {
  auto message = sample_message();
  message.mutable_computations(0)->mutable_instructions(0)->set_opcode(std::string(1 << 20, 'x'));
  EXPECT_LT(from_proto(message.SerializeAsString()).status().message().size(), 500u);
}

// ---- numbers of every kind, in programs of several devices too

constexpr const char* kPrograms[] = {R"(HloModule m, num_partitions=4
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  p = f32[4,8] parameter(0), sharding={devices=[2,2]<=[2,2]T(1,0) metadata={op_name="z"}}, origin={{"p"}}
  q = f32[4,8] all-reduce(p), channel_id=1, replica_groups=[2,2]<=[4], use_global_device_ids=true, to_apply=add
  g = f32[8,8] all-gather(q), channel_id=2, replica_groups=mesh['a'=2,'b'=2] {'a'}, dimensions={0}, use_global_device_ids=true
  s = f32[4,8] reduce-scatter(g), channel_id=3, replica_groups={{0,2},{1,3}}, dimensions={0}, use_global_device_ids=true, to_apply=add
  t = f32[4,8] collective-permute(s), channel_id=4, source_target_pairs={{0,1},{1,0},{2,3}}
  u = f32[4,8] all-to-all(t), channel_id=5, replica_groups={{0,1,2,3}}, dimensions={1}
  st = (f32[4,8], f32[8,8]) all-gather-start(u), channel_id=6, replica_groups=[2,2]<=[4], dimensions={0}, use_global_device_ids=true
  d = f32[8,8] all-gather-done(st)
  tile = f32[2,4] custom-call(p), custom_call_target="SPMDFullToShardShape", sharding={manual}
  b = f32[4,8] collective-broadcast(u), channel_id=7, replica_groups={{0,1,2,3}}
  ROOT r = (f32[4,8], f32[8,8], f32[2,4]) tuple(b, d, tile), sharding={{replicated}, {devices=[4,1]0,1,2,3}, {maximal device=0}}
})",
                                     R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = f32[4,8]{0,1} parameter(0)
  i = s32[2,1] parameter(1)
  g = f32[2,8] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
  s = f32[4,8] scatter(x, i, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  d = f32[4,4] dot(s, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  zero = f32[] constant(0)
  w = f32[2,4] reduce-window(d, zero), window={size=3x1 stride=2x1 pad=1_1x0_0}, to_apply=add
  p = f32[4,7] pad(w, zero), padding=1_1x0_3_0, sharding={replicated}
  l = f32[2,3] slice(p), slice={[0:4:2], [1:4]}
  r = f32[3] reduce(l, zero), dimensions={0}, to_apply=add
  so = f32[3] sort(r), dimensions={0}, to_apply=less
  k = f32[1,1,3] reshape(so)
  c = f32[1,1,3] convolution(k, k), window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0
  t = f32[3,1,1] transpose(c), dimensions={2,0,1}
  b = f32[3,1,1,2] broadcast(t), dimensions={0,1,2}
  n = f32[3,1,1,2] reverse(b), dimensions={3}
  cc = f32[3,1,1,4] concatenate(n, b), dimensions={3}
  z = s32[] constant(0)
  ds = f32[1,1,1,2] dynamic-slice(cc, z, z, z, z), dynamic_slice_sizes={1,1,1,2}
  io = s32[3,2] iota(), iota_dimension=1
  f = c64[2] fft(so), fft_type=RFFT, fft_length={3}
  ROOT out = (f32[1,1,1,2], s32[3,2], c64[2]) tuple(ds, io, f)
})"};

// Sets integer number `left` of the message and of those inside to `value`; counts down to it.
bool set_number(google::protobuf::Message& message, int64_t& left, int64_t value) {
  using Field = google::protobuf::FieldDescriptor;
  const auto& reflection = *message.GetReflection();
  std::vector<const Field*> fields;
  reflection.ListFields(message, &fields);
  for (const Field* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const bool is_number =
          field->cpp_type() == Field::CPPTYPE_INT64 || field->cpp_type() == Field::CPPTYPE_INT32;
      if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
        auto* inside = field->is_repeated() ? reflection.MutableRepeatedMessage(&message, field, i)
                                            : reflection.MutableMessage(&message, field);
        if (set_number(*inside, left, value)) return true;
      } else if (is_number && left-- == 0) {
        const bool wide = field->cpp_type() == Field::CPPTYPE_INT64;
        const auto narrow = static_cast<int32_t>(value);
        if (field->is_repeated()) {
          wide ? reflection.SetRepeatedInt64(&message, field, i, value)
               : reflection.SetRepeatedInt32(&message, field, i, narrow);
        } else {
          wide ? reflection.SetInt64(&message, field, value)
               : reflection.SetInt32(&message, field, narrow);
        }
        return true;
      }
    }
  }
  return false;
}

// Runs what is small enough, on one device and on four; errors are as good as values.
void run_somehow(const Module& module) {
  int64_t bytes = 0;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.shape.is_array()) bytes = std::max(bytes, instruction.shape.byte_size());
    }
  }
  const Computation& entry = module.entry_computation();
  const StatusOr<interpreter::Evaluator> evaluator = interpreter::Evaluator::prepare(module);
  if (bytes > 1 << 20 || !evaluator.ok()) return;
  std::vector<Literal> arguments;
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    if (!entry.parameter_shape(i).is_array() || entry.parameter_shape(i).is_dynamic()) return;
    arguments.emplace_back(entry.parameter_shape(i));
  }
  (void)evaluator->run(arguments);
  (void)interpreter::evaluate_together(*evaluator, {1, 4}, std::vector(4, arguments));
}

TEST(WireHostile, ProgramsWhoseNumbersAreChangedAreGood) {
  for (const char* text : kPrograms) {
    const auto module = parse_text(text);
    ASSERT_EQ(module.status(), Status());
    EXPECT_TRUE(from_proto(to_proto(*module)).ok());
  }
}

TEST(WireHostile, AnyNumberGivesAnErrorOrAModuleThatRuns) {
  int modules = 0;
  for (const char* text : kPrograms) {
    proto::HloModuleProto message;
    ASSERT_TRUE(message.ParseFromString(to_proto(*parse_text(text))));
    for (const int64_t value : {int64_t{-1}, INT64_MIN, INT64_MAX, int64_t{1} << 40, int64_t{0},
                                int64_t{1}, int64_t{3}}) {
      for (int64_t number = 0;; ++number) {
        proto::HloModuleProto edited = message;
        int64_t left = number;
        if (!set_number(edited, left, value)) break;
        const std::string bytes = edited.SerializeAsString();
        expect_error_or_module(bytes);
        const StatusOr<Module> module = from_proto(bytes);
        if (!module.ok()) continue;
        ++modules;
        run_somehow(*module);
        EXPECT_TRUE(parse_text(print(*module)).ok())
            << base::message_of(parse_text(print(*module)).status()) << print(*module);
        if (HasFailure()) FAIL() << "number " << number << " set to " << value;
      }
    }
  }
  EXPECT_GT(modules, 500);
}

}  // namespace
}  // namespace heddle::hlo
