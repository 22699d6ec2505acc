#include "heddle/transform/lower.h"

#include "heddle/transform/pass.h"

namespace heddle::transform {

StatusOr<hlo::Module> lower(const hlo::Module& traced) {
  return run_pipeline(traced, kLowerPipeline);
}

}  // namespace heddle::transform
