#include "heddle/scan/internal/checkpoint.h"

#include <cmath>

#include "heddle/base/text/strings.h"
#include "heddle/trace/public_call.h"
#include "heddle/transform/derivatives.h"

namespace heddle::scan_internal {

namespace {

// The divisor of a length that is nearest to `wanted`, so that no steps remain and the inputs of
// blocks are no copies; `wanted` itself if none is near.
int64_t divisor_near(int64_t length, int64_t wanted) {
  for (int64_t distance = 0; distance <= wanted / 3; ++distance) {
    for (int64_t each : {wanted - distance, wanted + distance}) {
      if (each > 0 && length % each == 0) return each;
    }
  }
  return wanted;
}

}  // namespace

std::string to_string(const Checkpoint& checkpoint) {
  const bool is_every = checkpoint.kind() == Checkpoint::Kind::kEvery;
  return base::cat(is_every ? "every(" : "recursive(", checkpoint.number(), ")");
}

void require_valid(const Checkpoint& checkpoint) {
  if (checkpoint.number() < 1)
    trace_internal::refuse("checkpoint is ", to_string(checkpoint),
                           "; its number must be 1 or more");
}

std::pair<std::string, std::string> attribute_of(const Checkpoint& checkpoint, int64_t steps) {
  std::string lengths;
  if (checkpoint.kind() == Checkpoint::Kind::kEvery) {
    lengths = base::cat(checkpoint.number());
  } else {
    int64_t length = steps;
    for (int64_t level = checkpoint.number() - 1; level > 0; --level) {
      const double part = static_cast<double>(level) / static_cast<double>(checkpoint.number());
      const double root = std::ceil(std::pow(static_cast<double>(steps), part) - 1e-9);
      length = divisor_near(length, static_cast<int64_t>(root));
      base::append(lengths, lengths.empty() ? "" : ",", length);
    }
  }
  return {std::string(transform::kBlockLengths), lengths};
}

}  // namespace heddle::scan_internal
