// Steps of random programs: reductions, windows, products of matrices, running results.
#include <algorithm>
#include <cmath>

#include "heddle/tests/plugins/random_maker.h"

namespace heddle::random_programs {
namespace {

Reduction over(Maker& m, const Value& x) {
  Reduction out{.keep_dims = m.one_in(3)};
  if (x.rank() > 0 && !m.one_in(4)) {
    std::vector<int64_t> axes = m.permutation(x.rank());
    axes.resize(static_cast<size_t>(m.between(1, x.rank())));
    out.axes = std::move(axes);
  }
  return out;
}

double count(const Value& x) { return static_cast<double>(std::max<int64_t>(1, x.tensor.size())); }

// What a sum of n such may be off by.
double of_sums(const Value& x, double n) {
  const double rounded =
      x.exact() && n * x.bound <= exact_bound(x.dtype()) ? 0 : 4 * n * epsilon(x.dtype()) * x.bound;
  return n * x.error + rounded;
}

void summed(Maker& m) {
  const Value x = m.numeric();
  m.add(sum(x.tensor, over(m, x)), count(x) * x.bound, of_sums(x, count(x)));
}

void averaged(Maker& m) {
  const Value x = m.pick([](const Value& v) { return v.is_inexact_type() && v.tensor.size() > 0; });
  m.add(mean(x.tensor, over(m, x)), x.bound, x.error + 4 * count(x) * epsilon(x.dtype()) * x.bound);
}

void multiplied(Maker& m) {
  const Value x = m.pick([](const Value& v) { return is_integer(v.dtype()); });
  m.add(prod(x.tensor, over(m, x)));
}

void extreme(Maker& m) {
  const Value x = m.pick([](const Value& v) {
    return !is_complex(v.dtype()) && v.tensor.size() > 0 && v.dtype() != pred;
  });
  m.add(m.one_in(2) ? max(x.tensor, over(m, x)) : min(x.tensor, over(m, x)), x.bound, x.error);
}

void quantified(Maker& m) {
  const Value x = m.pick([](const Value& v) { return v.dtype() == pred; });
  m.add(m.one_in(2) ? all(x.tensor, over(m, x)) : any(x.tensor, over(m, x)));
}

void position_of_extreme(Maker& m) {
  const Value x = m.pick([](const Value& v) {
    return v.exact() && v.rank() > 0 && v.tensor.size() > 0 && !is_complex(v.dtype());
  });
  const int64_t axis = m.axis_of(x);
  m.add(m.one_in(2) ? argmax(x.tensor, axis) : argmin(x.tensor, axis));
}

// Two accumulators at once: the greatest and how many there are.
void reduced_together(Maker& m) {
  const Value x = m.pick([](const Value& v) { return is_integer(v.dtype()) && v.rank() > 0; });
  const auto step = [](std::span<const Tensor> t) {
    return std::vector<Tensor>{maximum(t[0], t[2]), t[1] + t[3]};
  };
  const int64_t axis = m.axis_of(x);
  const auto out =
      reduce({x.tensor, ones_like(x.tensor)},
             {full({}, m.number(x.dtype()), x.dtype()), zeros({}, x.dtype())}, step, {axis});
  m.add(out[0]);
  m.add(out[1]);
}

// From a start that is no identity of the function.
void reduced_from_start(Maker& m) {
  const Value x = m.pick([](const Value& v) {
    return v.exact() && v.rank() > 0 && v.dtype() != pred && !is_complex(v.dtype());
  });
  const int64_t axis = m.axis_of(x);
  const int64_t form = m.below(is_integer(x.dtype()) ? 5 : 3);
  const auto step = [&](const Tensor& a, const Tensor& b) {
    switch (form) {
      case 0: return a + b;
      case 1: return maximum(a, b);
      case 2: return minimum(a, b);
      case 3: return a * b;
      default: return bitwise_xor(a, b);
    }
  };
  const Value start =
      m.one_in(2) ? Value{full({}, m.number(x.dtype()), x.dtype()), 4, 0} : m.fit(m.like(x), {});
  const double n = form == 0 ? count(x) + 1 : 1, most = std::max(x.bound, start.bound);
  const double error = of_sums({x.tensor, most, 0}, n);
  if (m.one_in(3)) {
    Dimensions sizes(static_cast<size_t>(x.rank()), 1);
    sizes[static_cast<size_t>(axis)] = m.between(1, std::max<int64_t>(1, x.tensor.dim(axis)));
    m.add(reduce_window(x.tensor, start.tensor, step, {.sizes = sizes}), n * most, error);
  } else {
    const auto all = [&](std::span<const Tensor> t) { return std::vector{step(t[0], t[1])}; };
    m.add(reduce({x.tensor}, {start.tensor}, all, {axis})[0], n * most, error);
  }
}

// Of integers by an associative function that is no single op, from any start: of a row, which may
// be longer than what XLA cuts rows into, or along an axis; running too.
void reduced_by_a_function(Maker& m) {
  const Value x = m.pick([](const Value& v) { return is_integer(v.dtype()) && v.rank() > 0; });
  const bool is_sum = m.one_in(2);
  const auto step = [&](const Tensor& a, const Tensor& b) {
    return is_sum ? a + b + 1 : a * b + a + b;
  };
  const Tensor start = full({}, m.number(x.dtype()), x.dtype());
  const bool is_row = !m.one_in(3);
  const Tensor row = is_row ? m.fit(x, {m.between(1, 80)}).tensor : x.tensor;
  const int64_t axis = is_row ? 0 : m.axis_of(x);
  if (!m.one_in(3)) {
    const auto all = [&](std::span<const Tensor> t) { return std::vector{step(t[0], t[1])}; };
    m.add(reduce({row}, {start}, all, {axis})[0]);
    return;
  }
  Windows windows;
  const int64_t size = row.dim(axis), most = std::max<int64_t>(size - m.below(2), 0);
  Dimensions sizes(static_cast<size_t>(row.rank()), 1);
  sizes[static_cast<size_t>(axis)] = std::max<int64_t>(size, 1);
  windows.sizes = sizes;
  std::vector<EdgePadding> padding(static_cast<size_t>(row.rank()));
  EdgePadding& along = padding[static_cast<size_t>(axis)];
  (m.one_in(2) ? along.low : along.high) = most;
  windows.padding = WindowPadding(padding);
  m.add(reduce_window(row, start, step, windows));
}

void running(Maker& m) {
  const Value x = m.pick(
      [](const Value& v) { return v.rank() > 0 && v.dtype() != pred && !is_complex(v.dtype()); });
  const int64_t axis = m.axis_of(x);
  const bool reverse = m.one_in(2);
  switch (m.below(3)) {
    case 0: m.add(cummax(x.tensor, axis, reverse), x.bound, x.error); break;
    case 1: m.add(cummin(x.tensor, axis, reverse), x.bound, x.error); break;
    default: m.add(cumsum(x.tensor, axis, reverse), count(x) * x.bound, of_sums(x, count(x)));
  }
}

void product_of_matrices(Maker& m) {
  const Value x = m.pick([](const Value& v) { return v.rank() > 0 && v.dtype() != pred; });
  Value y = m.like(x);
  const int64_t inner = x.dims().back();
  const double parts = is_complex(x.dtype()) ? 2 : 1;
  const double n = parts * static_cast<double>(std::max<int64_t>(1, inner));
  Tensor out;
  switch (m.below(4)) {
    case 0:
      y = m.fit(y, {inner, m.between(1, 4)});
      out = matmul(x.tensor, y.tensor);
      break;
    case 1:
      y = m.fit(y, x.dims());
      out = sum(x.tensor * y.tensor, {.axes = {-1}});
      break;
    case 2:
      y = m.fit(y, {inner});
      out = matmul(x.tensor, y.tensor);
      break;
    default: {  // the same axis of both, wherever it stands
      const int64_t axis = m.axis_of(x);
      y = m.fit(y, {m.between(1, 3), x.tensor.dim(axis)});
      out = dot_general(x.tensor, y.tensor, {.lhs_contracting = {axis}, .rhs_contracting = {1}});
    }
  }
  const double most = std::max(n, count(x) / 1.0);
  const double bound = most * x.bound * y.bound;
  const bool exact = x.exact() && y.exact() && bound <= exact_bound(x.dtype());
  m.add(out, bound,
        exact ? 0
              : most * (x.error * y.bound + y.error * x.bound) +
                    8 * most * epsilon(x.dtype()) * x.bound * y.bound);
}

void einsums(Maker& m) {
  const Value x = m.pick([](const Value& v) { return v.exact() && v.dtype() != pred; });
  const Value a = m.fit(x, {2, 3, 2});
  const Value b = m.fit(m.like(x), {2, 2, 3});
  static const std::vector<std::string> specs = {"bij,bjk->bik", "bij,bjk->kb", "bij,bjk->ji",
                                                 "bij,bjk->", "bij,cki->bck"};
  m.add(einsum(m.one_of(specs), a.tensor, b.tensor), 48 * a.bound * b.bound,
        of_sums({a.tensor, a.bound * b.bound, 0}, 48));
}

void pooled(Maker& m) {
  const Value v =
      m.pick([](const Value& each) { return each.dtype() != pred && !is_complex(each.dtype()); });
  const Value x = m.fit(v, {1, m.between(2, 4), m.between(2, 4), 2});
  const Windows windows{.sizes = {2, m.between(1, 2)},
                        .strides = {1, m.between(1, 2)},
                        .padding = m.one_in(2) ? WindowPadding::kValid : WindowPadding::kSame};
  switch (m.below(3)) {
    case 0: m.add(max_pool(x.tensor, windows), x.bound, x.error); break;
    case 1: m.add(min_pool(x.tensor, windows), x.bound, x.error); break;
    default: m.add(sum_pool(x.tensor, windows), 4 * x.bound, of_sums(x, 4));
  }
}

void convolved(Maker& m) {
  m.need_finite();
  const Value v = m.pick([](const Value& each) { return is_floating(each.dtype()); });
  const Value x = m.fit(v, {1, 4, 3, 2});
  const Value kernel = m.fit(m.like(v), {2, 2, 2, m.between(1, 3)});
  const double n = 8;
  const double bound = n * x.bound * kernel.bound;
  const double exact = of_sums({x.tensor, x.bound * kernel.bound, 0}, n);
  m.add(conv(x.tensor, kernel.tensor,
             {.strides = {1, m.between(1, 2)},
              .padding = m.one_in(2) ? WindowPadding::kValid : WindowPadding::kSame}),
        bound,
        n * (x.error * kernel.bound + kernel.error * x.bound) +
            (x.exact() && kernel.exact() ? exact : 8 * n * epsilon(v.dtype()) * bound));
}

void soft(Maker& m) {
  const Value x = m.pick(
      [](const Value& v) { return is_floating(v.dtype()) && v.rank() > 0 && v.tensor.size() > 0; });
  m.add(softmax(x.tensor, m.axis_of(x)), 1, 2 * x.error + 64 * epsilon(x.dtype()));
}

void transformed(Maker& m) {
  m.need_finite();
  const Value x = m.pick([](const Value& v) {
    return (v.dtype() == f32 || v.dtype() == c64) && v.rank() > 0 && v.tensor.size() > 0;
  });
  const double n = static_cast<double>(x.dims().back());
  m.add(fft(x.tensor), 2 * n * x.bound, 2 * n * (x.error + 16 * epsilon(x.dtype()) * x.bound));
}

}  // namespace

std::vector<Step> reduction_steps() {
  return {
      {"sum", summed, 4},
      {"mean", averaged},
      {"prod", multiplied},
      {"max", extreme, 3},
      {"all", quantified, 2},
      {"argmax", position_of_extreme, 2},
      {"reduce", reduced_together, 2},
      {"reduce_from_start", reduced_from_start, 2},
      {"reduce_by_a_function", reduced_by_a_function, 2},
      {"cumsum", running, 2},
      {"matmul", product_of_matrices, 4},
      {"einsum", einsums},
      {"pool", pooled, 2},
      {"conv", convolved},
      {"softmax", soft},
      {"fft", transformed},
  };
}

}  // namespace heddle::random_programs
