// Attention is two dots with a softmax between them. Grouped heads are a separate axis, so keys and
// values are never repeated.
#include "heddle/nn/attention.h"

#include <cmath>

#include "heddle/hlo/dimensions.h"
#include "heddle/nn/internal/formula.h"
#include "heddle/numpy/float_limits.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"

namespace heddle::nn {
namespace {

constexpr std::string_view kOp = "nn::dot_product_attention";

struct Sizes {
  Dimensions batch;
  int64_t queries, keys, heads, groups, size, value_size;  // T, S, N, K, H, D
  [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(batch.size()); }
  // batch, then `rest`.
  [[nodiscard]] Dimensions with(const Dimensions& rest) const {
    Dimensions out = batch;
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }
};

Dimensions batch_of(const Tensor& t) {
  return {t.shape().dimensions().begin(), t.shape().dimensions().end() - 3};
}

[[noreturn]] void throw_operands(const Tensor& q, const Tensor& k, const Tensor& v,
                                 std::string_view rule) {
  trace_internal::refuse("query, key and value are ", q.shape(), ", ", k.shape(), " and ",
                         v.shape(), "; ", rule);
}

Sizes checked_sizes(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.rank() < 3 || k.rank() != q.rank() || v.rank() != q.rank())
    throw_operands(q, k, v, "they must be [.., T, N, H], [.., S, K, H] and [.., S, K, D]");
  if (q.dtype() != k.dtype() || q.dtype() != v.dtype())
    throw_operands(q, k, v, "their dtypes must be equal, cast them with astype");
  if (batch_of(q) != batch_of(k) || batch_of(q) != batch_of(v))
    throw_operands(q, k, v, "their leading axes must be equal");
  if (k.dim(-3) != v.dim(-3) || k.dim(-2) != v.dim(-2))
    throw_operands(q, k, v, "key and value must have one length and as many heads");
  if (q.dim(-1) != k.dim(-1)) throw_operands(q, k, v, "heads of query and key must have one size");
  if (k.dim(-2) == 0 || q.dim(-2) % k.dim(-2) != 0)
    throw_operands(q, k, v,
                   "the heads of the query must be a multiple of those of key and value, which are "
                   "[.., T, N, H]; swapaxes(x, -2, -3) makes that of [.., N, T, H]");
  return {.batch = batch_of(q),
          .queries = q.dim(-3),
          .keys = k.dim(-3),
          .heads = q.dim(-2),
          .groups = k.dim(-2),
          .size = q.dim(-1),
          .value_size = v.dim(-1)};
}

// 0 .. rank - 1, then `rest` counted from there.
std::vector<int64_t> after_batch(int64_t rank, const std::vector<int64_t>& rest) {
  std::vector<int64_t> axes = consecutive_dimensions(rank);
  for (int64_t i : rest) axes.push_back(rank + i);
  return axes;
}

// [.., T, N, H] x [.., S, K, H] -> [.., N, T, S], in f32 at least.
Expr scores_of(const Expr& q, const Expr& k, const Sizes& n) {
  DType wide = q.dtype() == f64 ? f64 : f32;
  int64_t per_group = n.heads / n.groups;
  Tensor grouped = reshape(q.operand(), n.with({n.queries, n.groups, per_group, n.size}));
  Tensor dots = dot_general(grouped, k.operand(),
                            {.lhs_contracting = {-1},
                             .rhs_contracting = {-1},
                             .lhs_batch = after_batch(n.rank(), {1}),
                             .rhs_batch = after_batch(n.rank(), {1})},
                            wide);  // [.., K, T, G, S]
  Tensor ordered = transpose(dots, after_batch(n.rank(), {0, 2, 1, 3}));
  return reshape(ordered, n.with({n.heads, n.queries, n.keys}));
}

// [.., N, T, S] x [.., S, K, D] -> [.., T, N, D].
Expr weighted_values(const Expr& weights, const Expr& v, const Sizes& n) {
  int64_t per_group = n.heads / n.groups;
  Tensor grouped = reshape(weights.operand(), n.with({n.groups, per_group, n.queries, n.keys}));
  Tensor dots = dot_general(grouped, v.operand(),
                            {.lhs_contracting = {-1},
                             .rhs_contracting = {-3},
                             .lhs_batch = after_batch(n.rank(), {0}),
                             .rhs_batch = after_batch(n.rank(), {1})});  // [.., K, G, T, D]
  Tensor ordered = transpose(dots, after_batch(n.rank(), {2, 0, 1, 3}));
  return reshape(ordered, n.with({n.queries, n.heads, n.value_size}));
}

// An option that must broadcast to the scores.
void check_option(std::string_view name, const Tensor& option, bool right_dtype,
                  std::string_view dtype, const Sizes& n) {
  Dimensions scores = n.with({n.heads, n.queries, n.keys});
  bool fits = option.rank() <= n.rank() + 3;
  for (int64_t i = 1; fits && i <= option.rank(); ++i) {
    int64_t size = option.dim(-i);
    fits = size == 1 || size == scores[scores.size() - static_cast<size_t>(i)];
  }
  if (fits && right_dtype) return;
  trace_internal::refuse(name, " is ", option.shape(), "; it must be of ", dtype,
                         " and broadcast to the scores, [", base::join(scores, ","), "]",
                         dtype == "pred" && !right_dtype
                             ? "; write mask != 0, or give what adds to the scores as .bias"
                             : "");
}

Expr masked(const Expr& scores, const Attention& how, const Sizes& n) {
  double excluded = -0.7 * float_limits(scores.dtype()).largest;
  Expr out = scores;
  if (how.mask.is_valid()) out = where(Expr(how.mask), out, excluded);
  if (how.causal) {
    Dimensions square{n.queries, n.keys};
    Expr query = iota(s32, square, 0);
    Expr key = iota(s32, square, 1);
    out = where(query >= key, out, excluded);
  }
  return out;
}

}  // namespace

Tensor dot_product_attention(Operand query, Operand key, Operand value, const Attention& how) {
  const PublicCall call("nn::dot_product_attention", query.at());
  Expr q = floating("query", query);
  Expr k = floating("key", key);
  Expr v = floating("value", value);
  Sizes n = checked_sizes(q.tensor(), k.tensor(), v.tensor());
  if (how.mask.is_valid()) check_option("mask", how.mask, how.mask.dtype() == pred, "pred", n);
  if (how.bias.is_valid())
    check_option("bias", how.bias, is_floating(how.bias.dtype()), "floats", n);
  return formula(kOp, [&] {
    double scale = how.scale.value_or(1 / std::sqrt(static_cast<double>(n.size)));
    Expr scores = scores_of(q, k, n) * scale;
    if (how.bias.is_valid()) scores = scores + Expr(how.bias).astype(scores.dtype());
    Expr weights(softmax(masked(scores, how, n).operand()));
    return weighted_values(weights.astype(v.dtype()), v, n);
  });
}

}  // namespace heddle::nn
