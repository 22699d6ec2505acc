#include "heddle/cpu/rewrites/products/outer_products.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostAdded = 4;
constexpr int64_t kMostOfSmall = 16;  // elements of the smaller operand of a product that sums some
constexpr int64_t kFewestAlongLanes = 8;
constexpr int64_t kMostComplex = 4;  // terms of a product of complex numbers

// A product, or one and the transpose that reads it.
struct Product {
  const Instruction& dot;
  const hlo::DotAttrs& attrs;
  const Shape &x, &y;
  Dims places;  // which dimension of the result each one of the product is

  [[nodiscard]] int64_t summed() const {
    int64_t count = 1;
    for (const int64_t d : attrs.lhs_contracting_dims) count *= x.dimension(d);
    return count;
  }
  [[nodiscard]] bool is_plain() const {
    return dot.opcode == Opcode::kDot && attrs.algorithm == hlo::DotAlgorithm::kUnset &&
           x.dtype() == y.dtype() &&
           (x.dtype() == dot.shape.dtype() ||
            (kind_of(x.dtype()) == kind_of(dot.shape.dtype()) &&
             storage_bytes(x.dtype()) < storage_bytes(dot.shape.dtype())));
  }
  // Few terms of complex numbers, whose real and imaginary parts are each rounded as one product.
  [[nodiscard]] bool is_complex_sum() const {
    return is_complex(x.dtype()) && summed() > 1 && summed() <= kMostComplex;
  }
  // A product of few terms with a small matrix, as a gate of two states has it, whose last
  // dimension is the small one and whose transpose's is not: vectors lie along that of the latter.
  [[nodiscard]] bool turns_lanes() const {
    const auto last = static_cast<int64_t>(places.size()) - 1;
    if (places.empty() || places.back() == last || !attrs.lhs_batch_dims.empty() || summed() < 2 ||
        summed() > kMostAdded)
      return false;
    const bool x_is_small = x.element_count() <= kMostOfSmall;
    const Shape& small = x_is_small ? x : y;
    const Shape& large = x_is_small ? y : x;
    const Dims& contracted = x_is_small ? attrs.rhs_contracting_dims : attrs.lhs_contracting_dims;
    const int64_t lane = large.rank() - 1;
    if (small.element_count() > kMostOfSmall || std::ranges::count(contracted, lane) > 0)
      return false;
    // Its place in the product: the last one of its operand's.
    const auto sums = std::ssize(contracted);
    const int64_t place = (x_is_small ? small.rank() - sums : 0) + large.rank() - sums - 1;
    return large.dimension(lane) >= kFewestAlongLanes && places[static_cast<size_t>(place)] == last;
  }
};

// The operand at term `i` of the sum, with the result's sizes: its batch comes first, and what is
// its own from dimension `first` of the product on.
hlo::Value spread(hlo::Value operand, const Dims& batch, const Dims& contracting, int64_t i,
                  int64_t first, const Dims& sizes, const Dims& to) {
  std::vector<std::pair<int64_t, int64_t>> places;  // in the result, of the operand's dimensions
  for (int64_t d = 0; d < std::ssize(batch); ++d)
    places.emplace_back(to[static_cast<size_t>(d)], batch[static_cast<size_t>(d)]);
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (std::ranges::count(contracting, d) > 0 || std::ranges::count(batch, d) > 0) continue;
    places.emplace_back(to[static_cast<size_t>(first++)], d);
  }
  for (const int64_t d : contracting) {
    const int64_t count = operand.size(d);
    if (count > 1) operand = slice(operand, d, i % count, 1);
    i /= std::max<int64_t>(count, 1);
  }
  std::ranges::sort(places);
  Dims order, kept, where;
  for (const auto& [place, d] : places) {
    order.push_back(d);
    kept.push_back(operand.size(d));
    where.push_back(place);
  }
  order.insert(order.end(), contracting.begin(), contracting.end());  // of size 1
  return broadcast(reshape(transpose(operand, order), kept), sizes, where);
}

// What takes the place of a product that sums nothing, or of the transpose of one that sums nothing
// or few terms, which may be converted between.
hlo::Value as_product(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  const bool is_turned = old.opcode == Opcode::kTranspose;
  InstructionId dot = is_turned ? old.operands[0] : id;
  if (is_turned && to.old(dot).opcode == Opcode::kConvert) dot = to.old(dot).operands[0];
  if (to.old(dot).opcode != Opcode::kDot) return {};
  const Computation& from = to.from();
  Product product{to.old(dot), to.old(dot).attrs.get<hlo::DotAttrs>(),
                  from.at(to.old(dot).operands[0]).shape, from.at(to.old(dot).operands[1]).shape,
                  consecutive_dimensions(old.shape.rank())};
  if (is_turned) {
    const Dims& order = dimensions_of(old);
    for (size_t d = 0; d < order.size(); ++d)
      product.places[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  }
  if (!product.is_plain() ||
      (product.summed() != 1 && !product.turns_lanes() && !product.is_complex_sum()))
    return {};
  const hlo::DotAttrs& attrs = product.attrs;
  hlo::Values operands = to.operands(dot);
  hlo::Graph& graph = to.in_place_of(id);
  for (hlo::Value& operand : operands) operand = convert(operand, product.dot.shape.dtype());
  const auto batch = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const int64_t own =
      operands[0].rank() - batch - static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  const Dims& sizes = old.shape.dimensions();
  const Shape shape = old.shape.with_dtype(product.dot.shape.dtype());
  hlo::Value sum;
  for (int64_t i = 0; i < product.summed(); ++i) {
    const hlo::Value x = spread(operands[0], attrs.lhs_batch_dims, attrs.lhs_contracting_dims, i,
                                batch, sizes, product.places);
    const hlo::Value y = spread(operands[1], attrs.rhs_batch_dims, attrs.rhs_contracting_dims, i,
                                batch + own, sizes, product.places);
    const hlo::Value term = graph.op(Opcode::kMultiply, {x, y}, {}, {}, &shape);
    sum = sum.is_absent() ? term : graph.op(Opcode::kAdd, {sum, term}, {}, {}, &shape);
  }
  return convert(sum, old.shape.dtype());
}

}  // namespace

StatusOr<hlo::Module> expand_outer_products(const hlo::Module& module) {
  return transform::with_rewritten(module, as_product);
}

}  // namespace heddle::cpu
