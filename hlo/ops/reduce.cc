// reduce(x.., init..), dimensions={..}, to_apply=f: all elements along the dimensions combined by f, beginning with init. Order and
// grouping are not defined, and init is an identity of f. Here the elements keep their order, and init comes first.
#include <cstring>

#include "heddle/hlo/op.h"
#include "heddle/hlo/ops/elements.h"
#include "heddle/hlo/ops/permute.h"
#include "heddle/hlo/ops/reduce_native.h"
#include "heddle/hlo/ops/region.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kOperands[] = {"operand"};

Status check_operands(const InferArgs& in) {
  const size_t n = in.size() / 2;
  if (n == 0 || in.size() != 2 * n) {
    return in.error("has ", in.size(), " operands; takes inputs and as many initial values");
  }
  for (size_t i = 0; i < n; ++i) {
    if (!in[i].is_array() || !same_dimensions(in[i], in[0])) {
      return in.error("operand ", i, " is ", to_string(in[i]), "; must have the dimensions of operand 0, ",
                      to_string(in[0]));
    }
    if (!in[n + i].is_scalar()) {
      return in.error("initial value ", i, " is ", to_string(in[n + i]), "; must be a scalar");
    }
  }
  return {};
}

StatusOr<Shape> infer(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_operands(in));
  const Dims& dimensions = in.attrs<DimensionsAttrs>().dimensions;
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, dimensions, in[0]));
  std::vector<DType> values, accumulators;
  for (size_t i = 0; i < in.size() / 2; ++i) {
    values.push_back(in[i].dtype());
    accumulators.push_back(in[in.size() / 2 + i].dtype());
  }
  HEDDLE_ASSIGN_OR_RETURN(std::vector<DType> result,
                          check_reducer(in, 0, "to_apply", values, accumulators));
  std::vector<Shape> shapes;
  for (DType dtype : result) shapes.push_back(without_dimensions(in[0].with_dtype(dtype), dimensions));
  if (!in.called()[0]->result_shape().is_tuple()) return shapes[0];
  return Shape::tuple(std::move(shapes));
}

// A reduction through its body: of `rows` rows of `columns` elements to one row.
class Reducer {
 public:
  explicit Reducer(EvalArgs& in) : in_(in), inputs_(in.size() / 2) {
    const Dims& dimensions = in.attrs<DimensionsAttrs>().dimensions;
    const Shape& shape = in[0].shape();
    order_ = dimensions;
    for (int64_t d : other_dimensions(shape.rank(), dimensions)) order_.push_back(d);
    for (int64_t d : dimensions) rows_ *= shape.dimension(d);
    for (int64_t d : other_dimensions(shape.rank(), dimensions)) columns_ *= shape.dimension(d);
  }

  // Rows of a type of their own cannot be paired, only be taken into accumulators; and a few long rows need no pairing.
  StatusOr<Literal> run() {
    Values accumulators;
    for (size_t i = 0; i < inputs_; ++i) accumulators.push_back(repeated(converted(in_[inputs_ + i], type_of(i)), Shape(type_of(i), {columns_})));
    if (rows_ > 0 && columns_ > 0) {
      Values values;
      for (size_t i = 0; i < inputs_; ++i) values.push_back(arranged(i));
      const bool in_turn = columns_ >= kLongRow || rows_ <= kFewRows || !has_one_type();
      HEDDLE_ASSIGN_OR_RETURN(accumulators, in_turn ? take_in_turn(std::move(accumulators), values)
                                                    : take_in_pairs(std::move(accumulators), std::move(values)));
    }
    return result(std::move(accumulators));
  }

 private:
  using Values = std::vector<Literal>;
  static constexpr int64_t kLongRow = 64;
  static constexpr int64_t kFewRows = 8;

  const Computation& body() const { return in_.caller.computation(0); }
  DType type_of(size_t parameter) const { return body().parameter_shape(parameter).dtype(); }

  bool has_one_type() const {
    for (size_t i = 0; i < inputs_; ++i) {
      const Shape& result = body().result_shape();
      const DType returned = result.is_tuple() ? result.element(static_cast<int64_t>(i)).dtype() : result.dtype();
      if (type_of(i) != type_of(inputs_ + i) || type_of(i) != returned) return false;
    }
    return true;
  }

  // Input i as [rows, columns] of the type that the body takes.
  Literal arranged(size_t i) const {
    return converted(permuted(in_[i], order_), type_of(inputs_ + i)).reshaped(Shape(type_of(inputs_ + i), {rows_, columns_}));
  }

  // Rows first, first + step, .. of [rows, columns], `count` of them, one after the other.
  Literal rows_of(const Literal& values, int64_t first, int64_t step, int64_t count) const {
    const DType dtype = values.shape().dtype();
    const auto width = static_cast<size_t>(storage_bytes(dtype) * columns_);
    Literal out = Literal::uninitialised(Shape(dtype, {count * columns_}));
    std::byte* to = out.mutable_bytes();
    for (int64_t i = 0; i < count; ++i, to += width) {
      std::memcpy(to, values.bytes() + static_cast<size_t>(first + i * step) * width, width);
    }
    return out;
  }

  StatusOr<Values> combine(Values left, const Values& right) const {
    left.insert(left.end(), right.begin(), right.end());
    HEDDLE_ASSIGN_OR_RETURN(Literal value, in_.caller.map(0, left));
    if (value.is_tuple()) return std::move(value.mutable_elements());
    return Values{std::move(value)};
  }

  StatusOr<Values> take_in_turn(Values accumulators, const Values& values) const {
    for (int64_t r = 0; r < rows_; ++r) {
      Values row;
      for (const Literal& each : values) row.push_back(rows_of(each, r, 1, 1));
      HEDDLE_ASSIGN_OR_RETURN(accumulators, combine(std::move(accumulators), row));
      for (size_t i = 0; i < inputs_; ++i) accumulators[i] = converted(accumulators[i], type_of(i));
    }
    return accumulators;
  }

  // Neighbours are combined until one row is left, so the order of elements is kept.
  StatusOr<Values> take_in_pairs(Values accumulators, Values values) const {
    for (int64_t rows = rows_; rows > 1; rows = (rows + 1) / 2) {
      Values even, odd;
      for (const Literal& each : values) {
        even.push_back(rows_of(each, 0, 2, rows / 2));
        odd.push_back(rows_of(each, 1, 2, rows / 2));
      }
      HEDDLE_ASSIGN_OR_RETURN(Values pairs, combine(std::move(even), odd));
      for (size_t i = 0; i < inputs_; ++i) values[i] = with_last_row(std::move(pairs[i]), values[i], rows);
    }
    return combine(std::move(accumulators), values);
  }

  // An odd row out goes up as it is.
  Literal with_last_row(Literal pairs, const Literal& from, int64_t rows) const {
    if (rows % 2 == 0) return pairs;
    const DType dtype = pairs.shape().dtype();
    const auto width = static_cast<size_t>(storage_bytes(dtype) * columns_);
    const auto size = static_cast<size_t>(pairs.byte_size());
    Literal out = Literal::uninitialised(Shape(dtype, {(rows + 1) / 2 * columns_}));
    std::memcpy(out.mutable_bytes(), pairs.bytes(), size);
    std::memcpy(out.mutable_bytes() + size, from.bytes() + static_cast<size_t>(rows - 1) * width, width);
    return out;
  }

  Literal result(Values accumulators) const {
    const bool is_tuple = in_.result().is_tuple();
    for (size_t i = 0; i < inputs_; ++i) {
      const Shape& shape = is_tuple ? in_.result().element(static_cast<int64_t>(i)) : in_.result();
      accumulators[i] = converted(accumulators[i], shape.dtype()).reshaped(shape);
    }
    return is_tuple ? Literal::tuple(std::move(accumulators)) : std::move(accumulators[0]);
  }

  EvalArgs& in_;
  const size_t inputs_;
  Dims order_;
  int64_t rows_ = 1;
  int64_t columns_ = 1;
};

StatusOr<Literal> evaluate(EvalArgs& in) {
  if (in.size() == 2 && !in.result().is_tuple()) {
    if (const auto op = native_reducer(in.caller.computation(0))) {
      return reduce_native(*op, in[0], in[1], in.attrs<DimensionsAttrs>().dimensions, in.result());
    }
  }
  return Reducer(in).run();
}

}  // namespace

const OpDef kReduceDef = {
    .opcode = Opcode::kReduce,
    .operand_names = kOperands,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace heddle::hlo
