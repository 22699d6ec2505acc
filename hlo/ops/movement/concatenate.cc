// concatenate(x..), dimensions={d}: the operands one after the other along dimension d.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

// Operand i is like operand 0 in all but the size of `dim`.
Status check_operand(const InferArgs& in, size_t i, int64_t dim) {
  const Shape& first = in[0];
  if (!in[i].is_array() || in[i].rank() != first.rank() || in[i].dtype() != first.dtype()) {
    return in.error("operand ", i, " is ", in[i],
                    "; its type and rank must be those of operand 0, ", first);
  }
  for (int64_t d = 0; d < first.rank(); ++d) {
    if (d == dim || sizes_agree(in[i].dimension(d), first.dimension(d))) continue;
    return in.error("operand ", i, " is ", in[i], "; dimension ", d, " must be ",
                    first.dimension(d), " as in operand 0");
  }
  return {};
}

// Adds the size of the joined dimension; `?` stays `?`.
Status extend(const InferArgs& in, int64_t size, int64_t& total) {
  if (size == Shape::kUnbounded || total == Shape::kUnbounded) {
    total = Shape::kUnbounded;
    return {};
  }
  if (!__builtin_add_overflow(total, size, &total)) return {};
  return in.error("the joined dimension has more than 2^63 - 1 elements; must have fewer");
}

StatusOr<Shape> infer_concatenate(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  const Dims& dims = in.attrs<DimensionsAttrs>().dimensions;
  HEDDLE_RETURN_IF_ERROR(check_one_dimension(in, dims, in[0].rank()));
  Shape result = resized(in[0], in[0].dimensions());
  std::vector<int64_t> sizes = in[0].dimensions();
  int64_t& joined = sizes[static_cast<size_t>(dims[0])];
  for (size_t i = 1; i < in.size(); ++i) {
    HEDDLE_RETURN_IF_ERROR(check_operand(in, i, dims[0]));
    HEDDLE_RETURN_IF_ERROR(extend(in, in[i].dimension(dims[0]), joined));
    for (int64_t d = 0; d < in[i].rank(); ++d) {
      if (in[i].is_dynamic_dimension(d)) result.set_dynamic_dimension(d, true);
    }
  }
  return settle(in, resized(result, std::move(sizes)));
}

}  // namespace

const OpDef kConcatenateDef = {
    Opcode::kConcatenate, {}, {Work::kNone, Rows::kKeptBeside, kJoins}, infer_concatenate};

}  // namespace heddle::hlo
