// Steps of random programs: loops and branches, whose bodies are random programs too; and functions
// of the catalogue, by the calls of tests/laws.
#include <algorithm>

#include "heddle/tests/laws/function_samples.h"
#include "heddle/tests/plugins/random_maker.h"

namespace heddle::random_programs {
namespace {

constexpr int kDeepest = 2;

// Exact, and as large as a carry may become.
Value carried(Maker& m) {
  Value x = m.exact();
  if (is_floating(x.dtype())) x.tensor = clamp(-4.0, x.tensor, 4.0);
  if (is_complex(x.dtype())) throw NoOperand();
  x.bound = 4;
  return x;
}

// A body of its own: on `own` values and a few of the outer ones. Returns one like `x`, within its
// bound.
Tensor body(Maker& outer, std::vector<Value> own, const Value& x, std::vector<Value>* left) {
  Maker inner = outer.inner();
  for (int i = 0; i < 3; ++i) inner.pool.push_back(outer.any());
  inner.pool.insert(inner.pool.end(), own.begin(), own.end());
  run_steps(inner, outer.between(1, 6));
  Value out = x;
  try {
    const Value newest = inner.pick([&](const Value& v) { return v.exact(); });
    out = inner.fit(inner.cast(newest, x.dtype()), x.dims());
    if (is_floating(x.dtype())) out.tensor = clamp(-4.0, out.tensor, 4.0);
  } catch (const NoOperand&) {
  }
  if (left != nullptr) *left = std::move(inner.pool);
  return out.tensor;
}

void check_depth(const Maker& m) {
  if (m.depth() >= kDeepest) throw NoOperand();
}

void scanned(Maker& m) {
  check_depth(m);
  const Value init = carried(m);
  const Value xs = m.with_axes();
  Value y;
  const int64_t steps = m.one_in(3) ? m.between(0, 3) : 1;
  ScanOptions options{.reverse = m.one_in(3),
                      .unroll = steps == 0 ? ScanOptions::kUnrollAll : steps};
  options.axis = m.axis_of(xs);
  const auto step = [&](Tensor carry, Tensor x) {
    const Value now{carry, init.bound, 0};
    std::vector<Value> left;
    Tensor next = body(m, {now, {x, xs.bound, xs.error}}, now, &left);
    y = left[static_cast<size_t>(m.below(static_cast<int64_t>(left.size())))];
    return std::pair(next, y.tensor);
  };
  const auto [last, ys] = scan(step, init.tensor, xs.tensor, options);
  m.add(last, init.bound, 0);
  m.add(ys, y.bound, y.error);
}

void counted(Maker& m) {
  check_depth(m);
  const Value init = carried(m);
  const auto step = [&](Tensor i, Tensor x) {
    const Value now{x, init.bound, 0};
    return body(m, {now, {i, 0, 0}}, now, nullptr);
  };
  if (m.one_in(2)) {
    m.add(fori_loop(0, static_cast<int>(m.between(0, 4)), step, init.tensor), init.bound, 0);
  } else {
    const Tensor high = bitwise_and(m.position(4).astype(s32), 3);
    m.add(fori_loop(scalar<int32_t>(0), high, step, init.tensor), init.bound, 0);
  }
}

void looped(Maker& m) {
  check_depth(m);
  const Value init = carried(m);
  const Value other = carried(m);
  using State = std::tuple<Tensor, Tensor, Tensor>;
  const auto running = [&](State s) {
    const Tensor few = less(std::get<0>(s), 4);
    Maker inner = m.inner();
    inner.pool = {{std::get<1>(s), 4, 0}, {std::get<2>(s), 4, 0}};
    run_steps(inner, 3);
    try {
      return logical_and(few, inner.exact_of(pred, {}).tensor);
    } catch (const NoOperand&) {
      return few;
    }
  };
  const auto next = [&](State s) {
    const Value x{std::get<1>(s), 4, 0}, y{std::get<2>(s), 4, 0};
    Tensor a = body(m, {x, y, {std::get<0>(s), 0, 0}}, x, nullptr);
    Tensor b = m.one_in(3) ? y.tensor : body(m, {x, y, {a, 4, 0}}, y, nullptr);
    return State(std::get<0>(s) + 1, a, b);
  };
  const auto [count, x, y] =
      while_loop(running, next, State(scalar<int32_t>(0), init.tensor, other.tensor));
  m.add(count);
  m.add(x, 4, 0);
  m.add(y, 4, 0);
}

void branched(Maker& m) {
  check_depth(m);
  const Value x = carried(m);
  const auto branch = [&](Tensor t) {
    const Value now{t, 4, 0};
    return body(m, {now}, now, nullptr);
  };
  if (m.one_in(2)) {
    m.add(cond(m.choice({}), branch, branch, x.tensor), 4, 0);
  } else {
    const std::tuple branches(branch, branch, branch);
    m.add(switch_case(m.position(3).astype(s32), branches, x.tensor), 4, 0);
  }
}

void mapped(Maker& m) {
  check_depth(m);
  const Value xs = m.with_axes();
  Value y;
  const auto each = [&](Tensor x) {
    std::vector<Value> left;
    const Value now{x, xs.bound, xs.error};
    static_cast<void>(body(m, {now}, now, &left));
    y = left.back();
    return y.tensor;
  };
  const Tensor ys = map(each, xs.tensor);
  m.add(ys, y.bound, y.error);
}

void associated(Maker& m) {
  const Value x = m.pick([](const Value& v) { return v.rank() > 0 && is_integer(v.dtype()); });
  const auto combine = [](Tensor a, Tensor b) { return a * b + maximum(a, b); };
  const auto least = [](Tensor a, Tensor b) { return minimum(a, b); };
  const AssociativeScanOptions options{.reverse = m.one_in(2), .axis = m.axis_of(x)};
  m.add(m.one_in(2) ? associative_scan(combine, x.tensor, options)
                    : associative_scan(least, x.tensor, options));
}

// A function of the table, on values of the pool. What it gives is compared and no more used, since
// little is known of it.
void sampled(Maker& m) {
  check_depth(m);
  m.need_finite();
  static const std::vector<laws::FunctionSample>& samples =
      *new std::vector<laws::FunctionSample>([] {
        std::vector<laws::FunctionSample> all = laws::everyday_samples();
        for (const laws::FunctionSample& each : laws::catalogue_samples()) all.push_back(each);
        return all;
      }());
  const laws::FunctionSample& sample = m.one_of(samples);
  const DType dtype = m.one_of<DType>({f32, f32, s32, f64, pred});
  std::vector<Tensor> inputs;
  for (const Shape& shape : laws::Inputs::shapes(dtype))
    inputs.push_back(m.exact_of(shape.dtype(), shape.dimensions()).tensor);
  if (is_floating(dtype)) inputs[3] = inputs[3] + 20 * eye(3, dtype);  // no singular m
  for (const Tensor& out : sample.call(laws::Inputs::of(dtype, inputs))) {
    if (out.size() > Maker::kMostElements) continue;
    m.loose.push_back(out);
  }
}

}  // namespace

std::vector<Step> control_steps() {
  return {
      {"scan", scanned, 4},  {"fori_loop", counted, 3}, {"while_loop", looped, 2},
      {"cond", branched, 4}, {"map", mapped, 2},        {"associative_scan", associated},
  };
}

std::vector<Step> catalogue_steps() { return {{"catalogue", sampled}}; }

}  // namespace heddle::random_programs
