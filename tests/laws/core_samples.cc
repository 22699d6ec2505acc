#include "heddle/tests/laws/function_samples.h"

namespace heddle::laws {
namespace {

using Tensors = std::vector<Tensor>;
using In = const Inputs&;

constexpr Unrecorded kUnrecorded[] = {
    {"trace/devices/devices.h", "devices by name"},
    {"set_debug_sink", "where lines go"},
    {"trace/error.h", "errors"},
    {"trace/run/exchange.h", "host memory of tensors"},
    {"trace/ops/creation/files.h", "arrays in files"},
    {"trace/printing.h", "text"},
    {"trace/run/program.h", "traces and programs"},
    {"trace/tree.h", "trees of tensors"},
    {"scan/cache_control.h", "bounds of a cache"},
    {"has_float_limits", "numbers about a dtype"},
    {"float_limits", "numbers about a dtype"},
    {"integer_limits", "numbers about a dtype"},
    {"arange_integers", "arange of integers"},
    {"to_string", "text"},
    {"PrintTo", "text"},
    {"placeholder", "an argument of a trace"},
    {"axis_size", "a number about a mesh"},
    {"device_put", "moves a buffer"},
    {"sharding_of", "says how a buffer lies"},
    {"check_grads", "runs what it checks"},
    {"nothing_saveable", "says what a derivative keeps"},
    {"everything_saveable", "says what a derivative keeps"},
    {"dots_saveable", "says what a derivative keeps"},
    {"dots_with_no_batch_dims_saveable", "says what a derivative keeps"},
    {"save_only_these_names", "says what a derivative keeps"},
    {"save_any_names_but_these", "says what a derivative keeps"},
    {"every", "says what a derivative keeps"},
    {"recursive", "says what a derivative keeps"},
    {"sqrt_steps", "says what a derivative keeps"},
};

std::vector<FunctionSample> elementwise() {
  return {
      one("abs", abs),
      one("acos", acos),
      one("acosh", acosh),
      one("asin", asin),
      one("asinh", asinh),
      one("atan", atan),
      one("atanh", atanh),
      one("cbrt", cbrt),
      one("ceil", ceil),
      one("copy", copy),
      one("cos", cos),
      one("cosh", cosh),
      one("erf", erf),
      one("exp", exp),
      one("expm1", expm1),
      one("floor", floor),
      one("imag", imag),
      one("is_finite", is_finite),
      one("log", log),
      one("log1p", log1p),
      one("logistic", logistic),
      one("logical_not", logical_not),
      one("bitwise_not", bitwise_not),
      one("negative", negative),
      one("population_count", population_count),
      one("clz", clz),
      one("real", real),
      one("round_half_away", round_half_away),
      one("round", round),
      one("rsqrt", rsqrt),
      one("sign", sign),
      one("sin", sin),
      one("sinh", sinh),
      one("sqrt", sqrt),
      one("tan", tan),
      one("tanh", tanh),
      one("square", square),
      one("reciprocal", reciprocal),
      one("is_nan", is_nan),
      one("isnan", isnan),
      {"pow", [](In i) { return Tensors{pow(i.x, i.y)}; }},
      {"concatenate",
       [](In i) {
         return Tensors{concatenate({i.x, i.y})};
       }},
      {"rev", [](In i) { return Tensors{rev(i.x, {0})}; }},
      {"convert_element_type", [](In i) { return Tensors{convert_element_type(i.x, f32)}; }},
      one("isinf", isinf),
      one("isfinite", isfinite),
      {"isclose", [](In i) { return Tensors{isclose(i.x, i.y)}; }},
      {"allclose", [](In i) { return Tensors{allclose(i.x, i.y)}; }},
      {"nansum", [](In i) { return Tensors{nansum(i.x)}; }},
      {"nanmean", [](In i) { return Tensors{nanmean(i.x)}; }},
      two("add", add),
      two("subtract", subtract),
      two("multiply", multiply),
      two("divide", divide),
      two("rem", rem),
      two("power", power),
      two("maximum", maximum),
      two("minimum", minimum),
      two("atan2", atan2),
      two("bitwise_and", bitwise_and),
      two("bitwise_or", bitwise_or),
      two("bitwise_xor", bitwise_xor),
      two("logical_and", logical_and),
      two("logical_or", logical_or),
      two("logical_xor", logical_xor),
      two("shift_left", shift_left),
      two("shift_right_arithmetic", shift_right_arithmetic),
      two("shift_right_logical", shift_right_logical),
      two("complex", complex),
      two("mulhi", mulhi),
      two("equal", equal),
      two("not_equal", not_equal),
      two("greater", greater),
      two("greater_equal", greater_equal),
      two("less", less),
      two("less_equal", less_equal),
      two("nextafter", nextafter),
      {"where", [](In i) { return Tensors{where(i.choice, i.x, i.y)}; }},
      {"clamp", [](In i) { return Tensors{clamp(i.s, i.x, i.s)}; }},
      {"clip", [](In i) { return Tensors{clip(i.x, i.s, i.s)}; }},
      {"reduce_precision", [](In i) { return Tensors{reduce_precision(i.x, 5, 2)}; }},
      {"bitcast_convert", [](In i) { return Tensors{bitcast_convert(i.x, i.t)}; }},
  };
}

std::vector<FunctionSample> creation() {
  return {
      {"full", [](In i) { return Tensors{full({2}, 1, i.t)}; }},
      {"zeros", [](In i) { return Tensors{zeros({2}, i.t)}; }},
      {"ones", [](In i) { return Tensors{ones({2}, i.t)}; }},
      {"full_like", [](In i) { return Tensors{full_like(i.x, 1)}; }},
      {"zeros_like", [](In i) { return Tensors{zeros_like(i.x)}; }},
      {"ones_like", [](In i) { return Tensors{ones_like(i.x)}; }},
      {"iota",
       [](In i) {
         return Tensors{iota(i.t, {3, 2}, 0)};
       }},
      {"arange", [](In i) { return Tensors{arange(0.0, 1.0, 1.0, i.t)}; }},
      {"linspace", [](In i) { return Tensors{linspace(0, 1, 3, i.t)}; }},
      {"eye", [](In i) { return Tensors{eye(3, {}, 0, i.t)}; }},
      {"one_hot", [](In i) { return Tensors{one_hot(i.rows, 3, i.t)}; }},
      {"row_mask", [](In i) { return Tensors{row_mask(i.x)}; }},
      {"valid_rows", [](In i) { return Tensors{valid_rows(i.x)}; }},
      {"tril", [](In i) { return Tensors{tril(i.x)}; }},
      {"triu", [](In i) { return Tensors{triu(i.x)}; }},
      {"array",
       [](In) {
         return Tensors{array<float>({1, 2})};
       },
       false},
      {"scalar", [](In) { return Tensors{scalar(1.0F)}; }, false},
      {"custom_call",
       [](In i) {
         return custom_call("target", {i.x}, {Shape(i.t, {3, 2})});
       }},
      {"debug_print",
       [](In i) {
         debug_print("{}", i.x);
         return Tensors{i.x};
       }},
      {"debug_check",
       [](In i) {
         debug_check(i.x);
         return Tensors{i.x};
       }},
      {"progress",
       [](In i) {
         progress(i.position, 3);
         return Tensors{i.x};
       }},
  };
}

std::vector<FunctionSample> movement() {
  return {
      {"reshape", [](In i) { return Tensors{reshape(i.x, {6})}; }},
      one("ravel", ravel),
      {"transpose", [](In i) { return Tensors{transpose(i.x)}; }},
      {"append", [](In i) { return Tensors{append(i.x, i.y)}; }},
      {"optimization_barrier",
       [](In i) { return flatten(optimization_barrier(std::pair(i.x, i.y))); }},
      {"swapaxes", [](In i) { return Tensors{swapaxes(i.x, 0, 1)}; }},
      {"moveaxis", [](In i) { return Tensors{moveaxis(i.x, 0, 1)}; }},
      {"expand_dims", [](In i) { return Tensors{expand_dims(i.x, 0)}; }},
      {"squeeze", [](In i) { return Tensors{squeeze(i.image, {0})}; }},
      {"broadcast_in_dim",
       [](In i) {
         return Tensors{broadcast_in_dim(i.v, {2, 3}, {1})};
       }},
      {"concat",
       [](In i) {
         return Tensors{concat({i.x, i.y})};
       }},
      {"stack",
       [](In i) {
         return Tensors{stack({i.x, i.y})};
       }},
      {"split", [](In i) { return split(i.x, 3); }},
      {"split_at", [](In i) { return split_at(i.x, {1}); }},
      {"flip", [](In i) { return Tensors{flip(i.x)}; }},
      {"roll", [](In i) { return Tensors{roll(i.x, 1, 0)}; }},
      {"tile",
       [](In i) {
         return Tensors{tile(i.x, {2, 2})};
       }},
      {"repeat", [](In i) { return Tensors{repeat(i.x, 2, 0)}; }},
      {"slice",
       [](In i) {
         return Tensors{slice(i.x, {0, 0}, {2, 1})};
       }},
      {"slice_in_dim", [](In i) { return Tensors{slice_in_dim(i.x, 0, 2)}; }},
      {"dynamic_slice", [](In i) { return Tensors{dynamic_slice(i.v, {i.position}, {2})}; }},
      {"dynamic_update_slice",
       [](In i) { return Tensors{dynamic_update_slice(i.v, i.v, {i.position})}; }},
      {"dynamic_slice_in_dim",
       [](In i) { return Tensors{dynamic_slice_in_dim(i.x, i.position, 1)}; }},
      {"dynamic_update_slice_in_dim",
       [](In i) { return Tensors{dynamic_update_slice_in_dim(i.x, i.x, i.position)}; }},
      {"dynamic_index_in_dim", [](In i) { return Tensors{dynamic_index_in_dim(i.x, i.position)}; }},
      {"dynamic_update_index_in_dim",
       [](In i) { return Tensors{dynamic_update_index_in_dim(i.v, i.s, i.position)}; }},
      {"pad", [](In i) { return Tensors{pad(i.v, i.s, {{.low = 1, .high = 1}})}; }},
      {"take", [](In i) { return Tensors{take(i.x, i.rows)}; }},
      {"take_along_axis", [](In i) { return Tensors{take_along_axis(i.v, i.rows, 0)}; }},
      {"take_at",
       [](In i) {
         return Tensors{take_at(i.x, {i.position, Slice{0, 1}})};
       }},
      {"at", [](In i) { return Tensors{i.x.at({i.rows}).add(i.s)}; }},
      {"sort", [](In i) { return Tensors{sort(i.x)}; }},
      {"argsort", [](In i) { return Tensors{argsort(i.x)}; }},
      {"sort_by",
       [](In i) {
         auto before = [](std::span<const Tensor> t) { return less(t[0], t[1]); };
         return sort_by({i.x}, before);
       }},
      {"top_k",
       [](In i) {
         TopK top = top_k(i.v, 2);
         return Tensors{top.values, top.indices};
       }},
      {"gather",
       [](In i) {
         GatherDims dims{.offset_dims = {1},
                         .collapsed_slice_dims = {0},
                         .start_index_map = {0},
                         .index_vector_dim = 1};
         return Tensors{gather(i.x, i.rows, dims, {1, 2})};
       }},
      {"scatter",
       [](In i) {
         ScatterDims dims{.update_window_dims = {1, 2},
                          .inserted_window_dims = {0},
                          .scatter_dims_to_operand_dims = {0},
                          .index_vector_dim = 1};
         auto last = [](const Tensor&, const Tensor& update) { return update; };
         return Tensors{scatter(i.m, i.rows, i.m, dims, last)};
       }},
  };
}

std::vector<FunctionSample> reductions() {
  auto all_of = [](const char* name, Tensor (*fn)(Operand, const Reduction&)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.x, {})}; }};
  };
  auto first = [](std::span<const Tensor> t) { return Tensors{t[0]}; };
  return {
      all_of("sum", sum),
      all_of("prod", prod),
      all_of("max", max),
      all_of("min", min),
      all_of("all", all),
      all_of("any", any),
      all_of("mean", mean),
      all_of("logsumexp", logsumexp),
      {"var", [](In i) { return Tensors{var(i.x)}; }},
      {"std_dev", [](In i) { return Tensors{std_dev(i.x)}; }},
      {"softmax", [](In i) { return Tensors{softmax(i.x)}; }},
      {"log_softmax", [](In i) { return Tensors{log_softmax(i.x)}; }},
      {"argmax", [](In i) { return Tensors{argmax(i.x, 0)}; }},
      {"argmin", [](In i) { return Tensors{argmin(i.x, 0)}; }},
      {"reduce", [first](In i) { return reduce({i.x}, {i.s}, first, {0}); }},
      {"dot_general",
       [](In i) {
         return Tensors{dot_general(i.x, i.y, {.lhs_contracting = {0}, .rhs_contracting = {0}})};
       }},
      {"matmul", [](In i) { return Tensors{matmul(i.m, i.m)}; }},
      {"dot", [](In i) { return Tensors{dot(i.v, i.v)}; }},
      {"outer", [](In i) { return Tensors{outer(i.v, i.v)}; }},
      {"tensordot", [](In i) { return Tensors{tensordot(i.v, i.v, 1)}; }},
      {"einsum", [](In i) { return Tensors{einsum("bij,bkj->bik", i.m, i.m)}; }},
      {"conv", [](In i) { return Tensors{conv(i.image, i.kernel)}; }},
      {"conv_transpose", [](In i) { return Tensors{conv_transpose(i.image, i.kernel)}; }},
      {"max_pool",
       [](In i) {
         return Tensors{max_pool(i.image, {.sizes = {2, 2}})};
       }},
      {"min_pool",
       [](In i) {
         return Tensors{min_pool(i.image, {.sizes = {2, 2}})};
       }},
      {"sum_pool",
       [](In i) {
         return Tensors{sum_pool(i.image, {.sizes = {2, 2}})};
       }},
      {"avg_pool",
       [](In i) {
         return Tensors{avg_pool(i.image, {.sizes = {2, 2}})};
       }},
      {"reduce_window",
       [first](In i) { return reduce_window({i.v}, {i.s}, first, {.sizes = {2}}); }},
  };
}

std::vector<FunctionSample> transforms() {
  auto single = [](const char* name, Tensor (*fn)(Operand, const Fft&)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.v, {})}; }};
  };
  auto several = [](const char* name, Tensor (*fn)(Operand, const FftN&)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.x, {})}; }};
  };
  return {
      single("fft", fft),
      single("ifft", ifft),
      single("rfft", rfft),
      single("irfft", irfft),
      several("fftn", fftn),
      several("ifftn", ifftn),
      several("rfftn", rfftn),
      several("irfftn", irfftn),
      several("fft2", fft2),
      several("ifft2", ifft2),
      several("rfft2", rfft2),
      several("irfft2", irfft2),
      {"fftfreq", [](In i) { return Tensors{fftfreq(4, 1, i.t)}; }},
      {"rfftfreq", [](In i) { return Tensors{rfftfreq(4, 1, i.t)}; }},
      {"fftshift", [](In i) { return Tensors{fftshift(i.x)}; }},
      {"ifftshift", [](In i) { return Tensors{ifftshift(i.x)}; }},
  };
}

std::vector<FunctionSample> loops() {
  auto keep = [](const Tensor& t) { return t; };
  auto cumulative = [](const char* name, Tensor (*fn)(Operand, base::Int, base::Flag)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.x, 0, false)}; }};
  };
  return {
      {"scan",
       [](In i) {
         auto step = [](Tensor h, Tensor x) { return std::pair(x, h); };
         auto [last, ys] = scan(step, i.s, i.v);
         return Tensors{last, ys};
       }},
      {"map", [keep](In i) { return Tensors{map(keep, i.v)}; }},
      {"scan_layers",
       [](In i) {
         auto layer = [](Tensor w, Tensor) { return w; };
         return Tensors{scan_layers(layer, i.v, i.s)};
       }},
      {"while_loop",
       [](In i) {
         auto running = [](std::pair<Tensor, Tensor> c) { return less(c.first, 3); };
         auto next = [](std::pair<Tensor, Tensor> c) { return std::pair(c.first + 1, c.second); };
         auto [count, x] = while_loop(running, next, std::pair(i.position, i.x));
         return Tensors{count, x};
       }},
      {"scan_until",
       [](In i) {
         auto step = [](Tensor c, Tensor x) { return std::pair(c + 1, x); };
         auto until = [](Tensor c) { return greater(c, 2); };
         auto found = scan_until(step, until, i.position, i.x);
         return Tensors{found.carry, found.ys, found.steps};
       }},
      {"fori_loop",
       [](In i) {
         auto body = [](Tensor, Tensor x) { return x; };
         return Tensors{fori_loop(i.position, 3, body, i.x)};
       }},
      {"cond",
       [keep](In i) {
         auto negate = [](const Tensor& t) { return negative(t); };
         return Tensors{cond(i.yes, keep, negate, i.x)};
       }},
      {"switch_case",
       [keep](In i) {
         auto negate = [](const Tensor& t) { return negative(t); };
         return Tensors{switch_case(i.position, std::tuple(keep, negate), i.x)};
       }},
      {"associative_scan",
       [](In i) {
         auto combine = [](Tensor, Tensor b) { return b; };
         return Tensors{associative_scan(combine, i.x)};
       }},
      cumulative("cumsum", cumsum),
      cumulative("cumprod", cumprod),
      cumulative("cummax", cummax),
      cumulative("cummin", cummin),
      cumulative("cumlogsumexp", cumlogsumexp),
      {"searchsorted", [](In i) { return Tensors{searchsorted(i.v, i.x)}; }},
      {"unique", [](In i) { return members_of(unique(i.x, 3)); }},
  };
}

std::vector<FunctionSample> derivatives() {
  auto loss = [](Tensor x) { return sum(x * x); };
  auto itself = [](Tensor x) { return x * x; };
  return {
      {"grad", [loss](In i) { return Tensors{grad(loss)(i.x)}; }},
      {"value_and_grad",
       [loss](In i) {
         auto [value, gradient] = value_and_grad(loss)(i.x);
         return Tensors{value, gradient};
       }},
      {"jvp",
       [itself](In i) {
         auto [y, dy] = jvp(itself, std::tuple(i.x), std::tuple(i.y));
         return Tensors{y, dy};
       }},
      {"vjp",
       [itself](In i) {
         auto [y, pull] = vjp(itself, i.x);
         return Tensors{y, pull(i.y)};
       }},
      {"linearize",
       [itself](In i) {
         auto [y, push] = linearize(itself, i.x);
         return Tensors{y, push(i.y)};
       }},
      {"checkpoint", [itself](In i) { return Tensors{checkpoint(itself)(i.x)}; }},
      {"custom_jvp",
       [itself](In i) {
         auto rule = [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
           return std::pair(std::get<0>(x) * std::get<0>(x), std::get<0>(x) * std::get<0>(dx));
         };
         return Tensors{custom_jvp(itself, rule)(i.x)};
       }},
      {"custom_vjp",
       [itself](In i) {
         auto forward = [](Tensor x) { return std::pair(x * x, x); };
         auto backward = [](Tensor x, Tensor ct) { return x * ct; };
         return Tensors{custom_vjp(itself, forward, backward)(i.x)};
       }},
      {"checkpoint_name", [](In i) { return Tensors{checkpoint_name(i.x, "x")}; }},
      {"linear_transpose",
       [](In i) {
         auto twice = [](Tensor x) { return x + x; };
         return Tensors{linear_transpose(twice, i.x)(i.y)};
       }},
      {"custom_linear_solve",
       [](In i) {
         auto twice = [](Tensor x) { return x + x; };
         auto solve = [](auto, Tensor b) { return b / 2.0; };
         return Tensors{custom_linear_solve(twice, i.x, solve, {.symmetric = true})};
       }},
      {"custom_root",
       [](In i) {
         auto f = [](Tensor x) { return x + x; };
         auto solve = [](auto, Tensor guess) { return guess - guess; };
         auto tangent_solve = [](auto, Tensor y) { return y / 2.0; };
         return Tensors{custom_root(f, i.x, solve, tangent_solve)};
       }},
      {"stop_gradient", [](In i) { return Tensors{stop_gradient(i.x)}; }},
      {"jacrev", [itself](In i) { return Tensors{jacrev(itself)(i.v)}; }},
      {"jacfwd", [itself](In i) { return Tensors{jacfwd(itself)(i.v)}; }},
      {"vmap", [loss](In i) { return Tensors{vmap(loss)(i.x)}; }},
      {"hessian", [loss](In i) { return Tensors{hessian(loss)(i.v)}; }},
  };
}

const Mesh& pair_of_devices() {
  static const Mesh& mesh = *new Mesh({{"i", 2}});
  return mesh;
}

// What each of two devices does with all of x.
template <class Fn>
FunctionSample on_each(SampleName name, Fn fn) {
  return {name, [fn, at = name.at](In i) {
            const PartitionSpecs whole = {PartitionSpec{}};
            return Tensors{shard_map(fn, pair_of_devices(), whole, whole, {}, at)(i.x)};
          }};
}

std::vector<FunctionSample> devices() {
  return {
      on_each("shard_map", [](Tensor x) { return x; }),
      on_each("all_reduce", [](Tensor x) { return all_reduce(x, "i"); }),
      on_each("psum", [](Tensor x) { return psum(x, "i"); }),
      on_each("pmax", [](Tensor x) { return pmax(x, "i"); }),
      on_each("pmin", [](Tensor x) { return pmin(x, "i"); }),
      on_each("pmean", [](Tensor x) { return pmean(x, "i"); }),
      on_each("all_gather", [](Tensor x) { return all_gather(x, "i"); }),
      on_each("reduce_scatter", [](Tensor x) { return reduce_scatter(x, "i", {.axis = 1}); }),
      on_each("all_to_all", [](Tensor x) { return all_to_all(x, "i", 1, 0); }),
      on_each("permute",
              [](Tensor x) {
                return permute(x, "i", {{0, 1}});
              }),
      on_each("ppermute",
              [](Tensor x) {
                return ppermute(x, "i", {{0, 1}});
              }),
      on_each("psum_scatter", [](Tensor x) { return psum_scatter(x, "i", {.axis = 1}); }),
      on_each("axis_index", [](Tensor) { return axis_index("i"); }),
      {"with_sharding",
       [](In i) {
         return Tensors{with_sharding(i.x, Sharding(pair_of_devices(), {None{}, "i"}))};
       }},
  };
}

}  // namespace

std::span<const Unrecorded> unrecorded() { return kUnrecorded; }

FunctionSample one(const char* name, Tensor (*fn)(Operand)) {
  return {name, [fn](In i) { return Tensors{fn(i.x)}; }};
}

FunctionSample two(const char* name, Tensor (*fn)(Operand, Operand)) {
  return {name, [fn](In i) { return Tensors{fn(i.x, i.y)}; }, true, fn};
}

std::vector<Shape> Inputs::shapes(DType t) {
  return {Shape(t, {3, 2}), Shape(t, {3, 2}),       Shape(t, {3}),          Shape(t, {2, 3, 3}),
          Shape(t, {}),     Shape(t, {1, 5, 5, 2}), Shape(t, {3, 3, 2, 4}), Shape(t, {1, 4, 2, 8}),
          Shape(s32, {2}),  Shape(s32, {}),         Shape(u32, {2}),        Shape(pred, {3, 2}),
          Shape(pred, {}),  Shape(t, {3, 3}),       Shape(t, {2})};
}

Inputs Inputs::of(DType t, std::span<const Tensor> p) {
  return {t,    p[0], p[1], p[2],  p[3],  p[4],  p[5],  p[6],
          p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14]};
}

std::vector<FunctionSample> core_samples() {
  return joined({elementwise(), creation(), movement(), reductions(), transforms(), loops(),
                 derivatives(), devices()});
}

std::vector<FunctionSample> every_sample() {
  return joined({core_samples(), everyday_samples(), catalogue_samples()});
}

}  // namespace heddle::laws
