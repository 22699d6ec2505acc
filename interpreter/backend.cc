#include "heddle/interpreter/backend.h"

#include "heddle/base/metrics/counters.h"
#include "heddle/base/settings.h"
#include "heddle/interpreter/host_programs.h"

namespace heddle::interpreter {
namespace {

class InterpreterBackend final : public runtime::HostBackend {
 public:
  explicit InterpreterBackend(const Options& options)
      : HostBackend("interpreter", "host evaluator",
                    {.asynchronous = options.asynchronous,
                     .devices = options.devices,
                     .flushes_subnormals = options.flushes_subnormals}),
        seeds_(seeds_from(options.seed)),
        programs_(make_programs(seeds_, options.before_run)) {}

  std::string version() const override { return "reference evaluator, single-threaded, IEEE"; }

 protected:
  StatusOr<std::shared_ptr<const runtime::HostProgram>> prepare(
      const runtime::ModulePtr& module, const runtime::CompileOptions& /*options*/) override {
    count(&Counters::lowerings);
    return programs_(module);
  }
  StatusOr<runtime::GridProgram> prepare_for_grid(const hlo::Module& module,
                                                  const runtime::DeviceGrid& grid) override {
    return interpreter::prepare_for_grid(module, grid, seeds_);
  }

 private:
  Seeds seeds_;
  PrepareProgram programs_;
};

}  // namespace

std::unique_ptr<runtime::Backend> make_backend(const Options& options) {
  return std::make_unique<InterpreterBackend>(options);
}

StatusOr<std::unique_ptr<runtime::Backend>> make_known(std::string_view argument) {
  if (!argument.empty())
    return base::not_found("backend interpreter: takes no argument, got \"", argument, "\"");
  return make_backend({.flushes_subnormals = setting<Setting::kFlushSubnormals>()});
}

}  // namespace heddle::interpreter
