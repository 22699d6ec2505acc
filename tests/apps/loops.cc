// Loops and branches: scans in all their forms, whiles with lanes, derivatives of both.
#include "heddle/tests/apps/app.h"

namespace heddle::apps {
namespace {

using V = const Tensors&;

// h' = tanh(0.9 h + x); y = h' h.
std::pair<Tensor, Tensor> cell(Tensor h, Tensor x) {
  const Tensor next = tanh(h * 0.9 + x);
  return {next, next * h};
}
auto scanned(ScanOptions options) {
  return [options](Tensor h, Tensor xs) { return scan(cell, h, xs, options); };
}
App scan_grad(std::string name, ScanOptions options) {
  return {std::move(name),
          [options](V v) { return value_and_grads(scanned(options), argnums<0, 1>, v[0], v[1]); }};
}

std::pair<Tensor, Tensor> nested(Tensor h, Tensor xss) {
  auto inner = [](Tensor h, Tensor x) { return std::pair(h * 0.5 + x, h + x); };
  auto outer = [&](Tensor h, Tensor xs) {
    auto [last, ys] = scan(inner, h, xs);
    return std::pair(last, sum(ys, 0));
  };
  return scan(outer, h, xss);
}

std::pair<Tensor, Tensor> three_deep(Tensor x) {
  auto innermost = [](Tensor h, None) { return std::pair(sin(h) + 0.1, None{}); };
  auto middle = [&](Tensor h, None) {
    return std::pair(scan(innermost, h, None{}, {.length = 2}).first * 1.1, None{});
  };
  auto outer = [&](Tensor h, None) {
    return std::pair(scan(middle, h, None{}, {.length = 3}).first - 0.05, h);
  };
  return scan(outer, x, None{}, {.length = 4});
}

// Rows made of the two before them.
Tensor history(Tensor x) {
  auto step = [](Tensor i, Tensor rows) {
    return rows.at(i).set(rows[i - 1] * 0.5 + rows[maximum(i - 2, 0)]);
  };
  return fori_loop(1, 10, step, zeros({10, 3}).at(0).set(x));
}

std::pair<Tensor, Tensor> switched(Tensor h, Tensor which) {
  auto step = [](Tensor h, Tensor i) {
    const Tensor next =
        switch_case(i,
                    std::tuple([](Tensor x) { return x + 1.0; }, [](Tensor x) { return x * 2.0; },
                               [](Tensor x) { return -x; }, [](Tensor x) { return sin(x); }),
                    h);
    return std::pair(next, next);
  };
  return scan(step, h, which);
}

std::pair<Tensor, Tensor> while_in_cond(Tensor h, Tensor ns) {
  auto growing = [](Tensor h, Tensor n) {
    return fori_loop(
        0, n, [](Tensor, Tensor x) { return x * 1.1; }, h);
  };
  auto falling = [](Tensor h, Tensor) {
    return fori_loop(
        0, 3, [](Tensor i, Tensor x) { return x - 0.1 * i.astype(f32); }, h);
  };
  auto step = [&](Tensor h, Tensor n) {
    h = cond(mod(n, 2) == 0, growing, falling, h, n);
    return std::pair(h, sum(h));
  };
  return scan(step, h, ns);
}

std::vector<App> scans() {
  return {
      scan_grad("scan_forms/scan_plain_grad", {}),
      scan_grad("scan_forms/scan_reverse_grad", {.reverse = true}),
      scan_grad("scan_forms/scan_reverse_unroll3_grad", {.reverse = true, .unroll = 3}),
      scan_grad("scan_forms/scan_unroll_all_grad", {.unroll = ScanOptions::kUnrollAll}),
      {"scan_forms/scan_nested_jvp",
       [](V v) {
         return flatten(jvp(nested, std::tuple(v[0], v[1]), std::tuple(ones_like(v[0]), None{})));
       }},
      {"scan_forms/scan_nested_vmap", [](V v) { return flatten(vmap(nested)(v[0], v[1])); }},
      {"scan_forms/scan_nested3_grad",
       [](V v) { return value_and_grads(three_deep, argnums<0>, v[0]); }},
      {"scan_forms/scan_nested3_jvp", [](V v) { return value_and_tangents(three_deep, v[0]); }},
      {"scan_forms/fori_history_jvp", [](V v) { return value_and_tangents(history, v[0]); }},
      {"scan_forms/fori_history_hessian",
       [](V v) { return Tensors{hessian([](Tensor x) { return squares(history(x)); })(v[0])}; }},
      {"scan_forms/switch_in_scan_grad",
       [](V v) { return value_and_grads(switched, argnums<0>, v[0], v[1]); }},
      {"scan_forms/while_in_cond_in_scan_jvp",
       [](V v) {
         return flatten(
             jvp(while_in_cond, std::tuple(v[0], v[1]), std::tuple(ones_like(v[0]), None{})));
       }},
      {"scan_grads/scan_vmap_grad",
       [](V v) {
         auto loss = [&](Tensor h) { return sum(scan(cell, h, v[1]).first); };
         return Tensors{vmap(grad(loss))(v[0])};
       }},
  };
}

struct Rnn {
  Tensor w, u, b;
  static constexpr auto kFields =
      fields(field("w", &Rnn::w), field("u", &Rnn::u), field("b", &Rnn::b));
};
auto rnn_step(const Rnn& rnn) {
  return [rnn](Tensor h, Tensor x) {
    h = tanh(matmul(h, rnn.w) + matmul(x, rnn.u) + rnn.b);
    return std::pair(h, h);
  };
}
std::pair<Tensor, Tensor> run_rnn(const Rnn& rnn, const Tensor& xs, ScanOptions options = {}) {
  return scan(rnn_step(rnn), zeros_like(rnn.b), xs, options);
}

std::vector<App> rnns() {
  const auto losses = [](ScanOptions options) {
    return [options](V v) {
      auto loss = [&](const Rnn& rnn) { return squares(run_rnn(rnn, v[3], options)); };
      return flatten(value_and_grad(loss)(Rnn{v[0], v[1], v[2]}));
    };
  };
  return {
      {"scan_grads/rnn",
       [](V v) {
         return flatten(run_rnn({v[0], v[1], v[2]}, v[3]));
       }},
      {"scan_grads/rnn_grad", losses({})},
      {"scan_grads/rnn_sqrt_checkpoint_grad", losses({.checkpoint = every(4)})},
      {"scan_grads/rnn_jvp",
       [](V v) {
         const Rnn rnn{v[0], v[1], v[2]};
         auto fn = [&](const Rnn& at) { return run_rnn(at, v[3]); };
         auto ones = tree_map([](const Tensor& leaf) { return ones_like(leaf); }, rnn);
         return flatten(jvp(fn, std::tuple(rnn), std::tuple(ones)));
       }},
  };
}

// n -> how many steps of Collatz's rule it takes to 1.
Tensor collatz(Tensor n) {
  using State = std::pair<Tensor, Tensor>;
  auto more = [](State s) { return s.first != 1; };
  auto step = [](State s) {
    const auto& [m, count] = s;
    return State(where(m % 2 == 0, floor_divide(m, 2), 3 * m + 1), count + 1);
  };
  return while_loop(more, step, State(n, scalar(0))).second;
}

Tensor gcd_of(Tensor a, Tensor b) {
  using State = std::pair<Tensor, Tensor>;
  auto step = [](State s) { return State(s.second, mod(s.first, s.second)); };
  return while_loop([](State s) { return s.second != 0; }, step, State(a, b)).first;
}

struct Orbit {
  Tensor x, y, steps;
  static constexpr auto kFields =
      fields(field("x", &Orbit::x), field("y", &Orbit::y), field("steps", &Orbit::steps));
};
Tensor escape(Tensor cx, Tensor cy) {
  auto inside = [](Orbit z) { return (z.x * z.x + z.y * z.y < 4.0) & (z.steps < 50); };
  auto step = [&](Orbit z) {
    return Orbit{z.x * z.x - z.y * z.y + cx, 2.0 * z.x * z.y + cy, z.steps + 1};
  };
  return while_loop(inside, step, Orbit{zeros_like(cx), zeros_like(cy), scalar(0)}).steps;
}

// Newton's iteration for a square root, and how many steps it took.
std::pair<Tensor, Tensor> newton(Tensor a) {
  using State = std::pair<Tensor, Tensor>;
  auto far = [&](State s) { return abs(s.first * s.first - a) > 1e-6f * a; };
  auto step = [&](State s) { return State(0.5 * (s.first + a / s.first), s.second + 1); };
  return while_loop(far, step, State(a, scalar(0)));
}

std::pair<Tensor, Tensor> nested_while(Tensor n) {
  using State = std::pair<Tensor, Tensor>;
  auto outer = [](State s) {
    const Tensor i = s.first;
    auto add = [&](Tensor j, Tensor total) { return total + j * i; };
    return State(i + 1, fori_loop(0, i, add, s.second));
  };
  return while_loop([&](State s) { return s.first < n; }, outer, State(scalar(0), scalar(0)));
}

std::pair<Tensor, Tensor> scan_in_cond_in_while(Tensor n, Tensor x) {
  using State = std::pair<Tensor, Tensor>;
  auto plain = [](Tensor i, Tensor x) { return x * 0.9 + 0.01 * i.astype(f32); };
  auto sums = [](Tensor, Tensor x) {
    return scan([](Tensor h, Tensor each) { return std::pair(h + each, h); }, x[0], x).second;
  };
  auto step = [&](State s) {
    return State(s.first + 1, cond(mod(s.first, 3) == 0, sums, plain, s.first, s.second));
  };
  return while_loop([&](State s) { return s.first < n; }, step, State(scalar(0), x));
}

std::vector<App> whiles() {
  return {
      {"while_loops/collatz_vmap", [](V v) { return Tensors{vmap(collatz)(v[0])}; }},
      {"while_loops/gcd_vmap", [](V v) { return Tensors{vmap(gcd_of)(v[0], v[1])}; }},
      {"while_loops/mandelbrot_vmap_while",
       [](V v) {
         auto row = vmap(escape, {.in_axes = {0, kNoAxis}});
         return Tensors{vmap(row, {.in_axes = {kNoAxis, 0}})(v[0], v[1])};
       }},
      {"while_loops/nested_while_vmap", [](V v) { return flatten(vmap(nested_while)(v[0])); }},
      {"while_loops/newton_sqrt_vmap", [](V v) { return flatten(vmap(newton)(v[0])); }},
      {"while_loops/newton_jvp",
       [](V v) { return value_and_tangents([](Tensor a) { return newton(a).first; }, v[0]); }},
      {"while_loops/fori_dynamic_vmap",
       [](V v) {
         auto one = [](Tensor n, Tensor x) {
           auto step = [](Tensor i, Tensor x) { return x * 1.5 - i.astype(f32); };
           return fori_loop(0, n, step, x);
         };
         return Tensors{vmap(one)(v[0], v[1])};
       }},
      {"while_loops/vmap_batched_pred",
       [](V v) {
         auto one = [&](Tensor n) {
           using State = std::pair<Tensor, Tensor>;
           auto step = [&](State s) { return State(s.first + 1, s.second * v[1]); };
           return while_loop([&](State s) { return s.first < n; }, step, State(scalar(0), v[1]));
         };
         return flatten(vmap(one)(v[0]));
       }},
      {"while_loops/vmap_of_vmap_while",
       [](V v) {
         auto one = [](Tensor n) {
           return while_loop([&](Tensor x) { return x < n; }, [](Tensor x) { return x * 2 + 1; },
                             scalar(1));
         };
         return Tensors{vmap(vmap(one))(v[0])};
       }},
      {"scan_forms/scan_in_cond_in_while_vmap",
       [](V v) { return flatten(vmap(scan_in_cond_in_while)(v[0], v[1])); }},
  };
}

std::vector<App> branches() {
  auto trig = [](Tensor p, Tensor x) { return cond(p, sin, cos, x); };
  return {
      {"conds/cond_vmapped_operand",
       [=](V v) {
         return Tensors{vmap(trig, {.in_axes = {kNoAxis, 0}})(v[0], v[1])};
       }},
      {"conds/cond_vmapped_pred", [=](V v) { return Tensors{vmap(trig)(v[0], v[1])}; }},
      {"conds/cond_grad",
       [](V v) {
         auto loss = [&](Tensor x) {
           return cond(
               v[1], [](Tensor x) { return sum(x * x * x); }, [](Tensor x) { return sum(exp(x)); },
               x);
         };
         return Tensors{grad(loss)(v[0])};
       }},
      {"conds/switch_grad",
       [](V v) {
         auto loss = [&](Tensor x) {
           return switch_case(
               v[1],
               std::tuple([](Tensor x) { return sum(x); }, [](Tensor x) { return sum(x * x); },
                          [](Tensor x) { return prod(tanh(x)); }),
               x);
         };
         return Tensors{grad(loss)(v[0])};
       }},
  };
}

}  // namespace

std::vector<App> loop_apps() { return joined({scans(), rnns(), whiles(), branches()}); }

}  // namespace heddle::apps
