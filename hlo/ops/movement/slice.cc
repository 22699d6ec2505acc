// slice(x), slice={[start:limit:stride], ..}: every stride-th element of x in [start, limit) along
// each dimension.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

Status check_range(const InferArgs& in, int64_t d, const SliceDimension& range) {
  int64_t size = in[0].dimension(d);
  if (range.stride < 1) {
    return in.error("stride of dimension ", d, " is ", range.stride, "; must be 1 or more");
  }
  if (range.start > range.limit) {
    return in.error("range [", range.start, ":", range.limit, "] of dimension ", d,
                    " ends before it begins; the limit must be ", range.start, " or more");
  }
  if (range.start >= 0 && range.limit <= size) return {};
  return in.error("x is ", in[0], "; range [", range.start, ":", range.limit, "] of dimension ", d,
                  " must lie in [0:", size, "]");
}

int64_t size_of(const SliceDimension& range) {
  return range.limit == range.start ? 0 : (range.limit - range.start - 1) / range.stride + 1;
}

StatusOr<Shape> infer_slice(const InferArgs& in) {
  const std::vector<SliceDimension>& ranges = in.attrs<SliceAttrs>().slice;
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_length(in, "slice", ranges.size(), in[0].rank(), "dimension of x"));
  std::vector<int64_t> sizes;
  sizes.reserve(ranges.size());
  for (const SliceDimension& range : ranges) {
    HEDDLE_RETURN_IF_ERROR(check_range(in, static_cast<int64_t>(sizes.size()), range));
    sizes.push_back(size_of(range));
  }
  return settle(in, resized(in[0], std::move(sizes)));
}

constexpr std::string_view kSliceNames[] = {"x"};

}  // namespace

const OpDef kSliceDef = {
    Opcode::kSlice, kSliceNames, {Work::kNone, Rows::kByRule, kPicks | kStrided}, infer_slice};

}  // namespace heddle::hlo
