#include "heddle/pjrt/internal/default_options.h"

#include "heddle/hlo/builder.h"
#include "heddle/hlo/wire.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/internal/types.h"

namespace heddle::pjrt {

StatusOr<std::string> DefaultDebugOptions::get() {
  const std::scoped_lock lock(mutex_);
  if (known_.empty()) {
    HEDDLE_ASSIGN_OR_RETURN(known_, ask());
  }
  return known_;
}

StatusOr<std::string> DefaultDebugOptions::ask() const {
  const Shape shape = Shape::scalar(dtype_);
  HEDDLE_RETURN_IF_ERROR(check_transferable(shape, client_->api()->minor()));
  hlo::Module probe{.name = "probe"};
  hlo::ComputationBuilder builder(probe);
  const hlo::InstructionId root = builder.parameter(shape);
  probe.entry = probe.add(std::move(builder).finish(root));
  HEDDLE_ASSIGN_OR_RETURN(const auto loaded,
                          Loaded::compile(client_, hlo::to_proto(probe),
                                          compile_options(client_->devices()[0].id, {}), {shape}));
  HEDDLE_ASSIGN_OR_RETURN(const std::string optimized, loaded->optimized_program());
  return debug_options_of(optimized);
}

}  // namespace heddle::pjrt
