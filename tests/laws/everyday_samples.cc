// Of numpy/.
#include "heddle/tests/laws/function_samples.h"

namespace heddle::laws {
namespace {

using Tensors = std::vector<Tensor>;
using In = const Inputs&;

std::vector<FunctionSample> formulas() {
  return {
      one("angle", angle),
      one("conj", conj),
      one("deg2rad", deg2rad),
      one("rad2deg", rad2deg),
      one("exp2", exp2),
      one("is_inf", is_inf),
      one("log10", log10),
      one("log2", log2),
      one("signbit", signbit),
      one("trunc", trunc),
      one("iscomplex", iscomplex),
      one("isreal", isreal),
      two("copysign", copysign),
      two("floor_divide", floor_divide),
      two("mod", mod),
      two("remainder", remainder),
      two("true_divide", true_divide),
      two("hypot", hypot),
      two("logaddexp", logaddexp),
      {"nan_to_num", [](In i) { return Tensors{nan_to_num(i.x)}; }},
      {"is_close", [](In i) { return Tensors{is_close(i.x, i.y)}; }},
      {"all_close", [](In i) { return Tensors{all_close(i.x, i.y)}; }},
  };
}

std::vector<FunctionSample> matrices_and_sequences() {
  return {
      two("kron", kron),
      two("vdot", vdot),
      two("inner", inner),
      two("vecdot", vecdot),
      {"matvec", [](In i) { return Tensors{matvec(i.m, i.v)}; }},
      {"vecmat", [](In i) { return Tensors{vecmat(i.v, i.m)}; }},
      {"hfft", [](In i) { return Tensors{hfft(i.v)}; }},
      {"ihfft", [](In i) { return Tensors{ihfft(i.v)}; }},
      {"dct", [](In i) { return Tensors{dct(i.v)}; }},
      {"idct", [](In i) { return Tensors{idct(i.v)}; }},
      {"dctn", [](In i) { return Tensors{dctn(i.x)}; }},
      {"idctn", [](In i) { return Tensors{idctn(i.x)}; }},
      {"cross", [](In i) { return Tensors{cross(i.m, i.m)}; }},
      {"diag", [](In i) { return Tensors{diag(i.v)}; }},
      {"diagonal", [](In i) { return Tensors{diagonal(i.m)}; }},
      {"meshgrid",
       [](In i) {
         return meshgrid({i.v, i.v});
       }},
      {"ravel_pytree",
       [](In i) {
         const auto [flat, unravel] = ravel_pytree(std::pair(i.x, i.v));
         return Tensors{flat, unravel(2.0 * flat).first};
       }},
      {"convolve", [](In i) { return Tensors{convolve(i.v, i.v)}; }},
      {"correlate", [](In i) { return Tensors{correlate(i.v, i.v)}; }},
      {"diff", [](In i) { return Tensors{diff(i.x)}; }},
      {"ediff1d", [](In i) { return Tensors{ediff1d(i.x)}; }},
      {"gradient", [](In i) { return Tensors{gradient(i.x, 1, -1)}; }},
      {"gradient_at", [](In i) { return Tensors{gradient_at(i.v, i.v)}; }},
      {"flatnonzero", [](In i) { return Tensors{flatnonzero(i.x, 2)}; }},
      {"argwhere", [](In i) { return Tensors{argwhere(i.x, 2)}; }},
      {"compress", [](In i) { return Tensors{compress(i.v, i.x, 2, 0)}; }},
      {"extract", [](In i) { return Tensors{extract(i.choice, i.x, 2)}; }},
      {"nonzero", [](In i) { return Tensors{nonzero(i.v, 2)}; }},
      {"trapezoid", [](In i) { return Tensors{trapezoid(i.v)}; }},
      {"trapezoid_at", [](In i) { return Tensors{trapezoid_at(i.v, i.v)}; }},
  };
}

std::vector<FunctionSample> statistics() {
  auto over = [](const char* name, Tensor (*fn)(Operand, const Reduction&)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.x, {})}; }};
  };
  return {
      over("count_nonzero", count_nonzero),
      over("nan_mean", nan_mean),
      over("nan_sum", nan_sum),
      over("ptp", ptp),
      {"average", [](In i) { return Tensors{average(i.x, i.y)}; }},
      {"bincount", [](In i) { return Tensors{bincount(i.v, 4)}; }},
      {"corrcoef", [](In i) { return Tensors{corrcoef(i.x)}; }},
      {"cov", [](In i) { return Tensors{cov(i.x)}; }},
      {"histogram", [](In i) { return Tensors{histogram(i.v, 4, 0, 1)}; }},
      {"median", [](In i) { return Tensors{median(i.v)}; }},
      {"quantile", [](In i) { return Tensors{quantile(i.v, 0.5)}; }},
  };
}

std::vector<FunctionSample> numbers() {
  return {
      two("fmax", fmax),
      two("fmin", fmin),
      two("fmod", fmod),
      two("heaviside", heaviside),
      two("logaddexp2", logaddexp2),
      one("is_neginf", is_neginf),
      one("is_posinf", is_posinf),
      one("spacing", spacing),
      {"around", [](In i) { return Tensors{around(i.x, 2)}; }},
      {"divmod", [](In i) { return members_of(divmod(i.x, i.y)); }},
      {"modf", [](In i) { return members_of(modf(i.x)); }},
      {"frexp", [](In i) { return members_of(frexp(i.x)); }},
      {"ldexp", [](In i) { return Tensors{ldexp(i.x, i.rows)}; }},
      {"select", [](In i) { return Tensors{select({i.choice}, {i.x}, i.y)}; }},
      {"choose",
       [](In i) {
         return Tensors{choose(i.rows, {i.x, i.y})};
       }},
      {"array_equal", [](In i) { return Tensors{array_equal(i.x, i.y)}; }},
      {"packbits", [](In i) { return Tensors{packbits(i.x)}; }},
      {"unpackbits", [](In i) { return Tensors{unpackbits(i.x)}; }},
  };
}

std::vector<FunctionSample> arranging() {
  auto parts = [](const char* name, Tensor (*fn)(const std::vector<Tensor>&, SourceLocation)) {
    return FunctionSample{name, [fn](In i) {
                            return Tensors{fn({i.x, i.y}, SourceLocation::here())};
                          }};
  };
  return {
      one("atleast_1d", atleast_1d),
      one("atleast_2d", atleast_2d),
      one("atleast_3d", atleast_3d),
      one("fliplr", fliplr),
      one("flipud", flipud),
      one("matrix_transpose", matrix_transpose),
      parts("vstack", vstack),
      parts("hstack", hstack),
      parts("dstack", dstack),
      parts("column_stack", column_stack),
      {"block_matrix",
       [](In i) {
         return Tensors{block_matrix({{i.x, i.y}})};
       }},
      {"array_split", [](In i) { return array_split(i.v, 2); }},
      {"unstack", [](In i) { return unstack(i.x); }},
      {"broadcast_arrays",
       [](In i) {
         return broadcast_arrays({i.x, i.s});
       }},
      {"insert", [](In i) { return Tensors{insert(i.x, 1, i.s, 0)}; }},
      {"hsplit", [](In i) { return hsplit(i.x, 2); }},
      {"vsplit", [](In i) { return vsplit(i.x, 3); }},
      {"dsplit", [](In i) { return dsplit(i.m, 3); }},
      {"without", [](In i) { return Tensors{without(i.x, {1})}; }},
      {"resize",
       [](In i) {
         return Tensors{resize(i.x, {2, 4})};
       }},
      {"rot90", [](In i) { return Tensors{rot90(i.x)}; }},
      {"rollaxis", [](In i) { return Tensors{rollaxis(i.x, 1)}; }},
      {"repeat_each", [](In i) { return Tensors{repeat_each(i.x, i.rows, 4, 1)}; }},
      {"pad_with",
       [](In i) {
         return Tensors{pad_with(i.v, PadMode::kReflect, {{1, 1}})};
       }},
  };
}

std::vector<FunctionSample> grids() {
  auto window = [](const char* name, Tensor (*fn)(base::Int, DType, SourceLocation)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(4, i.t, SourceLocation::here())}; }};
  };
  return {
      {"tri", [](In i) { return Tensors{tri(3, 3, 0, i.t)}; }},
      {"tril_indices", [](In) { return tril_indices(3); }, false},
      {"triu_indices", [](In) { return triu_indices(3); }, false},
      {"diag_indices", [](In) { return diag_indices(3); }, false},
      {"indices",
       [](In) {
         return Tensors{indices({2, 3})};
       },
       false},
      {"open_grid",
       [](In i) {
         return open_grid({i.v, i.v});
       }},
      {"unravel_index",
       [](In i) {
         return unravel_index(i.v, {3, 4});
       }},
      {"ravel_multi_index",
       [](In i) {
         return Tensors{ravel_multi_index({i.v, i.v}, {3, 4})};
       }},
      {"diagflat", [](In i) { return Tensors{diagflat(i.x)}; }},
      {"fill_diagonal", [](In i) { return Tensors{fill_diagonal(i.x, i.s)}; }},
      {"vander", [](In i) { return Tensors{vander(i.v)}; }},
      {"logspace", [](In i) { return Tensors{logspace(0, 2, 4, 10, i.t)}; }},
      {"geomspace", [](In i) { return Tensors{geomspace(1, 8, 4, i.t)}; }},
      window("bartlett", bartlett),
      window("blackman", blackman),
      window("hamming", hamming),
      window("hanning", hanning),
      {"polyval", [](In i) { return Tensors{polyval(i.v, i.x)}; }},
      {"polyadd", [](In i) { return Tensors{polyadd(i.v, i.v)}; }},
      {"polysub", [](In i) { return Tensors{polysub(i.v, i.v)}; }},
      {"polymul", [](In i) { return Tensors{polymul(i.v, i.v)}; }},
      {"polydiv", [](In i) { return members_of(polydiv(i.v, i.v)); }},
      {"polyder", [](In i) { return Tensors{polyder(i.v)}; }},
      {"polyint", [](In i) { return Tensors{polyint(i.v)}; }},
      {"poly", [](In i) { return Tensors{poly(i.v)}; }},
  };
}

std::vector<FunctionSample> nan_statistics_and_orders() {
  auto over = [](const char* name, Tensor (*fn)(Operand, const Reduction&)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.x, {})}; }};
  };
  auto segments = [](const char* name, Tensor (*fn)(Operand, Operand, base::Int)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.m, i.rows, 4)}; }};
  };
  return {
      over("nanmax", nanmax),
      over("nanmin", nanmin),
      over("nanprod", nanprod),
      {"nanvar", [](In i) { return Tensors{nanvar(i.x)}; }},
      {"nanstd", [](In i) { return Tensors{nanstd(i.x)}; }},
      {"nanargmax", [](In i) { return Tensors{nanargmax(i.x, 0)}; }},
      {"nanargmin", [](In i) { return Tensors{nanargmin(i.x, 0)}; }},
      {"nanquantile", [](In i) { return Tensors{nanquantile(i.v, 0.5)}; }},
      {"nanmedian", [](In i) { return Tensors{nanmedian(i.v)}; }},
      {"nanpercentile", [](In i) { return Tensors{nanpercentile(i.v, 50)}; }},
      {"nancumsum", [](In i) { return Tensors{nancumsum(i.x)}; }},
      {"nancumprod", [](In i) { return Tensors{nancumprod(i.x)}; }},
      one("isneginf", isneginf),
      one("isposinf", isposinf),
      over("nan_max", nan_max),
      over("nan_min", nan_min),
      over("nan_prod", nan_prod),
      {"nan_var", [](In i) { return Tensors{nan_var(i.x)}; }},
      {"nan_std", [](In i) { return Tensors{nan_std(i.x)}; }},
      {"nan_argmax", [](In i) { return Tensors{nan_argmax(i.x, 0)}; }},
      {"nan_argmin", [](In i) { return Tensors{nan_argmin(i.x, 0)}; }},
      {"nan_quantile", [](In i) { return Tensors{nan_quantile(i.v, 0.5)}; }},
      {"nan_median", [](In i) { return Tensors{nan_median(i.v)}; }},
      {"nan_percentile", [](In i) { return Tensors{nan_percentile(i.v, 50)}; }},
      {"percentile", [](In i) { return Tensors{percentile(i.v, 50)}; }},
      segments("segment_sum", segment_sum),
      segments("segment_prod", segment_prod),
      segments("segment_max", segment_max),
      segments("segment_min", segment_min),
      {"lexsort",
       [](In i) {
         return Tensors{lexsort({i.x, i.y})};
       }},
      {"partition", [](In i) { return Tensors{partition(i.v, 1)}; }},
      {"argpartition", [](In i) { return Tensors{argpartition(i.v, 1)}; }},
      {"sort_complex", [](In i) { return Tensors{sort_complex(i.v)}; }},
      {"put_along_axis", [](In i) { return Tensors{put_along_axis(i.v, i.rows, i.s, 0)}; }},
  };
}

std::vector<FunctionSample> loops() {
  auto set = [](const char* name, SetResult (*fn)(Operand, Operand, base::Int, Operand)) {
    return FunctionSample{name, [fn](In i) {
                            SetResult out = fn(i.x, i.v, 3, 0);
                            return Tensors{out.values, out.number};
                          }};
  };
  return {
      two("gcd", gcd),
      two("lcm", lcm),
      two("isin", isin),
      set("union1d", union1d),
      set("intersect1d", intersect1d),
      set("setdiff1d", setdiff1d),
      set("setxor1d", setxor1d),
      {"nan_cumsum", [](In i) { return Tensors{nan_cumsum(i.x)}; }},
      {"nan_cumprod", [](In i) { return Tensors{nan_cumprod(i.x)}; }},
      {"unwrap", [](In i) { return Tensors{unwrap(i.v)}; }},
      {"digitize", [](In i) { return Tensors{digitize(i.x, i.v)}; }},
      {"histogram_at", [](In i) { return Tensors{histogram_at(i.x, i.v)}; }},
      {"histogram2d_at", [](In i) { return Tensors{histogram2d_at(i.x, i.y, i.v, i.v)}; }},
      {"histogram_bin_edges", [](In i) { return Tensors{histogram_bin_edges(i.x, 4)}; }},
      {"interp", [](In i) { return Tensors{interp(i.x, i.v, i.v)}; }},
  };
}

}  // namespace

std::vector<FunctionSample> everyday_samples() {
  return joined({formulas(), matrices_and_sequences(), statistics(), numbers(), arranging(),
                 grids(), nan_statistics_and_orders(), loops()});
}

}  // namespace heddle::laws
