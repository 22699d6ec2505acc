// What goes wrong in a program that is found by its name: it is compiled and run once, and its own
// error is told.
#include "heddle/trace/run/known_program.h"

#include <functional>
#include <memory>

#include "heddle/base/support_test.h"
#include "heddle/runtime/host/direct.h"
#include "heddle/runtime/host/host_backend.h"
#include "heddle/runtime/support_test.h"
#include "heddle/trace/devices/devices.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

// Computes in host memory and at once, but each run fails. What it compiles outlives every test.
class Failing final : public runtime::HostBackend {
 public:
  Failing() : HostBackend("failing", "failing", {}) {
    static constexpr runtime::DirectKernels kNone{};
    use_direct_kernels(kNone);
  }
  std::string version() const override { return "test"; }

  static inline int runs = 0;

 private:
  struct Run final : runtime::HostProgram {
    StatusOr<std::vector<Literal>> run(std::vector<Literal>, const StopToken&) const override {
      ++runs;
      return base::internal_error("run: the machine is broken");
    }
  };
  StatusOr<std::shared_ptr<const runtime::HostProgram>> prepare(
      const runtime::ModulePtr&, const runtime::CompileOptions&) override {
    return std::make_shared<const Run>();
  }
};

Device& failing() {
  static runtime::Backend& backend = *new Failing;
  return *backend.devices()[0];
}

TEST(KnownProgram, ThatFailsInPlaceTellsItsOwnErrorAndRunsOnce) {
  Tensor x = device_put(zeros({512}), failing());
  const Tensor update = device_put(ones({2}), failing());
  Failing::runs = 0;
  EXPECT_THAT(error_of([&] { (void)dynamic_update_slice(std::move(x), update, {0}); }),
              HasSubstr("run: the machine is broken"));
  EXPECT_EQ(Failing::runs, 1);
}

TEST(KnownProgram, ThatFailsRunsOnceAndTellsTheUsersLine) {
  const Tensor x = device_put(ones({2}), failing());
  Failing::runs = 0;
  std::string line;
  const std::string text = error_of([&] { line = here(), (void)exp(x); });
  EXPECT_THAT(text, HasSubstr("run: the machine is broken"));
  EXPECT_THAT(text, HasSubstr(line));
  EXPECT_EQ(Failing::runs, 1);
}

TEST(KnownProgram, ThatDoesNotCompileIsCompiledOnce) {
  static int compiles = 0;
  static runtime::Backend& backend = *new runtime::HollowBackend([] {
    ++compiles;
    return base::unimplemented("compile: no such op");
  });
  const Tensor x = device_put(ones({2}), *backend.devices()[0]);
  EXPECT_THAT(error_of([&] { (void)exp(x); }), HasSubstr("compile: no such op"));
  EXPECT_EQ(compiles, 1);
}

TEST(KnownProgram, IsCompiledWhenItsTraceHasEnded) {
  static int compiles = 0;
  static bool was_open = false;
  static runtime::Backend& backend = *new runtime::HollowBackend([] {
    ++compiles;
    was_open = was_open || trace_internal::Recorder::current() != nullptr;
    return Status();
  });
  const Tensor x = device_put(ones({2}), *backend.devices()[0]);
  (void)error_of([&] { (void)exp(x); });
  EXPECT_EQ(compiles, 1);
  EXPECT_FALSE(was_open);
}

}  // namespace
}  // namespace heddle
