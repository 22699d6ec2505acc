// slice(x), slice={[start:limit:stride], ..}: every stride-th element of x in [start, limit) along
// each dimension.
#include "heddle/hlo/ops/rules.h"
#include "heddle/hlo/ops/strides.h"

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

StatusOr<Shape> infer(const InferArgs& in) {
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

StatusOr<Literal> evaluate(EvalArgs& in) {
  const Shape& result = in.result();
  const std::vector<SliceDimension>& ranges = in.attrs<SliceAttrs>().slice;
  if (same_dimensions(result, in[0].shape())) return std::move(in.operands[0]).reshaped(result);
  const int64_t width = storage_bytes(result.dtype());
  Strides from(in[0].shape());
  int64_t start = 0;
  for (int64_t d = 0; d < result.rank(); ++d) {
    const SliceDimension& range = ranges[static_cast<size_t>(d)];
    start += range.start * from[d];
    // the stride may be any number then
    from[d] = result.dimension(d) > 1 ? from[d] * range.stride : 0;
  }
  Literal out = Literal::uninitialised(result);
  copy_strided(out.mutable_bytes(), Strides(result), in[0].bytes() + start * width, from,
               result.dimensions(), width);
  return out;
}

constexpr std::string_view kNames[] = {"x"};

}  // namespace

const OpDef kSliceDef = {
    .opcode = Opcode::kSlice,
    .operand_names = kNames,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace heddle::hlo
