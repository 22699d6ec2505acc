#include "heddle/interpreter/host_programs.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "heddle/base/containers/span.h"
#include "heddle/base/system/memory.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/internal/sizes.h"
#include "heddle/interpreter/ops/device/joint_collectives.h"
#include "heddle/runtime/throttle.h"
#include "heddle/transform/pass.h"

namespace heddle::interpreter {
namespace {

using runtime::DeviceGrid;
using runtime::HostProgram;
using runtime::ModulePtr;
using runtime::Throttle;

// Puts leaves back into the tuple that the parameter is.
Literal nest(const Shape& shape, std::vector<Literal>::iterator& leaf) {
  if (!shape.is_tuple()) return std::move(*leaf++);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(nest(element, leaf));
  return Literal::tuple(std::move(elements));
}

// A value of dynamic size fills its bounds, with zeros: a buffer is of its type.
Literal to_bounds(Literal value, const Shape& type) {
  if (same_sizes(value.shape(), type)) return value;
  if (!type.is_tuple())
    return hlo::cut(value, std::vector<int64_t>(type.dimensions().size()), type);
  std::vector<Literal> elements;
  for (size_t i = 0; i < type.elements().size(); ++i)
    elements.push_back(to_bounds(std::move(value.mutable_elements()[i]), type.elements()[i]));
  return Literal::tuple(std::move(elements));
}

// An evaluator that takes flat arguments.
class FlatEvaluator final : public HostProgram {
 public:
  FlatEvaluator(Evaluator evaluator, std::function<Status()> before_run, Seeds next_seed)
      : evaluator_(std::move(evaluator)),
        before_run_(std::move(before_run)),
        next_seed_(std::move(next_seed)) {
    for (size_t i = 0; i < entry().parameter_count(); ++i)
      has_tuples_ |= entry().parameter_shape(i).is_tuple();
    const Shape& result = entry().result_shape();
    has_dynamic_result_ = has_dynamic_dimension(result);
    has_flat_result_ =
        result.is_tuple() && std::ranges::none_of(result.elements(), &Shape::is_tuple);
  }

  StatusOr<std::vector<Literal>> run(std::vector<Literal> leaves,
                                     const StopToken& stop) const override {
    const Throttle::Exempt own_work;  // of functions that the program calls
    if (before_run_) HEDDLE_RETURN_IF_ERROR(before_run_());
    if (has_tuples_) leaves = nested(std::move(leaves));
    HEDDLE_ASSIGN_OR_RETURN(
        Literal whole,
        evaluator_.run(std::move(leaves), {.seed = next_seed_->fetch_add(1), .stop = stop}));
    if (has_dynamic_result_) {
      const auto fill = [&]() -> StatusOr<Literal> {
        return to_bounds(std::move(whole), entry().result_shape());
      };
      HEDDLE_ASSIGN_OR_RETURN(whole, base::within_memory(fill, "run ", evaluator_.module().name));
    }
    if (has_flat_result_) return std::move(whole.mutable_elements());
    std::vector<Literal> results;
    runtime::for_each_leaf(std::move(whole),
                           [&](Literal leaf) { results.push_back(std::move(leaf)); });
    return results;
  }

 private:
  const hlo::Computation& entry() const { return evaluator_.module().entry_computation(); }

  std::vector<Literal> nested(std::vector<Literal> leaves) const {
    std::vector<Literal> arguments;
    auto leaf = leaves.begin();
    for (size_t i = 0; i < entry().parameter_count(); ++i)
      arguments.push_back(nest(entry().parameter_shape(i), leaf));
    return arguments;
  }

  Evaluator evaluator_;
  std::function<Status()> before_run_;
  Seeds next_seed_;  // of the backend, which a late run may outlive
  bool has_tuples_ = false;
  bool has_dynamic_result_ = false;
  bool has_flat_result_ = false;  // a tuple of arrays, whose elements are the leaves
};

// Scans stay: ten steps take 0.4 of the time of the while that they would become.
StatusOr<hlo::Module> lowered(const hlo::Module& traced) {
  const base::Span span(base::Activity::kLower, traced.name);
  return transform::run_pipeline(traced, transform::kCleanPipeline);
}

}  // namespace

PrepareProgram make_programs(Seeds seeds, std::function<Status()> before_run) {
  return [before_run = std::move(before_run), next_seed = std::move(seeds)](
             const ModulePtr& module) -> StatusOr<std::shared_ptr<const HostProgram>> {
    HEDDLE_ASSIGN_OR_RETURN(hlo::Module clean, lowered(*module));
    HEDDLE_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::prepare(std::move(clean)));
    return std::make_shared<FlatEvaluator>(std::move(evaluator), before_run, next_seed);
  };
}

runtime::GridProgram make_grid_program(const hlo::Module& module, const DeviceGrid& grid,
                                       Seeds seeds, DeviceProgram program) {
  return [name = module.name, joins = joins_devices(module),
          said_equal = parameters_said_equal(module),
          devices = DeviceCounts{grid.replicas, grid.partitions}, program = std::move(program),
          seeds = std::move(seeds)](std::vector<std::vector<Literal>> arguments) {
    const auto around = [](const std::function<void()>& work) {
      const Throttle::Exempt own_work;  // of functions that the program calls: the run has the room
      work();
    };
    const bool alike = !joins && partitions_have_equal(devices, said_equal, arguments);
    const auto of_device = [&, seed = seeds->fetch_add(1)](const Seat& seat) {
      return program(seat, std::move(arguments[static_cast<size_t>(seat.device)]), seed);
    };
    return (alike ? run_replicas : run_together)(name, devices, of_device, around);
  };
}

StatusOr<runtime::GridProgram> prepare_for_grid(const hlo::Module& module, const DeviceGrid& grid,
                                                Seeds seeds) {
  HEDDLE_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::prepare(module));
  return make_grid_program(module, grid, std::move(seeds),
                           [evaluator = std::move(evaluator)](
                               const Seat& seat, std::vector<Literal> arguments, uint64_t seed) {
                             return evaluator.run_as(seat, std::move(arguments), {.seed = seed});
                           });
}

}  // namespace heddle::interpreter
