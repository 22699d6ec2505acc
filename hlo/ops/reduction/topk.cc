// topk(x), k, largest: the k largest (or smallest) elements along the last dimension, sorted, and
// their positions as s32; ties go to the lower position.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_topk(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  if (in[0].rank() == 0) return in.error("x is ", in[0], "; must have a dimension");
  int64_t k = in.attrs<TopKAttrs>().k;
  int64_t last = in[0].dimension(in[0].rank() - 1);
  if (k < 0 || k > last) {
    return in.error("k is ", k, "; must be in [0, ", last,
                    "], the size of the last dimension of x ", in[0]);
  }
  std::vector<int64_t> sizes = in[0].dimensions();
  sizes.back() = k;
  Shape values = resized(in[0], std::move(sizes));
  Shape positions = values.with_dtype(s32);
  return settle(in, Shape::tuple({std::move(values), std::move(positions)}));
}

constexpr std::string_view kTopkNames[] = {"x"};

}  // namespace

const OpDef kTopKDef = {
    Opcode::kTopK, kTopkNames, {Work::kMost, Rows::kByRule, kPlain}, infer_topk};

}  // namespace heddle::hlo
