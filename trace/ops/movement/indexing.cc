#include "heddle/trace/ops/movement/indexing.h"

#include <cmath>

#include "heddle/hlo/attributes.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/internal/scalar_fragment.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/ops/elementwise/comparing.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/positions.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::axis_of;
using trace_internal::comes_before;
using trace_internal::emit;
using trace_internal::from_start;
using trace_internal::known_program;
using trace_internal::KnownOptions;
using trace_internal::nothing_to_take;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::require_integers;
using trace_internal::widened;

Tensor filled(const Tensor& taken, const Tensor& inside, int64_t axis) {
  Dimensions shape = taken.shape().dimensions();
  std::vector<int64_t> mapping;
  for (int64_t i = 0; i < inside.rank(); ++i) mapping.push_back(axis + i);
  Tensor mask = broadcast_in_dim(inside, shape, mapping);
  bool has_nan = is_floating(taken.dtype()) || is_complex(taken.dtype());
  Tensor fill = has_nan ? full_like(taken, std::nan("")) : zeros_like(taken);
  return where(mask, taken, fill);
}

}  // namespace

Tensor take(Operand operand, Operand which, base::Int axis, IndexMode mode) {
  const PublicCall call("take", operand.at());
  Tensor x = as_tensor(operand);
  Tensor indices = as_tensor(which);
  int64_t along = axis_of(x.shape(), axis);
  require_integers(indices);
  int64_t size = x.shape().dimension(along);
  if (size == 0 && indices.size() > 0) throw Error(nothing_to_take("take", x.shape(), axis));
  if (size == 0) {
    Dimensions shape = x.shape().dimensions();
    shape.erase(shape.begin() + along);
    const Dimensions& inserted = indices.shape().dimensions();
    shape.insert(shape.begin() + along, inserted.begin(), inserted.end());
    return zeros(shape, x.dtype());
  }
  const auto of = [&](std::span<const Tensor> xs) { return take(xs[0], xs[1], axis, mode); };
  if (Tensor made = known_program("take", KnownOptions(along, mode), {operand, which}, of);
      made.is_valid())
    return made;
  return one_program("take", [&] {
    Tensor positions = from_start(widened(indices), size);
    GatherDims dims{.offset_dims = {},
                    .collapsed_slice_dims = {along},
                    .start_index_map = {along},
                    .index_vector_dim = positions.rank()};
    for (int64_t i = 0; i < x.rank() - 1; ++i)
      dims.offset_dims.push_back(i < along ? i : i + positions.rank());
    Dimensions sizes = x.shape().dimensions();
    sizes[static_cast<size_t>(along)] = 1;
    Tensor taken = gather(x, positions, dims, sizes);
    if (mode == IndexMode::kClip) return taken;
    Tensor inside = greater_equal(positions, 0) & less(positions, size);
    return filled(taken, inside, along);
  });
}

// Counted from the end where it is negative.
static int64_t index_vector_dim(int64_t given, const Tensor& indices) {
  return given < 0 ? std::max<int64_t>(given + indices.rank(), 0) : given;
}

Tensor gather(Operand operand, Operand start_indices, const GatherDims& dims,
              const base::Ints& slice_sizes) {
  const PublicCall call("gather", operand.at());
  const Tensor indices = as_tensor(start_indices);
  return emit({.opcode = Opcode::kGather,
               .operands = {as_tensor(operand), indices},
               .attrs = hlo::GatherAttrs{
                   .offset_dims = dims.offset_dims,
                   .collapsed_slice_dims = dims.collapsed_slice_dims,
                   .start_index_map = dims.start_index_map,
                   .operand_batching_dims = dims.operand_batching_dims,
                   .start_indices_batching_dims = dims.start_indices_batching_dims,
                   .index_vector_dim = index_vector_dim(dims.index_vector_dim, indices),
                   .slice_sizes = slice_sizes}});
}

Tensor scatter(Operand operand, Operand indices, Operand updates, const ScatterDims& dims,
               base::FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  const trace_internal::HigherOrderCall call("scatter", operand.at());
  Tensor x = as_tensor(operand);
  const Tensor at = as_tensor(indices);
  trace_internal::require_function("function", combine);
  Shape scalar = Shape::scalar(x.dtype());
  std::vector<Shape> scalars{scalar, scalar};
  auto fn = [&](std::span<const Tensor> t) { return std::vector<Tensor>{combine(t[0], t[1])}; };
  return emit(
      {.opcode = Opcode::kScatter,
       .operands = {x, at, as_tensor(updates)},
       .attrs =
           hlo::ScatterAttrs{.update_window_dims = dims.update_window_dims,
                             .inserted_window_dims = dims.inserted_window_dims,
                             .scatter_dims_to_operand_dims = dims.scatter_dims_to_operand_dims,
                             .input_batching_dims = dims.input_batching_dims,
                             .scatter_indices_batching_dims = dims.scatter_indices_batching_dims,
                             .index_vector_dim = index_vector_dim(dims.index_vector_dim, at),
                             .unique_indices = dims.unique_indices},
       .called = {trace_internal::scalar_fragment("scatter", scalars, fn)}});
}

std::vector<Tensor> sort_by(const std::vector<Tensor>& xs,
                            base::FunctionRef<Tensor(std::span<const Tensor>)> before,
                            base::Int axis, base::Flag stable, SourceLocation at) {
  const trace_internal::HigherOrderCall call("sort_by", at);
  trace_internal::require_function("function", before);
  if (xs.empty()) trace_internal::refuse("has no operands; give at least one");
  std::vector<Shape> scalars;
  for (const Tensor& x : xs) {
    Shape scalar = Shape::scalar(trace_internal::node_of(x).shape.dtype());
    scalars.insert(scalars.end(), {scalar, scalar});
  }
  int64_t along = axis_of(xs[0].shape(), axis);
  return trace_internal::in_program("sort_by", [&] {
    auto fn = [&](std::span<const Tensor> t) { return std::vector<Tensor>{before(t)}; };
    return trace_internal::emit_many(
        {.opcode = Opcode::kSort,
         .operands = xs,
         .attrs = hlo::SortAttrs{.dimensions = {along}, .is_stable = stable},
         .called = {trace_internal::scalar_fragment("compare", scalars, fn)}});
  });
}

Tensor sort(Operand operand, base::Int axis, base::Flag descending) {
  const PublicCall call("sort", operand.at());
  Tensor x = as_tensor(operand);
  int64_t along = axis_of(x.shape(), axis);
  auto before = [&](std::span<const Tensor> t) { return comes_before(t[0], t[1], descending); };
  const auto of = [&](std::span<const Operand> in) {
    return sort_by({in[0].tensor()}, before, along, true)[0];
  };
  return one_program("sort", KnownOptions(along, descending), {{x}}, of);
}

Tensor argsort(Operand operand, base::Int axis, base::Flag descending) {
  const PublicCall call("argsort", operand.at());
  Tensor x = as_tensor(operand);
  int64_t along = axis_of(x.shape(), axis);
  auto before = [&](std::span<const Tensor> t) { return comes_before(t[0], t[1], descending); };
  const auto of = [&](std::span<const Operand> in) {
    const Tensor positions = iota(s32, x.shape().dimensions(), along);
    return sort_by({in[0].tensor(), positions}, before, along, true)[1];
  };
  return one_program("argsort", KnownOptions(along, descending), {{x}}, of);
}

}  // namespace heddle
