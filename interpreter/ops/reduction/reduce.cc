#include <algorithm>
#include <cstring>

#include "heddle/hlo/dimensions.h"
#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/ops/movement/permute.h"
#include "heddle/interpreter/ops/reduction/reduce_native.h"
#include "heddle/interpreter/reduction_identity.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// A reduction through its body: of `rows` rows of `columns` elements to one row.
class BodyReducer {
 public:
  explicit BodyReducer(EvalArgs& in) : in_(in), inputs_(in.size() / 2) {
    const Dims& dimensions = in.attrs<DimensionsAttrs>().dimensions;
    const Shape& shape = in[0].shape();
    order_ = dimensions;
    std::ranges::sort(order_);  // elements are taken as they lie, however the dimensions are listed
    has_long_ =
        std::ranges::any_of(dimensions, [&](int64_t d) { return shape.dimension(d) > kWindow; });
    for (int64_t d : other_dimensions(shape.rank(), dimensions)) order_.push_back(d);
    for (int64_t d : dimensions) rows_ *= shape.dimension(d);
    for (int64_t d : other_dimensions(shape.rank(), dimensions)) columns_ *= shape.dimension(d);
  }

  StatusOr<Literal> run() {
    Values accumulators = initial(columns_);
    if (rows_ > 0 && columns_ > 0) {
      Values values;
      for (size_t i = 0; i < inputs_; ++i) values.push_back(arranged(i));
      const bool may_begin_often =
          has_long_ && inputs_ == 1 && is_identity(converted(in_[1], type_of(0)), body());
      if (may_begin_often || inputs_ > 1 || rows_ > kMostInTurn) {
        HEDDLE_ASSIGN_OR_RETURN(values, take_windows(std::move(values), may_begin_often));
      }
      HEDDLE_ASSIGN_OR_RETURN(accumulators, take_in_turn(std::move(accumulators), values));
    }
    return result(std::move(accumulators));
  }

 private:
  using Values = std::vector<Literal>;
  static constexpr int64_t kWindow = 32;
  static constexpr int64_t kMostInTurn = 4096;

  const Computation& body() const { return in_.caller.computation(0); }
  DType type_of(size_t parameter) const { return body().parameter_shape(parameter).dtype(); }

  bool has_one_type() const {
    for (size_t i = 0; i < inputs_; ++i) {
      const Shape& result = body().result_shape();
      const DType returned =
          result.is_tuple() ? result.element(static_cast<int64_t>(i)).dtype() : result.dtype();
      if (type_of(i) != type_of(inputs_ + i) || type_of(i) != returned) return false;
    }
    return true;
  }

  // Input i as [rows, columns] of the type that the body takes.
  Literal arranged(size_t i) const {
    return converted(permuted(in_[i], order_), type_of(inputs_ + i))
        .reshaped(Shape(type_of(inputs_ + i), {rows_, columns_}));
  }

  // `count` elements of each array, from `first` on.
  static Values rows_of(const Values& values, int64_t first, int64_t count) {
    Values out;
    for (const Literal& each : values)
      out.push_back(Literal::uninitialised(Shape(each.shape().dtype(), {count})));
    copy_elements(values, first, count, out, 0);
    return out;
  }

  StatusOr<Values> combine(Values left, const Values& right) const {
    left.insert(left.end(), right.begin(), right.end());
    HEDDLE_ASSIGN_OR_RETURN(Literal value, in_.caller.map(0, left));
    if (value.is_tuple()) return std::move(value.mutable_elements());
    return Values{std::move(value)};
  }

  Values initial(int64_t elements) const {
    Values out;
    for (size_t i = 0; i < inputs_; ++i)
      out.push_back(
          repeated(converted(in_[inputs_ + i], type_of(i)), Shape(type_of(i), {elements})));
    return out;
  }

  StatusOr<Values> take_in_turn(Values accumulators, const Values& values) const {
    const int64_t columns = accumulators[0].element_count();
    for (int64_t r = 0; r < values[0].element_count() / columns; ++r) {
      HEDDLE_ASSIGN_OR_RETURN(
          accumulators, combine(std::move(accumulators), rows_of(values, r * columns, columns)));
      for (size_t i = 0; i < inputs_; ++i) accumulators[i] = converted(accumulators[i], type_of(i));
    }
    return accumulators;
  }

  // While there are many rows, every 32 neighbours become one: a long column takes few calls. Of a
  // single float from an identity, and one reduced dimension of more, these are the windows of
  // XLA's CPU, centred and each beginning with init, so that bodies that round, or hang on the
  // order in another way, give its values; of several dimensions, which XLA cuts into windows one
  // by one, the order is another one. From another start one array is taken in turn, as long as
  // that does not take too many calls.
  // Rows of a type other than the body's result can only be taken in turn.
  StatusOr<Values> take_windows(Values values, bool may_begin_often) const {
    const bool as_xla = may_begin_often && is_floating(type_of(0));
    for (int64_t rows = rows_; rows > kWindow && has_one_type();) {
      const int64_t windows = (rows + kWindow - 1) / kWindow, size = windows * columns_;
      const int64_t before = as_xla ? (windows * kWindow - rows) / 2 : 0;
      const Values taps = by_taps(values, before, windows);
      values = as_xla ? initial(size) : rows_of(taps, 0, size);
      for (int64_t tap = as_xla ? 0 : 1; tap < kWindow; ++tap) {
        HEDDLE_ASSIGN_OR_RETURN(Values next, combine(values, rows_of(taps, tap * size, size)));
        if (tap < before) copy_elements(values, 0, columns_, next, 0);
        if ((windows - 1) * kWindow - before + tap >= rows)
          copy_elements(values, size - columns_, columns_, next, size - columns_);
        values = std::move(next);
      }
      rows = windows;
    }
    return values;
  }

  // [rows, columns] as [kWindow, windows, columns]: the first rows of all windows, the second ones,
  // .. Some of the first and the last window are init, and are not to be taken.
  Values by_taps(const Values& values, int64_t before, int64_t windows) const {
    Values out = initial(windows * kWindow * columns_);
    copy_elements(values, 0, values[0].element_count(), out, before * columns_);
    constexpr int64_t kOrder[] = {1, 0, 2};
    for (size_t i = 0; i < inputs_; ++i)
      out[i] = permuted(out[i].reshaped(Shape(type_of(i), {windows, kWindow, columns_})), kOrder);
    return out;
  }

  static void copy_elements(const Values& from, int64_t first, int64_t count, Values& to,
                            int64_t at) {
    for (size_t i = 0; i < from.size(); ++i) {
      const int64_t width = storage_bytes(from[i].shape().dtype());
      std::memcpy(to[i].mutable_bytes() + width * at, from[i].bytes() + width * first,
                  static_cast<size_t>(width * count));
    }
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
  bool has_long_ = false;  // a reduced dimension
};

// A sum of the types that XLA computes in itself, and whose steps the result shows.
bool rounds_at_each_step(Opcode op, DType dtype) {
  return is_floating(dtype) && storage_bytes(dtype) == 1 &&
         (op == Opcode::kAdd || op == Opcode::kMultiply);
}

StatusOr<Literal> evaluate_reduce(EvalArgs& in) {
  if (in.size() == 2 && !in.result().is_tuple()) {
    const auto op = native_reducer(in.caller.computation(0));
    if (op && !rounds_at_each_step(*op, in.result().dtype())) {
      return reduce_native(*op, in[0], in[1], in.attrs<DimensionsAttrs>().dimensions, in.result());
    }
  }
  return BodyReducer(in).run();
}

}  // namespace

const Evaluation kReduceEvaluation = {.evaluate = evaluate_reduce};

}  // namespace heddle::interpreter
