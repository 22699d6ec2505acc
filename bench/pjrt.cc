// The cost of a call through pjrt/ beside the plugin's own function: a run of a tiny program with
// its wait, and uploads. Skipped without the plugin: ./dev setup-plugin xla-cpu.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "heddle/hlo/text.h"
#include "heddle/hlo/wire.h"
#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/plugin.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/runtime/transfer.h"

// Allocations of the benchmark's thread, with the plugin's own. Heddle's are the difference to the
// raw call.
namespace {
thread_local int64_t allocations = 0;
}

[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace heddle {
namespace {

// Shows allocations by iteration.
class Allocations {
 public:
  explicit Allocations(benchmark::State& state) : state_(state), before_(allocations) {}
  ~Allocations() {
    state_.counters["allocations"] = benchmark::Counter(static_cast<double>(allocations - before_),
                                                        benchmark::Counter::kAvgIterations);
  }

 private:
  benchmark::State& state_;
  const int64_t before_;
};

namespace abi = pjrt::abi;

hlo::Module increment() {
  return hlo::parse_text(R"(HloModule increment
ENTRY main {
  x = f32[] parameter(0)
  one = f32[] constant(1)
  ROOT y = f32[] add(x, one)
})")
      .value();
}

// ---- By the C interface alone.

template <class Args>
void call(const abi::Table& table, Args& args) {
  args.head.struct_size = sizeof(Args);
  void* row = table.rows[static_cast<size_t>(Args::kSlot)];
  if (reinterpret_cast<abi::Error* (*)(Args*)>(row)(&args) != nullptr) std::abort();
}

struct Raw {
  const abi::Table* table = nullptr;
  abi::Client* client = nullptr;
  abi::Device* device = nullptr;
  abi::LoadedExecutable* program = nullptr;
  abi::Buffer* argument = nullptr;

  abi::Buffer* upload(const float* data, std::span<const int64_t> dims,
                      abi::HostSemantics semantics) const {
    abi::ClientBufferFromHostBufferArgs args{.client = client,
                                             .data = data,
                                             .type = abi::BufferType::kF32,
                                             .dims = dims.data(),
                                             .dims_count = dims.size(),
                                             .host_buffer_semantics = semantics,
                                             .device = device};
    call(*table, args);
    abi::EventDestroyArgs done{.event = args.done_with_host_buffer};
    call(*table, done);
    return args.buffer;
  }
  void destroy(abi::Buffer* buffer) const {
    abi::BufferDestroyArgs args{.buffer = buffer};
    call(*table, args);
  }
};

// A process has one, which is made at the first use and never destroyed.
const Raw& raw() {
  static const Raw& instance = [&]() -> Raw& {
    Raw& made = *new Raw;
    void* const opened = dlopen(xla_cpu_library().c_str(), RTLD_LAZY | RTLD_LOCAL);
    made.table = reinterpret_cast<abi::GetTable>(dlsym(opened, abi::kGetTable))();
    abi::PluginInitializeArgs initialize;
    call(*made.table, initialize);
    abi::ClientCreateArgs client;
    call(*made.table, client);
    made.client = client.client;
    abi::ClientAddressableDevicesArgs devices{.client = made.client};
    call(*made.table, devices);
    made.device = devices.addressable_devices[0];
    std::string code = hlo::to_proto(increment());
    constexpr char kOptions[] = "\x1A\x04\x20\x01\x28\x01";  // one replica, one partition
    abi::Program program{.head = {sizeof(program)},
                         .code = code.data(),
                         .code_size = code.size(),
                         .format = "hlo",
                         .format_size = 3};
    abi::ClientCompileArgs compile{.client = made.client,
                                   .program = &program,
                                   .compile_options = kOptions,
                                   .compile_options_size = sizeof(kOptions) - 1};
    call(*made.table, compile);
    made.program = compile.executable;
    const float one = 1;
    made.argument = made.upload(&one, {}, abi::HostSemantics::kDuringCall);
    return made;
  }();
  return instance;
}

void raw_execute_and_wait(benchmark::State& state) {
  if (xla_cpu_library().empty()) return state.SkipWithError("no plugin");
  const Raw& r = raw();
  abi::ExecuteOptions options{.head = {sizeof(options)}};
  const Allocations counted(state);
  for (auto _ : state) {
    abi::Buffer* result = nullptr;
    abi::Buffer* const* arguments = &r.argument;
    abi::Buffer** results = &result;
    abi::LoadedExecutableExecuteArgs execute{.executable = r.program,
                                             .options = &options,
                                             .argument_lists = &arguments,
                                             .devices_count = 1,
                                             .args_count = 1,
                                             .output_lists = &results};
    call(*r.table, execute);
    abi::BufferReadyEventArgs ready{.buffer = result};
    call(*r.table, ready);
    abi::EventAwaitArgs await{.event = ready.event};
    call(*r.table, await);
    abi::EventDestroyArgs done{.event = ready.event};
    call(*r.table, done);
    r.destroy(result);
  }
}
BENCHMARK(raw_execute_and_wait);

void raw_upload(benchmark::State& state) {
  if (xla_cpu_library().empty()) return state.SkipWithError("no plugin");
  const Literal values(Shape(f32, {state.range(0)}));
  const Allocations counted(state);
  const auto semantics = static_cast<abi::HostSemantics>(state.range(1));
  for (auto _ : state) {
    raw().destroy(
        raw().upload(values.values<float>().data(), values.shape().dimensions(), semantics));
  }
}
BENCHMARK(raw_upload)
    ->Args({1, static_cast<int>(abi::HostSemantics::kDuringCall)})
    ->Args({1 << 22, static_cast<int>(abi::HostSemantics::kZeroCopy)});

// ---- By pjrt/.

runtime::Device& device() {
  static runtime::Backend& backend =
      *pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value().release();
  return *backend.devices()[0];
}

void execute_and_wait(benchmark::State& state) {
  if (xla_cpu_library().empty()) return state.SkipWithError("no plugin");
  const auto program = device().backend().compile(increment(), {}, device()).value();
  const std::vector arguments = {runtime::to_device(device(), Literal::scalar(f32, 1.0)).value()};
  std::vector<runtime::BufferPtr> results(1);
  const Allocations counted(state);
  for (auto _ : state) {
    if (!program->execute_into(arguments, results).ok()) std::abort();
    if (!results[0]->await().ok()) std::abort();
    results[0].reset();  // as the raw calls do, so that memory is treated alike
  }
}
BENCHMARK(execute_and_wait);

// Results in a vector of their own, each time.
void execute_anew_and_wait(benchmark::State& state) {
  if (xla_cpu_library().empty()) return state.SkipWithError("no plugin");
  const auto program = device().backend().compile(increment(), {}, device()).value();
  const std::vector arguments = {runtime::to_device(device(), Literal::scalar(f32, 1.0)).value()};
  const Allocations counted(state);
  for (auto _ : state) {
    const auto results = program->execute(arguments).value();
    if (!results[0]->await().ok()) std::abort();
  }
}
BENCHMARK(execute_anew_and_wait);

void upload(benchmark::State& state) {
  if (xla_cpu_library().empty()) return state.SkipWithError("no plugin");
  const Literal values(Shape(f32, {state.range(0)}));
  const Allocations counted(state);
  for (auto _ : state) benchmark::DoNotOptimize(runtime::to_device(device(), values).value());
}
BENCHMARK(upload)->Arg(1)->Arg(1 << 22);

void lend(benchmark::State& state) {
  if (xla_cpu_library().empty()) return state.SkipWithError("no plugin");
  const Literal values(Shape(f32, {state.range(0)}));
  const Allocations counted(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        runtime::lend_to_device(device(), values.bytes(), values.shape(), values.owner()).value());
  }
}
BENCHMARK(lend)->Arg(1)->Arg(1 << 22);

// x.at(0).set(1) on 4 MB: in place if x is donated.
void update(benchmark::State& state) {
  if (xla_cpu_library().empty()) return state.SkipWithError("no plugin");
  const hlo::Module module = hlo::parse_text(R"(HloModule update
ENTRY main {
  x = f32[1048576] parameter(0)
  one = f32[1] constant({1})
  zero = s32[] constant(0)
  ROOT y = f32[1048576] dynamic-update-slice(x, one, zero)
})")
                                 .value();
  const auto program = device().backend().compile(module, {}, device()).value();
  runtime::ExecuteOptions options;
  if (state.range(0) == 1) options.donate = {0};
  runtime::BufferPtr x = runtime::to_device(device(), Literal(Shape(f32, {1 << 20}))).value();
  for (auto _ : state) {
    x = program->execute(std::vector{x}, options).value()[0];
    if (!x->await().ok()) std::abort();
  }
}
BENCHMARK(update)->ArgName("donated")->Arg(0)->Arg(1);

}  // namespace
}  // namespace heddle
