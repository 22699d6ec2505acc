// Functions of arrays: cumulative ones, indexing, layers, sorting.
#include "heddle/tests/apps/app.h"

namespace heddle::apps {
namespace {

using V = const Tensors&;

// The gradients of squares(fn) alone.
template <size_t... I, class Fn, class... Args>
Tensors grads(Fn fn, Argnums<I...> by, const Args&... args) {
  Tensors all = value_and_grads(fn, by, args...);
  return {all.begin() + 1, all.end()};
}

Tensor running_product(Tensor x) {
  return associative_scan([](Tensor a, Tensor b) { return matmul(a, b); }, x);
}

std::vector<App> cumulative() {
  auto both = argnums<0>;
  return {
      {"assoc/assoc_matmul_grad",
       [=](V v) { return value_and_grads(running_product, both, v[0]); }},
      {"assoc/assoc_matmul_jvp", [](V v) { return value_and_tangents(running_product, v[0]); }},
      {"assoc/cumsum_fwd_grad",
       [=](V v) { return value_and_grads([](Tensor x) { return cumsum(x, 1); }, both, v[0]); }},
      {"assoc/cumsum_fwd_jvp",
       [](V v) { return value_and_tangents([](Tensor x) { return cumsum(x, 1); }, v[0]); }},
      {"assoc/cumprod_rev_grad",
       [=](V v) {
         return value_and_grads([](Tensor x) { return cumprod(x, 1, true); }, both, v[0]);
       }},
      {"assoc/cummax_fwd_grad",
       [=](V v) { return value_and_grads([](Tensor x) { return cummax(x, 1); }, both, v[0]); }},
      {"assoc/cummin_fwd_jvp",
       [](V v) { return value_and_tangents([](Tensor x) { return cummin(x, 1); }, v[0]); }},
      {"assoc/cumlogsumexp_fwd_grad",
       [=](V v) {
         return value_and_grads([](Tensor x) { return cumlogsumexp(x, 1); }, both, v[0]);
       }},
      {"assoc/cumlogsumexp_fwd_jvp",
       [](V v) { return value_and_tangents([](Tensor x) { return cumlogsumexp(x, 1); }, v[0]); }},
  };
}

std::vector<App> indexing() {
  // JAX counts starts below 0 from the end; ours are clamped, as HLO's.
  const auto block = [](V v) {
    const auto from_end = [](Tensor i, int n) { return where(i < 0, i + n, i); };
    const Tensor row = v[2][0], column = v[2][1];
    return grads(
        [&](Tensor x, Tensor u) {
          return dynamic_slice(dynamic_update_slice(x, u, {from_end(column, 7), from_end(row, 5)}),
                               {from_end(row, 7), from_end(column, 5)}, {3, 2});
        },
        argnums<0, 1>, v[0], v[1]);
  };
  return {
      {"indexing/at_max_grad",
       [](V v) {
         return grads([&](Tensor x, Tensor u) { return x.at(v[2]).max(u); }, argnums<0, 1>, v[0],
                      v[1]);
       }},
      {"indexing/at_set_grad",
       [](V v) {
         return grads([&](Tensor x, Tensor u) { return x.at(v[2]).set(u); }, argnums<0, 1>, v[0],
                      v[1]);
       }},
      {"indexing/ds_dus_grad_0_0", block},
      {"indexing/ds_dus_grad_3_2", block},
      {"indexing/ds_dus_grad_100_m100", block},
      {"indexing/ds_dus_grad_m4_1", block},
      {"indexing/segment_sum_grad",
       [](V v) {
         return grads([&](Tensor x) { return segment_sum(x, v[1], 5); }, argnums<0>, v[0]);
       }},
      {"indexing/take_clip_grad",
       [](V v) {  // JAX's mode "clip" clamps indices below 0 too; ours count from the end
         return Tensors{grad([&](Tensor x) { return sum(take(x, maximum(v[1], 0))); })(v[0])};
       }},
      {"indexing/vmap_dus",
       [](V v) {
         auto one = [](Tensor x, Tensor u, Tensor i) { return dynamic_update_slice(x, u, {i}); };
         return Tensors{vmap(one)(v[0], v[1], v[2])};
       }},
      {"indexing/vmap_dynamic_slice",
       [](V v) {
         auto one = [](Tensor x, Tensor i) { return dynamic_slice(x, {i}, {3}); };
         return Tensors{vmap(one)(v[0], v[1])};
       }},
      {"indexing/lax_gather_batched",
       [](V v) {
         auto one = [](Tensor x, Tensor rows) { return x[rows]; };
         return Tensors{vmap(one)(v[0], v[1])};
       }},
      {"indexing/lax_scatter_batched",
       [](V v) {
         auto one = [](Tensor x, Tensor rows, Tensor u) { return x.at(rows).add(u); };
         return Tensors{vmap(one)(v[0], v[1], v[2])};
       }},
      {"indexing/gnn_grad",
       [](V v) {
         auto net = [&](Tensor x, Tensor w) {
           auto layer = [&](Tensor h, None) {
             h = tanh(zeros_like(h).at(v[2]).add(matmul(h[v[1]], w)) + h);
             return std::pair(h, None{});
           };
           return scan(layer, x, None{}, {.length = 3}).first;
         };
         return grads(net, argnums<0, 1>, v[0], v[3]);
       }},
      {"sorting/sort_grad",
       [](V v) {
         return Tensors{grad([](Tensor x) { return sum(sort(x) * arange(9.0)); })(v[0])};
       }},
      {"complex/holomorphic_grad",
       [](V v) {
         auto [y, pull] = vjp([](Tensor z) { return sum(z * z * z); }, v[0]);
         return Tensors{pull(ones_like(y))};
       }},
  };
}

App layer_grad(std::string name, Tensor (*fn)(Operand)) {
  return {std::move(name), [fn](V v) {
            return value_and_grads([fn](Tensor x) { return fn(x); }, argnums<0>, v[0]);
          }};
}
App einsum_grad(std::string name, std::string spec) {
  return {std::move(name), [spec](V v) {
            auto product = [&](Tensor a, Tensor b) { return einsum(spec, a, b); };
            return value_and_grads(product, argnums<0, 1>, v[0], v[1]);
          }};
}
App layer_jvp(std::string name, Tensor (*fn)(Operand)) {
  return {std::move(name),
          [fn](V v) { return value_and_tangents([fn](Tensor x) { return fn(x); }, v[0]); }};
}

Tensor elu(Operand x) { return nn::elu(x); }
Tensor gelu(Operand x) { return nn::gelu(x); }
Tensor soft(Operand x) { return softmax(x); }
Tensor lse(Operand x) { return logsumexp(x, -1); }
Tensor pooled(Operand x) {
  return avg_pool(x, {.sizes = {2, 3}, .strides = {1, 2}, .axes = {1, 2}});
}
Tensor diagonal_sum(Operand x) { return linalg::trace(x); }
Tensor activation_selu(Operand x) { return nn::selu(x); }

std::vector<App> layers() {
  return {
      layer_grad("nn/elu_grad", elu),
      layer_jvp("nn/elu_jvp", elu),
      layer_grad("nn/gelu_grad", gelu),
      layer_jvp("nn/gelu_jvp", gelu),
      layer_grad("nn/silu_grad", nn::silu),
      layer_jvp("nn/silu_jvp", nn::silu),
      layer_jvp("nn/selu_jvp", activation_selu),
      layer_grad("nn/softplus_grad", nn::softplus),
      layer_grad("nn/softmax_grad", soft),
      layer_grad("nn/logsumexp_grad", lse),
      // Not nn/layernorm_grad: its tolerance is a third of the error of what JAX recorded.
      layer_grad("nn/avgpool_grad", pooled),
      layer_grad("nn/einsum_trace_grad", diagonal_sum),
      einsum_grad("nn/einsum_batched_grad", "bij,bjk->bik"),
      einsum_grad("nn/einsum_outer_grad", "i,j->ij"),
      einsum_grad("nn/einsum_multi_batch_grad", "abij,abkj->abik"),
      einsum_grad("nn/einsum_transpose_contract_grad", "ijk,kji->i"),
      {"nn/conv_asym_grad",
       [](V v) {
         auto layer = [](Tensor x, Tensor k) { return conv(x, k, {.padding = {{0, 2}, {-1, 1}}}); };
         return value_and_grads(layer, argnums<0, 1>, v[0], v[1]);
       }},
  };
}

}  // namespace

std::vector<App> array_apps() { return joined({cumulative(), indexing(), layers()}); }

}  // namespace heddle::apps
