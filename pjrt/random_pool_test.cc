// Random calls of several threads on one pool of buffers, seeded: of many types, on two devices, by
// programs of one device and of both, while others donate, release and share the same buffers, set
// the limits, misuse all of it, and (by every second seed) the plugin fails in a call here and
// there.
// What comes back without an error is what the evaluator says. HEDDLE_RANDOM_SECONDS makes it long.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "heddle/base/settings.h"
#include "heddle/base/support_test.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/pjrt/serialized.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/dlpack.h"
#include "heddle/runtime/spmd.h"

namespace heddle::pjrt {
namespace {

using Random = std::mt19937;
using runtime::Throttle;

constexpr int kThreads = 3, kCalls = 700;
constexpr size_t kPlaces = 24, kDevices = 2;
constexpr char kTarget[] = "random_pool_test.same";

const Shape& kind(size_t number) {
  static const Shape kKinds[] = {Shape(f32, {2}), Shape(s32, {3, 2}), Shape(bf16, {5}),
                                 Shape(c64, {2}), Shape(u8, {}),      Shape(s4, {3}),
                                 Shape(f64, {0}), Shape(f32, {64})};
  return kKinds[number];
}
constexpr size_t kKindCount = 8;

Literal values_of(const Shape& shape, Random& random) {
  Literal out(shape);
  const int64_t width = Literal(Shape::scalar(shape.dtype())).byte_size();
  for (int64_t at = 0; at < out.byte_size(); at += width) {
    const Literal one = Literal::scalar(shape.dtype(), static_cast<int64_t>(random() % 4));
    std::memcpy(out.mutable_bytes() + at, one.bytes(), static_cast<size_t>(width));
  }
  return out;
}

// two(x, y) = (x + y, x)
hlo::Module two_results(const Shape& shape) {
  return module_of(base::cat("HloModule two\nENTRY main {\n  x = ", shape, " parameter(0)\n  y = ",
                             shape, " parameter(1)\n  sum = ", shape, " add(x, y)\n  ROOT all = (",
                             shape, ", ", shape, ") tuple(sum, x)\n}"));
}

hlo::Module negate_module() {
  return module_of(
      "HloModule negate\nENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }");
}

// A program of the mock that is one call of a function of ours, made as XLA makes it.
mock::Program calling(const hlo::Instruction& call, mock::Program program) {
  const abi::FfiHandler handler =
      mock_plugin().handler(std::string(call.attrs.get<hlo::CustomCallAttrs>().custom_call_target));
  if (handler == nullptr) {
    program.refused = {5, "No FFI handler registered"};
    return program;
  }
  const std::string config = call.extras->backend_config;
  const size_t first = config.find('"') + 1;
  program.run = [handler, text = config.substr(first, config.rfind('"') - first)](
                    const std::vector<const mock::Array*>& arguments) {
    mock::Array out = *arguments[0];
    abi::FfiBuffer in{.type = static_cast<int32_t>(out.type),
                      .data = const_cast<std::byte*>(arguments[0]->bytes.data()),
                      .rank = static_cast<int64_t>(out.dims.size()),
                      .dims = out.dims.data()};
    abi::FfiBuffer result = in;
    result.data = out.bytes.data();
    int32_t buffer = abi::kFfiBuffer, attribute = abi::kFfiStringAttribute;
    void *in_list = &in, *result_list = &result;
    abi::FfiText name{"heddle_call", 11}, value{text.data(), text.size()};
    abi::FfiText* names = &name;
    void* values = &value;
    abi::FfiApi api;
    abi::FfiFrame frame;
    frame.head.struct_size = sizeof(frame);
    frame.api = &api;
    frame.arguments = {.count = 1, .types = &buffer, .buffers = &in_list};
    frame.results = {.count = 1, .types = &buffer, .buffers = &result_list};
    frame.attributes = {.count = 1, .types = &attribute, .names = &names, .values = &values};
    EXPECT_EQ(handler(&frame), nullptr);
    return std::vector<mock::Array>{std::move(out)};
  };
  return program;
}

mock::Program evaluated_or_called(std::string_view code, std::string_view options) {
  const hlo::Module module = hlo::from_proto(code).value();
  for (const hlo::Instruction& instruction : module.entry_computation().instructions) {
    if (instruction.opcode == hlo::Opcode::kCustomCall)
      return calling(instruction, evaluated(code, options));
  }
  return evaluated(code, options);
}

struct Entry {
  BufferPtr buffer;
  Literal value;
  size_t kind = 0;
  size_t device = 0;
};

class RandomPool : public MockTest {
 protected:
  RandomPool() {
    const auto same = [](interpreter::CustomCall& call) { return StatusOr<Literal>(call[0]); };
    EXPECT_EQ(interpreter::register_custom_call(kTarget, same), Status());
  }
  ~RandomPool() override { interpreter::unregister_custom_call(kTarget); }

  // Calls of all threads by one seed, on a backend of their own. At the end nothing is left.
  void life(uint32_t seed) {
    is_faulty_ = seed % 2 == 1;
    start({.compile = evaluated_or_called,
           .fault_there = {.code = seed % 4 == 1 ? 13 : 12, .message = "broken"},
           .asynchronous = seed % 8 < 6,
           .handler_minor = 0,
           .platform = "cpu"});
    make_programs();
    Random random(seed);
    pool_.assign(kPlaces, {});
    for (size_t place = 0; place < kPlaces; ++place)
      put(place, place % kKindCount, place / kKindCount % kDevices, random);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, seed, t] {
        SCOPED_TRACE(base::cat("seed ", seed));
        Random own(seed * kThreads + t);
        for (int i = 0; i < kCalls && !HasFailure(); ++i) step(own);
      });
    }
    for (std::thread& thread : threads) thread.join();
    mock_plugin().seen().fail_at = 0;
    calls_ += mock_plugin().seen().all_calls;
    drop_all();
    until_clients_are_gone();
    expect_all_gone();
  }

  void TearDown() override {
    drop_all();
    MockTest::TearDown();
  }

  int64_t calls_ = 0;  // that reached the plugin

 private:
  void make_programs() {
    for (size_t k = 0; k < kKindCount; ++k) {
      modules_.push_back(two_results(kind(k)));
      for (size_t d = 0; d < kDevices; ++d)
        programs_.push_back(backend_->compile(modules_[k], {}, device(d)).value());
    }
    same_ =
        backend_
            ->compile(module_of(base::cat("ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] "
                                          "custom-call(x), custom_call_target=\"",
                                          kTarget, "\" }")),
                      {}, device(0))
            .value();
    both_ =
        runtime::compile_spmd(negate_module(), {},
                              {.replicas = 2, .partitions = 1, .devices = {&device(0), &device(1)}})
            .value();
  }

  void drop_all() {
    pool_.clear();
    programs_.clear();
    modules_.clear();
    same_.reset();
    both_.reset();
    backend_.reset();
  }

  void step(Random& random) {
    if (is_faulty_ && random() % 16 == 0) {
      mock::Seen& seen = mock_plugin().seen();
      seen.fail_at = seen.all_calls + 1 + static_cast<int64_t>(random() % 60);
    }
    const size_t place = random() % kPlaces;
    const Entry entry = get(place);
    switch (random() % 20) {
      case 0:
      case 1: return put(place, random() % kKindCount, random() % kDevices, random);
      case 2: return check(entry, runtime::to_host(*entry.buffer));
      case 3: return download_later(entry, random);
      case 4: return view(entry, random);
      case 5: return check(entry, entry.buffer->await());
      case 6: return ask(entry);
      case 7: return entry.buffer->release();
      case 8: return share(entry, random);
      case 9: return misuse(entry, random);
      case 10: return set_limits(random);
      case 11: return wait_for_all(random);
      case 12: return compile_and_run(entry, random);
      case 13: return run_on_both(random);
      case 14: return call_function(entry);
      default: return run(*programs_[entry.kind * kDevices + entry.device], entry, random);
    }
  }

  Entry get(size_t place) {
    const std::scoped_lock lock(mutex_);
    return pool_[place];
  }
  void set(size_t place, Entry entry) {
    const std::scoped_lock lock(mutex_);
    std::swap(pool_[place], entry);
  }
  // One that a program may be given beside `entry`.
  Entry partner_of(const Entry& entry, Random& random) {
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0, at = random(); i < kPlaces; ++i) {
      const Entry& other = pool_[(at + i) % kPlaces];
      if (other.kind == entry.kind && other.device == entry.device) return other;
    }
    return entry;
  }

  // Of a call on these: they may have been given away meanwhile, and the plugin may have failed.
  void expect_excused(const Status& status, const std::vector<Entry>& entries) const {
    if (status.code() == StatusCode::kFailedPrecondition) {
      bool is_gone = false;
      for (const Entry& entry : entries) is_gone |= entry.buffer->is_deleted();
      if (is_gone) return;
    }
    ASSERT_TRUE(is_faulty_) << status;
    EXPECT_THAT(base::message_of(status), HasSubstr("plugin mock (PJRT 0.114): ")) << status;
    EXPECT_THAT(base::message_of(status), HasSubstr(": broken")) << status;
  }
  void check(const Entry& entry, const StatusOr<Literal>& got) const {
    if (!got.ok()) return expect_excused(got.status(), {entry});
    EXPECT_EQ(*got, entry.value);
  }
  void check(const Entry& entry, const Status& status) const {
    if (!status.ok()) expect_excused(status, {entry});
  }

  void put(size_t place, size_t number, size_t where, Random& random) {
    Entry entry{.value = values_of(kind(number), random), .kind = number, .device = where};
    StatusOr<BufferPtr> buffer = upload(entry, random);
    // The pool has a buffer in each place: one that the plugin refused is tried again.
    while (!buffer.ok()) {
      expect_excused(buffer.status(), {});
      if (HasFailure()) return;
      buffer = upload(entry, random);
    }
    entry.buffer = *buffer;
    set(place, std::move(entry));
  }

  StatusOr<BufferPtr> upload(const Entry& entry, Random& random) {
    runtime::Device& to = device(entry.device);
    const Literal& value = entry.value;
    switch (random() % 3) {
      case 0: return runtime::to_device(to, value);
      case 1: return runtime::lend_to_device(to, value.bytes(), value.shape(), value.owner());
      default: return upload_with_strides(to, value);
    }
  }

  // Each element lies apart from the next.
  static StatusOr<BufferPtr> upload_with_strides(runtime::Device& to, const Literal& value) {
    const Shape& shape = value.shape();
    const int64_t width = Literal(Shape::scalar(shape.dtype())).byte_size();
    std::vector<std::byte> apart(static_cast<size_t>(3 * value.byte_size() + 1));
    for (int64_t at = 0; at < value.byte_size(); at += width)
      std::memcpy(&apart[static_cast<size_t>(3 * at)], value.bytes() + at,
                  static_cast<size_t>(width));
    std::vector<int64_t> strides(shape.dimensions().size());
    int64_t step = 3 * width;
    for (size_t d = strides.size(); d-- > 0; step *= shape.dimensions()[d]) strides[d] = step;
    return runtime::to_device(
        to, runtime::StridedArray{.data = apart.data(), .shape = shape, .byte_strides = strides});
  }

  void download_later(const Entry& entry, Random& random) const {
    auto download = runtime::start_to_host(*entry.buffer);
    if (!download.ok()) return expect_excused(download.status(), {entry});
    if (random() % 3 == 0) entry.buffer->release();
    if (random() % 4 == 0) return;  // dropped
    check(entry, download->await());
  }

  void view(const Entry& entry, Random& random) const {
    const StatusOr<Literal> seen = runtime::view_on_host(*entry.buffer);
    if (seen.status().code() == StatusCode::kUnimplemented &&
        bit_width(kind(entry.kind).dtype()) < 8)
      return;
    if (seen.ok() && random() % 4 == 0) entry.buffer->release();
    check(entry, seen);
  }

  static void ask(const Entry& entry) {
    (void)entry.buffer->is_ready();
    (void)entry.buffer->state();
    EXPECT_EQ(entry.buffer->shape(), kind(entry.kind));
    EXPECT_EQ(entry.buffer->device().id(), static_cast<int>(entry.device));
  }

  // Its memory becomes a buffer of another device's too.
  void share(const Entry& entry, Random& random) {
    const auto tensor = runtime::to_dlpack(*entry.buffer);
    if (!tensor.ok()) {
      if (tensor.status().code() == StatusCode::kUnimplemented &&
          bit_width(kind(entry.kind).dtype()) < 8)
        return;
      return expect_excused(tensor.status(), {entry});
    }
    Entry other = entry;
    other.device = random() % kDevices;
    const auto shared = runtime::from_dlpack(device(other.device), *tensor);
    if (!shared.ok()) {
      (*tensor)->deleter(*tensor);
      return expect_excused(shared.status(), {});
    }
    other.buffer = *shared;
    set(random() % kPlaces, std::move(other));
  }

  void misuse(const Entry& entry, Random& random) {
    Executable& program = *programs_[entry.kind * kDevices + entry.device];
    const Entry other = get(random() % kPlaces);
    const bool fits = other.kind == entry.kind && other.device == entry.device;
    Status status;
    switch (random() % 5) {
      case 0: status = program.execute(std::vector{entry.buffer}).status(); break;
      case 1:
        if (fits) return;
        status = program.execute(std::vector{entry.buffer, other.buffer}).status();
        break;
      case 2:
        status = program.execute(std::vector{entry.buffer, entry.buffer}, {.donate = {2}}).status();
        break;
      case 3:
        status = program.execute(std::vector{entry.buffer, entry.buffer}, {.donate = {0}}).status();
        break;
      default:
        status = backend_
                     ->compile(negate_module(),
                               {.backend_options = {{"compile_portable_executable", "perhaps"}}},
                               device())
                     .status();
    }
    const bool is_gone = entry.buffer->is_deleted() || other.buffer->is_deleted();
    EXPECT_TRUE(status.code() == StatusCode::kInvalidArgument ||
                (is_gone && status.code() == StatusCode::kFailedPrecondition))
        << status;
  }

  void set_limits(Random& random) {
    device(random() % kDevices)
        .throttle()
        .set_limits({.launches = 1 + static_cast<int>(random() % 6),
                     .bytes = 16 + static_cast<int64_t>(random() % 2000)});
  }

  void wait_for_all(Random& random) {
    if (random() % 8 == 0) synchronize(device(random() % kDevices));
  }

  void run(Executable& program, const Entry& x, Random& random) {
    const Entry y = partner_of(x, random);
    runtime::ExecuteOptions options{.only_if_room = random() % 4 == 0};
    if (x.buffer != y.buffer && random() % 3 == 0)
      options.donate = {static_cast<int>(random() % 2)};
    const auto results = program.execute(std::vector{x.buffer, y.buffer}, options);
    if (options.only_if_room && results.status().code() == StatusCode::kUnavailable) return;
    if (!results.ok()) return expect_excused(results.status(), {x, y});
    const Literal said = interpreter::evaluate(modules_[x.kind], {x.value, y.value}).value();
    Entry made{.kind = x.kind, .device = x.device};
    for (size_t i = 0; i < results->size(); ++i) {
      made.buffer = (*results)[i];
      made.value = said.elements()[i];
      set(random() % kPlaces, made);
    }
  }

  void compile_and_run(const Entry& entry, Random& random) {
    runtime::CompileOptions options;
    if (random() % 2 == 0) options.backend_options = {{"xla_mock_known", "1"}};
    runtime::Device& on = device(entry.device);
    auto program = backend_->compile(modules_[entry.kind], options, on);
    if (!program.ok()) return expect_excused(program.status(), {});
    if (random() % 2 == 0) {
      const auto bytes = serialize(**program);
      if (!bytes.ok()) return expect_excused(bytes.status(), {});
      program = load(*bytes, modules_[entry.kind], options, on);
      if (!program.ok()) return expect_excused(program.status(), {});
    }
    run(**program, entry, random);
  }

  // Of the first kind, one on each device.
  void run_on_both(Random& random) {
    const Entry x = partner_of({.kind = 0, .device = 0}, random);
    const Entry y = partner_of({.kind = 0, .device = 1}, random);
    if (x.buffer == nullptr || y.buffer == nullptr) return;
    runtime::ExecuteOptions options{.only_if_room = random() % 4 == 0};
    if (random() % 3 == 0) options.donate = {0};
    bool started = false;
    const auto results = both_->launch({{x.buffer}, {y.buffer}}, options, started);
    if (options.only_if_room && results.status().code() == StatusCode::kUnavailable) return;
    if (!results.ok()) return expect_excused(results.status(), {x, y});
    const Entry* const arguments[] = {&x, &y};
    for (size_t d = 0; d < kDevices; ++d) {
      const Literal said = interpreter::evaluate(negate_module(), {arguments[d]->value}).value();
      set(random() % kPlaces, {.buffer = (*results)[d][0], .value = said, .kind = 0, .device = d});
    }
  }

  void call_function(const Entry& entry) {
    if (entry.kind != 0 || entry.device != 0) return;
    const auto results = same_->execute(std::vector{entry.buffer});
    if (!results.ok()) return expect_excused(results.status(), {entry});
    check({.buffer = (*results)[0], .value = entry.value}, runtime::to_host(*(*results)[0]));
  }

  bool is_faulty_ = false;
  std::vector<hlo::Module> modules_;                   // by kind
  std::vector<std::shared_ptr<Executable>> programs_;  // ... and device
  std::shared_ptr<Executable> same_;
  std::shared_ptr<runtime::SpmdExecutable> both_;
  std::mutex mutex_;
  std::vector<Entry> pool_;
};

TEST_F(RandomPool, GivesWhatTheEvaluatorSaysOrAnErrorOfThePlugin) {
  const std::chrono::seconds length(setting<Setting::kRandomSeconds>());
  const auto end = std::chrono::steady_clock::now() + length;
  uint32_t seed = 0;
  for (; !HasFailure() && (seed < 8 || std::chrono::steady_clock::now() < end); ++seed) life(seed);
  std::printf("seeds 0 to %u, %lld calls of the plugin\n", seed - 1,
              static_cast<long long>(calls_));
}

}  // namespace
}  // namespace heddle::pjrt
