// Derivatives of ops whose positions are computed: gather, scatter, sort, topk. Positions have no
// tangents; what moves by them is linear.
#include <algorithm>
#include <functional>
#include <numeric>

#include "heddle/hlo/derivatives/internal/rules.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::hlo {
namespace {

int64_t at(const Dims& dims, size_t i) { return dims[i]; }

bool is_in(const Dims& dims, int64_t d) { return std::ranges::count(dims, d) > 0; }

ScatterAttrs scatter_of(const GatherAttrs& g) {
  return {.update_window_dims = g.offset_dims,
          .inserted_window_dims = g.collapsed_slice_dims,
          .scatter_dims_to_operand_dims = g.start_index_map,
          .input_batching_dims = g.operand_batching_dims,
          .scatter_indices_batching_dims = g.start_indices_batching_dims,
          .index_vector_dim = g.index_vector_dim,
          .indices_are_sorted = g.indices_are_sorted};
}

// Sizes of the window that one index of a scatter writes.
Dims window_of(const ScatterAttrs& s, int64_t rank, const Shape& updates) {
  Dims sizes;
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    const bool is_one = is_in(s.inserted_window_dims, d) || is_in(s.input_batching_dims, d);
    sizes.push_back(is_one ? 1 : updates.dimension(at(s.update_window_dims, next++)));
  }
  return sizes;
}

GatherAttrs gather_of(const ScatterAttrs& s, int64_t rank, const Shape& updates) {
  return {.offset_dims = s.update_window_dims,
          .collapsed_slice_dims = s.inserted_window_dims,
          .start_index_map = s.scatter_dims_to_operand_dims,
          .operand_batching_dims = s.input_batching_dims,
          .start_indices_batching_dims = s.scatter_indices_batching_dims,
          .index_vector_dim = s.index_vector_dim,
          .slice_sizes = window_of(s, rank, updates),
          .indices_are_sorted = s.indices_are_sorted};
}

// Indices of a type that holds every position and -1.
Value wide_indices(const Value& indices) {
  const int64_t bits = bit_width(indices.dtype());
  if (bits < 32) return convert(indices, s32);
  return indices.dtype() == u32 ? convert(indices, s64) : indices;
}

// The last position of each component of an index, beside the indices.
Value last_positions(const Value& indices, int64_t index_vector_dim, const Dims& map,
                     const Dims& sizes, const Dims& window) {
  Values last;
  for (int64_t d : map) {
    const auto i = static_cast<size_t>(d);
    last.push_back(indices.number(static_cast<double>(sizes[i] - window[i])));
  }
  if (index_vector_dim == indices.rank()) return last[0];
  for (Value& each : last) each = reshape(each, {1});
  return broadcast(concatenate(last, 0), indices.sizes(), {index_vector_dim});
}

// Where gather reads: an index outside is moved inside.
Value inside(const Value& given, const GatherAttrs& g, const Dims& sizes) {
  if (g.start_index_map.empty()) return given;
  const Value indices = wide_indices(given);
  const Value last =
      last_positions(indices, g.index_vector_dim, g.start_index_map, sizes, g.slice_sizes);
  return maximum(minimum(indices, last), indices.number(0));
}

// Updates, and zeros where scatter leaves them out since their window is not inside.
Value where_inside(const Value& updates, const Value& given, const ScatterAttrs& s,
                   const Dims& sizes) {
  if (s.scatter_dims_to_operand_dims.empty()) return updates;
  const Value indices = wide_indices(given);
  const Dims window = window_of(s, static_cast<int64_t>(sizes.size()), updates.shape());
  const Value last =
      last_positions(indices, s.index_vector_dim, s.scatter_dims_to_operand_dims, sizes, window);
  Value is_inside = (indices >= 0.0) & (indices <= last);
  if (s.index_vector_dim < indices.rank())
    is_inside = reduce(is_inside, Opcode::kAnd, 1, {s.index_vector_dim});
  const Dims places = other_dimensions(updates.rank(), s.update_window_dims);
  return select(broadcast(is_inside, updates.sizes(), places), updates,
                updates.graph().zeros(updates.shape()));
}

int64_t indices_in_batch(const Value& indices, const ScatterAttrs& s) {
  int64_t count = 1;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d != s.index_vector_dim && !is_in(s.scatter_indices_batching_dims, d))
      count *= indices.size(d);
  }
  return count;
}

// Whether it is known that no two updates go to one element: one index is alone, in each batch.
bool goes_once(const Value& indices, const ScatterAttrs& s) {
  return s.unique_indices || indices_in_batch(indices, s) <= 1;
}

// Whether an index alone says which element of x an update goes to.
bool goes_to_elements(const ScatterAttrs& s) {
  return std::ranges::all_of(s.scatter_dims_to_operand_dims,
                             [&](int64_t d) { return is_in(s.inserted_window_dims, d); });
}

// For each index whether no later one of its batch is equal, by comparing each with each.
Value is_last(const Value& given, const ScatterAttrs& s) {
  const bool has_vectors = s.index_vector_dim < given.rank();
  Dims order = s.scatter_indices_batching_dims, sizes;
  const auto batches = static_cast<std::ptrdiff_t>(order.size());
  for (int64_t d = 0; d < given.rank(); ++d) {
    if (d != s.index_vector_dim && !is_in(s.scatter_indices_batching_dims, d)) order.push_back(d);
  }
  for (int64_t d : order) sizes.push_back(given.size(d));
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, int64_t{1}, std::multiplies<>());
  };
  const int64_t b = product(sizes.begin(), sizes.begin() + batches),
                n = product(sizes.begin() + batches, sizes.end()),
                size = has_vectors ? given.size(s.index_vector_dim) : 1;
  Dims with_vectors = order;
  if (has_vectors) with_vectors.push_back(s.index_vector_dim);
  const Value all = reshape(transpose(given, with_vectors), {b, n, size});
  const Dims pairs{b, n, n, size};
  const Value same = reduce(broadcast(all, pairs, {0, 1, 3}) == broadcast(all, pairs, {0, 2, 3}),
                            Opcode::kAnd, 1, {3});
  Graph& graph = given.graph();
  const Value is_later = graph.iota({b, n, n}, 1) < graph.iota({b, n, n}, 2);
  const Value last = reshape(!reduce(same & is_later, Opcode::kOr, 0, {2}), sizes);
  Dims back(order.size());  // the places of the batch's dimensions among those without vectors
  for (size_t d = 0; d < order.size(); ++d) {
    const int64_t place = order[d] - (has_vectors && order[d] > s.index_vector_dim ? 1 : 0);
    back[static_cast<size_t>(place)] = static_cast<int64_t>(d);
  }
  return transpose(last, back);
}

ComputationId second_of(Graph& graph, DType dtype) {
  Graph second(graph.writer());
  second.parameter(Shape::scalar(dtype));
  const Value b = second.parameter(Shape::scalar(dtype));
  return std::move(second).finish_with(b);
}

// Whether each element of the updates stays where it is written. Few indices are compared with each
// other. Else the updates are numbered from 1 on, and the numbers are scattered.
Value stays(const Value& x, const Value& indices, const Value& updates, const ScatterAttrs& attrs) {
  Graph& graph = x.graph();
  const Shape places = updates.shape();
  const int64_t count = indices_in_batch(indices, attrs);
  if (goes_to_elements(attrs) && count * count <= x.shape().element_count()) {
    return broadcast(is_last(indices, attrs), updates.sizes(),
                     other_dimensions(updates.rank(), attrs.update_window_dims));
  }
  const Value numbers = reshape(graph.iota({places.element_count()}, 0) + 1.0, updates.sizes());
  const Value last =
      graph.op(Opcode::kScatter, {graph.zeros(Shape(s32, x.sizes())), indices, numbers}, attrs,
               {second_of(graph, s32)});
  return gather(last, indices, gather_of(attrs, x.rank(), places)) == numbers;
}

// Scatter that replaces: of several updates of one element the last one stays, and its tangent with
// it. So the elements become zeros, and then what stays is added.
Value replaced(const JvpArgs& d) {
  const Value &x = d.x[0], &indices = d.x[1], &updates = d.x[2];
  const auto& attrs = d.attrs<ScatterAttrs>();
  Graph& graph = d.graph;
  const Value none = graph.zeros(updates.shape());
  const Value kept = d.dx[0] ? d.again({d.dx[0], indices, none}) : graph.zeros(x.shape());
  if (d.dx[2].is_absent()) return kept;
  return scatter(Opcode::kAdd, kept, indices,
                 select(stays(x, indices, updates, attrs), d.dx[2], none), attrs);
}

bool is_second(const Computation& computation) {
  const Instruction* root = &computation.root_instruction();
  while (root->opcode == Opcode::kCopy) root = &computation.at(root->operands[0]);
  return root->opcode == Opcode::kParameter && root->attrs.get<ParameterAttrs>().number == 1;
}

// A vector moved by some places toward its end, or its beginning, with what comes in.
Value shifted(const Value& x, int64_t places, double fill) {
  return pad(x, x.number(fill), {{.low = places, .high = -places}});
}

// Of the factors at sorted places, the product of those of its place that stand before it, or
// behind it where the step is -1.
Value product_beside(const Value& factors, const Value& places, int64_t step) {
  const auto neighbours = [&](const Value& x, int64_t distance) {
    const Value is_same = places == shifted(places, step * distance, -1);
    return select(is_same, shifted(x, step * distance, 1), x.number(1));
  };
  Value product = factors;
  for (int64_t distance = 1; distance < factors.size(0); distance *= 2)
    product = product * neighbours(product, distance);
  return neighbours(product, 1);
}

// Of each factor the product of the others that go to its place. Those that stand by a place are
// found by sorting.
Value product_of_others(const Value& factors, const JvpArgs& d) {
  Graph& graph = d.graph;
  const auto& attrs = d.attrs<ScatterAttrs>();
  const Value &x = d.x[0], &indices = d.x[1];
  const int64_t count = factors.shape().element_count();
  const Value numbers = reshape(graph.iota({x.shape().element_count()}, 0, s64) + 1.0, x.sizes());
  const Value read = gather(numbers, indices, gather_of(attrs, x.rank(), factors.shape()));
  const Value places = reshape(where_inside(read, indices, attrs, x.sizes()), {count});
  const Value order = graph.iota({count}, 0, s64);
  const Values sorted = sort({places, order}, 0, ComparisonDirection::kLt);
  // What is outside goes nowhere.
  const Value there =
      select(sorted[0] == 0.0, factors.number(1), take(reshape(factors, {count}), sorted[1]));
  const Value product = product_beside(there, sorted[0], 1) * product_beside(there, sorted[0], -1);
  const Value back = sort({sorted[1], order}, 0, ComparisonDirection::kLt)[1];
  return reshape(take(product, back), factors.sizes());
}

// x times the updates, or divided by them.
Value multiplied(const JvpArgs& d, Opcode combine) {
  const auto& attrs = d.attrs<ScatterAttrs>();
  const Value &x = d.x[0], &indices = d.x[1], &updates = d.x[2];
  const Value of_x = d.dx[0] ? scatter(combine, d.dx[0], indices, updates, attrs) : Value();
  if (d.dx[2].is_absent()) return of_x;
  const bool divides = combine == Opcode::kDivide;
  const Value factors = divides ? 1.0 / updates : updates;
  const Value change = divides ? -(d.dx[2] * factors * factors) : d.dx[2];
  const Value read = gather(x, indices, gather_of(attrs, x.rank(), updates.shape()));
  Value before = where_inside(read, indices, attrs, x.sizes());
  if (!goes_once(indices, attrs)) before = before * product_of_others(factors, d);
  return add(of_x,
             scatter(Opcode::kAdd, d.graph.zeros(x.shape()), indices, change * before, attrs));
}

// The greatest or least of x and the updates of a place: those that it is have equal shares of it.
Value extreme(const JvpArgs& d) {
  const auto& attrs = d.attrs<ScatterAttrs>();
  const Value &x = d.x[0], &indices = d.x[1], &updates = d.x[2], &y = d.y[0];
  const GatherAttrs read = gather_of(attrs, x.rank(), updates.shape());
  const Value none = d.graph.zeros(x.shape());
  const Value is_update = (updates == gather(y, indices, read)) | (updates != updates);
  const Value is_x = (x == y) | (x != x);  // a NaN is the greatest and the least
  const Value ties = scatter(Opcode::kAdd, select(is_x, x.number(1), none), indices,
                             select(is_update, updates.number(1), 0.0), attrs);
  const Value of_x = d.dx[0] ? select(is_x, d.dx[0] / ties, none) : none;
  if (d.dx[2].is_absent()) return of_x;
  const Value of_updates = select(is_update, d.dx[2] / gather(ties, indices, read), 0.0);
  return scatter(Opcode::kAdd, of_x, indices, of_updates, attrs);
}

}  // namespace

StatusOr<Values> jvp_scatter(const JvpArgs& d) {
  if (d.x.size() != 3)
    return base::unimplemented("it scatters several arrays together; scatter them one by one");
  const bool replaces = is_second(d.called());
  if (replaces && !goes_once(d.x[1], d.attrs<ScatterAttrs>())) return Values{replaced(d)};
  const std::optional<Opcode> combine = op_of(d.called());
  if (replaces || combine == Opcode::kAdd)
    return Values{d.again({d.full_dx(0), d.x[1], d.full_dx(2)})};
  if (combine == Opcode::kMultiply || combine == Opcode::kDivide)
    return Values{multiplied(d, *combine)};
  if (combine == Opcode::kMaximum || combine == Opcode::kMinimum) return Values{extreme(d)};
  return base::unimplemented(
      "its function is no sum, product, quotient, replacement, maximum or minimum");
}

StatusOr<Values> transpose_gather(const TransposeArgs& t) {
  const auto& attrs = t.attrs<GatherAttrs>();
  const Value indices = inside(t.x[1], attrs, t.shape(0).dimensions());
  return Values{
      scatter(Opcode::kAdd, t.graph.zeros(t.shape(0)), indices, t.ct[0], scatter_of(attrs)),
      Value()};
}

StatusOr<Values> transpose_scatter(const TransposeArgs& t) {
  const auto& attrs = t.attrs<ScatterAttrs>();
  const Value& ct = t.ct[0];
  const std::optional<Opcode> combine = op_of(t.called());
  if ((combine == Opcode::kMultiply || combine == Opcode::kDivide) && !t.is_linear(2))
    return Values{scatter(*combine, ct, t.x[1], t.x[2], attrs), Value(), Value()};
  const bool replaces = is_second(t.called()) && (goes_once(t.x[1], attrs) || !t.is_linear(2));
  if (combine != Opcode::kAdd && !replaces) return base::internal_error("scatter is not a sum");
  Values out(3);
  if (t.is_linear(0) && replaces)
    out[0] = t.graph.op(Opcode::kScatter, {ct, t.x[1], t.graph.zeros(t.shape(2))}, attrs,
                        {t.of.called[0]});
  else if (t.is_linear(0))
    out[0] = ct;
  if (t.is_linear(2)) {
    const Value read = gather(ct, t.x[1], gather_of(attrs, ct.rank(), t.shape(2)));
    out[2] = where_inside(read, t.x[1], attrs, ct.sizes());
  }
  return out;
}

Value take(const Value& x, const Value& at) {
  if (x.shape().element_count() == 0) return x.graph().zeros(Shape(x.dtype(), at.sizes()));
  const Value flat = reshape(x, {x.shape().element_count()});
  return gather(flat, at,
                {.collapsed_slice_dims = {0},
                 .start_index_map = {0},
                 .index_vector_dim = at.rank(),
                 .slice_sizes = {1}});
}

Value take_along(const Value& x, const Value& at, int64_t dimension) {
  if (at.shape().element_count() == 0) return x.graph().zeros(Shape(x.dtype(), at.sizes()));
  GatherAttrs attrs{.collapsed_slice_dims = {dimension},
                    .start_index_map = {dimension},
                    .index_vector_dim = at.rank(),
                    .slice_sizes = Dims(static_cast<size_t>(x.rank()), 1)};
  attrs.operand_batching_dims = other_dimensions(x.rank(), {&dimension, 1});
  attrs.start_indices_batching_dims = attrs.operand_batching_dims;
  return gather(x, at, attrs);
}

// The sort with the positions as one more operand tells where each element came from.
StatusOr<Values> jvp_sort(const JvpArgs& d) {
  const int64_t dimension = d.attrs<SortAttrs>().dimensions[0];
  Computation comparator = d.called();
  for (int i = 0; i < 2; ++i) {
    Instruction position;
    position.opcode = Opcode::kParameter;
    position.shape = Shape::scalar(s32);
    position.attrs = ParameterAttrs{.number = static_cast<int64_t>(comparator.parameters.size())};
    comparator.parameters.emplace_back(comparator.instructions.size());
    comparator.instructions.push_back(std::move(position));
  }
  Values operands(d.x.begin(), d.x.end());
  operands.push_back(d.graph.iota(d.x[0].sizes(), dimension));
  const Values sorted = d.graph.op_of_many(Opcode::kSort, operands,
                                           SortAttrs{.dimensions = {dimension}, .is_stable = true},
                                           {d.graph.writer().add(std::move(comparator))});
  Values out;
  for (const Value& dx : d.dx) out.push_back(dx ? take_along(dx, sorted.back(), dimension) : dx);
  return out;
}

StatusOr<Values> jvp_topk(const JvpArgs& d) {
  return Values{take_along(d.dx[0], d.y[1], d.x[0].rank() - 1), Value()};
}

}  // namespace heddle::hlo
