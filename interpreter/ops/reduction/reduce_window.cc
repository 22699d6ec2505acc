#include <algorithm>

#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/ops/reduction/reduce_native.h"
#include "heddle/interpreter/ops/reduction/reduce_window_native.h"
#include "heddle/interpreter/ops/reduction/window_taps.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// Through the body: one tap of the window after the other, at all places at once.
class WindowReducer {
 public:
  explicit WindowReducer(EvalArgs& in) : in_(in), inputs_(in.size() / 2) {}

  StatusOr<Literal> run() {
    const Shape& result = in_.result();
    const Dims& places = (result.is_tuple() ? result.element(0) : result).dimensions();
    for (size_t i = 0; i < inputs_; ++i) {
      const DType dtype = type_of(i);
      accumulators_.push_back(repeated(converted(in_[inputs_ + i], dtype), Shape(dtype, places)));
      values_.push_back(converted(in_[i], type_of(inputs_ + i)));
    }
    HEDDLE_RETURN_IF_ERROR(for_each_tap(in_.attrs<WindowAttrs>().window, in_[0].shape(),
                                        accumulators_[0].shape(),
                                        [this](const TapPart& part) { return take(part); }));
    for (size_t i = 0; i < inputs_; ++i) {
      const Shape& shape = result.is_tuple() ? result.element(static_cast<int64_t>(i)) : result;
      accumulators_[i] = converted(accumulators_[i], shape.dtype()).reshaped(shape);
    }
    if (!result.is_tuple()) return std::move(accumulators_[0]);
    return Literal::tuple(std::move(accumulators_));
  }

 private:
  DType type_of(size_t parameter) const {
    return in_.caller.computation(0).parameter_shape(parameter).dtype();
  }

  Status take(const TapPart& part) {
    std::vector<Literal> arguments;
    for (const Literal& each : accumulators_) {
      arguments.push_back(read_strided(each, part.in_places, part.place_strides, part.sizes));
    }
    for (const Literal& each : values_) {
      arguments.push_back(read_strided(each, part.in_base, part.base_strides, part.sizes));
    }
    HEDDLE_ASSIGN_OR_RETURN(const Literal combined, in_.caller.map(0, arguments));
    for (size_t i = 0; i < inputs_; ++i) {
      const Literal& value = combined.is_tuple() ? combined.elements()[i] : combined;
      write_strided(accumulators_[i], part.in_places, part.place_strides,
                    converted(value, type_of(i)));
    }
    return {};
  }

  EvalArgs& in_;
  const size_t inputs_;
  std::vector<Literal> accumulators_;
  std::vector<Literal> values_;
};

// Windows of more taps are summed in f64, at a cost that hardly grows with them.
constexpr int64_t kFewTaps = 64;

// Sums and products of floats round at every step of the body: few taps are taken as it says, which
// is what XLA does; for many the sum that is rounded once is nearer to the truth. All else is the
// same in any order.
bool is_for_native_loops(Opcode op, DType dtype, const Window& window) {
  const bool rounds = is_floating(dtype) || is_complex(dtype);
  if (!rounds || op == Opcode::kMinimum || op == Opcode::kMaximum) return true;
  int64_t taps = 1;
  for (const WindowDimension& w : window.dimensions) {
    if (w.size > kFewTaps) return true;
    taps = std::min(taps * w.size, kFewTaps + 1);
  }
  return taps > kFewTaps;
}

StatusOr<Literal> evaluate_reduce_window(EvalArgs& in) {
  const Window& window = in.attrs<WindowAttrs>().window;
  if (in.size() == 2 && !in.result().is_tuple()) {
    const auto op = native_reducer(in.caller.computation(0));
    if (op && is_for_native_loops(*op, in.result().dtype(), window)) {
      return reduce_window_native(*op, in[0], in[1], window, in.result());
    }
  }
  return WindowReducer(in).run();
}

}  // namespace

const Evaluation kReduceWindowEvaluation = {.evaluate = evaluate_reduce_window};

}  // namespace heddle::interpreter
