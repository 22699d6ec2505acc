// Forward mode of reductions by any associative function, over whole dimensions and over windows:
// it combines neighbours in log2(n) rounds, and the start with their result. And of `map`.
#include <algorithm>

#include "heddle/hlo/dimensions.h"
#include "heddle/transform/batching/internal/batcher.h"
#include "heddle/transform/derivatives/internal/forward.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

using hlo::Dims;

class ReduceJvp {
 public:
  ReduceJvp(Forward& forward, Graph& graph, hlo::ComputationId function, const Dims& dimensions,
            const Duals& operands)
      : forward_(forward),
        graph_(graph),
        function_(forward.source_.at(function)),
        dimensions_(dimensions),
        operands_(operands) {}

  // The results' values and tangents.
  StatusOr<Duals> run() {
    const size_t arrays = operands_.size() / 2;
    Duals rows, start;  // [n, m] each, and [m]
    for (size_t i = 0; i < arrays; ++i) {
      rows.push_back(as_rows(operands_[i]));
      start.push_back(as_start(operands_[arrays + i], rows[0].x.size(1)));
    }
    if (rows[0].x.size(0) > 0) {
      while (rows[0].x.size(0) > 1) {
        HEDDLE_ASSIGN_OR_RETURN(rows, halved(rows));
      }
      HEDDLE_ASSIGN_OR_RETURN(start, combined(start, flat(rows)));
    }
    for (Dual& each : start) each = mapped(each, [&](const Value& x) { return reshape(x, kept_); });
    return start;
  }

  // The result of a map.
  static StatusOr<Dual> map(Forward& forward, Graph& graph, const Instruction& map,
                            const Duals& operands) {
    const Computation function = forward.source_.at(map.called[0]);
    HEDDLE_ASSIGN_OR_RETURN(const Duals made, of_each(forward, graph, function, flat(operands)));
    Dual out = mapped(made[0], [&](const Value& x) { return reshape(x, map.shape.dimensions()); });
    out.why = made[0].why;
    return out;
  }

 private:
  template <class Fn>
  static Dual mapped(const Dual& dual, const Fn& fn) {
    return {fn(dual.x), dual.dx ? fn(dual.dx) : Value()};
  }
  static Duals flat(const Duals& rows) {
    Duals out;
    for (const Dual& each : rows)
      out.push_back(
          mapped(each, [](const Value& x) { return reshape(x, {x.shape().element_count()}); }));
    return out;
  }

  // The reduced dimensions as one, and the others.
  Dual as_rows(const Dual& dual) {
    const Dims sizes = dual.x.sizes();
    Dims order = dimensions_;
    std::ranges::sort(order);
    int64_t n = 1, m = 1;
    for (int64_t d : order) n *= sizes[static_cast<size_t>(d)];
    kept_.clear();
    for (int64_t d = 0; d < dual.x.rank(); ++d) {
      if (std::ranges::find(dimensions_, d) != dimensions_.end()) continue;
      order.push_back(d);
      kept_.push_back(sizes[static_cast<size_t>(d)]);
      m *= kept_.back();
    }
    return mapped(dual, [&](const Value& x) { return reshape(transpose(x, order), {n, m}); });
  }
  static Dual as_start(const Dual& dual, int64_t m) {
    return mapped(dual, [&](const Value& x) { return broadcast(x, {m}, {}); });
  }

  StatusOr<Duals> halved(const Duals& rows) {
    const int64_t n = rows[0].x.size(0), m = rows[0].x.size(1), pairs = n / 2;
    const auto every_second = [&](int64_t first) {
      Duals out;
      for (const Dual& each : rows)
        out.push_back(mapped(each, [&](const Value& x) {
          return reshape(slice(x, {{.start = first, .limit = 2 * pairs, .stride = 2},
                                   {.start = 0, .limit = m, .stride = 1}}),
                         {pairs * m});
        }));
      return out;
    };
    HEDDLE_ASSIGN_OR_RETURN(Duals made, combined(every_second(0), every_second(1)));
    for (size_t i = 0; i < made.size(); ++i) {
      made[i] = mapped(made[i], [&](const Value& x) { return reshape(x, {pairs, m}); });
      if (n == 2 * pairs) continue;
      const Dual last = mapped(rows[i], [&](const Value& x) { return slice(x, 0, n - 1, 1); });
      const bool has_tangent = made[i].dx || last.dx;
      made[i] = {hlo::concatenate({made[i].x, last.x}, 0),
                 has_tangent
                     ? hlo::concatenate({or_zeros(graph_, made[i]), or_zeros(graph_, last)}, 0)
                     : Value()};
    }
    return made;
  }

  StatusOr<Duals> combined(const Duals& a, const Duals& b) {
    Duals both = a;
    both.insert(both.end(), b.begin(), b.end());
    return of_each(forward_, graph_, function_, both);
  }

  // A function of numbers, for all of these [count].
  static StatusOr<Duals> of_each(Forward& forward, Graph& graph, const Computation& function,
                                 const Duals& parameters) {
    Graph inside(forward.source_.into(), function.name + ".rows");
    Batcher batcher(forward.source_, parameters[0].x.size(0), "");
    AllLanes given;
    for (const Dual& each : parameters) given.push_back({inside.parameter(each.x.shape()), true});
    HEDDLE_ASSIGN_OR_RETURN(const AllLanes made, batcher.run(inside, function, given, Value()));
    Values results;
    for (const Lanes& each : made) results.push_back(batcher.full(each));
    const hlo::ComputationId rows = std::move(inside).finish(results);
    Source written(forward.source_.into());
    return Forward(written, forward.mode_).run(graph, written.at(rows), parameters);
  }

  Forward& forward_;
  Graph& graph_;
  Computation function_;
  Dims dimensions_;
  const Duals& operands_;
  Dims kept_;  // sizes of the results
};

StatusOr<Duals> jvp_of_reduce(Forward& forward, Graph& graph, const Instruction& reduce,
                              const Duals& operands) {
  return ReduceJvp(forward, graph, reduce.called[0],
                   reduce.attrs.get<hlo::DimensionsAttrs>().dimensions, operands)
      .run();
}

StatusOr<Duals> jvp_of_map(Forward& forward, Graph& graph, const Instruction& map,
                           const Duals& operands) {
  HEDDLE_ASSIGN_OR_RETURN(Dual out, ReduceJvp::map(forward, graph, map, operands));
  return Duals{std::move(out)};
}

namespace {

// x at positions along a dimension: [.., n, ..] for n of them.
Value at_positions(const Value& x, int64_t dimension, const Value& positions) {
  hlo::GatherAttrs attrs{.collapsed_slice_dims = {dimension},
                         .start_index_map = {dimension},
                         .index_vector_dim = 1,
                         .slice_sizes = x.sizes()};
  attrs.slice_sizes[static_cast<size_t>(dimension)] = 1;
  attrs.offset_dims = other_dimensions(x.rank(), {&dimension, 1});
  return hlo::gather(x, positions, attrs);
}

// The windows of an array: [window.., places..]. Outside of the array they have `fill`.
Value windows_of(const Value& x, const Value& fill, const hlo::Window& window, const Dims& places) {
  std::vector<hlo::PadDimension> around;
  for (const hlo::WindowDimension& each : window.dimensions)
    around.push_back({each.padding_low, each.padding_high, each.base_dilation - 1});
  Value out = hlo::pad(x, fill, around);
  Dims sizes, first, second;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    const hlo::WindowDimension& each = window.dimensions[i];
    const Dims both{each.size, places[i]};
    Value within = out.graph().iota(both, 0);
    if (each.window_reversal) within = within.number(static_cast<double>(each.size - 1)) - within;
    const Value from = out.graph().iota(both, 1) * static_cast<double>(each.stride);
    const Value positions = within * static_cast<double>(each.window_dilation) + from;
    out = at_positions(out, d, reshape(positions, {each.size * places[i]}));
    sizes.insert(sizes.end(), both.begin(), both.end());
    first.push_back(2 * d);
    second.push_back(2 * d + 1);
  }
  first.insert(first.end(), second.begin(), second.end());
  return transpose(reshape(out, sizes), first);
}

}  // namespace

StatusOr<Duals> jvp_of_reduce_window(Forward& forward, Graph& graph, const Instruction& reduce,
                                     const Duals& operands) {
  const hlo::Window& window = reduce.attrs.get<hlo::WindowAttrs>().window;
  const Shape& result = reduce.shape.is_tuple() ? reduce.shape.element(0) : reduce.shape;
  const size_t arrays = operands.size() / 2;
  Duals rows = operands;
  for (size_t i = 0; i < arrays; ++i) {
    const Dual &x = operands[i], &start = operands[arrays + i];
    const auto windows = [&](const Value& of, const Value& fill) {
      return windows_of(of, fill, window, result.dimensions());
    };
    rows[i] = {windows(x.x, start.x),
               x.dx || start.dx ? windows(or_zeros(graph, x), or_zeros(graph, start)) : Value()};
  }
  const Dims dimensions = consecutive_dimensions(std::ssize(window.dimensions));
  return ReduceJvp(forward, graph, reduce.called[0], dimensions, rows).run();
}

}  // namespace heddle::transform
