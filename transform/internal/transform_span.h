// The span of a derivative or a batch of a module, which counts it.
#pragma once

#include <string_view>

#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"

namespace heddle::transform {

class TransformSpan {
 public:
  explicit TransformSpan(std::string_view name) : span_(base::Activity::kTransform, name) {
    count(&Counters::transforms);
  }

 private:
  base::Span span_;
};

}  // namespace heddle::transform
