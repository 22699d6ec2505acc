#include <cstring>

#include "heddle/interpreter/ops/elementwise/elementwise.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

double clamp(double min, double x, double max) {
  if (min != min || x != x || max != max) return min + x + max;
  const double raised = x < min ? min : x;
  return raised > max ? max : raised;
}

constexpr ElementwiseRow kClampRow = {
    .real = [](double min, double x, double max) { return clamp(min, x, max); },
    .integer =
        [](auto min, auto x, auto max, int) {
          const auto raised = x < min ? min : x;
          return raised > max ? max : raised;
        },
    .complex =
        [](std::complex<double> min, std::complex<double> x, std::complex<double> max) {
          const auto raised = min.real() >= x.real() ? min : x;
          return raised.real() <= max.real() ? raised : max;
        }};

// Elements are moved as words of their size. `out` may be on_true or on_false.
template <class Word>
void choose(const bool* pick, const std::byte* on_true, const std::byte* on_false, std::byte* out,
            int64_t count) {
  const auto* t = reinterpret_cast<const Word*>(on_true);
  const auto* f = reinterpret_cast<const Word*>(on_false);
  auto* to = reinterpret_cast<Word*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = pick[i] ? t[i] : f[i];
}

struct Word128 {
  uint64_t half[2];
};

StatusOr<Literal> evaluate_select(EvalArgs& in) {
  const bool* pick = reinterpret_cast<const bool*>(in[0].bytes());
  if (in[0].shape().rank() == 0) {
    Literal& chosen = in.operands[*pick ? 1 : 2];
    return chosen.shape() == in.result() ? std::move(chosen)
                                         : std::move(chosen).reshaped(in.result());
  }
  const std::byte* on_true = in[1].bytes();
  const std::byte* on_false = in[2].bytes();
  // pred's buffer is not the result's where both are pred
  EvalArgs branches{in.instruction, in.operands.subspan(1), in.caller};
  Literal out = result_buffer(branches);
  const int64_t count = in.result().element_count();
  switch (storage_bytes(in.result().dtype())) {
    case 1: choose<uint8_t>(pick, on_true, on_false, out.mutable_bytes(), count); break;
    case 2: choose<uint16_t>(pick, on_true, on_false, out.mutable_bytes(), count); break;
    case 4: choose<uint32_t>(pick, on_true, on_false, out.mutable_bytes(), count); break;
    case 8: choose<uint64_t>(pick, on_true, on_false, out.mutable_bytes(), count); break;
    default: choose<Word128>(pick, on_true, on_false, out.mutable_bytes(), count); break;
  }
  return out;
}

ScalarOp scalar_select(const Attrs&, DType from, DType to) {
  auto choose_one = [](const ScalarOp& op, std::span<const std::byte* const> operands,
                       std::byte* result) {
    const bool pick = *reinterpret_cast<const bool*>(operands[0]);
    std::memcpy(result, operands[pick ? 1 : 2], static_cast<size_t>(storage_bytes(op.to)));
  };
  return {.apply = choose_one, .from = from, .to = to};
}

}  // namespace

const Evaluation kClampEvaluation = {.evaluate = evaluate_row<kClampRow>,
                                     .scalar = scalar_row<kClampRow>};
const Evaluation kSelectEvaluation = {.evaluate = evaluate_select, .scalar = scalar_select};

}  // namespace heddle::interpreter
