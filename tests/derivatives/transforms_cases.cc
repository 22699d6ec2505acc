// Transforms of transforms: jvp of grad, grad of vmap, Jacobians, rules of one's own, examples.
#include "heddle/tests/derivatives/cases.h"

namespace heddle::derivatives {
namespace {

using Pair = std::pair<Tensor, Tensor>;

// R^3 -> R^2, and a number.
Tensor f3(Tensor x) { return stack({x[0] * sin(x[1]), exp(x[2]) * pow(x[0], 2)}); }
Tensor g3(Tensor x) { return weigh(f3(x)) * x[1]; }

// fn(v[0]), as a case.
template <class Fn>
Run of_one(Fn fn) {
  return [fn](V v) { return flatten(fn(v[0])); };
}
template <class Fn>
Run of_two(Fn fn) {
  return [fn](V v) { return flatten(fn(v[0], v[1])); };
}
template <class Fn>
auto along(Fn fn, T x, T t) {
  return jvp(fn, std::tuple(x), std::tuple(t));
}

std::vector<Case> derivatives() {
  auto weighed = [](auto fn) { return [fn](Tensor x) { return weigh(fn(x)); }; };
  auto product = [](Tensor a, Tensor b) { return weigh(a * sin(b)); };
  auto slope = [](T x, T t) { return along(f3, x, t).second; };
  return {
      {"grad", of_one(grad(g3))},
      {"grad_grad", of_one(grad(weighed(grad(g3))))},
      {"grad_grad_grad", of_one(grad(weighed(grad(weighed(grad(g3))))))},
      {"value_and_grad", of_one(value_and_grad(g3))},
      {"grad_aux", of_one(grad([](Tensor x) { return Pair(g3(x), x * 2.0); }))},
      {"grad_two", of_two(grad(product, argnums<0, 1>))},
      {"grad_second_argument", of_two(grad(product, argnums<1>))},
      {"grad_of_a_pair",
       [](V v) {
         auto loss = [](Pair p) { return weigh(matmul(p.first, p.second)); };
         return flatten(grad(loss)(Pair(v[0], v[1])));
       }},
      {"jvp", of_two([](T x, T t) { return along(f3, x, t); })},
      {"jvp_of_jvp",
       of_two([=](T x, T t) { return along([&](Tensor x) { return slope(x, t); }, x, t); })},
      {"jvp_of_grad", of_two([](T x, T t) { return along(grad(g3), x, t); })},
      {"grad_of_jvp",
       of_two([=](T x, T t) { return grad([&](Tensor x) { return weigh(slope(x, t)); })(x); })},
      {"vjp", of_two([](T x, T ct) { return vjp(f3, x).second(ct); })},
      {"linearize", of_two([](T x, T t) { return linearize(f3, x).second(t); })},
      {"jacfwd", of_one(jacfwd(f3))},
      {"jacrev", of_one(jacrev(f3))},
      {"jacfwd_of_jacrev", of_one(jacfwd(jacrev(f3)))},
      {"jacrev_of_jacfwd", of_one(jacrev(jacfwd(f3)))},
      {"hessian", of_one(hessian(g3))},
      {"hessian_of_matrix", of_one(hessian([](Tensor a) { return weigh(matmul(a, a)); }))},
      {"jacobian_of_matrix", of_one(jacrev([](Tensor a) { return matmul(a, transpose(a)); }))},
      {"grad_of_hessian_trace",
       of_one(grad([](Tensor x) { return linalg::trace(hessian(g3)(x)); }))},
      {"laplacian", of_one([](T x) {
         auto second = [&](Tensor e) { return dot(e, along(grad(g3), x, e).second); };
         return sum(vmap(second)(eye(3, f64)));
       })},
      {"implicit", of_one(grad([](Tensor a) { return pow(sqrt(a), 3); }))},
  };
}

// Jacobians of trees
// --------------------------------------------------------------------------------

Tensor layer(Tensor w, Tensor b, Tensor x) { return tanh(matmul(w, x) + b); }

// The last state and all outputs of a scan.
auto carried(const Pair& start, const Tensor& xs) {
  const auto step = [](const Pair& s, Tensor v) {
    return std::pair(Pair(s.first * v, sin(matmul(s.second, s.first)) + v),
                     Pair(s.second * v, sum(square(s.first))));
  };
  return scan(step, start, xs);
}

// The Jacobians in one mode: mode(fn, options..) is jacrev or jacfwd.
template <class Mode>
std::vector<Case> jacobians(const std::string& name, Mode mode) {
  const auto by_pair = [=](auto fn, V v) { return flatten(mode(fn)(Pair(v[0], v[1]))); };
  return {
      {name + "by_tree",
       [=](V v) { return by_pair([&](Pair c) { return layer(c.first, c.second, v[2]); }, v); }},
      {name + "of_tree",
       of_one(mode([](Tensor x) { return Pair(outer(x, square(x)), sum(x * x * x)); }))},
      {name + "of_tree_by_tree",
       [=](V v) {
         const auto fn = [](Pair c) {
           const auto& [w, b] = c;
           return std::tuple(matmul(w, transpose(w)), Pair(sum(square(b)), b * w[{Slice{}, 0}]));
         };
         return by_pair(fn, v);
       }},
      {name + "argnums",
       [=](V v) { return flatten(mode(layer, argnums<2, 0>)(v[0], v[1], v[2])); }},
      {name + "aux",
       [=](V v) {
         const auto fn = [](Tensor w, Tensor b, Tensor x) {
           return Pair(layer(w, b, x), argmax(x).astype(s64));
         };
         return flatten(mode(fn, argnums<1>, has_aux)(v[0], v[1], v[2]));
       }},
      {name + "of_scan_by_tree",
       [=](V v) { return by_pair([&](Pair c) { return carried(c, v[2]); }, v); }},
      {name + "by_tree_in_lanes",
       [=](V v) {
         const auto one = mode([&](Pair c) { return layer(c.first, c.second, v[2]); });
         return flatten(vmap(one, {.in_axes = {{kNoAxis, 0}}})(Pair(v[0], v[1])));
       }},
  };
}

std::vector<Case> hessians() {
  const auto by_pair = [](auto fn, V v) { return flatten(hessian(fn)(Pair(v[0], v[1]))); };
  return {
      {"hessian_by_tree",
       [=](V v) {
         return by_pair([&](Pair c) { return weigh(square(layer(c.first, c.second, v[2]))); }, v);
       }},
      {"hessian_argnums",
       [](V v) {
         const auto fn = [](Tensor w, Tensor b, Tensor x) { return weigh(layer(w, b, x)); };
         return flatten(hessian(fn, argnums<2, 1>)(v[0], v[1], v[2]));
       }},
      {"hessian_aux", of_one(hessian([](Tensor x) { return Pair(g3(x), f3(x)); }))},
      {"hessian_of_scan_by_tree",
       [=](V v) {
         return by_pair([&](Pair c) { return weigh(carried(c, v[2]).first.second); }, v);
       }},
  };
}

std::vector<Case> batches() {
  auto mapped = [](auto fn) { return [fn](Tensor xs) { return weigh(vmap(fn)(xs)); }; };
  auto product = [](Tensor a, Tensor b) { return a * sin(b); };
  return {
      {"vmap_grad", of_one(vmap(grad(g3)))},
      {"grad_vmap", of_one(grad(mapped(f3)))},
      {"vmap_hessian", of_one(vmap(hessian(g3)))},
      {"hessian_vmap", of_one(hessian(mapped(f3)))},
      {"vmap_jacrev", of_one(vmap(jacrev(f3)))},
      {"vmap_jvp",
       of_two(vmap([](Tensor x, Tensor t) { return along(f3, x, t); }, {.in_axes = {0, kNoAxis}}))},
      {"vmap_vmap",
       of_two(vmap(vmap(product, {.in_axes = {kNoAxis, 0}}), {.in_axes = {0, kNoAxis}}))},
      {"vmap_axes", of_two(vmap([](Tensor a, Tensor b) { return matmul(a, b); },
                                {.in_axes = {1, -1}, .out_axes = 1}))},
      {"vmap_none",
       of_two(vmap([](Tensor a, Tensor b) { return a + b; }, {.in_axes = {kNoAxis, 0}}))},
      {"vmap_matmul_shared",
       of_two(vmap([](Tensor a, Tensor b) { return matmul(a, b); }, {.in_axes = {0, kNoAxis}}))},
      {"vmap_solve", of_one(vmap([](Tensor a) { return linalg::cholesky(a); }))},
      {"vmap_sort", of_one(vmap([](Tensor x) { return sort(x); }))},
      {"vmap_argsort_take", of_one(vmap([](Tensor x) {
         return x[argsort(x)[Slice{0, 2}]];
       }))},
      {"vmap_index", of_two(vmap([](Tensor x, Tensor i) { return x[i]; }))},
      {"vmap_at_add", of_two(vmap([](Tensor x, Tensor i) { return x.at(i).add(1.0); }))},
      {"vmap_dynamic_slice",
       of_two(vmap([](Tensor x, Tensor i) { return dynamic_slice(x, {i}, {2}); }))},
      {"vmap_where", of_two(vmap([](Tensor p, Tensor x) { return where(p > 0.0, x, 0.0); }))},
      {"vmap_cumsum", of_one(vmap([](Tensor x) { return cumsum(x); }))},
      {"vmap_fft", of_one(vmap([](Tensor x) { return abs(fft(x)); }))},
      {"vmap_conv", of_two(vmap([](Tensor x, Tensor k) { return convolve(x, k); }))},
      {"vmap_psum", of_one(vmap([](Tensor x) { return x / psum(x, "i"); }, {.axis_name = "i"}))},
      {"vmap_pmean_grad", of_one(vmap(grad([](Tensor x) { return sin(x) * stop_gradient(x); })))},
      {"vmap_axis_index",
       of_one(vmap([](Tensor x) { return x * axis_index("i").astype(f64); }, {.axis_name = "i"}))},
      {"grad_psum", of_one(grad([](Tensor xs) {
         return weigh(vmap([](Tensor x) { return x * psum(x * x, "i"); }, {.axis_name = "i"})(xs));
       }))},
  };
}

Tensor loss(Tensor w, Tensor x, Tensor y) { return sum(square(tanh(matmul(x, w)) - y)); }

std::vector<Case> examples() {
  auto each = vmap(grad(loss), {.in_axes = {kNoAxis, 0, 0}});
  return {
      {"per_example_gradients", [=](V v) { return Tensors{each(v[0], v[1], v[2])}; }},
      {"per_example_norms",
       [=](V v) {
         return Tensors{sqrt(sum(square(each(v[0], v[1], v[2])), {1, 2}))};
       }},
      {"gauss_newton", of_two([](T w, T x) {
         auto net = [&](Tensor w) { return ravel(tanh(matmul(x, reshape(w, {3, 2})))); };
         const Tensor j = jacrev(net)(w);
         return matmul(transpose(j), j);
       })},
      {"hessian_vector",
       [](V v) {
         auto mean_loss = [&](Tensor w) {
           return mean(vmap(loss, {.in_axes = {kNoAxis, 0, 0}})(w, v[2], v[3]));
         };
         return Tensors{along(grad(mean_loss), v[0], v[1]).second};
       }},
      {"meta_gradient", of_one(grad([](Tensor w) {
         const Tensor xs = some({5, 3}, 1), ys = some({5, 2}, 2);
         return loss(w - 0.1 * grad(loss)(w, xs[0], ys[0]), xs[1], ys[1]);
       }))},
  };
}

std::vector<Case> own_rules() {
  auto clamped = custom_jvp([](Tensor x) { return maximum(x, 0.0); },
                            [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
                              const Tensor y = maximum(std::get<0>(x), 0.0);
                              return Pair(y, std::get<0>(dx) * (1.0 + 0.1 * y));
                            });
  auto doubled =
      custom_vjp([](Tensor x) { return sin(x); }, [](Tensor x) { return Pair(sin(x), x); },
                 [](Tensor x, Tensor ct) { return 2.0 * ct * cos(x); });
  auto folded = [](auto fn) {
    return grad([fn](Tensor x) {
      auto step = [&](Tensor c, Tensor v) { return std::pair(fn(c * v), None{}); };
      return scan(step, x, some({3})).first;
    });
  };
  auto inner = grad([=](Tensor x) { return weigh(doubled(x)); });
  return {
      {"custom_jvp", of_one([=](T x) { return along(clamped, x, x + 1.0); })},
      {"custom_jvp_grad", of_one(grad([=](Tensor x) { return weigh(clamped(x) * x); }))},
      {"custom_jvp_second", of_one(hessian([=](Tensor x) { return weigh(clamped(x)); }))},
      {"custom_jvp_vmap", of_one(vmap(grad(clamped)))},
      {"custom_jvp_in_scan", of_one(folded(clamped))},
      {"custom_vjp", of_one(grad([=](Tensor x) { return weigh(doubled(x * x)); }))},
      {"custom_vjp_vmap", of_one(vmap(grad(doubled)))},
      {"custom_vjp_second", of_one(grad([=](Tensor x) { return weigh(inner(x)); }))},
      {"custom_vjp_in_scan", of_one(folded(doubled))},
      {"complex_to_real", of_one(grad([](Tensor z) { return sum(square(abs(z)) * real(z)); }))},
      {"holomorphic", of_one([](T z) {
         auto [y, pull] = vjp([](Tensor z) { return sum(pow(z, 3)); }, z);
         return pull(ones_like(y));
       })},
      {"complex_jacobian", of_one(jacfwd([](Tensor x) { return abs(fft(x)); }))},
      {"vmap_complex_grad", of_one(vmap(grad([](Tensor z) { return abs(exp(z)); })))},
  };
}

}  // namespace

std::vector<Case> transform_cases() {
  const auto rows = [](auto fn, auto... options) { return jacrev(fn, options...); };
  const auto columns = [](auto fn, auto... options) { return jacfwd(fn, options...); };
  return joined({derivatives(), jacobians("jacrev_", rows), jacobians("jacfwd_", columns),
                 hessians(), batches(), examples(), own_rules()});
}

}  // namespace heddle::derivatives
