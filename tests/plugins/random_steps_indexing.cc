// Steps of random programs: positions that the program computes.
#include <algorithm>

#include "heddle/tests/plugins/random_maker.h"

namespace heddle::random_programs {
namespace {

void dynamically_sliced(Maker& m) {
  const Value x = m.with_axes();
  std::vector<Tensor> starts;
  Dimensions sizes;
  for (const int64_t size : x.dims()) {
    starts.push_back(m.position(size).astype(s32));
    sizes.push_back(m.below(size + 1));
    if (sizes.back() == 0 && size > 0 && !m.one_in(20)) sizes.back() = 1;
  }
  m.moved(x, dynamic_slice(x.tensor, starts, sizes));
}

std::vector<Tensor> any_starts(Maker& m, const Value& x) {
  std::vector<Tensor> starts;
  for (const int64_t size : x.dims()) starts.push_back(m.position(size).astype(s32));
  return starts;
}

// What is written over a part of x: a number, another value, a part of x itself.
Value update(Maker& m, const Value& x, const Dimensions& sizes) {
  switch (m.below(4)) {
    case 0: return {full(sizes, m.number(x.dtype()), x.dtype()), 4, 0};
    case 1: return m.fit(m.like(x), sizes);
    case 2: {
      Value part = x;
      std::vector<int64_t> start, limit;
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        start.push_back(m.below(x.dims()[axis] - sizes[axis] + 1));
        limit.push_back(start.back() + sizes[axis]);
      }
      part.tensor = slice(x.tensor, start, limit);
      return part;
    }
    default: {
      Value part = x;
      part.tensor = dynamic_slice(x.tensor, any_starts(m, x), sizes);
      if (m.one_in(3) && x.dtype() != pred) part.tensor = negative(part.tensor);
      return part;
    }
  }
}

void dynamically_updated(Maker& m) {
  const Value x = m.with_axes();
  std::vector<Tensor> starts = any_starts(m, x);
  Dimensions sizes;
  for (const int64_t size : x.dims()) sizes.push_back(size == 0 ? 0 : m.between(1, size));
  const Value y = update(m, x, sizes);
  std::ranges::shuffle(starts, m.random());
  m.add(dynamic_update_slice(x.tensor, y.tensor, starts), std::max(x.bound, y.bound),
        std::max(x.error, y.error));
}

void along_one_axis(Maker& m) {
  const Value x = m.with_axes();
  const int64_t axis = m.axis_of(x), size = x.tensor.dim(axis);
  if (size == 0) throw NoOperand();
  const Tensor at = m.position(size);
  switch (m.below(3)) {
    case 0: m.moved(x, dynamic_slice_in_dim(x.tensor, at, m.between(1, size), axis)); break;
    case 1: m.moved(x, dynamic_index_in_dim(x.tensor, at, axis, m.one_in(2))); break;
    default:
      Dimensions dims = x.dims();
      dims[static_cast<size_t>(axis)] = m.between(1, size);
      const Value y = update(m, x, dims);
      m.add(dynamic_update_slice_in_dim(x.tensor, y.tensor, at, axis), std::max(x.bound, y.bound),
            std::max(x.error, y.error));
  }
}

// Whole numbers, many of them outside.
Tensor indices(Maker& m) {
  const Value v = m.integer();
  return m.one_in(2) ? v.tensor : bitwise_and(v.tensor, 3);
}

void taken(Maker& m) {
  const Value x = m.with_axes();
  // What is outside becomes NaN of floats.
  const bool may_fill = !x.is_inexact_type() || m.has_specials();
  const IndexMode mode = may_fill && m.one_in(2) ? IndexMode::kFill : IndexMode::kClip;
  m.moved(x, take(x.tensor, indices(m), m.axis_of(x), mode));
}

void taken_along(Maker& m) {
  const Value x = m.with_axes();
  const Value places = m.fit(m.integer(), x.dims());
  m.moved(x, take_along_axis(x.tensor, bitwise_and(places.tensor, 3), m.axis_of(x)));
}

// x[{..}] with a mix of entries.
std::vector<IndexEntry> entries(Maker& m, const Value& x) {
  std::vector<IndexEntry> out;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t size = x.tensor.dim(axis);
    if (m.one_in(8)) out.emplace_back(NewAxis{});
    switch (m.below(6)) {
      case 0: out.emplace_back(Slice{}); break;
      case 1: out.emplace_back(Slice{.step = -1}); break;
      case 2: out.emplace_back(Slice{m.below(3), m.between(1, 4)}); break;
      case 3: out.emplace_back(m.position(size)); break;
      case 4: out.emplace_back(indices(m)); break;
      default:
        if (size > 0) out.emplace_back(m.below(size));
    }
  }
  return out;
}

void indexed(Maker& m) {
  const Value x = m.with_axes();
  m.moved(x, take_at(x.tensor, entries(m, x)));
}

void updated_at(Maker& m) {
  const Value x = m.pick([](const Value& v) { return v.rank() > 0 && v.dtype() != pred; });
  if (!x.exact()) throw NoOperand();
  const At place = at(x.tensor, entries(m, x));
  const Value y = m.fit(m.like(x), place.get().shape().dimensions());
  const double all = static_cast<double>(y.tensor.size());
  switch (m.below(5)) {
    case 0:  // the same everywhere, since equal places are combined in any order
      m.add(place.set(m.number(x.dtype())), std::max(4.0, x.bound), 0);
      break;
    case 1: m.add(place.add(y.tensor), x.bound + all * y.bound, 0); break;
    case 2: m.add(place.subtract(y.tensor), x.bound + all * y.bound, 0); break;
    case 3: m.add(place.max(y.tensor), std::max(x.bound, y.bound), 0); break;
    default: m.add(place.min(y.tensor), std::max(x.bound, y.bound), 0);
  }
}

void set_at(Maker& m) {
  const Value x = m.with_axes();
  const int64_t size = x.tensor.dim(0);
  if (size == 0) throw NoOperand();
  const At place = at(x.tensor, {m.position(size)});
  const Value y =
      m.fit(m.one_in(2) ? x : m.like(x), Dimensions(x.dims().begin() + 1, x.dims().end()));
  m.add(place.set(y.tensor), std::max(x.bound, y.bound), std::max(x.error, y.error));
}

// A block at one index, which XLA writes in place.
void scattered(Maker& m) {
  const Value x = m.with_axes();
  Dimensions sizes;
  ScatterDims dims{};
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t size = x.tensor.dim(axis);
    sizes.push_back(size == 0 ? 0 : m.between(1, size));
    dims.update_window_dims.push_back(axis);
    dims.scatter_dims_to_operand_dims.push_back(axis);
  }
  const Tensor start = stack(any_starts(m, x), 0);
  const Value y = update(m, x, sizes);
  const bool adds = x.dtype() != pred && x.exact() && y.exact() && m.one_in(2);
  const Tensor out =
      scatter(x.tensor, start, y.tensor, dims,
              [&](const Tensor& now, const Tensor& by) { return adds ? now + by : by; });
  m.add(out, adds ? x.bound + y.bound : std::max(x.bound, y.bound), std::max(x.error, y.error));
}

Value sortable(Maker& m) {
  return m.pick([](const Value& v) { return v.rank() > 0 && v.exact() && !is_complex(v.dtype()); });
}

void sorted(Maker& m) {
  const Value x = sortable(m);
  const int64_t axis = m.axis_of(x);
  const bool down = m.one_in(2);
  m.moved(x, m.one_in(2) ? sort(x.tensor, axis, down) : argsort(x.tensor, axis, down));
}

void sorted_by_key(Maker& m) {
  m.need_finite();  // `less` is no order of NaN
  const Value key = sortable(m);
  const Value y = m.any();
  const auto before = [](std::span<const Tensor> t) { return less(t[0], t[1]); };
  const Value rows = m.fit(y, key.dims());
  const auto out = sort_by({key.tensor, rows.tensor}, before, m.axis_of(key));
  m.moved(key, out[0]);
  m.moved(rows, out[1]);
}

void topped(Maker& m) {
  const Value x = sortable(m);
  const int64_t axis = m.axis_of(x);
  if (x.tensor.dim(axis) == 0) throw NoOperand();
  const TopK top = top_k(x.tensor, m.between(1, x.tensor.dim(axis)), axis);
  m.moved(x, top.values);
  m.moved(x, top.indices);
}

void gathered(Maker& m) {
  const Value x = m.with_axes();
  const int64_t axis = m.axis_of(x);
  Dimensions sizes = x.dims();
  GatherDims dims{.offset_dims = {}, .collapsed_slice_dims = {}, .start_index_map = {axis}};
  if (x.tensor.dim(axis) == 0) throw NoOperand();
  sizes[static_cast<size_t>(axis)] = m.between(1, x.tensor.dim(axis));
  const Value places = m.fit(m.integer(), {m.one_in(2) ? 1 : m.between(2, 4)});
  dims.index_vector_dim = 1;
  for (int64_t i = 0; i < x.rank(); ++i) dims.offset_dims.push_back(i + 1);
  m.moved(x, gather(x.tensor, places.tensor, dims, sizes));
}

}  // namespace

std::vector<Step> indexing_steps() {
  return {
      {"dynamic_slice", dynamically_sliced, 6},
      {"dynamic_update_slice", dynamically_updated, 6},
      {"dynamic_in_dim", along_one_axis, 4},
      {"take", taken, 2},
      {"take_along_axis", taken_along},
      {"index", indexed, 4},
      {"at", updated_at, 4},
      {"at_set", set_at, 3},
      {"scatter", scattered, 3},
      {"sort", sorted, 2},
      {"sort_by", sorted_by_key},
      {"top_k", topped},
      {"gather", gathered, 3},
  };
}

}  // namespace heddle::random_programs
