// Matrix products: written as loops where they are small, else a kernel.
#include <optional>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/kernels/matmul_narrow.h"
#include "heddle/cpu/lower/dot_axes.h"
#include "heddle/cpu/lower/dot_writer.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/cpu/lower/narrow_products.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kSmallMatrix = 256;  // elements
constexpr int64_t kFewestRowsOfUnit = 12, kFewestColumnsOfUnit = 16, kLongSumOfUnit = 32;

NodeId bytes_at(PlanBuilder& builder, NodeId element, DType dtype) {
  return builder.mul(element, storage_bytes(dtype));
}

// Nothing where no kernel takes it, or where loops with so many lanes are as fast: many small
// products, and those by a small matrix.
std::optional<MatrixProduct> product_for_kernel(const Axes& axes, const DotWriter::Types& types,
                                                int64_t lanes) {
  const bool is_float = types.operands == f32 || types.operands == f64;
  const bool is_for_unit =
      storage_bytes(types.result) == 4 && narrow_unit(types.operands) != NarrowUnit::kNone;
  if (!is_float && !is_for_unit) return std::nullopt;
  // A unit packs the matrix first: that pays for several rows, and for whole vectors of columns or
  // long sums.
  if (is_for_unit &&
      (total(axes.rows) < kFewestRowsOfUnit ||
       (total(axes.columns) < kFewestColumnsOfUnit && total(axes.contracted) < kLongSumOfUnit)))
    return std::nullopt;
  const std::optional<MatrixProduct> product = matrix_product(axes, types.operands);
  const auto is_small = [](const MatrixProduct& p) {
    return p.m * p.k * p.n <= kMaxInlined || p.k * p.n <= kSmallMatrix;
  };
  if (product.has_value() && is_float && lanes >= kFewestLanesInLoops && is_small(*product))
    return std::nullopt;
  return product;
}

}  // namespace

// `step` is the product itself or the transpose that it is written as.
Status RegionLowering::emit_dot(InstructionId id, InstructionId step) {
  const Instruction& dot = at(id);
  const LeafId leaf = region_.leaf(step);
  const View lhs = view_for(dot, 0), rhs = view_for(dot, 1);
  const bool is_scalar = dot.shape.is_scalar();
  const BufferId to = is_scalar ? program_.allocate(dot.shape) : place_for(leaf, step);
  std::vector<int64_t> to_strides = row_major_strides(shape(leaf).dimensions());
  if (step != id) {
    const auto strides = to_strides;
    const auto& dims = dimensions_of(at(step));
    for (size_t d = 0; d < dims.size(); ++d) to_strides[static_cast<size_t>(dims[d])] = strides[d];
  }
  Axes axes = axes_of(dot.attrs.get<hlo::DotAttrs>(), at(dot.operands[0]).shape,
                      at(dot.operands[1]).shape, lhs.strides, rhs.strides, to_strides);
  for (auto* list : {&axes.batch, &axes.rows, &axes.columns, &axes.contracted}) merge(*list);
  const int64_t work =
      total(axes.batch) * total(axes.rows) * total(axes.columns) * total(axes.contracted);
  const DType dtype = at(dot.operands[0]).shape.dtype();
  std::vector<Axis> outer = axes.batch;
  outer.insert(outer.end(), axes.rows.begin(), axes.rows.end());
  outer.insert(outer.end(), axes.columns.begin(), axes.columns.end());
  const bool converts = lhs.convert != nullptr || rhs.convert != nullptr;
  DotWriter writer(b(), computation(), {dtype, dot.shape.dtype()},
                   program_.program.plan.vector_bytes, lhs, rhs, to);
  bool is_written = false;
  if (work > 0 && !is_scalar) {
    const bool has_loops = work > kMaxInlined || written_out_ >= DotWriter::kMaxWrittenOutInAll;
    is_written = (has_loops ? writer.in_registers(outer, axes.contracted)
                            : writer.write_out(outer, axes.contracted, written_out_)) ||
                 write_narrow_product(
                     b(), dot.shape.dtype(), lhs, rhs,
                     [&](const View& from, NodeId x) { return writer.widened(from, x); }, to, outer,
                     axes.contracted);
  }
  const bool has_lanes = !outer.empty() && outer.back().lhs + outer.back().rhs == 1;
  const auto product =
      is_written || converts || work <= kMaxInlined
          ? std::nullopt
          : product_for_kernel(axes, {dtype, dot.shape.dtype()},
                               has_lanes && outer.back().to == 1 ? outer.back().size : 1);
  if (product.has_value()) {
    HEDDLE_RETURN_IF_ERROR(program_.add_kernel({.product = product, .instruction = {}}));
    const NodeId offsets[] = {bytes_at(b(), lhs.offset, dtype), bytes_at(b(), rhs.offset, dtype),
                              b().index(0)};
    const int64_t several = work / (product->m * product->k * product->n);
    b().kernel({lhs.buffer, rhs.buffer, to}, offsets,
               base::cat(several > 1 ? base::cat(several, " products of ") : "a product of ",
                         product->m, " x ", product->k, " by ", product->k, " x ", product->n),
               2 * static_cast<double>(work));
  } else if (!is_written) {
    const Scalar scalar = scalar_type(dot.shape);
    const bool lanes_inside = !axes.contracted.empty() && axes.contracted.back().lhs == 1 &&
                              axes.contracted.back().rhs == 1;
    const bool is_long =
        !axes.contracted.empty() && axes.contracted.back().size >= DotWriter::kLongSum;
    if (work == 0) {
      const int64_t all[] = {dot.shape.element_count()};
      for_each_place(all, scalar, [&](Place place) {
        place.is_flat = true;
        store_at(to, dot.shape, place, b().bits({scalar, 1}, 0));
      });
    } else if (has_lanes && writer.by_rows(outer, axes.contracted)) {
      // a large matrix
    } else if (has_lanes) {
      writer.across(std::move(outer), axes.contracted);
    } else if (lanes_inside || is_long) {
      in_order_of_memory(outer);
      writer.along(outer, axes.contracted);
    } else {
      writer.plain(outer, axes.contracted);
    }
  }
  bind(leaf, is_scalar ? Value::of(b().load(to, {scalar_type(dot.shape), 1}, b().index(0)))
                       : Value::of(to));
  return {};
}

}  // namespace heddle::cpu
