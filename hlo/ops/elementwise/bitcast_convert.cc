// bitcast-convert(x): the same bits as elements of another type. To narrower elements the parts of
// each element become a new last dimension, least significant first; to wider ones the last
// dimension is joined.
#include <algorithm>

#include "heddle/hlo/ops/elementwise/elementwise.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_bitcast_convert(const InferArgs& in) {
  if (!in[0].is_array()) return in.error("x is ", in[0], "; must be an array");
  if (!in.declared()->is_array())
    return in.error("result is declared as ", *in.declared(), "; must be an array");
  const DType from = in[0].dtype(), to = in.declared()->dtype();
  if (from == to) return in[0];
  if (is_complex(from) != is_complex(to)) {
    return in.error("x is ", in[0], " and the result ", to,
                    "; both must be complex, or neither; take real and imag");
  }
  if (from == pred || to == pred) {
    return in.error("x is ", in[0], " and the result ", to,
                    "; pred has no bits of its own; use convert");
  }
  const int64_t narrow = std::min(bit_width(from), bit_width(to));
  const int64_t ratio = std::max(bit_width(from), bit_width(to)) / narrow;
  std::vector<int64_t> dimensions = in[0].dimensions();
  if (bit_width(from) > bit_width(to)) dimensions.push_back(ratio);
  if (bit_width(from) < bit_width(to)) {
    if (dimensions.empty() || dimensions.back() != ratio) {
      return in.error("x is ", in[0], "; its last dimension must be ", ratio, ", the ", from,
                      " that make one ", to);
    }
    dimensions.pop_back();
  }
  Shape out(to, std::move(dimensions));
  for (int64_t d = 0; d < std::min(out.rank(), in[0].rank()); ++d) {
    out.set_dynamic_dimension(d, in[0].is_dynamic_dimension(d));
  }
  return out;
}

}  // namespace

const OpDef kBitcastConvertDef = {Opcode::kBitcastConvert,
                                  kUnaryOperands,
                                  {Work::kLittle, Rows::kKeptIfAlike, kPlain},
                                  infer_bitcast_convert};

}  // namespace heddle::hlo
