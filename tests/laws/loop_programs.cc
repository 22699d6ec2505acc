#include "heddle/tests/laws/loop_programs.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "heddle/heddle.h"

namespace heddle::laws {
namespace {

using Pool = std::vector<Tensor>;  // f64[] and f64[3], all of moderate size

class Maker {
 public:
  explicit Maker(uint64_t seed) : engine_(seed) {}

  // Whether a while without a bound was made, which has forward mode only.
  [[nodiscard]] bool has_while() const { return has_while_; }

  Pool program(Pool pool) {
    const uint64_t steps = 3 + below(4);
    for (uint64_t i = 0; i < steps; ++i) pool.push_back(step(pool, 2));
    return {pool.back(), pool[pool.size() - 2]};
  }

 private:
  uint64_t below(uint64_t n) { return engine_() % n; }
  Tensor any(const Pool& pool) { return pool[below(pool.size())]; }
  Tensor scalar_of(const Pool& pool) {
    const Tensor x = any(pool);
    return x.rank() == 0 ? x : x[static_cast<int64_t>(below(3))];
  }
  Tensor vector_of(const Pool& pool) {
    const Tensor x = any(pool);
    return x.rank() == 1 ? x : x * (arange(3, f64) - 0.7);
  }

  Tensor step(const Pool& pool, int depth) {
    const uint64_t kind = below(depth > 0 ? 14 : 9);
    if (kind < 9) return simple(pool, kind);
    if (kind < 11) return over_array(pool, depth - 1);
    if (kind == 11) return choice(pool, depth - 1);
    if (kind == 12) return counted(pool, depth - 1);
    return below(3) == 0 ? until(pool, depth - 1) : over_array(pool, depth - 1);
  }

  Tensor simple(const Pool& pool, uint64_t kind) {
    const Tensor x = any(pool), y = any(pool);
    switch (kind) {
      case 0: return sin(x * 1.3) + y * 0.5;
      case 1: return tanh(x * y);
      case 2: return x / (square(y) + 1.5);
      case 3: return logistic(x) - exp(-square(y));
      case 4: return maximum(sin(x), cos(y));
      case 5: return where(x < y, sin(x), square(y) * 0.3);
      case 6: return sum(vector_of(pool) * vector_of(pool)) * 0.3;
      case 7: return sort(vector_of(pool)) * scalar_of(pool);
      default: return cumsum(sin(vector_of(pool))) * 0.4;
    }
  }

  // A few steps on a pool that the body shares with what is around.
  Tensor body(Pool pool, int depth) {
    const uint64_t steps = 1 + below(2);
    for (uint64_t i = 0; i < steps; ++i) pool.push_back(step(pool, depth));
    return pool.back();
  }

  // Loops and branches hand on vectors.
  Tensor as_vector(const Tensor& x) { return tanh(x.rank() == 1 ? x : x * (arange(3, f64) + 0.2)); }

  Tensor over_array(const Pool& pool, int depth) {
    const bool reverse = below(2) == 0;
    const Tensor xs = vector_of(pool);
    auto one = [&](Tensor h, Tensor x) {
      Pool inside = pool;  // captured
      inside.push_back(h);
      inside.push_back(x);
      const Tensor next = body(inside, depth);
      return std::pair(as_vector(next + h * 0.3), sum(next) * 0.4 + x);
    };
    auto [last, ys] = scan(one, vector_of(pool), xs, {.reverse = reverse});
    return below(2) == 0 ? last : ys;
  }

  Tensor choice(const Pool& pool, int depth) {
    auto first = [&] { return as_vector(body(pool, depth)); };
    auto second = [&] { return as_vector(body(pool, depth)); };
    return cond(scalar_of(pool) < scalar_of(pool), first, second);
  }

  Tensor counted(const Pool& pool, int depth) {
    auto one = [&](Tensor i, Tensor h) {
      Pool inside = pool;
      inside.push_back(h);
      return as_vector(body(inside, depth) + i.astype(f64) * 0.1);
    };
    return fori_loop(0, 3, one, vector_of(pool));
  }

  Tensor until(const Pool& pool, int depth) {
    const bool is_bounded = below(2) == 0;
    if (!is_bounded) has_while_ = true;
    using State = std::pair<Tensor, Tensor>;
    auto one = [&](State s) {
      Pool inside = pool;
      inside.push_back(s.second);
      return State(s.first + 1, as_vector(body(inside, depth)));
    };
    const auto goes_on = [](State s) { return s.first < 3; };
    const State start(heddle::scalar(0), vector_of(pool));
    return (is_bounded ? while_loop(goes_on, one, start, {.max_steps = 4})
                       : while_loop(goes_on, one, start))
        .second;
  }

  std::mt19937_64 engine_;
  bool has_while_ = false;
};

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

LoopProgram loop_program(int seed) {
  Maker maker(static_cast<uint64_t>(seed));
  const auto program =
      trace([&](Pool pool) { return maker.program(pool); },
            Pool{placeholder({}, f64), placeholder({3}, f64), placeholder({3}, f64)});
  return {program.module(), program.short_text(), maker.has_while(), loop_arguments(seed, 0)};
}

std::pair<int, int> seeds(int count) {
  const char* asked = std::getenv("HEDDLE_RANDOM_PROGRAMS");
  int first = 0, last = count;
  if (asked != nullptr) std::sscanf(asked, "%d:%d", &first, &last);
  return {first, last};
}

}  // namespace heddle::laws
