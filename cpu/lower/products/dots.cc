// Matrix products: written as loops where they are small, else a kernel.
#include <optional>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/kernels/products/matmul_narrow.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/cpu/lower/products/dot_axes.h"
#include "heddle/cpu/lower/products/dot_writer.h"
#include "heddle/cpu/lower/products/narrow_products.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kSmallMatrix = 256;  // elements
constexpr int64_t kFewestRowsOfUnit = 12, kFewestColumnsOfUnit = 16, kLongSumOfUnit = 32;

// Neighbours along the last axis are neighbours in one operand, and the same element of the other.
bool has_lanes(const std::vector<Axis>& outer) {
  return !outer.empty() && outer.back().lhs + outer.back().rhs == 1;
}

// Nothing where no kernel takes it, or where loops with many lanes are as fast: many small
// products, and those by a small matrix.
std::optional<MatrixProduct> product_for_kernel(const Axes& axes, const DotWriter::Types& types,
                                                const std::vector<Axis>& outer) {
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
  const bool has_many_lanes =
      has_lanes(outer) && outer.back().to == 1 && outer.back().size >= kFewestLanesInLoops;
  if (product.has_value() && is_float && has_many_lanes && is_small(*product)) return std::nullopt;
  return product;
}

void write_in_loops(DotWriter& writer, std::vector<Axis> outer,
                    const std::vector<Axis>& contracted) {
  if (has_lanes(outer)) {
    if (!writer.by_rows(outer, contracted)) writer.across(std::move(outer), contracted);
    return;
  }
  const bool lanes_inside =
      !contracted.empty() && contracted.back().lhs == 1 && contracted.back().rhs == 1;
  const bool is_long = !contracted.empty() && contracted.back().size >= DotWriter::kLongSum;
  if (!lanes_inside && !is_long) return writer.plain(outer, contracted);
  in_order_of_memory(outer);
  writer.along(outer, contracted);
}

}  // namespace

// `step` is the product itself or the transpose that it is written as.
Status RegionLowering::emit_dot(InstructionId id, InstructionId step) {
  const Instruction& dot = at(id);
  const Shape& x = at(dot.operands[0]).shape;
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
  Axes axes = axes_of(dot.attrs.get<hlo::DotAttrs>(), x, at(dot.operands[1]).shape, lhs.strides,
                      rhs.strides, to_strides);
  for (auto* list : {&axes.batch, &axes.rows, &axes.columns, &axes.contracted}) merge(*list);
  std::vector<Axis> outer = axes.batch;
  outer.insert(outer.end(), axes.rows.begin(), axes.rows.end());
  outer.insert(outer.end(), axes.columns.begin(), axes.columns.end());
  const int64_t work = total(outer) * total(axes.contracted);
  const DotWriter::Types types = {x.dtype(), dot.shape.dtype()};
  DotWriter writer(b(), computation(), types, program_.program.plan.vector_bytes, lhs, rhs, to);
  const auto write_small = [&] {
    const bool has_loops = work > kMaxInlined || written_out_ >= DotWriter::kMaxWrittenOutInAll;
    return (has_loops ? writer.in_registers(outer, axes.contracted)
                      : writer.write_out(outer, axes.contracted, written_out_)) ||
           write_narrow_product(
               b(), types.result, lhs, rhs,
               [&](const View& from, NodeId value) { return writer.widened(from, value); }, to,
               outer, axes.contracted);
  };
  if (work == 0) {
    fill_with_zeros(to, dot.shape);
  } else if (is_scalar || !write_small()) {
    const bool is_plain = lhs.convert == nullptr && rhs.convert == nullptr;
    const auto product =
        is_plain && work > kMaxInlined ? product_for_kernel(axes, types, outer) : std::nullopt;
    if (product) {
      HEDDLE_RETURN_IF_ERROR(call_product(*product, work, lhs, rhs, to));
    } else {
      write_in_loops(writer, std::move(outer), axes.contracted);
    }
  }
  bind(leaf, is_scalar ? Value::of(b().load(to, {scalar_type(dot.shape), 1}, b().index(0)))
                       : Value::of(to));
  return {};
}

void RegionLowering::fill_with_zeros(BufferId to, const Shape& shape) {
  const Scalar scalar = scalar_type(shape);
  const int64_t all[] = {shape.element_count()};
  for_each_place(all, scalar, [&](Place place) {
    place.is_flat = true;
    store_at(to, shape, place, b().bits({scalar, 1}, 0));
  });
}

Status RegionLowering::call_product(const MatrixProduct& product, int64_t work, const View& lhs,
                                    const View& rhs, BufferId to) {
  HEDDLE_RETURN_IF_ERROR(program_.add_kernel({.product = product, .instruction = {}}));
  const NodeId offsets[] = {b().mul(lhs.offset, storage_bytes(lhs.dtype)),
                            b().mul(rhs.offset, storage_bytes(rhs.dtype)), b().index(0)};
  const int64_t several = work / (product.m * product.k * product.n);
  b().kernel({lhs.buffer, rhs.buffer, to}, offsets,
             base::cat(several > 1 ? base::cat(several, " products of ") : "a product of ",
                       product.m, " x ", product.k, " by ", product.k, " x ", product.n),
             2 * static_cast<double>(work));
  return {};
}

}  // namespace heddle::cpu
