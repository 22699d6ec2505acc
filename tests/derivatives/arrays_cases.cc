// Functions of arrays: reductions, sorting, indexing, shapes, windows and layers.
#include <cmath>

#include "heddle/tests/derivatives/cases.h"

namespace heddle::derivatives {
namespace {

Run hess(OfNumber f) { return second(std::move(f)); }

std::vector<Case> reductions() {
  using linalg::norm;
  return {
      {"sum_axis", modes([](V v) { return sum(v[0], 1); })},
      {"mean_all", modes([](V v) { return mean(v[0]); })},
      {"prod", modes([](V v) { return prod(v[0], 1); })},
      {"prod_one_zero", modes([](V v) { return prod(v[0]); })},
      {"prod_two_zeros", modes([](V v) { return prod(v[0]); })},
      {"prod_second", hess([](T x) { return prod(x); })},
      {"max_ties", modes([](V v) { return max(v[0], 1); })},
      {"min_ties", modes([](V v) { return min(v[0], 1); })},
      {"max_all", modes([](V v) { return max(v[0]); })},
      {"logsumexp", modes([](V v) { return logsumexp(v[0], 1); })},
      {"logsumexp_inf", modes([](V v) { return logsumexp(v[0]); })},
      {"logsumexp_large", modes([](V v) { return logsumexp(v[0]); })},
      {"logsumexp_second", hess([](T x) { return logsumexp(x); })},
      {"softmax", modes([](V v) { return softmax(v[0]); })},
      {"log_softmax", modes([](V v) { return log_softmax(v[0]); })},
      {"log_softmax_second", hess([](T x) { return log_softmax(x); })},
      {"var", modes([](V v) { return var(v[0], 0); })},
      {"var_ddof", modes([](V v) { return var(v[0], {.axes = 0}, 1); })},
      {"std", modes([](V v) { return std_dev(v[0], 0); })},
      {"std_second", hess([](T x) { return std_dev(x); })},
      {"median_odd", modes([](V v) { return median(v[0]); })},
      {"median_even", modes([](V v) { return median(v[0]); })},
      {"quantile", modes([](V v) {
         return quantile(v[0], {0.1, 0.35, 0.9}, 0);
       })},
      {"percentile", modes([](V v) { return percentile(v[0], 30); })},
      {"norm", modes([](V v) { return norm(v[0]); })},
      {"norm_1", modes([](V v) { return norm(v[0], 1); })},
      {"norm_3", modes([](V v) { return norm(v[0], 3); })},
      {"norm_inf", modes([](V v) { return norm(v[0], INFINITY); })},
      {"norm_fro", modes([](V v) { return norm(v[0]); })},
      {"norm_second", hess([](T x) { return norm(x); })},
      {"average", modes([](V v) { return average(v[0], v[1]); })},
      {"ptp", modes([](V v) { return ptp(v[0], 1); })},
      {"cumsum", modes([](V v) { return cumsum(v[0], 1); })},
      {"cumsum_reverse", modes([](V v) { return cumsum(v[0], 0, true); })},
      {"cumprod", modes([](V v) { return cumprod(v[0], 1); })},
      {"cumprod_zero", modes([](V v) { return cumprod(v[0]); })},
      {"cummax", modes([](V v) { return cummax(v[0]); })},
      {"cummin_reverse", modes([](V v) { return cummin(v[0], 0, true); })},
      {"cumlogsumexp", modes([](V v) { return cumlogsumexp(v[0]); })},
      {"nansum", modes([](V v) { return nansum(v[0]); })},
      {"nanmean", modes([](V v) { return nanmean(v[0]); })},
      {"cov", modes([](V v) { return cov(v[0]); })},
      {"corrcoef", modes([](V v) { return corrcoef(v[0]); })},
      {"diff", modes([](V v) { return diff(v[0], 2); })},
      {"gradient", modes([](V v) { return gradient(v[0]); })},
      {"trapezoid", modes([](V v) { return trapezoid(v[0]); })},
      {"polyval", modes([](V v) { return polyval(v[0], v[1]); })},
      {"interp", modes([](V v) {
         return interp(v[0], array({0.0, 1.0, 2.5}), v[1]);
       })},
  };
}

std::vector<Case> indexing() {
  return {
      {"sort", modes([](V v) { return sort(v[0], 1); })},
      {"sort_ties", modes([](V v) { return sort(v[0], 1); })},
      {"sort_descending", modes([](V v) { return sort(v[0], 0, true); })},
      {"argsort_picks", modes([](V v) { return take(v[0], argsort(v[0])) * arange(5, f64); })},
      {"top_k", modes([](V v) { return top_k(v[0], 3).values; })},
      {"argmax_picks", modes([](V v) { return v[0][argmax(v[0])]; })},
      {"take", modes([](V v) {
         return take(v[0], array({2, 0, 2, 1}));
       })},
      {"take_outside", modes([](V v) {
         return take(v[0], array({5, 0, 1}));
       })},
      {"take_along_axis", modes([](V v) {
         return take_along_axis(v[0], array({{1, 1}, {0, 2}}), 1);
       })},
      {"index_pairs", modes([](V v) {
         return v[0][{array({0, 1, 1}), array({2, 0, 0})}];
       })},
      {"slice_step", modes([](V v) {
         return v[0][Slice{1, 6, 2}];
       })},
      {"slice_negative", modes([](V v) {
         return v[0][{Slice{-3}, Slice{.step = -1}}];
       })},
      {"at_set", modes([](V v) {
         return v[0].at(array({3, 0})).set(v[1]);
       })},
      {"at_add", modes([](V v) {
         return v[0].at(array({3, 0, 3})).add(v[1]);
       })},
      {"at_add_outside", modes([](V v) {
         return v[0].at(array({3, 9})).add(v[1]);
       })},
      {"at_multiply", modes([](V v) {
         return v[0].at({array({3, 0})}).multiply(v[1]);
       })},
      {"dynamic_slice", modes([](V v) {
         return dynamic_slice(v[0], {scalar(1), scalar(0)}, {2, 2});
       })},
      {"dynamic_slice_outside", modes([](V v) { return dynamic_slice(v[0], {scalar(9)}, {2}); })},
      {"dynamic_update_slice", modes([](V v) {
         return dynamic_update_slice(v[0], v[1], {scalar(2), scalar(1)});
       })},
      {"segment_sum", modes([](V v) {
         return segment_sum(v[0], array({0, 2, 0, 1}), 3);
       })},
      {"segment_max", modes([](V v) {
         return segment_max(v[0], array({0, 2, 0, 1}), 3);
       })},
  };
}

std::vector<Case> shapes() {
  return {
      {"roll", modes([](V v) { return roll(v[0], 2, 0); })},
      {"pad_constant", modes([](V v) {
         return pad(v[0], 7.0, {{1, 2}});
       })},
      {"pad_interior", modes([](V v) {
         return pad(v[0], v[1], {{1, -1, 2}});
       })},
      {"pad_edge", modes([](V v) {
         return pad_with(v[0], PadMode::kEdge, {{2, 1}});
       })},
      {"pad_reflect", modes([](V v) {
         return pad_with(v[0], PadMode::kReflect, {{2, 1}});
       })},
      {"pad_symmetric", modes([](V v) {
         return pad_with(v[0], PadMode::kSymmetric, {{2, 1}});
       })},
      {"pad_wrap", modes([](V v) {
         return pad_with(v[0], PadMode::kWrap, {{2, 1}});
       })},
      {"concat", modes([](V v) {
         return concat({v[0], v[1], v[0]}, 1);
       })},
      {"stack", modes([](V v) {
         return stack({v[0], v[1]}, 1);
       })},
      {"tile", modes([](V v) {
         return tile(v[0], {2, 3});
       })},
      {"repeat", modes([](V v) { return repeat(v[0], 3, 0); })},
      {"flip", modes([](V v) { return flip(v[0], 1); })},
      {"transpose", modes([](V v) {
         return transpose(v[0], {2, 0, 1});
       })},
      {"tril", modes([](V v) { return tril(v[0]); })},
      {"diagonal", modes([](V v) { return diagonal(v[0], 1); })},
      {"diag", modes([](V v) { return diag(v[0], 1); })},
      {"kron", modes([](V v) { return kron(v[0], v[1]); })},
      {"outer", modes([](V v) { return outer(v[0], v[1]); })},
      {"cross", modes([](V v) { return cross(v[0], v[1]); })},
      {"split", modes([](V v) { return split(v[0], 3)[1]; })},
      {"broadcast_to", modes([](V v) {
         return broadcast_in_dim(v[0], {3, 2}, 0);
       })},
  };
}

OfTensors convolution(Convolution how) {
  return [how](V v) { return conv(v[0], v[1], how); };
}

std::vector<Case> layers() {
  using nn::dot_product_attention;
  const WindowPadding same = WindowPadding::kSame;
  return {
      {"conv_valid", modes(convolution({}))},
      {"conv_strided", modes(convolution({.strides = {2, 2}, .padding = same}))},
      {"conv_dilated",
       modes(convolution(
           {.padding = {{1, 1}, {2, 0}}, .lhs_dilation = {2, 1}, .rhs_dilation = {1, 2}}))},
      {"conv_grouped", modes(convolution({.padding = same, .feature_groups = 2}))},
      {"conv_transpose", modes([](V v) {
         return conv_transpose(v[0], v[1], {.strides = {2, 2}});
       })},
      {"convolve", modes([](V v) { return convolve(v[0], v[1]); })},
      {"max_pool", modes([](V v) {
         return max_pool(v[0], {.sizes = {2, 2}, .strides = {2, 2}});
       })},
      {"max_pool_overlapping", modes([=](V v) {
         return max_pool(v[0], {.sizes = {3, 3}, .strides = {1, 2}, .padding = same});
       })},
      {"max_pool_ties", modes([](V v) {
         return max_pool(v[0], {.sizes = {2, 2}});
       })},
      {"sum_pool", modes([=](V v) {
         return sum_pool(v[0], {.sizes = {2, 3}, .strides = {1, 2}, .padding = same});
       })},
      {"avg_pool", modes([](V v) {
         return avg_pool(v[0], {.sizes = {2, 2}, .strides = {2, 2}});
       })},
      {"layer_norm",
       modes([](V v) { return nn::layer_norm(v[0], {.scale = v[1], .bias = v[2]}); })},
      {"standardize", modes([](V v) { return nn::standardize(v[0]); })},
      {"glu", modes([](V v) { return nn::glu(v[0]); })},
      {"attention", modes([](V v) { return dot_product_attention(v[0], v[1], v[2]); })},
      {"attention_causal",
       modes([](V v) { return dot_product_attention(v[0], v[1], v[2], {.causal = true}); })},
      {"cross_entropy", modes([](V v) {
         return nn::softmax_cross_entropy_with_integer_labels(v[0], array({2, 0}));
       })},
      {"cross_entropy_second",
       hess([](T x) { return nn::softmax_cross_entropy_with_integer_labels(x, scalar(1)); })},
  };
}

}  // namespace

std::vector<Case> array_cases() { return joined({reductions(), indexing(), shapes(), layers()}); }

}  // namespace heddle::derivatives
