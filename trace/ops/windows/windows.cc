#include "heddle/trace/ops/windows/windows.h"

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/internal/scalar_fragment.h"
#include "heddle/trace/internal/window_geometry.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/elementwise/extremes.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::emit_constant;
using trace_internal::Fragment;
using trace_internal::one_program;
using trace_internal::ones_or;
using trace_internal::PublicCall;

// How many axes the windows are over, where none are listed. A lone size is for every spatial axis:
// x is of a batch, spatial axes and features, or all of it is spatial.
int64_t count_of_axes(const Shape& shape, const Windows& windows, bool has_features) {
  const auto count = static_cast<int64_t>(windows.sizes.size());
  return count != 1 ? count : std::max<int64_t>(shape.rank() - (has_features ? 2 : 0), 1);
}

// The axes that the windows are over. Those before the last, for pools that list none.
std::vector<int64_t> window_axes(const Shape& shape, const Windows& windows, bool has_features) {
  if (!windows.axes.empty()) return trace_internal::axes_of(shape, windows.axes);
  const int64_t count = count_of_axes(shape, windows, has_features);
  int64_t first = has_features ? shape.rank() - 1 - count : 0;
  if (has_features ? first < 0 : count != shape.rank()) {
    trace_internal::refuse("sizes has ", count, " entries and x is ", shape,
                           has_features ? "; there must be as many axes before its last"
                                        : "; there must be one an axis",
                           ", or list the axes");
  }
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < count; ++i) axes.push_back(first + i);
  return axes;
}

void check_sizes(const Windows& windows, size_t axes) {
  if (axes == 0 || (windows.sizes.size() != axes && windows.sizes.size() != 1)) {
    trace_internal::refuse("sizes has ", windows.sizes.size(), " entries and axes ", axes,
                           "; there must be one for each, or one number for all");
  }
}

// One entry for every axis of x.
hlo::Window window_of(const Shape& shape, const Windows& windows, bool has_features) {
  std::vector<int64_t> axes = window_axes(shape, windows, has_features);
  check_sizes(windows, axes.size());
  auto list = [&](std::string_view name, const std::vector<int64_t>& entries) {
    return ones_or(name, entries, axes.size());
  };
  std::vector<int64_t> sizes = list("sizes", windows.sizes);
  std::vector<int64_t> strides = list("strides", windows.strides);
  std::vector<int64_t> base = list("base_dilation", windows.base_dilation);
  std::vector<int64_t> dilation = list("window_dilation", windows.window_dilation);
  std::vector<hlo::WindowDimension> moved;
  std::vector<int64_t> extents;
  for (size_t i = 0; i < axes.size(); ++i) {
    moved.push_back({.size = sizes[i],
                     .stride = strides[i],
                     .window_dilation = dilation[i],
                     .base_dilation = base[i]});
    extents.push_back(shape.dimension(axes[i]));
  }
  trace_internal::set_padding(windows.padding, extents, moved);
  trace_internal::require_places("window", shape, axes, moved, /*allow_empty=*/!has_features);
  hlo::Window window;
  window.dimensions.resize(static_cast<size_t>(shape.rank()));
  for (size_t i = 0; i < axes.size(); ++i)
    window.dimensions[static_cast<size_t>(axes[i])] = moved[i];
  return window;
}

std::vector<Tensor> emit_reduce_window(const std::vector<Tensor>& xs,
                                       const std::vector<Tensor>& inits, Fragment fn,
                                       hlo::Window window) {
  const Shape& shape = xs[0].shape();
  Dimensions sizes;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    sizes.push_back(trace_internal::window_places(window.dimensions[static_cast<size_t>(i)],
                                                  shape.dimension(i)));
  }
  std::vector<Shape> results;
  for (const Tensor& x : xs) results.emplace_back(x.dtype(), sizes);
  std::vector<Tensor> operands = xs;
  operands.insert(operands.end(), inits.begin(), inits.end());
  return trace_internal::emit_many(
      {.opcode = Opcode::kReduceWindow,
       .operands = std::move(operands),
       .attrs = hlo::WindowAttrs{.window = std::move(window)},
       .called = {std::move(fn)},
       .declared = xs.size() == 1 ? results[0] : Shape::tuple(std::move(results))});
}

Tensor emit_reduce_window(const Tensor& x, const Tensor& init, Fragment fn, hlo::Window window) {
  return emit_reduce_window(std::vector<Tensor>{x}, std::vector<Tensor>{init}, std::move(fn),
                            std::move(window))[0];
}

Tensor pool(std::string_view op, Opcode opcode, const Operand& operand, Literal identity,
            const Windows& windows) {
  const PublicCall call(op, operand.at());
  Tensor x = as_tensor(operand);
  hlo::Window window = window_of(x.shape(), windows, true);
  return one_program(op, [&] {
    return emit_reduce_window(x, emit_constant(identity),
                              trace_internal::scalar_computation(opcode, x.dtype()), window);
  });
}

void require_number(const Operand& x, bool needs_float, bool needs_order) {
  DType dtype = as_tensor(x).dtype();
  bool fits =
      needs_float ? is_floating(dtype) : dtype != pred && !(needs_order && is_complex(dtype));
  if (fits) return;
  trace_internal::refuse("x is ", as_tensor(x).shape(), "; it must be of ",
                         needs_float ? "floats" : "numbers", needs_order ? " with an order" : "",
                         ", cast it with astype(f32)");
}

// How many elements of x are under each place: [..] of size 1 where no window moves.
Tensor counts(const Tensor& x, const hlo::Window& window) {
  Dimensions shape = x.shape().dimensions();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (window.dimensions[i] == hlo::WindowDimension{}) shape[i] = 1;
  }
  return emit_reduce_window(ones(shape, x.dtype()), constant_like(0, x.dtype()),
                            trace_internal::scalar_computation(Opcode::kAdd, x.dtype()), window);
}

}  // namespace

Tensor max_pool(Operand x, const Windows& windows) {
  const PublicCall call("max_pool", x.at());
  require_number(x, false, true);
  return pool("max_pool", Opcode::kMaximum, x, trace_internal::extreme(as_tensor(x).dtype(), true),
              windows);
}

Tensor min_pool(Operand x, const Windows& windows) {
  const PublicCall call("min_pool", x.at());
  require_number(x, false, true);
  return pool("min_pool", Opcode::kMinimum, x, trace_internal::extreme(as_tensor(x).dtype(), false),
              windows);
}

Tensor sum_pool(Operand x, const Windows& windows) {
  const PublicCall call("sum_pool", x.at());
  require_number(x, false, false);
  return pool("sum_pool", Opcode::kAdd, x, Literal::scalar(as_tensor(x).dtype(), int64_t{0}),
              windows);
}

Tensor avg_pool(Operand x, const Windows& windows, base::Flag count_padding) {
  const PublicCall call("avg_pool", x.at());
  require_number(x, true, false);
  Tensor t = as_tensor(x);
  hlo::Window window = window_of(t.shape(), windows, true);
  int64_t size = 1;
  for (const hlo::WindowDimension& w : window.dimensions) size *= w.size;
  return one_program("avg_pool", [&] {
    Tensor total = sum_pool(t, windows);
    if (count_padding) return divide(total, static_cast<double>(size));
    return divide(total, counts(t, window));
  });
}

Tensor reduce_window(Operand x, Operand init,
                     base::FunctionRef<Tensor(const Tensor&, const Tensor&)> fn,
                     const Windows& windows) {
  const trace_internal::HigherOrderCall call("reduce_window", x.at());
  constexpr std::string_view kOp = "reduce_window";
  trace_internal::require_function("function", fn);
  Tensor t = as_tensor(x);
  hlo::Window window = window_of(t.shape(), windows, false);
  return one_program(kOp, [&] {
    Tensor start = init.is_tensor() ? init.tensor() : constant_like(init, t.dtype());
    Shape scalar = Shape::scalar(t.dtype());
    auto combine = [&](std::span<const Tensor> values) {
      return std::vector<Tensor>{fn(values[0], values[1])};
    };
    Fragment body =
        trace_internal::scalar_fragment(kOp, std::vector<Shape>{scalar, scalar}, combine);
    return emit_reduce_window(t, start, std::move(body), window);
  });
}

std::vector<Tensor> reduce_window(
    const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
    base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn, const Windows& windows,
    SourceLocation at) {
  const trace_internal::HigherOrderCall call("reduce_window", at);
  constexpr std::string_view kOp = "reduce_window";
  trace_internal::require_function("function", fn);
  if (xs.empty() || xs.size() != inits.size()) {
    trace_internal::refuse("has ", xs.size(), " operands and ", inits.size(),
                           " initial values; give one each, at least one");
  }
  std::vector<Shape> scalars;
  for (int round = 0; round < 2; ++round) {
    for (const Tensor& x : xs)
      scalars.push_back(Shape::scalar(trace_internal::node_of(x).shape.dtype()));
  }
  hlo::Window window = window_of(xs[0].shape(), windows, false);
  return trace_internal::in_program(kOp, [&] {
    Fragment body = trace_internal::scalar_fragment(kOp, scalars, fn);
    return emit_reduce_window(xs, inits, std::move(body), window);
  });
}

}  // namespace heddle
