// Steps of random programs: ops that move elements and make arrays.
#include <algorithm>

#include "heddle/tests/plugins/random_maker.h"

namespace heddle::random_programs {
namespace {

// Sizes with the product of x's, in another number of axes.
Dimensions other_dims(Maker& m, int64_t count) {
  Dimensions dims;
  while (count > 1 && dims.size() < 4) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= count; ++d)
      if (count % d == 0) divisors.push_back(d);
    const int64_t size = dims.size() == 3 ? count : m.one_of(divisors);
    dims.push_back(size);
    count /= size;
  }
  if (count != 1) dims.push_back(count);
  if (m.one_in(4)) dims.insert(dims.begin() + m.below(static_cast<int64_t>(dims.size()) + 1), 1);
  return dims;
}

void reshaped(Maker& m) {
  const Value x = m.any();
  m.moved(x, reshape(x.tensor, other_dims(m, x.tensor.size())));
}

void broadcast(Maker& m) {
  const Value x = m.any();
  Dimensions dims = x.dims();
  std::vector<int64_t> kept = m.permutation(x.rank());
  std::ranges::sort(kept);
  const auto at = m.below(x.rank() + 1);
  dims.insert(dims.begin() + at, m.between(1, 4));
  for (int64_t& d : kept) d += d >= at ? 1 : 0;
  m.moved(x, broadcast_in_dim(x.tensor, dims, kept));
}

void joined(Maker& m, bool stacked) {
  const Value x = stacked ? m.any() : m.with_axes();
  std::vector<Tensor> parts{x.tensor};
  Value worst = x;
  for (int64_t more = m.between(1, 2); more > 0; --more) {
    const Value y = m.fit(m.like(x), x.dims());
    parts.push_back(y.tensor);
    worst.bound = std::max(worst.bound, y.bound);
    worst.error = std::max(worst.error, y.error);
  }
  std::shuffle(parts.begin(), parts.end(), m.random());
  m.moved(worst, stacked ? stack(parts, m.below(x.rank() + 1)) : concat(parts, m.axis_of(x)));
}

void parted(Maker& m) {
  const Value x = m.with_axes();
  const int64_t axis = m.axis_of(x);
  const std::vector<Tensor> parts = split_at(x.tensor, {m.below(x.tensor.dim(axis) + 1)}, axis);
  for (const Tensor& part : parts) m.moved(x, part);
}

void sliced(Maker& m) {
  const Value x = m.with_axes();
  std::vector<int64_t> start, limit, strides;
  for (const int64_t size : x.dims()) {
    start.push_back(m.below(size + 1));
    limit.push_back(m.between(start.back(), size));
    if (limit.back() == start.back() && start.back() > 0 && !m.one_in(10)) --start.back();
    strides.push_back(m.one_in(3) ? m.between(1, 3) : 1);
  }
  m.moved(x, slice(x.tensor, start, limit, strides));
}

void padded(Maker& m) {
  const Value x = m.any();
  std::vector<Padding> padding;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    padding.push_back({.low = m.between(-1, 2),
                       .high = m.between(-1, 2),
                       .interior = m.one_in(3) ? m.between(1, 2) : 0});
  }
  const Value by =
      m.one_in(2) ? Value{full({}, m.number(x.dtype()), x.dtype()), 4, 0} : m.fit(m.like(x), {});
  m.add(pad(x.tensor, by.tensor, padding), std::max(x.bound, by.bound),
        std::max(x.error, by.error));
}

void rolled(Maker& m) {
  const Value x = m.with_axes();
  m.moved(x, roll(x.tensor, m.between(-3, 3), m.axis_of(x)));
}

void repeated(Maker& m) {
  const Value x = m.with_axes();
  if (m.one_in(2)) {
    m.moved(x, repeat(x.tensor, m.between(1, 3), m.axis_of(x)));
  } else {
    m.moved(x, tile(x.tensor, std::vector<int64_t>(static_cast<size_t>(x.rank()), 2)));
  }
}

void flipped(Maker& m) {
  const Value x = m.with_axes();
  m.moved(x, m.one_in(3) ? flip(x.tensor) : flip(x.tensor, {m.axis_of(x)}));
}

void triangular(Maker& m) {
  const Value x = m.pick([](const Value& v) { return v.rank() >= 2; });
  m.moved(x, m.one_in(2) ? tril(x.tensor, m.between(-1, 1)) : triu(x.tensor, m.between(-1, 1)));
}

void squeezed(Maker& m) {
  const Value x = m.any();
  m.moved(x, squeeze(x.tensor));
}

void made(Maker& m) {
  const DType dtype = m.any_dtype();
  const Dimensions dims = m.any_dims();
  switch (m.below(4)) {
    case 0: m.add(full(dims, m.number(dtype), dtype), 4, 0); break;
    case 1: m.add(one_hot(m.integer().tensor, m.between(1, 4), dtype), 1, 0); break;
    case 2: m.add(eye(m.between(1, 4), m.between(1, 4), m.between(-1, 1), dtype), 1, 0); break;
    default:
      if (dims.empty() || dtype == pred) throw NoOperand();
      m.add(iota(dtype, dims, m.below(static_cast<int64_t>(dims.size()))), 5, 0);
  }
}

void barred(Maker& m) {
  const Value x = m.any();
  m.moved(x, optimization_barrier(x.tensor));
}

void axes_moved(Maker& m) {
  const Value x = m.with_axes();
  switch (m.below(3)) {
    case 0: m.moved(x, swapaxes(x.tensor, m.axis_of(x), m.axis_of(x))); break;
    case 1: m.moved(x, moveaxis(x.tensor, m.axis_of(x), m.axis_of(x))); break;
    default: m.moved(x, transpose(x.tensor, m.permutation(x.rank())));
  }
}

void edges_padded(Maker& m) {
  static const std::vector<PadMode> modes = {PadMode::kEdge, PadMode::kReflect, PadMode::kSymmetric,
                                             PadMode::kWrap};
  const Value x = m.with_axes();
  std::vector<Padding> padding(static_cast<size_t>(x.rank()));
  for (Padding& each : padding) each = {.low = m.below(2), .high = m.below(3)};
  m.moved(x, pad_with(x.tensor, m.one_of(modes), padding));
}

void differences(Maker& m) {
  const Value x = m.pick([](const Value& v) { return v.rank() > 0 && v.dtype() != pred; });
  m.add(diff(x.tensor, 1, m.axis_of(x)), 2 * x.bound, 2 * x.error);
}

}  // namespace

std::vector<Step> movement_steps() {
  return {
      {"reshape", reshaped, 5},
      {"transpose", axes_moved, 5},
      {"broadcast_in_dim", broadcast, 3},
      {"concat", [](Maker& m) { joined(m, false); }, 3},
      {"stack", [](Maker& m) { joined(m, true); }, 2},
      {"split_at", parted, 2},
      {"slice", sliced, 4},
      {"pad", padded, 4},
      {"roll", rolled},
      {"repeat", repeated},
      {"flip", flipped, 2},
      {"tril", triangular},
      {"squeeze", squeezed},
      {"constants", made, 3},
      {"optimization_barrier", barred},
      {"pad_with", edges_padded},
      {"diff", differences},
  };
}

}  // namespace heddle::random_programs
