// associative_scan: odd-even recursion (G. Blelloch, Prefix sums and their applications, 1990):
// combine neighbours, scan the half-length sequence, then combine its results with the even
// elements and interleave.
#include "heddle/scan/associative.h"

#include <cmath>

#include "heddle/scan/internal/trace_body.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace scan_internal {
namespace {

using Leaves = std::vector<Tensor>;
using trace_internal::Expr;
using trace_internal::PublicCall;

constexpr std::string_view kWhat = "associative_scan";
constexpr char kCombine = 0;

class AssociativeScan {
 public:
  AssociativeScan(const Callable& fn, const Argument& elements, int64_t axis)
      : fn_(fn), elements_(elements), axis_(axis) {}

  Leaves run(const Leaves& elements) const {
    int64_t n = elements[0].shape().dimension(axis_);
    if (n < 2) return elements;
    Leaves reduced = combine(part(elements, 0, n - 1, 2), part(elements, 1, n, 2));
    Leaves odd = run(reduced);
    int64_t evens = (n + 1) / 2;
    Leaves rest =
        evens > 1 ? combine(part(odd, 0, evens - 1, 1), part(elements, 2, n, 2)) : Leaves{};
    Leaves out;
    for (size_t i = 0; i < elements.size(); ++i) {
      Tensor first = slice_in_dim(elements[i], 0, 1, 1, axis_);
      Tensor even = evens > 1 ? concat({first, rest[i]}, axis_) : first;
      out.push_back(interleave(even, odd[i]));
    }
    return out;
  }

 private:
  Leaves part(const Leaves& leaves, int64_t start, int64_t limit, int64_t stride) const {
    Leaves out;
    for (const Tensor& leaf : leaves)
      out.push_back(slice_in_dim(leaf, start, limit, stride, axis_));
    return out;
  }

  // Combines two slabs: the function's body, traced once for each size, in place.
  [[nodiscard]] Leaves combine(const Leaves& left, const Leaves& right) const {
    Leaves operands = left;
    operands.insert(operands.end(), right.begin(), right.end());
    std::vector<Shape> shapes = shapes_of(operands, kWhat);
    BodyPtr body = body_for({.what = kWhat,
                             .kind = &kCombine,
                             .callable = fn_,
                             .structure = elements_.structure,
                             .parameters = shapes,
                             .result = "result",
                             .variant = static_cast<uint64_t>(shapes[0].dimension(axis_))},
                            [&](const Body& b) { check(shapes, b); });
    operands.insert(operands.end(), body->captures.begin(), body->captures.end());
    return trace_internal::Recorder::current()->paste(body->fragment, operands);
  }

  void check(const std::vector<Shape>& before, const Body& body) const {
    const TreeSpec in = elements_.spec();
    if (in != body.results[0])
      trace_internal::refuse(
          "elements",
          first_difference(in, body.results[0], " as fn gets them", " as it returns them"),
          "; it must return the structure that it was given");
    std::vector<std::string> paths = leaf_paths(in);
    for (size_t i = 0; i < paths.size(); ++i) {
      const Shape& after = body.result_shapes()[i];
      if (same_type(before[i], after)) continue;
      trace_internal::refuse("elements", paths[i], " enter fn as ", before[i], " and leave as ",
                             after,
                             "; fn must keep types, and work on slabs of any length along "
                             "the axis");
    }
  }

  // even[0], odd[0], even[1], ..: a new minor axis of two, flattened. Of an odd count the last even
  // element stays.
  [[nodiscard]] Tensor interleave(const Tensor& even, const Tensor& odd) const {
    int64_t pairs = odd.shape().dimension(axis_);
    Tensor head = slice_in_dim(even, 0, pairs, 1, axis_);
    Tensor both = stack({head, odd}, axis_ + 1);
    Dimensions shape = odd.shape().dimensions();
    shape[static_cast<size_t>(axis_)] = 2 * pairs;
    Tensor merged = reshape(both, shape);
    if (even.shape().dimension(axis_) == pairs) return merged;
    return concat({merged, slice_in_dim(even, pairs, pairs + 1, 1, axis_)}, axis_);
  }

  const Callable& fn_;
  const Argument& elements_;
  int64_t axis_;
};

}  // namespace

std::vector<Tensor> run_associative(const Callable& fn, const Argument& elements,
                                    const AssociativeScanOptions& options) {
  if (elements.leaves.empty()) return {};
  trace_internal::require_values(kWhat, "elements", elements.leaves, elements.spec);
  return trace_internal::in_program(kWhat, [&] {
    std::vector<std::string> paths = leaf_paths(elements.spec());
    std::vector<Shape> shapes = shapes_of(elements.leaves, kWhat);
    int64_t axis = trace_internal::axis_of(shapes[0], options.axis);
    for (size_t i = 1; i < shapes.size(); ++i) {
      if (shapes[i].has_dimension(axis) && shapes[i].dimension(axis) == shapes[0].dimension(axis))
        continue;
      trace_internal::refuse("element", paths[i], " is ", shapes[i], " and element", paths[0],
                             " is ", shapes[0], "; all must have one size along axis ",
                             options.axis);
    }
    Leaves leaves(elements.leaves.begin(), elements.leaves.end());
    auto turn = [&](Leaves& list) {
      for (Tensor& leaf : list) leaf = flip(leaf, {axis});
    };
    if (options.reverse) turn(leaves);
    Leaves out = AssociativeScan(fn, elements, axis).run(leaves);
    if (options.reverse) turn(out);
    return out;
  });
}

namespace {

// XLA's ReduceWindowRewriter has tiles of 16 elements too.
constexpr int64_t kTile = 16;

// For each of the rows [n, ..] the combination of all up to it. The first row starts it, so that no
// identity is needed.
template <class Combine>
Tensor up_to_each(const Tensor& rows) {
  const int64_t n = rows.dim(0);
  if (n < 2) return rows;
  const Tensor first = slice_in_dim(rows, 0, 1);
  auto step = [](Tensor carry, Tensor row) {
    const PublicCall shared = PublicCall::shared_code();
    Tensor next = Combine{}(carry, row);
    return std::pair(next, next);
  };
  const Tensor rest = scan(step, squeeze(first, {0}), slice_in_dim(rows, 1, n), {}).second;
  return concat({first, rest}, 0);
}

// For each of the rows [n, ..] the combination of all from it on, also from the lower to the
// higher.
template <class Combine>
Tensor from_each(const Tensor& rows) {
  const int64_t n = rows.dim(0);
  if (n < 2) return rows;
  auto step = [](Tensor carry, std::pair<Tensor, Tensor> x) {
    const PublicCall shared = PublicCall::shared_code();
    const auto& [row, place] = x;
    const Dimensions& shape = carry.shape().dimensions();
    const Expr before(carry), to(place);
    const Tensor spread = broadcast_to(row, shape);
    const Expr longer = Combine{}(carry, spread);
    const Expr inside = Expr(iota(s32, shape, 0)) < to;
    return std::pair(where(inside, longer, before).tensor(), None{});
  };
  const std::pair later(slice_in_dim(rows, 1, n), arange(1, n, 1).astype(s32));
  return scan(step, rows, later, {}).first;
}

// Running results of rows [n, ..]: within a tile, then of the totals of tiles, then each tile with
// the total before (behind) it.
template <class Combine>
Tensor in_tiles(const Tensor& rows, double identity, bool reverse) {
  const int64_t n = rows.dim(0), tiles = (n + kTile - 1) / kTile;
  const auto run = [&](const Tensor& x) {
    return reverse ? from_each<Combine>(x) : up_to_each<Combine>(x);
  };
  if (tiles < 2) return run(rows);
  std::vector<Padding> padding(static_cast<size_t>(rows.rank()));
  padding[0].high = tiles * kTile - n;
  Dimensions shape = rows.shape().dimensions();
  shape[0] = kTile;
  shape.insert(shape.begin(), tiles);
  Tensor table = reshape(pad(rows, identity, padding), shape);
  Tensor within = run(moveaxis(table, 1, 0));  // [16, tiles, ..]
  const auto part = [&](const Tensor& x, int64_t axis, int64_t from, int64_t to) {
    return slice_in_dim(x, from, to, 1, axis);
  };
  // The totals before each tile but the first (behind each but the last): [tiles - 1, ..].
  Tensor total = squeeze(reverse ? part(within, 0, 0, 1) : part(within, 0, kTile - 1, kTile), {0});
  total = in_tiles<Combine>(total, identity, reverse);
  total = reverse ? part(total, 0, 1, tiles) : part(total, 0, 0, tiles - 1);
  Tensor edge = reverse ? part(within, 1, tiles - 1, tiles) : part(within, 1, 0, 1);
  Tensor others = reverse ? part(within, 1, 0, tiles - 1) : part(within, 1, 1, tiles);
  others = Combine{}(broadcast_to(total, others.shape().dimensions()), others);
  Tensor all = reverse ? concat({others, edge}, 1) : concat({edge, others}, 1);
  Dimensions flat = rows.shape().dimensions();
  flat[0] = tiles * kTile;
  return part(reshape(moveaxis(all, 0, 1), flat), 0, 0, n);
}

// `exact`: any order of combining gives the same, so that the reverse is the running result of the
// array from its end. `identity` fills the last tile of the other reverse; no forward result reads
// it.
template <class Combine>
Tensor cumulative(std::string_view name, const Operand& operand, int64_t axis, bool reverse,
                  bool exact, double identity, Combine) {
  Tensor x = as_tensor(operand);
  if (x.dtype() == pred)
    trace_internal::refuse("x is ", x.shape(), "; it must be of numbers, cast it with astype(s32)");
  int64_t along = trace_internal::axis_of(x.shape(), axis);
  if (x.shape().dimension(along) < 2) return x;
  const bool turn = reverse && (exact || is_integer(x.dtype()));
  const auto formula = [&](std::span<const Operand> in) {
    Tensor rows = moveaxis(in[0], along, 0);
    if (turn) rows = flip(rows, {0});
    const bool backwards = reverse && !turn;
    Tensor out = in_tiles<Combine>(rows, backwards ? identity : 0, backwards);
    if (turn) out = flip(out, {0});
    return moveaxis(out, 0, along);
  };
  return trace_internal::one_program(name, trace_internal::KnownOptions(along, reverse), {{x}},
                                     formula);
}

// pred as numbers, of which 1 is true.
Tensor counted(const Operand& x) {
  const Tensor t = as_tensor(x);
  return t.dtype() == pred ? t.astype(s32) : t;
}

}  // namespace
}  // namespace scan_internal

using trace_internal::PublicCall;

Tensor cumsum(Operand x, base::Int axis, base::Flag reverse) {
  const PublicCall call("cumsum", x.at());
  return scan_internal::cumulative("cumsum", scan_internal::counted(x), axis, reverse, false, 0,
                                   [](const Tensor& a, const Tensor& b) { return add(a, b); });
}
Tensor cumprod(Operand x, base::Int axis, base::Flag reverse) {
  const PublicCall call("cumprod", x.at());
  return scan_internal::cumulative("cumprod", scan_internal::counted(x), axis, reverse, false, 1,
                                   [](const Tensor& a, const Tensor& b) { return multiply(a, b); });
}
Tensor cummax(Operand x, base::Int axis, base::Flag reverse) {
  const PublicCall call("cummax", x.at());
  return scan_internal::cumulative("cummax", x, axis, reverse, true, 0,
                                   [](const Tensor& a, const Tensor& b) { return maximum(a, b); });
}
Tensor cummin(Operand x, base::Int axis, base::Flag reverse) {
  const PublicCall call("cummin", x.at());
  return scan_internal::cumulative("cummin", x, axis, reverse, true, 0,
                                   [](const Tensor& a, const Tensor& b) { return minimum(a, b); });
}
Tensor cumlogsumexp(Operand x, base::Int axis, base::Flag reverse) {
  const PublicCall call("cumlogsumexp", x.at());
  using trace_internal::Expr;
  trace_internal::floating("x", x);
  const Tensor value = as_tensor(x);
  const Tensor sums = scan_internal::cumulative(
      "cumlogsumexp", trace_internal::wide_for_sums(value), axis, reverse, false, -INFINITY,
      [](const Tensor& left, const Tensor& right) {
        const Expr a(left), b(right);
        const Expr top = maximum(a, b);
        const Expr safe = where(is_finite(top), top, top.like(0));
        return (safe + log(exp(a - safe) + exp(b - safe))).tensor();
      });
  return sums.astype(value.dtype());
}

}  // namespace heddle
