// Loops and branches: derivatives of each kind, of each mode, and batched ones.
#include "heddle/tests/derivatives/cases.h"

namespace heddle::derivatives {
namespace {

using Pair = std::pair<Tensor, Tensor>;

Pair cell(Tensor h, Tensor x) {
  h = tanh(0.9 * h + x);
  return {h, h * x};
}

// The last carry and the ys as one array.
Tensor both(const Pair& result) { return concat({expand_dims(result.first, 0), result.second}); }
Run scanned(ScanOptions options = {}) {
  return modes([=](V v) { return both(scan(cell, v[0], v[1], options)); });
}

Tensor nested(Tensor h, Tensor xss) {
  auto outer = [](Tensor h, Tensor xs) {
    auto [last, ys] = scan(cell, h, xs);
    return Pair(last * 0.5, sum(ys, 0));
  };
  return both(scan(outer, h, xss));
}

std::vector<Case> scans() {
  const auto zero = zeros({3}, f64);
  return {
      {"scan", scanned()},
      {"scan_reverse", scanned({.reverse = true})},
      {"scan_unroll_2", scanned({.unroll = 2})},
      {"scan_unroll_all", scanned({.unroll = ScanOptions::kUnrollAll})},
      {"scan_length_0", modes([](V v) { return scan(cell, v[0], v[1]).first * 2.0; })},
      {"scan_length_1", scanned()},
      {"scan_no_ys", modes([](V v) {
         auto step = [](Tensor h, Tensor x) { return std::pair(sin(h + x), None{}); };
         return scan(step, v[0], v[1]).first;
       })},
      {"scan_no_xs", modes([](V v) {
         auto step = [](Tensor h, None) { return Pair(cos(h), h); };
         return scan(step, v[0], None{}, {.length = 4}).second;
       })},
      {"scan_no_carry", modes([](V v) { return map([](Tensor x) { return sin(x) * x; }, v[0]); })},
      {"scan_captured", modes([=](V v) {
         auto step = [&](Tensor h, Tensor x) { return Pair(tanh(matmul(h, v[0]) + x), h); };
         return both(scan(step, zero, v[1]));
       })},
      {"scan_pair_carry", modes([](V v) {
         auto step = [](Pair c, None) {
           return std::pair(Pair(c.second, c.first * 0.5 + sin(c.second)), None{});
         };
         const Pair last = scan(step, Pair(v[0], v[1]), None{}, {.length = 6}).first;
         return last.first * last.second;
       })},
      {"scan_int_in_carry", modes([](V v) {
         auto step = [](Pair c, None) {
           return std::pair(Pair(c.first * (1.0 + 0.1 * c.second.astype(f64)), c.second + 1),
                            None{});
         };
         return scan(step, Pair(v[0], scalar(0)), None{}, {.length = 4}).first.first;
       })},
      {"scan_passthrough", modes([](V v) {
         auto step = [](Pair c, None) {
           return std::pair(Pair(c.first, c.second * c.first), None{});
         };
         return scan(step, Pair(v[0], v[1]), None{}, {.length = 3}).first.second;
       })},
      {"scan_stacked_inputs", modes([=](V v) {
         return scan([](Tensor c, Tensor x) { return Pair(c + x * x, c * x); }, zero, v[0]).second;
       })},
      {"scan_axis_1",
       modes([](V v) { return map([](Tensor x) { return cumsum(x) * x; }, v[0], {.axis = 1}); })},
      {"scan_dus_carry", modes([](V v) {
         auto step = [](Tensor i, Tensor a) { return a.at(i + 1).set(sin(a[i]) + a[i + 1]); };
         return fori_loop(0, 4, step, v[0]);
       })},
      {"scan_second", second([](T h) {
         return scan(cell, h, some({4, 3}, 1)).first;
       })},
      {"scan_ys_second", second([](T h) {
         return scan(cell, h, some({4, 3}, 1)).second;
       })},
      {"scan_nested", modes([](V v) { return nested(v[0], v[1]); })},
      {"scan_nested_second", second([](T h) {
         return nested(h, some({2, 2, 3}, 1));
       })},
      {"scan_checkpoint_step", modes([](V v) { return both(scan(checkpoint(cell), v[0], v[1])); })},
      {"scan_checkpoint_blocks", scanned({.checkpoint = every(3)})},
      {"scan_checkpoint_recursive", scanned({.checkpoint = recursive(3)})},
      {"checkpoint",
       modes([](V v) { return checkpoint([](Tensor x) { return sin(exp(x)) * x; })(v[0]); })},
      {"map", modes([](V v) { return map([](Tensor x) { return ravel(outer(x, x)); }, v[0]); })},
      {"scan_layers", modes([](V v) {
         auto layer = [](Tensor w, Tensor x) { return tanh(matmul(x, w)); };
         return scan_layers(layer, v[0], v[1]);
       })},
      {"scan_complex", modes([](V v) {
         auto step = [](Tensor h, Tensor z) { return std::pair(h * z + 1.0, None{}); };
         return abs(scan(step, ones({}, c128), v[0]).first);
       })},
  };
}

std::vector<Case> whiles() {
  const auto small = [](double bound) { return [=](Tensor x) { return sum(x * x) < bound; }; };
  const auto grow = [](Tensor x) { return x * 1.5 + 0.1; };
  return {
      {"fori", modes([](V v) {
         auto step = [](Tensor i, Tensor x) { return sin(x) * (i + 1).astype(f64); };
         return fori_loop(0, 5, step, v[0]);
       })},
      {"fori_dynamic", forward([](V v) {
         auto step = [](Tensor i, Tensor x) { return sin(x) + i.astype(f64); };
         return fori_loop(scalar(0), argmax(v[0]) + 2, step, v[0]);
       })},
      {"while", forward([=](V v) { return while_loop(small(100), grow, v[0]); })},
      {"while_pair", forward([](V v) {
         auto step = [&](Pair c) { return Pair(c.first + 1, sin(c.second) * v[0]); };
         return while_loop([](Pair c) { return c.first < 4; }, step, Pair(scalar(0), v[0])).second;
       })},
      {"while_max_steps",
       modes([=](V v) { return while_loop(small(9), grow, v[0], {.max_steps = 12}); })},
      {"while_max_steps_sqrt", modes([](V v) {
         auto far = [&](Tensor x) { return abs(x * x - v[0]) > 1e-12; };
         auto step = [&](Tensor x) { return 0.5 * (x + v[0] / x); };
         return while_loop(far, step, v[0], {.max_steps = 9});
       })},
  };
}

Tensor branch(Tensor p, Tensor x) {
  return cond(
      p, [](Tensor x) { return sin(x) * x; }, [](Tensor x) { return pow(x, 3); }, x);
}

Tensor switched(Tensor which, Tensor x) {
  return switch_case(which,
                     std::tuple([](Tensor x) { return x * 2.0; }, [](Tensor x) { return exp(x); },
                                [](Tensor x) { return x * x * x; }),
                     x);
}
Run at_branch(int32_t which) {
  return modes([=](V v) { return switched(scalar(which), v[0]); });
}

std::vector<Case> branches() {
  return {
      {"cond_true", modes([](V v) { return branch(v[0][0] < 5.0, v[0]); })},
      {"cond_false", modes([](V v) { return branch(v[0][0] > 5.0, v[0]); })},
      {"cond_captured", modes([](V v) {
         return cond(
             v[0][0] < 5.0, [&] { return v[0] * v[1]; }, [&] { return v[0] - v[1]; });
       })},
      {"cond_constant_branch", modes([](V v) {
         return cond(
             v[0][0] > 5.0, [](Tensor x) { return x * x; }, [](Tensor) { return ones({3}, f64); },
             v[0]);
       })},
      {"cond_nan_not_taken", modes([](V v) {
         return cond(
             v[0][0] < 5.0, [](Tensor x) { return x * x; }, [](Tensor x) { return sqrt(x - 9.0); },
             v[0]);
       })},
      {"cond_in_scan", modes([](V v) {
         auto step = [](Tensor h, Tensor x) { return Pair(branch(x[0] > 0.0, h + x), h); };
         return both(scan(step, v[0], v[1]));
       })},
      {"scan_in_cond", modes([](V v) {
         return cond(
             v[0][0] < 5.0, [&] { return scan(cell, v[0], v[1]).first; }, [&] { return v[0]; });
       })},
      {"switch_-1", at_branch(-1)},
      {"switch_0", at_branch(0)},
      {"switch_1", at_branch(1)},
      {"switch_2", at_branch(2)},
      {"switch_7", at_branch(7)},
      {"switch_in_scan", modes([](V v) {
         auto step = [](Tensor h, Tensor i) { return Pair(switched(i, h) * 0.5, h); };
         return scan(step, v[0], array({0, 1, 2, 1})).second;
       })},
      {"cond_second", second([](T x) { return branch(x[0] < 5.0, x); })},
  };
}

Tensor affine(Tensor a, Tensor b) {
  auto compose = [](Pair s, Pair t) {
    return Pair(s.first * t.first, t.first * s.second + t.second);
  };
  return associative_scan(compose, Pair(a, b)).second;
}

std::vector<Case> associative() {
  return {
      {"associative_sum", modes([](V v) { return associative_scan(add, v[0]); })},
      {"associative_matmul", modes([](V v) {
         return associative_scan([](Tensor a, Tensor b) { return matmul(a, b); }, v[0]);
       })},
      {"associative_reverse",
       modes([](V v) { return associative_scan(multiply, v[0], {.reverse = true}); })},
      {"associative_affine", modes([](V v) { return affine(v[0], v[1]); })},
      {"associative_second", second([](T a) { return affine(a, some({4}, 1)); })},
  };
}

// A vmap of two arguments.
template <class Fn>
Run batched(Fn fn, VmapOptions options = {}) {
  return [=](V v) { return flatten(vmap(fn, options)(v[0], v[1])); };
}
template <class Fn>
Run batched_one(Fn fn) {
  return [=](V v) { return flatten(vmap(fn)(v[0])); };
}

std::vector<Case> batches() {
  const auto run = [](Tensor h, Tensor xs) { return scan(cell, h, xs); };
  const auto grow = [](Tensor x) {
    return while_loop([](Tensor x) { return x < 9.0; }, [](Tensor x) { return x * x + 1.0; }, x);
  };
  const auto gradient = grad([=](Tensor h, Tensor xs) { return weigh(both(run(h, xs))); });
  const VmapOptions first_alone{.in_axes = {0, kNoAxis}};
  return {
      {"vmap_scan", batched(run)},
      {"vmap_scan_shared_xs", batched(run, first_alone)},
      {"vmap_scan_shared_h", batched(run, {.in_axes = {kNoAxis, 2}})},
      {"vmap_scan_out_axes", batched(run, {.in_axes = {0, kNoAxis}, .out_axes = {1, -1}})},
      {"vmap_while", batched_one([](Tensor n) {
         auto step = [](Pair c) { return Pair(c.first + 1, c.second * 1.5); };
         return while_loop([&](Pair c) { return c.first < n; }, step, Pair(scalar(0), scalar(1.0)))
             .second;
       })},
      {"vmap_while_float", batched_one(grow)},
      {"vmap_fori_dynamic", batched([](Tensor n, Tensor x) {
         return fori_loop(
             0, n, [](Tensor i, Tensor x) { return x * 0.5 + i.astype(f64); }, x);
       })},
      {"vmap_cond", batched([](Tensor p, Tensor x) { return branch(p > 0.0, x); })},
      {"vmap_cond_shared",
       batched([](Tensor p, Tensor x) { return branch(p > 0.0, x); }, {.in_axes = {kNoAxis, 0}})},
      {"vmap_switch", batched(switched)},
      {"vmap_associative", batched(affine)},
      {"vmap_map", batched_one([](Tensor xs) { return map(sin, xs); })},
      {"vmap_grad_scan", batched(gradient, first_alone)},
      {"vmap_jvp_while",
       batched_one([=](Tensor x) { return jvp(grow, std::tuple(x), std::tuple(ones_like(x))); })},
      {"vmap_grad_cond", batched_one(grad([](Tensor x) { return branch(x > 0.0, x); }))},
      {"vmap_vmap_scan",
       batched(vmap([=](Tensor h, Tensor xs) { return run(h, xs).first; }, first_alone))},
      {"grad_vmap_scan",
       [=](V v) {
         auto each = vmap([&](Tensor h) { return both(run(h, v[1])); });
         return Tensors{grad([&](Tensor h) { return weigh(each(h)); })(v[0])};
       }},
      {"vmap_in_scan",
       [](V v) {
         auto step = [](Tensor h, Tensor x) {
           return std::pair(vmap([&](Tensor a) { return sin(a) * x[0]; })(h), None{});
         };
         return Tensors{scan(step, v[0], v[1]).first};
       }},
      {"grad_in_scan",
       [](V v) {
         auto slope = grad([](Tensor x) { return weigh(pow(x, 4)); });
         auto step = [&](Tensor x, None) { return Pair(x - 0.1 * slope(x), x); };
         return Tensors{scan(step, v[0], None{}, {.length = 5}).second};
       }},
      {"jacfwd_scan",
       [=](V v) { return Tensors{jacfwd([&](Tensor h) { return run(h, v[1]).second; })(v[0])}; }},
      {"jacrev_scan",
       [=](V v) { return Tensors{jacrev([&](Tensor h) { return run(h, v[1]).second; })(v[0])}; }},
      {"jacfwd_while",
       [](V v) {
         auto loop = [](Tensor x) {
           return while_loop([](Tensor x) { return sum(x * x) < 100.0; },
                             [](Tensor x) { return x * roll(x, 1) + 1.0; }, x);
         };
         return Tensors{jacfwd(loop)(v[0])};
       }},
  };
}

}  // namespace

std::vector<Case> loop_cases() {
  return joined({scans(), whiles(), branches(), associative(), batches()});
}

}  // namespace heddle::derivatives
