// heddle_baselines: the tool, and a backend `baseline` that runs hand-written loops instead of
// programs. It finds them by the name that `heddle bench` gives a module.
//
//   heddle_baselines bench ../shared/peers/programs/* --backends cpu,baseline
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/bench/baselines/loops.h"
#include "heddle/runtime/host/host_backend.h"
#include "heddle/runtime/registry.h"
#include "heddle/tools/command.h"

namespace heddle::baselines {
namespace {

Loop find_loop(std::string_view program) {
  for (const auto& loops : {array_loops(), leaf_loops(), matrix_loops(), scalar_loops()}) {
    for (const NamedLoop& each : loops) {
      if (each.program == program) return each.loop;
    }
  }
  return nullptr;
}

class LoopProgram final : public runtime::HostProgram {
 public:
  explicit LoopProgram(const hlo::Module& module)
      : name_(module.name), loop_(find_loop(module.name)) {
    runtime::append_leaves(module.entry_computation().result_shape(), shapes_);
  }

  StatusOr<std::vector<Literal>> run(std::vector<Literal> leaves,
                                     const StopToken& /*stop*/) const override {
    if (loop_ == nullptr) return base::unimplemented("no loop was written for ", name_);
    std::vector<const void*> arguments;
    for (const Literal& leaf : leaves) arguments.push_back(leaf.bytes());
    std::vector<Literal> results;
    std::vector<void*> places;
    for (const Shape& shape : shapes_)
      places.push_back(results.emplace_back(Literal::uninitialised(shape)).mutable_bytes());
    loop_({arguments.data(), places.data()});
    return results;
  }

 private:
  std::string name_;
  Loop loop_;
  std::vector<Shape> shapes_;
};

class LoopBackend final : public runtime::HostBackend {
 public:
  LoopBackend() : HostBackend("baseline", "host processor", {}) {}
  std::string version() const override { return "loops written by hand"; }

 protected:
  StatusOr<std::shared_ptr<const runtime::HostProgram>> prepare(
      const runtime::ModulePtr& module, const runtime::CompileOptions& /*options*/) override {
    return std::make_shared<LoopProgram>(*module);
  }
};

}  // namespace
}  // namespace heddle::baselines

int main(int argc, char** argv) {
  using namespace heddle;
  const Status known = runtime::register_backend("baseline", [](std::string_view) {
    return StatusOr<std::unique_ptr<runtime::Backend>>(
        std::make_unique<baselines::LoopBackend>());
  });
  return known.ok() ? tools::run_command_line(argc, argv) : tools::report(known);
}
