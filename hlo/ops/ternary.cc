// clamp(min, x, max) = minimum(maximum(x, min), max), NaN where any of them is: bounds of x's type,
// or two scalars for all elements.
// Complex numbers go by their real parts alone: min where x's is not above it, max where it is not
// within max's.
// select(pred, on_true, on_false): an element of the one or the other; pred[], or one pred an
// element.
#include <cstring>

#include "heddle/hlo/ops/elementwise.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kClampOperands[] = {"min", "x", "max"};
constexpr std::string_view kSelectOperands[] = {"pred", "on_true", "on_false"};

StatusOr<Shape> infer_clamp(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 1, kPreds | kIntegers | kFloats | kComplexes));
  const bool scalars = in[0].rank() == 0 && in[2].rank() == 0;
  for (size_t bound : {size_t{0}, size_t{2}}) {
    if (!scalars) HEDDLE_RETURN_IF_ERROR(check_same(in, bound, 1));
    if (in[bound].dtype() == in[1].dtype()) continue;
    return in.error(kClampOperands[bound], " is ", in[bound], "; must be ", in[1].dtype(),
                    "[], of the elements of x", "; convert it first");
  }
  return in[1];
}

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

StatusOr<Shape> infer_select(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, kPreds));
  if (!in[1].is_array()) return in.error("on_true is ", in[1], "; must be an array");
  HEDDLE_RETURN_IF_ERROR(check_same(in, 2, 1));
  if (in[0].rank() != 0 && !same_dimensions(in[0], in[1])) {
    return in.error("pred is ", in[0], "; must be pred[] or ", in[1].with_dtype(pred),
                    ", with the dimensions of on_true");
  }
  return in[1];
}

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

constinit const OpDef kClampDef = {.opcode = Opcode::kClamp,
                                   .operand_names = kClampOperands,
                                   .infer = infer_clamp,
                                   .evaluate = evaluate_row<kClampRow>,
                                   .scalar = scalar_row<kClampRow>};

constinit const OpDef kSelectDef = {.opcode = Opcode::kSelect,
                                    .operand_names = kSelectOperands,
                                    .infer = infer_select,
                                    .evaluate = evaluate_select,
                                    .scalar = scalar_select};

}  // namespace heddle::hlo
