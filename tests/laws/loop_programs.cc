#include "heddle/tests/laws/loop_programs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include "heddle/heddle.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/laws/derivative_checks.h"

namespace heddle::laws {
namespace {

using Pool = std::vector<Tensor>;  // f64[], f64[3] and f64[3,3], all of moderate size

// Modes that a body's derivative must have. A while without a bound has forward mode only.
enum class Needs : uint8_t { kForward, kBoth };

class Maker;

// A few steps on a pool that a body shares with what is around. It makes the same steps each time
// it is called: some functions trace a body more than once.
struct Body {
  uint64_t seed;
  int depth;
  Needs needs;
  bool* has_while;
  Tensor operator()(Pool pool) const;
};

class Maker {
 public:
  Maker(uint64_t seed, Needs needs, bool& has_while)
      : engine_(seed), needs_(needs), has_while_(has_while) {}

  Pool program(Pool pool) {
    const uint64_t steps = 3 + below(4);
    for (uint64_t i = 0; i < steps; ++i) pool.push_back(step(pool, 2));
    for (Tensor& x : pool) x = x.rank() == 2 ? sum(x, 0) : x;
    return {pool.back(), pool[pool.size() - 2]};
  }
  Tensor body(Pool pool, int depth) {
    const uint64_t steps = 1 + below(2);
    for (uint64_t i = 0; i < steps; ++i) pool.push_back(step(pool, depth));
    return pool.back();
  }

 private:
  // Draws are statements of their own: the order of two in one expression is the compiler's.
  uint64_t below(uint64_t n) { return engine_() % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }

  // Half of them of the newest, which depend on the loop around.
  Tensor any(const Pool& pool) {
    const uint64_t count = one_in(2) ? std::min<uint64_t>(3, pool.size()) : pool.size();
    return pool[pool.size() - 1 - below(count)];
  }
  Tensor scalar_of(const Pool& pool) {
    const Tensor x = any(pool);
    if (x.rank() == 0) return x;
    const Tensor part = x[between(0, 2)];
    return x.rank() == 1 ? part : sum(part) * 0.4;
  }
  // Of one in 16 the same for all arguments.
  Tensor vector_of(const Pool& pool) {
    if (one_in(16)) return one_in(2) ? zeros({3}, f64) : arange(3, f64) * 0.4 - 0.3;
    const Tensor x = any(pool);
    if (x.rank() == 2) return sum(x, between(0, 1)) * 0.4;
    return x.rank() == 1 ? x : x * (arange(3, f64) - 0.7);
  }
  Tensor matrix_of(const Pool& pool) {
    const Tensor x = any(pool);
    if (x.rank() == 2) return x;
    const Tensor column = expand_dims(vector_of(pool), 1);
    return sin(column) * (vector_of(pool) + arange(3, f64) * 0.2);
  }
  // f64[count, 3].
  Tensor rows_of(const Pool& pool, int64_t count) {
    const Tensor x = vector_of(pool);
    return sin(x + expand_dims(arange(count, f64), 1) * 0.7);
  }
  // s32[], -1 .. 3: beyond both ends of three.
  Tensor index_of(const Pool& pool) {
    return floor(sin(scalar_of(pool) * 3) * 2.4 + 1.2).astype(s32);
  }
  Body body_of(int depth) { return {engine_(), depth, needs_, &has_while_}; }

  // Loops and branches hand on vectors.
  static Tensor as_vector(const Tensor& x) {
    if (x.rank() == 2) return tanh(sum(x, 1) * 0.5);
    return tanh(x.rank() == 1 ? x : x * (arange(3, f64) + 0.2));
  }
  static Tensor as_scalar(const Tensor& x) { return tanh(x.rank() == 0 ? x : sum(x) * 0.4); }
  static Pool with(Pool pool, std::initializer_list<Tensor> more) {
    pool.insert(pool.end(), more);
    return pool;
  }

  Tensor step(const Pool& pool, int depth) {
    const uint64_t kind = below(depth > 0 ? 28 : 16);
    if (kind < 16) return simple(pool, kind);
    switch (kind - 16) {
      case 0: return choice(pool, depth - 1);
      case 1: return counted(pool, depth - 1);
      case 2: return one_of_several(pool, depth - 1);
      case 3:
      case 4: return until(pool, depth - 1);
      case 5:
      case 6: return ends_early(pool, depth - 1);
      case 7: return prefixes(pool);
      case 8: return of_a_function(pool, depth - 1);
      default: return over_array(pool, depth - 1);
    }
  }

  Tensor simple(const Pool& pool, uint64_t kind) {
    const Tensor x = any(pool);
    const Tensor y = any(pool);
    switch (kind) {
      case 0: return sin(x * 1.3) + y * 0.5;
      case 1: return tanh(x * y);
      case 2: return x / (square(y) + 1.5);
      case 3: return logistic(x) - exp(-square(y));
      case 4: return maximum(sin(x), cos(y));
      case 5: return where(x < y, sin(x), square(y) * 0.3);
      case 6: return sum(vector_of(pool) * as_vector(y)) * 0.3;
      case 7: return sort(vector_of(pool)) * as_scalar(y);
      case 8: return cumsum(sin(vector_of(pool)), /*axis=*/0, /*reverse=*/one_in(2)) * 0.4;
      case 9: return vector_of(pool)[index_of(pool)] * 0.7;
      case 10: {
        const Tensor to = vector_of(pool);
        const Tensor at = index_of(pool);
        const Tensor part = as_scalar(y);
        return one_in(2) ? to.at({at}).set(part) : to.at({at}).add(part);
      }
      case 11: {
        const Tensor to = vector_of(pool);
        return dynamic_update_slice(to, expand_dims(as_scalar(y), 0), {index_of(pool)});
      }
      case 12: return matmul(matrix_of(pool), as_vector(y)) * 0.4;
      case 13: return matmul(as_vector(y), matrix_of(pool)) * 0.4;
      case 14: return matmul(matrix_of(pool), tanh(matrix_of({y}))) * 0.3;
      default: return cummax(sin(matrix_of(pool)), /*axis=*/1) * 0.6;
    }
  }

  // Loops over arrays
  // ------------------------------------------------------------------------------

  int64_t length() {
    constexpr std::array<int64_t, 8> kLengths = {0, 1, 2, 3, 3, 4, 5, 7};
    return kLengths[below(kLengths.size())];
  }
  int64_t unroll(int64_t length) {
    constexpr std::array<int64_t, 3> kUnrolls = {2, 3, ScanOptions::kUnrollAll};
    const uint64_t which = below(8);
    if (which < kUnrolls.size()) return kUnrolls[which];
    return which == 3 ? std::max<int64_t>(length, 1) : 1;
  }
  std::optional<Checkpoint> checkpoint_of() {
    switch (below(8)) {
      case 0: return every(between(1, 5));
      case 1: return sqrt_steps();
      case 2: return recursive(between(1, 3));
      default: return {};
    }
  }
  ScanOptions options(int64_t length) {
    ScanOptions out;
    out.reverse = one_in(2);
    out.unroll = unroll(length);
    out.checkpoint = checkpoint_of();
    return out;
  }
  // A vector that a loop carries, and another, a number of steps or whether their number is odd.
  using Carry = std::pair<Tensor, Tensor>;
  enum class Flow : uint8_t { kBoth, kSwap, kFirstStays, kSecondStays, kCount, kFlag };
  static Carry next_of(Flow flow, const Carry& h, const Tensor& next) {
    const Tensor first = as_vector(next + h.first * 0.3);
    switch (flow) {
      case Flow::kBoth: return {first, h.second * 0.5 + sin(first)};
      case Flow::kSwap: return {h.second, first};
      case Flow::kFirstStays: return {h.first, as_vector(next - h.second)};
      case Flow::kSecondStays: return {first, h.second};
      case Flow::kCount: return {first, h.second + 1};
      default: return {where(h.second, first, sin(h.first - first)), ~h.second};
    }
  }
  Carry carry_of(const Pool& pool, Flow flow) {
    Carry out;
    out.first = vector_of(pool);
    out.second = flow == Flow::kCount  ? heddle::scalar(0)
                 : flow == Flow::kFlag ? heddle::scalar(false)
                                       : vector_of(pool);
    return out;
  }
  static Tensor number(const Tensor& x) { return x.dtype() == f64 ? x : x.astype(f64) * 0.3; }

  // The step of a loop on rows and a number beside each.
  struct Step {
    Flow flow;
    uint64_t y;  // which
    Body inner;
    const Pool& pool;
    std::pair<Carry, Tensor> operator()(const Carry& h, const Carry& x) const {
      const Tensor next = inner(with(pool, {h.first, number(h.second), x.second, x.first}));
      return {next_of(flow, h, next), y == 0   ? x.first
                                      : y == 1 ? h.first
                                      : y == 2 ? zeros({3}, f64)
                                               : as_vector(next) * 0.6 + x.first};
    }
  };
  Step step_of(const Pool& pool, int depth) {
    const auto flow = static_cast<Flow>(below(6));
    const uint64_t y = below(8);
    return {flow, y, body_of(depth), pool};
  }
  // f64[length, 3], or the same to be scanned along axis 1, and f64[length].
  Carry scanned(const Pool& pool, int64_t length, Axes& axis) {
    const Tensor rows = rows_of(pool, length);
    const Tensor numbers = sum(rows, 1) * 0.4;
    if (!one_in(4)) return {rows, numbers};
    axis = {1, 0};
    return {transpose(rows), numbers};
  }
  // A vector of what a loop gave. ys: f64[length, 3].
  Tensor result_of(const Carry& last, const Tensor& ys) {
    switch (below(5)) {
      case 0: return last.first;
      case 1: return number(last.second) + last.first * 0.2;
      case 2: return sum(ys, 0) * 0.5;
      case 3: return ys.dim(0) == 0 ? last.first : ys[between(0, ys.dim(0) - 1)];
      default: return last.first + sum(sin(ys), 0) * 0.3;
    }
  }

  Tensor over_array(const Pool& pool, int depth) {
    const int64_t steps = length();
    ScanOptions how = options(steps);
    how.parallel_backward = !how.checkpoint && one_in(6);
    const Carry xs = scanned(pool, steps, how.axis);
    const Step one = step_of(pool, depth);
    const auto [last, ys] = scan(one, carry_of(pool, one.flow), xs, how);
    return result_of(last, ys);
  }

  Tensor ends_early(const Pool& pool, int depth) {
    const int64_t steps = length();
    ScanOptions how = options(steps);
    const Carry xs = scanned(pool, steps, how.axis);
    const Step one = step_of(pool, depth);
    const Tensor enough = scalar_of(pool);
    const bool has_body = one_in(3);
    const Body test = body_of(depth);
    const auto is_enough = [&](Carry h) {
      const Tensor x = has_body ? test(with(pool, {h.first})) : h.first;
      return sum(x) + 0.6 < enough;
    };
    const auto out = scan_until(one, is_enough, carry_of(pool, one.flow), xs, how);
    return result_of(out.carry, out.ys) + out.steps.astype(f64) * 0.1;
  }

  // Prefixes of maps x -> a x + b, which a loop or a branch in the function may compose.
  Tensor prefixes(const Pool& pool) {
    const int64_t count = length();
    AssociativeScanOptions how;
    how.reverse = one_in(2);
    const Tensor slopes = tanh(rows_of(pool, count));
    const Tensor offsets = rows_of(pool, count);
    const Tensor captured = scalar_of(pool);
    const uint64_t form = below(4);
    const bool is_across = one_in(4);
    how.axis = is_across ? 1 : 0;
    using Maps = std::pair<Tensor, Tensor>;
    const auto compose = [](Maps f, Maps g) {
      return Maps(g.first * f.first, g.first * f.second + g.second);
    };
    const auto in_a_loop = [&](const Maps& f, const Maps& g) {
      const ScanOptions along{.axis = is_across ? 0 : 1};  // the other axis
      const Maps out = map(compose, f, g, along);
      return is_across ? out : Maps(transpose(out.first), transpose(out.second));
    };
    auto fn = [&](Maps f, Maps g) {
      if (form == 0) return in_a_loop(f, g);
      if (form > 1) return compose(f, g);
      const auto add = [&] { return Maps(f.first + g.first, f.second * 0.5 + g.second * 0.5); };
      return cond(
          captured < 0.1, [&] { return compose(f, g); }, add);
    };
    Maps all(slopes, offsets);
    if (is_across) all = {transpose(slopes), transpose(offsets)};
    const Maps out = associative_scan(fn, all, how);
    const Tensor values = out.first * as_scalar(captured) + out.second;
    const Tensor rows = is_across ? transpose(values) : values;
    return count == 0 || one_in(2) ? sum(rows, 0) * 0.5 : rows[between(0, count - 1)];
  }

  // Branches and other loops
  // ------------------------------------------------------------------------------

  Tensor choice(const Pool& pool, int depth) {
    const Body first = body_of(depth);
    const Body second = body_of(depth);
    const Tensor x = scalar_of(pool);
    const Tensor y = scalar_of(pool);
    return cond(
        x < y, [&] { return as_vector(first(pool)); }, [&] { return as_vector(second(pool)); });
  }

  // A switch of one to four branches on two operands; the first branch does nothing.
  Tensor one_of_several(const Pool& pool, int depth) {
    const uint64_t count = 1 + below(4);
    std::vector<std::function<Tensor(Tensor, Tensor)>> branches;
    for (uint64_t i = 0; i < count; ++i) {
      const Body inner = body_of(depth);
      branches.emplace_back([&pool, inner, i](const Tensor& x, const Tensor& y) {
        return i == 0 ? x : as_vector(inner(with(pool, {x, y})));
      });
    }
    const Tensor index = index_of(pool);
    const Carry operands = carry_of(pool, Flow::kBoth);
    return switch_case(index, branches, operands.first, operands.second);
  }

  Tensor counted(const Pool& pool, int depth) {
    const int64_t steps = between(0, 4);
    const bool is_dynamic = needs_ == Needs::kForward && one_in(4);
    const Body inner = body_of(depth);
    auto one = [&](Tensor i, Tensor h) {
      return as_vector(inner(with(pool, {i.astype(f64) * 0.3, h})) + i.astype(f64) * 0.1);
    };
    const Tensor start = vector_of(pool);
    if (!is_dynamic) return fori_loop(-1, steps - 1, one, start, {.unroll = unroll(steps)});
    has_while_ = true;
    return fori_loop(heddle::scalar(0), index_of(pool), one, start);
  }

  Tensor until(const Pool& pool, int depth) {
    const bool is_bounded = needs_ == Needs::kBoth || !one_in(4);
    if (!is_bounded) has_while_ = true;
    const int64_t steps = between(0, 4);
    const int64_t bound = between(0, 5);
    const Body inner = body_of(depth);
    const Tensor low = scalar_of(pool);
    const bool has_body = one_in(3);
    const Body test = body_of(depth);
    using State = std::pair<Tensor, Tensor>;
    auto one = [&](State s) {
      return State(s.first + 1,
                   as_vector(inner(with(pool, {s.first.astype(f64) * 0.2, s.second}))));
    };
    const auto goes_on = [&](State s) {
      const Tensor x = has_body ? test(with(pool, {s.second})) : s.second;
      return (s.first < steps) & (sum(x) + 1.2 > low);
    };
    const State start(heddle::scalar(0), vector_of(pool));
    const State end = is_bounded ? while_loop(goes_on, one, start, {.max_steps = bound})
                                 : while_loop(goes_on, one, start);
    return end.second + end.first.astype(f64) * 0.1;
  }

  // checkpoint, vmap, map, jvp and grad of a body, and derivatives that it is given.
  Tensor of_a_function(const Pool& pool, int depth) {
    const uint64_t form = below(7);
    Body inner = body_of(depth);
    if (form == 3) inner.needs = Needs::kBoth;
    const Tensor x = vector_of(pool);
    const Tensor dx = vector_of(pool);
    const auto fn = [&pool, inner](const Tensor& y) { return as_vector(inner(with(pool, {y}))); };
    switch (form) {
      case 0: return checkpoint(fn)(x);
      case 1: return sum(vmap(fn)(rows_of(pool, 2)), 0);
      case 2: return as_vector(jvp(fn, std::tuple(x), std::tuple(dx)).second);
      case 3: return as_vector(grad([&](const Tensor& y) { return sum(fn(y) * dx); })(x));
      case 4: return map(fn, rows_of(pool, 2), {.reverse = true})[1];
      case 5: return with_own_derivative(inner, x, dx);
      default: return root(fn(x));
    }
  }

  static Tensor with_own_derivative(const Body& inner, const Tensor& x, const Tensor& y) {
    const auto fn = [inner](const Tensor& a, const Tensor& b) { return as_vector(inner({a, b})); };
    using Two = std::tuple<Tensor, Tensor>;
    const auto rule = [fn](const Two& at, const Two& v) { return jvp(fn, at, v); };
    return custom_jvp(fn, rule)(x, y);
  }

  // x with x - 0.3 sin(x) = b.
  static Tensor root(const Tensor& b) {
    const auto f = [&](const Tensor& x) { return x - sin(x) * 0.3 - b; };
    const auto solve = [](const auto& f, const Tensor& guess) {
      return fori_loop(
          0, 32, [&](Tensor, Tensor x) { return x - f(x); }, guess);
    };
    const auto tangent_solve = [](const auto& g, const Tensor& y) { return y / g(ones({3}, f64)); };
    return custom_root(f, zeros({3}, f64), solve, tangent_solve);
  }

  std::mt19937_64 engine_;
  Needs needs_;
  bool& has_while_;
};

Tensor Body::operator()(Pool pool) const {
  return Maker(seed, needs, *has_while).body(std::move(pool), depth);
}

Literal numbers(const Shape& shape, std::mt19937_64& engine) {
  Literal out(shape);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (double& each : out.mutable_values<double>()) each = uniform(engine);
  return out;
}

}  // namespace

std::vector<Literal> loop_arguments(int seed, int salt) {
  std::mt19937_64 engine(static_cast<uint64_t>(seed) + 1000003u * static_cast<uint64_t>(salt));
  std::vector<Literal> out;
  out.push_back(numbers(Shape(f64, {}), engine));
  out.push_back(numbers(Shape(f64, {3}), engine));
  out.push_back(numbers(Shape(f64, {3}), engine));
  return out;
}

namespace {

// x + t v.
std::vector<Literal> moved(const std::vector<Literal>& x, const std::vector<Literal>& v, double t) {
  std::vector<Literal> out = x;
  for (size_t k = 0; k < out.size(); ++k) {
    const std::span<double> to = out[k].mutable_values<double>();
    for (size_t i = 0; i < to.size(); ++i) to[i] += t * v[k].values<double>()[i];
  }
  return out;
}

// Whether the differences of fourth order of all results along v are those of a smooth function.
bool is_smooth_along(const hlo::Module& module, const std::vector<Literal>& x,
                     const std::vector<Literal>& v) {
  constexpr double kStep = 5e-5, kTolerance = 1e-8;
  constexpr std::array<double, 5> kWeights = {1, -4, 6, -4, 1};
  std::vector<double> difference, size;
  for (size_t k = 0; k < kWeights.size(); ++k) {
    const double t = kStep * (static_cast<double>(k) - 2);
    const Literal y = interpreter::evaluate(module, moved(x, v, t)).value();
    size_t at = 0;
    for (const Literal& leaf : leaves_of({y})) {
      for (double number : leaf.values<double>()) {
        if (k == 0) difference.push_back(0), size.push_back(1);
        difference[at] += kWeights[k] * number;
        size[at] = std::max(size[at], std::abs(number));
        ++at;
      }
    }
  }
  for (size_t i = 0; i < size.size(); ++i) {
    if (!(std::abs(difference[i]) <= kTolerance * size[i])) return false;
  }
  return true;
}

}  // namespace

bool is_smooth_at(const hlo::Module& module, const std::vector<Literal>& arguments) {
  std::mt19937_64 engine(29);
  for (int i = 0; i < 4; ++i) {
    std::vector<Literal> v;
    for (const Literal& each : arguments) v.push_back(numbers(each.shape(), engine));
    if (!is_smooth_along(module, arguments, v)) return false;
  }
  return true;
}

namespace {

// Bodies that were traced before would leave their mark: a number that is another one each time is
// an operand of a loop.
LoopProgram traced_program(uint64_t number) {
  clear_combine_cache();
  LoopProgram out;
  Maker maker(number, Needs::kForward, out.has_while);
  const auto program =
      trace([&](Pool pool) { return maker.program(pool); },
            Pool{placeholder({}, f64), placeholder({3}, f64), placeholder({3}, f64)});
  out.module = program.module();
  out.text = program.short_text();
  return out;
}

}  // namespace

LoopProgram loop_program(int seed) {
  constexpr uint64_t kNext = 1000000007;
  for (int redrawn = 0;; ++redrawn) {
    LoopProgram out =
        traced_program(static_cast<uint64_t>(seed) + kNext * static_cast<uint64_t>(redrawn));
    out.redrawn = redrawn;
    for (; out.salt < 8; ++out.salt) {
      out.arguments = loop_arguments(seed, out.salt);
      if (is_smooth_at(out.module, out.arguments)) return out;
    }
  }
}

std::pair<int, int> seeds(int count) {
  const char* asked = std::getenv("HEDDLE_RANDOM_PROGRAMS");
  int first = 0, last = count;
  if (asked != nullptr) std::sscanf(asked, "%d:%d", &first, &last);
  return {first, last};
}

}  // namespace heddle::laws
