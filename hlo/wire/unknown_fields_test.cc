// What is newer than Heddle in a proto is there again when it is written.
#include <functional>
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/wire/support_test.h"

namespace heddle::hlo {
namespace {

TEST(WireUnknown, UnknownFieldsSurviveEverywhere) {
  auto message = message_of_module(sum());
  auto& add = *message.mutable_computations(0)->mutable_instructions(2);
  add.mutable_sharding()->set_type(proto::OpSharding::REPLICATED);
  add.mutable_metadata()->set_op_name("n");
  google::protobuf::Message* holders[] = {&message,
                                          message.mutable_computations(0),
                                          &add,
                                          add.mutable_sharding(),
                                          add.mutable_metadata(),
                                          add.mutable_shape()->mutable_layout()};
  for (auto* holder : holders)
    holder->GetReflection()->MutableUnknownFields(holder)->AddVarint(900, 7);
  auto again = message_of_module(read(message));
  auto& add_again = *again.mutable_computations(0)->mutable_instructions(2);
  for (auto* holder : std::initializer_list<google::protobuf::Message*>{
           &again, again.mutable_computations(0), &add_again, add_again.mutable_sharding(),
           add_again.mutable_metadata(), add_again.mutable_shape()->mutable_layout()}) {
    EXPECT_EQ(holder->GetReflection()->GetUnknownFields(*holder).field_count(), 1)
        << holder->GetTypeName();
  }
}

// A module with a message of nearly every kind.
constexpr char kAllKinds[] =
    R"(HloModule all, input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) },
entry_computation_layout={(f32[4,6]{1,0}, f32[6,4]{0,1}, s32[2]{0})->(f32[4,6]{1,0}, f32[4,4]{1,0})}, frontend_attributes={m="1"}

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[4,6]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}, parameter_replication={true}
  y = f32[6,4]{0,1} parameter(1), metadata={op_name="y"}, frontend_attributes={k="v"}
  i = s32[2]{0} parameter(2)
  zero = f32[] constant(0)
  pair = (f32[2], s32[]) constant(({1, 2}, 3))
  product = f32[4,4]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={high,high}
  padded = f32[6,6]{1,0} pad(product, zero), padding=1_1x1_1, frontend_attributes={k="v"}
  part = f32[4,4]{1,0} slice(padded), slice={[0:4], [0:4]}, statistics={visualizing_index=0,s=2}
  row = f32[1,4]{1,0} gather(part, i), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=0, slice_sizes={1,4}
  total = f32[4,4]{1,0} all-reduce(part), replica_groups={{0}}, to_apply=sum
  moved = f32[4,4]{1,0} collective-permute(total), source_target_pairs={{0,0}}
  window = f32[4,4]{1,0} reduce-window(moved, zero), window={size=1x2 pad=0_0x0_1}, to_apply=sum
  factor = f32[4,4]{1,0} cholesky(window), lower=true
  solved = f32[4,4]{1,0} triangular-solve(factor, window), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  root = f32[4,4]{1,0} exponential(solved), result_accuracy={tolerance={atol=0.5,rtol=0.25,ulps=2}}
  called = f32[4,4]{1,0} custom-call(root), custom_call_target="f", operand_layout_constraints={f32[4,4]{1,0}}, output_to_operand_aliasing={{}: (0, {})}
  image = f32[1,4,4,1]{3,2,1,0} reshape(called)
  kernel = f32[1,1,1,1]{3,2,1,0} reshape(zero)
  filtered = f32[1,4,4,1]{3,2,1,0} convolution(image, kernel), window={size=1x1}, dim_labels=b01f_01io->b01f
  flat = f32[4,4]{1,0} reshape(filtered), origin={{"flat"}}
  ROOT both = (f32[4,6]{1,0}, f32[4,4]{1,0}) tuple(x, flat)
}
)";

using Visit = std::function<void(google::protobuf::Message&)>;

// Every message in it, itself too.
void walk(google::protobuf::Message& message, const Visit& visit) {
  const auto& r = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  r.ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != field->CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) walk(*r.MutableMessage(&message, field), visit);
    for (int i = 0; field->is_repeated() && i < r.FieldSize(message, field); ++i) {
      walk(*r.MutableRepeatedMessage(&message, field, i), visit);
    }
  }
  visit(message);
}

// How many messages of each kind have a field that is not known.
std::map<std::string, int> unknown_by_kind(google::protobuf::Message& message) {
  std::map<std::string, int> count;
  walk(message, [&](auto& each) {
    count[each.GetTypeName()] += each.GetReflection()->GetUnknownFields(each).field_count();
  });
  return count;
}

TEST(WireUnknown, UnknownFieldsOfEveryMessageSurvive) {
  const StatusOr<Module> module = parse_text(kAllKinds);
  ASSERT_TRUE(module.ok()) << module.status();
  auto message = message_of_module(*module);
  walk(message,
       [](auto& each) { each.GetReflection()->MutableUnknownFields(&each)->AddVarint(900, 7); });
  auto again = message_of_module(read(message));
  EXPECT_GT(unknown_by_kind(message).size(), 30u);
  EXPECT_EQ(unknown_by_kind(again), unknown_by_kind(message));
  EXPECT_EQ(again.SerializeAsString(), message.SerializeAsString());
}

// What is the same in two instructions is read once.
TEST(WireUnknown, UnknownFieldsOfRepeatedPartsSurvive) {
  auto message = message_of_module(sum());
  for (auto& instruction : *message.mutable_computations(0)->mutable_instructions()) {
    auto* shape = instruction.mutable_shape();
    shape->GetReflection()->MutableUnknownFields(shape)->AddVarint(900, 7);
    auto* entry = instruction.mutable_frontend_attributes()->add_map();
    entry->set_key("k");
    entry->GetReflection()->MutableUnknownFields(entry)->AddVarint(900, 7);
  }
  EXPECT_EQ(message_of_module(read(message)).SerializeAsString(), message.SerializeAsString());
}

// From text to proto and back, in forms that XLA's fields do not hold.
TEST(WireUnknown, TextsOfAnUnknownFormSurvive) {
  for (const char* extra : {"sharding={newer=[2] devices}", "sharding={{replicated}, {newer}}",
                            "origin={newer thing {1}}"}) {
    const std::string text = base::cat(
        "HloModule m\n\nENTRY main {\n  ROOT x = (f32[], f32[]) parameter(0), ", extra, "\n}\n");
    const StatusOr<Module> module = parse_text(text);
    ASSERT_TRUE(module.ok()) << module.status();
    const Module back = read(message_of_module(*module));
    EXPECT_EQ(print(back), print(*module));
    EXPECT_THAT(print(back), HasSubstr(extra));
  }
}

TEST(WireUnknown, TextsThatAreNoneStayBytes) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(2)->set_sharding_text(
      "{replicated}, injected={1}");
  message.mutable_computations(0)->mutable_instructions(2)->set_origin_text("{");
  const Module module = read(message);
  EXPECT_EQ(print(module).find("injected"), std::string::npos);
  EXPECT_EQ(message_of_module(module).SerializeAsString(), message.SerializeAsString());
}

}  // namespace
}  // namespace heddle::hlo
