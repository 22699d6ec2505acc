// Solvers of equations, and dynamic programs.
#include "heddle/tests/apps/app.h"

namespace heddle::apps {
namespace {

using V = const Tensors&;

// The distance of two sequences by a soft least path through their costs.
Tensor soft_dtw(Tensor costs) {
  auto row = [](Tensor above, Tensor cost) {
    auto step = [](Tensor left, std::tuple<Tensor, Tensor, Tensor> x) {
      const auto& [up, corner, here] = x;
      left = here - logsumexp(-stack({left, up, corner}));
      return std::pair(left, left);
    };
    const auto xs = std::tuple(above[Slice{1}], above[Slice{0, 6}], cost);
    const Tensor edge = full({1}, 10000.0f);
    return std::pair(concat({edge, scan(step, scalar(10000.0f), xs).second}), None{});
  };
  return scan(row, full({7}, 10000.0f).at(0).set(0.0f), costs).first[6];
}

Tensor levenshtein(Tensor a, Tensor b) {
  auto row = [&](Tensor above, std::pair<Tensor, Tensor> x) {
    const auto& [i, letter] = x;
    auto step = [&](Tensor left, std::tuple<Tensor, Tensor, Tensor> x) {
      const auto& [up, corner, other] = x;
      left = minimum(minimum(left + 1, up + 1), corner + (letter != other).astype(s32));
      return std::pair(left, left);
    };
    const Tensor first = i + 1;
    const auto xs = std::tuple(above[Slice{1}], above[Slice{0, 7}], b);
    return std::pair(concat({reshape(first, {1}), scan(step, first, xs).second}), None{});
  };
  return scan(row, arange(8), std::pair(arange(6), a)).first[7];
}

// Connectionist temporal classification. log_p: [time, symbols]; labels: [3], 0 is the blank.
Tensor ctc(Tensor log_p, Tensor labels) {
  const Tensor path = zeros({7}, s32).at(array({1, 3, 5})).set(labels);
  const Tensor may_skip = (path != 0) & (path != roll(path, 2)) & (arange(7) > 1);
  const Tensor never = full({7}, -1e5f);
  auto step = [&](Tensor alpha, Tensor p) {
    const Tensor one = concat({never[Slice{0, 1}], alpha[Slice{0, 6}]});
    const Tensor two = concat({never[Slice{0, 2}], alpha[Slice{0, 5}]});
    const Tensor ways = stack({alpha, one, where(may_skip, two, -1e5)});
    return std::pair(logsumexp(ways, 0) + take(p, path), None{});
  };
  const Tensor start = never.at(0).set(log_p[{0, 0}]).at(1).set(log_p[{0, labels[0]}]);
  const Tensor last = scan(step, start, log_p[Slice{1}]).first;
  return -logaddexp(last[6], last[5]);
}

// Gram and Schmidt's method, column by column.
std::pair<Tensor, Tensor> gram_schmidt(Tensor a) {
  using State = std::pair<Tensor, Tensor>;
  auto step = [](Tensor i, State s) {
    const auto& [q, r] = s;
    const Tensor column = q[{Slice{}, i}], size = sqrt(dot(column, column));
    const Tensor unit = column / size;
    const Tensor row = where(arange(4) > i, matmul(unit, q), 0).at(i).set(size);
    const Tensor rest = q - outer(unit, where(arange(4) > i, row, 0));
    return State(rest.at({Slice{}, i}).set(unit), r.at(i).set(row));
  };
  return fori_loop(0, 4, step, State(a, zeros({4, 4})));
}

// L below the diagonal and U in one matrix, without exchanges.
Tensor lu_of(Tensor a) {
  auto step = [](Tensor k, Tensor a) {
    const Tensor at = arange(7);
    const Tensor l = where(at > k, a[{Slice{}, k}] / a[{k, k}], 0);
    a = a - outer(l, where(at >= k, a[k], 0));
    return a.at({Slice{}, k}).set(where(at > k, l, a[{Slice{}, k}]));
  };
  return fori_loop(0, 6, step, a);
}

struct Search {
  Tensor x, r, size, p, steps;
  static constexpr auto kFields =
      fields(field("x", &Search::x), field("r", &Search::r), field("size", &Search::size),
             field("p", &Search::p), field("steps", &Search::steps));
};
// Conjugate gradients from 0.
Tensor conjugate_gradients(Tensor a, Tensor b) {
  const Tensor enough = square(scalar(1e-5f)) * dot(b, b);
  auto more = [&](Search s) { return (s.size > enough) & (s.steps < 80); };
  auto step = [&](Search s) {
    const Tensor ap = matmul(a, s.p), along = s.size / dot(s.p, ap);
    const Tensor r = s.r - along * ap, size = dot(r, r);
    return Search{s.x + along * s.p, r, size, r + size / s.size * s.p, s.steps + 1};
  };
  return while_loop(more, step, Search{zeros_like(b), b, dot(b, b), b, scalar(0)}).x;
}

// The cube root by Newton's iteration, whose derivative is that of the equation it solves.
Tensor cube_root(Tensor a) {
  auto solve = [](Tensor a) {
    auto step = [&](Tensor, Tensor x) { return x - (x * x * x - a) / (3.0 * x * x + 1e-6); };
    return fori_loop(0, 20, step, scalar(1.0f));
  };
  auto forward = [=](Tensor a) {
    const Tensor x = solve(a);
    return std::pair(x, x);
  };
  auto backward = [](Tensor x, Tensor ct) { return ct / (3.0 * x * x); };
  return custom_vjp(solve, forward, backward)(a);
}

// h' = tanh(0.9 h + x); y = h' h.
std::pair<Tensor, Tensor> cell(Tensor h, Tensor x) {
  const Tensor next = tanh(h * 0.9 + x);
  return {next, next * h};
}

std::vector<App> programs() {
  return {
      {"dp/soft_dtw_grad", [](V v) { return value_and_grads(soft_dtw, argnums<0>, v[0]); }},
      {"dp/soft_dtw_jvp", [](V v) { return value_and_tangents(soft_dtw, v[0]); }},
      {"dp/levenshtein_vmap", [](V v) { return Tensors{vmap(levenshtein)(v[0], v[1])}; }},
      {"dp/ctc_loss_grad", [](V v) { return Tensors{grad(ctc)(v[0], v[1])}; }},
      {"solvers/gram_schmidt_qr_grad",
       [](V v) { return value_and_grads(gram_schmidt, argnums<0>, v[0]); }},
      {"solvers/lu_nopivot_vmap", [](V v) { return Tensors{vmap(lu_of)(v[0])}; }},
      {"solvers/cg_vmap",
       [](V v) {
         auto one = [&](Tensor b) { return conjugate_gradients(v[1], b); };
         return Tensors{vmap(one)(v[0])};
       }},
      {"solvers/custom_root_grad", [](V v) { return Tensors{grad(cube_root)(v[0])}; }},
      {"scan_grads/scan_jacrev",
       [](V v) {
         auto last = [&](Tensor h) { return scan(cell, h, v[1]).first; };
         return Tensors{jacrev(last)(v[0])};
       }},
      {"scan_grads/scan_linearize",
       [](V v) {
         auto ys = [&](Tensor h) { return scan(cell, h, v[2]).second; };
         auto [y, push] = linearize(ys, v[0]);
         return Tensors{y, push(v[1])};
       }},
      {"scan_grads/scan_hvp",
       [](V v) {
         auto loss = [&](Tensor h) { return squares(scan(cell, h, v[2]).first); };
         return flatten(jvp(grad(loss), std::tuple(v[0]), std::tuple(v[1])));
       }},
  };
}

}  // namespace

std::vector<App> solver_apps() { return programs(); }

}  // namespace heddle::apps
