#include "heddle/numpy/manipulation.h"

#include <algorithm>

#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/searching.h"
#include "heddle/scan/associative.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

Tensor with_rank(const Tensor& x, int64_t rank) {
  if (x.rank() >= rank) return x;
  Dimensions shape = x.shape().dimensions();
  while (static_cast<int64_t>(shape.size()) < rank)
    shape.insert(shape.size() == 2 ? shape.end() : shape.begin(), 1);
  return reshape(x, shape);
}

// So many parts one by one are faster than a program that is compiled for their number.
bool is_eager_of_many(int64_t parts) {
  constexpr int64_t kMany = 32;
  return parts >= kMany && trace_internal::Recorder::current() == nullptr;
}

Tensor joined(std::string_view op, const std::vector<Tensor>& parts, int64_t rank, int64_t axis,
              SourceLocation at) {
  const PublicCall call(op, at);
  if (parts.empty()) trace_internal::refuse("has no parts; give at least one");
  const auto join = [&] {
    std::vector<Tensor> all;
    for (const Tensor& part : parts) all.push_back(with_rank(part, rank));
    return concat(all, all[0].rank() == 1 ? 0 : axis);
  };
  return is_eager_of_many(std::ssize(parts)) ? join() : one_program(op, join);
}

// A run of neighbours, forwards or backwards.
struct Run {
  int64_t first, last;
};
std::vector<Run> runs_of(const std::vector<int64_t>& positions) {
  std::vector<Run> out;
  for (size_t i = 0; i < positions.size();) {
    size_t end = i + 1;
    const int64_t step = end < positions.size() && positions[end] == positions[i] - 1 ? -1 : 1;
    while (end < positions.size() && positions[end] == positions[end - 1] + step) ++end;
    out.push_back({positions[i], positions[end - 1]});
    i = end;
  }
  return out;
}

// From this number of slices on, one gather costs less, and the program has one size.
constexpr size_t kManyRuns = 16;

// The elements of an axis at fixed positions: joined slices, one for each run of neighbours.
Tensor positions_of(const Tensor& x, const std::vector<int64_t>& positions, int64_t axis) {
  const std::vector<Run> runs = runs_of(positions);
  if (runs.size() > kManyRuns) return take(x, array(positions), axis);
  std::vector<Tensor> parts;
  for (const auto& [first, last] : runs) {
    Tensor run = slice_in_dim(x, std::min(first, last), std::max(first, last) + 1, 1, axis);
    parts.push_back(last < first ? flip(run, {axis}) : run);
  }
  if (parts.empty()) return slice_in_dim(x, 0, 0, 1, axis);
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

// Which of n elements is at position i, which may be outside.
int64_t source_of(int64_t i, int64_t n, PadMode mode) {
  const auto cyclic = [](int64_t at, int64_t period) { return ((at % period) + period) % period; };
  switch (mode) {
    case PadMode::kEdge: return std::clamp<int64_t>(i, 0, n - 1);
    case PadMode::kWrap: return cyclic(i, n);
    case PadMode::kSymmetric: {
      const int64_t at = cyclic(i, 2 * n);
      return std::min(at, 2 * n - 1 - at);
    }
    case PadMode::kReflect: {
      if (n == 1) return 0;
      const int64_t at = cyclic(i, 2 * n - 2);
      return std::min(at, 2 * n - 2 - at);
    }
  }
  return 0;
}

// source_of() of all positions, for kWrap, kSymmetric or kReflect.
Tensor sources_of(int64_t n, PadMode mode, const Padding& p) {
  const Tensor at = iota(s64, {n + p.low + p.high}, 0) - int64_t{p.low};
  if (mode == PadMode::kWrap) return mod(at, n);
  if (n == 1) return at * 0;
  const int64_t period = mode == PadMode::kSymmetric ? 2 * n : 2 * n - 2;
  const Tensor there = mod(at, period);
  return minimum(there, (mode == PadMode::kSymmetric ? period - 1 : period) - there);
}

Tensor padded(const Tensor& x, PadMode mode, const Padding& p, int64_t axis) {
  const int64_t n = x.dim(axis);
  if (p.low <= 0 && p.high <= 0) return slice_in_dim(x, -p.low, n + p.high, 1, axis);
  if (mode == PadMode::kEdge) {
    auto edge = [&](int64_t i, int64_t count) {
      return repeat(slice_in_dim(x, i, i + 1, 1, axis), count, axis);
    };
    return concat(
        {edge(0, std::max<int64_t>(p.low, 0)),
         slice_in_dim(x, std::max<int64_t>(-p.low, 0), n + std::min<int64_t>(p.high, 0), 1, axis),
         edge(n - 1, std::max<int64_t>(p.high, 0))},
        axis);
  }
  constexpr int64_t kMostListed = 4096;
  if (n + p.low + p.high > kMostListed) return take(x, sources_of(n, mode, p), axis);
  std::vector<int64_t> sources;
  for (int64_t i = -p.low; i < n + p.high; ++i) sources.push_back(source_of(i, n, mode));
  return positions_of(x, sources, axis);
}

}  // namespace

Tensor atleast_1d(Operand x) {
  const PublicCall call("atleast_1d", x.at());
  return with_rank(as_tensor(x), 1);
}
Tensor atleast_2d(Operand x) {
  const PublicCall call("atleast_2d", x.at());
  return with_rank(as_tensor(x), 2);
}

Tensor atleast_3d(Operand operand) {
  const PublicCall call("atleast_3d", operand.at());
  Tensor x = as_tensor(operand);
  return one_program("atleast_3d", [&] { return with_rank(x, 3); });
}

Tensor vstack(const std::vector<Tensor>& parts, SourceLocation at) {
  return joined("vstack", parts, 2, 0, at);
}

Tensor hstack(const std::vector<Tensor>& parts, SourceLocation at) {
  return joined("hstack", parts, 1, 1, at);
}

Tensor dstack(const std::vector<Tensor>& parts, SourceLocation at) {
  return joined("dstack", parts, 3, 2, at);
}

Tensor column_stack(const std::vector<Tensor>& parts, SourceLocation at) {
  const PublicCall call("column_stack", at);
  const auto join = [&] {
    std::vector<Tensor> columns;
    for (const Tensor& part : parts) {
      Tensor wide = with_rank(part, 1);
      columns.push_back(wide.rank() == 1 ? expand_dims(wide, 1) : wide);
    }
    return joined("column_stack", columns, 2, 1, at);
  };
  return is_eager_of_many(std::ssize(parts)) ? join() : one_program("column_stack", at, join);
}

Tensor block_matrix(const std::vector<std::vector<Tensor>>& rows, SourceLocation at) {
  return one_program("block_matrix", at, [&] {
    int64_t rank = 2;
    for (const std::vector<Tensor>& row : rows) {
      for (const Tensor& part : row) rank = std::max(rank, part.rank());
    }
    std::vector<Tensor> wide;
    for (const std::vector<Tensor>& row : rows) {
      std::vector<Tensor> parts;
      for (const Tensor& part : row) {
        Dimensions shape = part.shape().dimensions();
        shape.insert(shape.begin(), static_cast<size_t>(rank - part.rank()), 1);
        parts.push_back(reshape(part, shape));
      }
      wide.push_back(joined("block_matrix", parts, rank, -1, at));
    }
    return rows.size() == 1 ? wide[0] : joined("block_matrix", wide, rank, -2, at);
  });
}

std::vector<Tensor> array_split(Operand operand, base::Int count, base::Int axis) {
  const PublicCall call("array_split", operand.at());
  Tensor x = as_tensor(operand);
  const int64_t size = x.dim(axis_of(x.shape(), axis));
  if (count < 1) trace_internal::refuse("count is ", count, "; it must be 1 or more");
  std::vector<int64_t> positions;
  for (int64_t i = 1; i < count; ++i)
    positions.push_back(i * (size / count) + std::min(i, size % count));
  return split_at(operand, positions, axis);
}

namespace {

std::vector<Tensor> equal_parts(std::string_view op, const Operand& x, int64_t count, int64_t axis,
                                int64_t rank) {
  const PublicCall call(op, x.at());
  const Tensor given = as_tensor(x);
  if (given.rank() < rank)
    trace_internal::refuse("x is ", given.shape(), "; it must have rank ", rank, " or more");
  return in_program(op, [&] { return split(x, count, axis); });
}

}  // namespace

std::vector<Tensor> hsplit(Operand x, base::Int count) {
  const PublicCall call("hsplit", x.at());
  return equal_parts("hsplit", x, count, as_tensor(x).rank() == 1 ? 0 : 1, 1);
}
std::vector<Tensor> vsplit(Operand x, base::Int count) {
  return equal_parts("vsplit", x, count, 0, 2);
}
std::vector<Tensor> dsplit(Operand x, base::Int count) {
  return equal_parts("dsplit", x, count, 2, 3);
}

void trace_internal::unstack_to(Operand operand, base::Int axis, Tensor* out, int64_t count) {
  const PublicCall call("unstack", operand.at());
  const Tensor x = as_tensor(operand);
  const int64_t along = axis_of(x.shape(), axis);
  if (x.dim(along) != count)
    trace_internal::refuse("x is ", x.shape(), ", with ", x.dim(along), " positions along axis ",
                           along, "; unstack<", count, "> gives ", count);
  std::ranges::move(unstack(x, along), out);
}

std::vector<Tensor> unstack(Operand operand, base::Int axis) {
  const PublicCall call("unstack", operand.at());
  Tensor x = as_tensor(operand);
  const int64_t along = axis_of(x.shape(), axis);
  if (x.dim(along) == 0) return {};
  if (is_eager_of_many(x.dim(along))) {
    const Tensor rows = moveaxis(x, along, 0);
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < rows.dim(0); ++i) parts.push_back(rows[i]);
    return parts;
  }
  return in_program("unstack", [&] {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < x.dim(along); ++i) {
      Tensor part = slice_in_dim(x, i, i + 1, 1, along);
      parts.push_back(squeeze(part, {along}));
    }
    return parts;
  });
}

std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& xs, SourceLocation at) {
  const PublicCall call("broadcast_arrays", at);
  if (xs.empty()) return {};
  Shape common = xs[0].shape();
  for (const Tensor& x : xs) common = Shape(x.dtype(), broadcast_shapes(common, x.shape()));
  return in_program("broadcast_arrays", [&] {
    std::vector<Tensor> out;
    for (const Tensor& x : xs) out.push_back(broadcast_to(x, common.dimensions()));
    return out;
  });
}

Tensor insert(Operand operand, base::Int position, Operand values, std::optional<base::Int> axis) {
  const PublicCall call("insert", operand.at());
  const Tensor x = as_tensor(operand);
  if (!axis && x.rank() != 1)
    return one_program("insert", [&] { return insert(ravel(operand), position, values, 0); });
  const int64_t along = axis_of(x.shape(), axis.value_or(0)), size = x.dim(along);
  const int64_t place = position < 0 ? position + size : int64_t{position};
  if (place < 0 || place > size)
    trace_internal::refuse("position is ", position, "; axis ", along, " of ", x.shape(),
                           " has size ", size, ", it must be in ", -size, " .. ", size);
  return one_program("insert", [&] {
    Tensor given = trace_internal::like("value", values, x.dtype());
    Dimensions shape = x.shape().dimensions();
    shape.erase(shape.begin() + along);
    Tensor row = expand_dims(trace_internal::stretched(given, shape), along);
    std::vector<Tensor> sides = split_at(x, {place}, along);
    return concat({sides[0], row, sides[1]}, along);
  });
}

Tensor without(Operand operand, const base::Ints& positions, std::optional<base::Int> axis) {
  const PublicCall call("without", operand.at());
  const Tensor x = as_tensor(operand);
  if (!axis && x.rank() != 1)
    return one_program("without", [&] { return without(ravel(operand), positions, 0); });
  const int64_t along = axis_of(x.shape(), axis.value_or(0)), size = x.dim(along);
  std::vector<bool> goes(static_cast<size_t>(size));
  for (int64_t position : positions) {
    if (position < -size || position >= size)
      trace_internal::refuse("position ", position, " is outside axis ", along, " of ", x.shape(),
                             ", which has size ", size);
    goes[static_cast<size_t>(position < 0 ? position + size : position)] = true;
  }
  std::vector<int64_t> stays;
  for (int64_t i = 0; i < size; ++i) {
    if (!goes[static_cast<size_t>(i)]) stays.push_back(i);
  }
  return one_program("without", [&] { return positions_of(x, stays, along); });
}

Tensor resize(Operand operand, const base::Ints& shape) {
  const PublicCall call("resize", operand.at());
  Tensor x = as_tensor(operand);
  return one_program("resize", [&] {
    int64_t count = 1;
    for (int64_t size : shape) {
      if (size < 0)
        trace_internal::refuse("shape is [", base::join(shape, ","),
                               "]; its sizes must be 0 or more");
      count *= size;
    }
    if (x.size() == 0) return zeros(shape, x.dtype());
    Tensor all = tile(ravel(x), {(count + x.size() - 1) / x.size()});
    return reshape(slice_in_dim(all, 0, count), shape);
  });
}

Tensor fliplr(Operand x) {
  const PublicCall call("fliplr", x.at());
  return flip(x, {axis_of(as_tensor(x).shape(), 1)});
}
Tensor flipud(Operand x) {
  const PublicCall call("flipud", x.at());
  return flip(x, {axis_of(as_tensor(x).shape(), 0)});
}

Tensor rot90(Operand operand, base::Int times, base::Int from, base::Int toward) {
  const PublicCall call("rot90", operand.at());
  Tensor x = as_tensor(operand);
  const std::vector<int64_t> axes = trace_internal::axes_of(x.shape(), {from, toward});
  return one_program("rot90", [&] {
    switch (((times % 4) + 4) % 4) {
      case 1: return swapaxes(flip(x, {axes[1]}), axes[0], axes[1]);
      case 2: return flip(x, axes);
      case 3: return flip(swapaxes(x, axes[0], axes[1]), {axes[1]});
      default: return x;
    }
  });
}

Tensor rollaxis(Operand operand, base::Int axis, base::Int start) {
  const PublicCall call("rollaxis", operand.at());
  Tensor x = as_tensor(operand);
  const int64_t from = axis_of(x.shape(), axis);
  const int64_t before = start < 0 ? start + x.rank() : int64_t{start};
  if (before < 0 || before > x.rank())
    trace_internal::refuse("start is ", start, "; x is ", x.shape(), ", it must be in ", -x.rank(),
                           " .. ", x.rank());
  return moveaxis(operand, from, from < before ? before - 1 : before);
}

Tensor matrix_transpose(Operand operand) {
  const PublicCall call("matrix_transpose", operand.at());
  Tensor x = as_tensor(operand);
  if (x.rank() < 2) trace_internal::refuse("x is ", x.shape(), "; it must have rank 2 or more");
  return swapaxes(operand, -2, -1);
}

Tensor pad_with(Operand operand, PadMode mode, const std::vector<Padding>& padding) {
  const PublicCall call("pad_with", operand.at());
  Tensor x = as_tensor(operand);
  if (static_cast<int64_t>(padding.size()) != x.rank())
    trace_internal::refuse("padding has ", padding.size(), " entries; x is ", x.shape(),
                           ", give one an axis");
  return one_program("pad_with", [&] {
    Tensor out = x;
    for (size_t i = 0; i < padding.size(); ++i) {
      const Padding& p = padding[i];
      const auto axis = static_cast<int64_t>(i);
      const int64_t size = x.dim(axis);
      if (p.low == 0 && p.high == 0 && p.interior == 0) continue;
      if (p.interior != 0 || size == 0 ||
          size + std::min<int64_t>(p.low, 0) + std::min<int64_t>(p.high, 0) < 0)
        trace_internal::refuse("padding of axis ", axis, " is ", p.low, ", ", p.high, ", interior ",
                               p.interior, "; x is ", x.shape(),
                               ", it needs elements there, no interior, and at most all cut");
      out = padded(out, mode, p, axis);
    }
    return out;
  });
}

Tensor repeat_each(Operand operand, Operand how_often, base::Int total, base::Int axis) {
  const PublicCall call("repeat_each", operand.at());
  Tensor x = as_tensor(operand), counts = as_tensor(how_often);
  const int64_t along = axis_of(x.shape(), axis), size = x.dim(along);
  if (counts.rank() != 1 || counts.size() != size || !is_integer(counts.dtype()))
    trace_internal::refuse("counts are ", counts.shape(), "; axis ", axis, " of x, ", x.shape(),
                           ", has size ", size, ", they must be a vector of as many integers");
  if (total < 0 || (size == 0 && total > 0))
    trace_internal::refuse("total is ", total, "; x is ", x.shape(),
                           ", it must be 0 or more, and 0 where there is nothing to repeat");
  return one_program("repeat_each", [&] {
    // Place p takes element k, where k elements end at or before p.
    const Tensor ends = cumsum(counts.astype(s64));
    const Tensor places = iota(s64, {total}, 0);
    const Tensor source = searchsorted(ends, places, SearchSide::kRight);
    return take(x, source, along);
  });
}

}  // namespace heddle
