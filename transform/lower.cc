#include "heddle/transform/lower.h"

#include "heddle/base/containers/span.h"
#include "heddle/transform/pass.h"

namespace heddle::transform {

StatusOr<hlo::Module> lower(const hlo::Module& traced) {
  const base::Span span(base::Activity::kLower, traced.name);
  return run_pipeline(traced, kLowerPipeline);
}

}  // namespace heddle::transform
