#include "heddle/numpy/fft.h"

#include <algorithm>
#include <cmath>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using hlo::FftType;
using trace_internal::axes_of;

// A transform over axes, the halved one last; lengths are those of the real or full side.
struct Plan {
  std::string_view op;
  FftType type;
  std::vector<int64_t> axes;
  std::vector<int64_t> lengths;
  FftScale scale;
};

bool is_inverse(FftType type) { return type == FftType::kIfft || type == FftType::kIrfft; }

DType complex_of(DType dtype) { return dtype == f64 || dtype == c128 ? c128 : c64; }

// x in the dtype of the transform.
Expr prepared(const Plan& plan, const Operand& operand) {
  Expr x(as_tensor(operand));
  bool real = x.dtype() == f32 || x.dtype() == f64;
  bool takes_real = plan.type == FftType::kRfft;
  if (!real && (takes_real || !is_complex(x.dtype()))) {
    trace_internal::refuse("x is ", x.tensor().shape(), "; it must be ",
                           takes_real ? "f32 or f64" : "f32, f64, c64 or c128",
                           ", cast it with astype");
  }
  return takes_real ? x : x.astype(complex_of(x.dtype()));
}

// The length of the last axis in the half spectrum of n.
int64_t half(int64_t n) { return n / 2 + 1; }

// x with axes of the plan's lengths: cut off, or with zeros at the end.
Expr at_lengths(const Plan& plan, const Expr& x) {
  std::vector<Padding> padding(static_cast<size_t>(x.tensor().rank()));
  bool fits = true;
  for (size_t i = 0; i < plan.axes.size(); ++i) {
    bool halved = plan.type == FftType::kIrfft && i + 1 == plan.axes.size();
    int64_t wanted = halved ? half(plan.lengths[i]) : plan.lengths[i];
    int64_t missing = wanted - x.tensor().dim(plan.axes[i]);
    padding[static_cast<size_t>(plan.axes[i])].high = missing;
    fits = fits && missing == 0;
  }
  return fits ? x : Expr(pad(x.operand(), 0, padding));
}

// The axes in an order where `last` come last.
std::vector<int64_t> order_with_last(int64_t rank, const std::vector<int64_t>& last) {
  std::vector<int64_t> order = other_dimensions(rank, last);
  order.insert(order.end(), last.begin(), last.end());
  return order;
}

std::vector<int64_t> inverse_of(const std::vector<int64_t>& order) {
  std::vector<int64_t> out(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

// HLO's fft of at most three axes.
Expr transformed(const Plan& plan, const Expr& x) {
  std::vector<int64_t> order = order_with_last(x.tensor().rank(), plan.axes);
  Expr moved = transpose(x.operand(), order);
  Dimensions sizes = moved.dimensions();
  DType dtype = moved.dtype();
  if (plan.type == FftType::kRfft) {
    sizes.back() = half(plan.lengths.back());
    dtype = complex_of(dtype);
  }
  if (plan.type == FftType::kIrfft) {
    sizes.back() = plan.lengths.back();
    dtype = dtype == c128 ? f64 : f32;
  }
  Expr out = trace_internal::emit(
      {.opcode = hlo::Opcode::kFft,
       .operands = {moved.tensor()},
       .attrs = hlo::FftAttrs{.fft_type = plan.type, .fft_length = plan.lengths},
       .declared = Shape(dtype, sizes)});
  return transpose(out.operand(), inverse_of(order));
}

// The factor beside HLO's own scale, 1 / n for inverses.
double factor_of(const Plan& plan) {
  double n = 1;
  for (int64_t length : plan.lengths) n *= static_cast<double>(length);
  if (plan.scale == FftScale::kOrtho)
    return is_inverse(plan.type) ? std::sqrt(n) : 1 / std::sqrt(n);
  if (plan.scale == FftScale::kForward) return is_inverse(plan.type) ? n : 1 / n;
  return 1;
}

// More than three axes are transformed in groups, the first ones by themselves. The real axis is in
// the last group of a forward transform, and must be the last of an inverse one too.
Expr in_groups(const Plan& plan, Expr x) {
  FftType full = is_inverse(plan.type) ? FftType::kIfft : FftType::kFft;
  size_t rest = plan.axes.size();
  auto run = [&](FftType type, size_t from, size_t to) {
    auto begin = static_cast<std::ptrdiff_t>(from), end = static_cast<std::ptrdiff_t>(to);
    x = transformed({.op = plan.op,
                     .type = type,
                     .axes = {plan.axes.begin() + begin, plan.axes.begin() + end},
                     .lengths = {plan.lengths.begin() + begin, plan.lengths.begin() + end},
                     .scale = plan.scale},
                    x);
  };
  bool real_first = plan.type == FftType::kRfft;
  size_t last = rest - std::min<size_t>(rest, 3);
  if (real_first) run(plan.type, last, rest);
  for (size_t from = 0; from < last; from += 3) run(full, from, std::min(from + 3, last));
  if (!real_first) run(plan.type, last, rest);
  return x;
}

Tensor run(const Plan& plan, const Operand& operand) {
  Expr x = prepared(plan, operand);
  for (int64_t n : plan.lengths) {
    if (n >= 1) continue;
    trace_internal::refuse("x is ", x.tensor().shape(), " and a length ", n,
                           "; transforms need lengths of 1 or more, give n");
  }
  return one_program(plan.op, [&] {
    Expr out = in_groups(plan, at_lengths(plan, x));
    double factor = factor_of(plan);
    return (factor == 1 ? out : out * factor).tensor();
  });
}

// The length of an axis by default.
int64_t natural_length(FftType type, const Shape& shape, int64_t axis, bool last) {
  int64_t size = shape.dimension(axis);
  return type == FftType::kIrfft && last ? 2 * (size - 1) : size;
}

Tensor along(std::string_view op, FftType type, const Operand& x, const Fft& over) {
  const PublicCall call(op, x.at());
  const Tensor t = as_tensor(x);
  int64_t axis = axis_of(t.shape(), over.axis);
  if (over.n && *over.n < 1) {
    trace_internal::refuse("n is ", *over.n, "; it must be 1 or more");
  }
  int64_t n = over.n ? int64_t{*over.n} : natural_length(type, t.shape(), axis, true);
  return run({.op = op, .type = type, .axes = {axis}, .lengths = {n}, .scale = over.scale}, x);
}

// The listed axes, or the last `count`.
std::vector<int64_t> chosen_axes(const Shape& shape, const FftN& over, int64_t count) {
  if (!over.axes.is_all()) return axes_of(shape, over.axes.list());
  std::vector<int64_t> last;
  for (int64_t i = -count; i < 0; ++i) last.push_back(i);
  return axes_of(shape, last);
}

// `usual`: how many axes without a list; 0: all.
Tensor over_axes(std::string_view op, FftType type, const Operand& x, const FftN& over,
                 int64_t usual) {
  const PublicCall call(op, x.at());
  const Tensor t = as_tensor(x);
  int64_t count = !over.n.empty() ? static_cast<int64_t>(over.n.size())
                  : usual > 0     ? usual
                                  : t.rank();
  std::vector<int64_t> axes = chosen_axes(t.shape(), over, count);
  if (axes.empty() || (!over.n.empty() && over.n.size() != axes.size())) {
    trace_internal::refuse("x is ", t.shape(), ", with ", over.n.size(), " lengths and ",
                           axes.size(),
                           " axes; there must be an axis, and a length for each "
                           "or none");
  }
  std::vector<int64_t> lengths = over.n;
  for (size_t i = lengths.size(); i < axes.size(); ++i)
    lengths.push_back(natural_length(type, t.shape(), axes[i], i + 1 == axes.size()));
  return run({.op = op, .type = type, .axes = axes, .lengths = lengths, .scale = over.scale}, x);
}

Tensor shifted(std::string_view op, const Operand& x, const AxisList& axes, bool forward) {
  const PublicCall call(op, x.at());
  const Tensor t = as_tensor(x);
  const std::vector<int64_t> over = axes_of(t.shape(), axes.of_rank(t.rank()));
  return one_program(op, [&] {
    Tensor out = t;
    for (int64_t axis : over) {
      int64_t size = t.shape().dimension(axis);
      out = roll(out, forward ? size / 2 : (size + 1) / 2, axis);
    }
    return out;
  });
}

void check_frequencies(int64_t n, double spacing) {
  if (n >= 1 && spacing != 0) return;
  trace_internal::refuse("n is ", n, " and spacing ", spacing,
                         "; n must be 1 or more, and spacing not 0");
}

}  // namespace

Tensor fft(Operand x, const Fft& over) { return along("fft", FftType::kFft, x, over); }
Tensor ifft(Operand x, const Fft& over) { return along("ifft", FftType::kIfft, x, over); }
Tensor rfft(Operand x, const Fft& over) { return along("rfft", FftType::kRfft, x, over); }
Tensor irfft(Operand x, const Fft& over) { return along("irfft", FftType::kIrfft, x, over); }

Tensor fftn(Operand x, const FftN& over) { return over_axes("fftn", FftType::kFft, x, over, 0); }
Tensor ifftn(Operand x, const FftN& over) { return over_axes("ifftn", FftType::kIfft, x, over, 0); }
Tensor rfftn(Operand x, const FftN& over) { return over_axes("rfftn", FftType::kRfft, x, over, 0); }
Tensor irfftn(Operand x, const FftN& over) {
  return over_axes("irfftn", FftType::kIrfft, x, over, 0);
}
Tensor fft2(Operand x, const FftN& over) { return over_axes("fft2", FftType::kFft, x, over, 2); }
Tensor ifft2(Operand x, const FftN& over) { return over_axes("ifft2", FftType::kIfft, x, over, 2); }
Tensor rfft2(Operand x, const FftN& over) { return over_axes("rfft2", FftType::kRfft, x, over, 2); }
Tensor irfft2(Operand x, const FftN& over) {
  return over_axes("irfft2", FftType::kIrfft, x, over, 2);
}

Tensor fftfreq(base::Int n, double spacing, DType dtype, SourceLocation at) {
  const PublicCall call("fftfreq", at);
  check_frequencies(n, spacing);
  return one_program("fftfreq", [&] {
    Expr k(iota(dtype, {n}, 0));
    Expr signed_k = where(k < static_cast<double>((n + 1) / 2), k, k - static_cast<double>(n));
    return (signed_k / (static_cast<double>(n) * spacing)).tensor();
  });
}

Tensor rfftfreq(base::Int n, double spacing, DType dtype, SourceLocation at) {
  const PublicCall call("rfftfreq", at);
  check_frequencies(n, spacing);
  return one_program("rfftfreq", [&] {
    Expr k(iota(dtype, {half(n)}, 0));
    return (k / (static_cast<double>(n) * spacing)).tensor();
  });
}

Tensor fftshift(Operand x, const AxisList& axes) { return shifted("fftshift", x, axes, true); }
Tensor ifftshift(Operand x, const AxisList& axes) { return shifted("ifftshift", x, axes, false); }

}  // namespace heddle
