#include "heddle/cpu/rewrites/products/lane_batches.h"

#include <algorithm>
#include <span>
#include <utility>

#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/products/ordered_products.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kFewestBatches = 8;
constexpr int64_t kMostOfMatrix = 24;      // rows, columns or summands: kernels gain from a copy
constexpr int64_t kMostInLanes = 64;       // multiplications that have lanes along a batch anyway
constexpr int64_t kFewestTimesLarger = 4;  // the other operand, so that turning this one pays

// How an operand of a product lies in memory, where it may be transposed by name alone.
struct BatchedOperand {
  InstructionId array;
  Shape shape;
  Dims batch, contracted, free;

  // How many of the last dimensions are the last ones of the batch, in their order.
  [[nodiscard]] size_t inner() const {
    size_t count = 0;
    while (count < batch.size() &&
           batch[batch.size() - 1 - count] == shape.rank() - 1 - static_cast<int64_t>(count))
      ++count;
    return count;
  }
};

struct BatchedProduct {
  BatchedOperand operands[2];
  size_t inner = 0;  // dimensions of the batch that are lanes

  [[nodiscard]] int64_t lanes() const {
    return places_along(operands[0].shape, std::span(operands[0].batch).last(inner));
  }
  [[nodiscard]] int64_t multiplications() const {
    return places_along(operands[0].shape, operands[0].free) *
           places_along(operands[1].shape, operands[1].free) *
           places_along(operands[0].shape, operands[0].contracted);
  }
  [[nodiscard]] int64_t fewest() const {
    return std::min({places_along(operands[0].shape, operands[0].free),
                     places_along(operands[1].shape, operands[1].free),
                     places_along(operands[0].shape, operands[0].contracted)});
  }
};

BatchedOperand operand_of(const hlo::Computation& from, InstructionId id, Dims batch,
                          Dims contracted) {
  const Instruction& instruction = from.at(id);
  BatchedOperand operand{id, instruction.shape, std::move(batch), std::move(contracted), {}};
  Dims order = consecutive_dimensions(operand.shape.rank());
  if (instruction.opcode == Opcode::kTranspose) {
    order = instruction.attrs.get<hlo::DimensionsAttrs>().dimensions;
    operand.array = instruction.operands[0];
    operand.shape = from.at(operand.array).shape;
  }
  Dims bound = operand.batch;
  bound.insert(bound.end(), operand.contracted.begin(), operand.contracted.end());
  operand.free = other_dimensions(operand.shape.rank(), bound);
  for (Dims* dims : {&operand.batch, &operand.contracted, &operand.free})
    for (int64_t& d : *dims) d = order[static_cast<size_t>(d)];
  return operand;
}

BatchedProduct product_of(const hlo::Computation& from, const Instruction& dot) {
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  BatchedProduct product{
      {operand_of(from, dot.operands[0], attrs.lhs_batch_dims, attrs.lhs_contracting_dims),
       operand_of(from, dot.operands[1], attrs.rhs_batch_dims, attrs.rhs_contracting_dims)}};
  const auto inner = [&](size_t which) { return product.operands[which].inner(); };
  const auto elements = [&](size_t which) { return product.operands[which].shape.element_count(); };
  const size_t last = inner(0) > inner(1) ? 0 : 1;
  const bool is_worth_turning = elements(1 - last) <= elements(last) / kFewestTimesLarger;
  product.inner = inner(is_worth_turning ? last : 1 - last);
  return product;
}

bool has_lanes_of_batch(const hlo::Computation& from, const Instruction& dot) {
  if (dot.opcode != Opcode::kDot || !is_floating(dot.shape.dtype()) || dot.shape.is_dynamic() ||
      dot.shape.element_count() == 0)
    return false;
  const BatchedProduct product = product_of(from, dot);
  return product.inner > 0 && product.lanes() >= kFewestBatches &&
         product.fewest() < kMostOfMatrix && product.multiplications() > kMostInLanes &&
         std::ranges::all_of(dot.operands, [&](InstructionId operand) {
           return is_floating(from.at(operand).shape.dtype());
         });
}

// As one of the other dimensions of the batch, rows, columns, summands, and lanes.
class LaneProduct {
 public:
  LaneProduct(transform::Rebuilder& to, InstructionId dot)
      : to_(to),
        id_(dot),
        product_(product_of(to.from(), to.old(dot))),
        result_(to.old(dot).shape) {
    const BatchedOperand& lhs = product_.operands[0];
    outer_ = lhs.batch.size() - product_.inner;
    for (size_t i = 0; i < outer_; ++i) sizes_.push_back(lhs.shape.dimension(lhs.batch[i]));
    for (const BatchedOperand& operand : product_.operands)
      for (const int64_t d : operand.free) sizes_.push_back(operand.shape.dimension(d));
    for (const int64_t d : lhs.contracted) sizes_.push_back(lhs.shape.dimension(d));
    sizes_.push_back(product_.lanes());
  }

  hlo::Value run() {
    const bool has_doubles = result_.dtype() == f64 || product_.operands[0].shape.dtype() == f64 ||
                             product_.operands[1].shape.dtype() == f64;
    const DType dtype = has_doubles ? f64 : f32;
    const hlo::Value products = spread(0, dtype) * spread(1, dtype);
    Dims summed;
    const auto last = static_cast<int64_t>(sizes_.size()) - 1;
    for (int64_t d = last - std::ssize(product_.operands[0].contracted); d < last; ++d)
      summed.push_back(d);
    return in_order(convert(reduce_sum(products, summed), result_.dtype()));
  }

 private:
  // An operand, its batch innermost and one dimension, along all dimensions.
  [[nodiscard]] hlo::Value spread(size_t which, DType dtype) {
    const BatchedOperand& operand = product_.operands[which];
    hlo::Value x = to_.value(operand.array);
    const int64_t rows = std::ssize(product_.operands[0].free),
                  columns = std::ssize(product_.operands[1].free);
    Dims order, sizes, places;
    const auto take = [&](int64_t d, int64_t place) {
      order.push_back(d);
      sizes.push_back(operand.shape.dimension(d));
      places.push_back(place);
    };
    int64_t place = 0;
    for (size_t i = 0; i < outer_; ++i) take(operand.batch[i], place++);
    if (which == 1) place += rows;
    for (const int64_t d : operand.free) take(d, place++);
    if (which == 0) place += columns;
    for (const int64_t d : operand.contracted) take(d, place++);
    order.insert(order.end(), operand.batch.begin() + static_cast<std::ptrdiff_t>(outer_),
                 operand.batch.end());
    sizes.push_back(product_.lanes());
    places.push_back(place);
    if (!std::ranges::is_sorted(order)) x = copied(to_, id_, transpose(x, order));
    return broadcast(convert(reshape(x, sizes), dtype), sizes_, places);
  }
  // The lanes as dimensions of the batch, which a product has first.
  [[nodiscard]] hlo::Value in_order(const hlo::Value& x) const {
    const Dims& sizes = result_.dimensions();
    const auto batch = static_cast<int64_t>(outer_ + product_.inner);
    Dims apart(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(outer_));
    apart.insert(apart.end(), sizes.begin() + batch, sizes.end());
    apart.insert(apart.end(), sizes.begin() + static_cast<std::ptrdiff_t>(outer_),
                 sizes.begin() + batch);
    const auto matrix = static_cast<int64_t>(sizes.size()) - batch;
    Dims order;
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      const bool is_outer = d < static_cast<int64_t>(outer_);
      order.push_back(is_outer    ? d
                      : d < batch ? d + matrix
                                  : d - static_cast<int64_t>(product_.inner));
    }
    return transpose(reshape(x, apart), order);
  }

  transform::Rebuilder& to_;
  InstructionId id_;
  BatchedProduct product_;
  const Shape& result_;
  size_t outer_ = 0;  // dimensions of the batch that are no lanes
  Dims sizes_;
};

}  // namespace

StatusOr<std::optional<hlo::Module>> put_batches_in_lanes(const hlo::Module& module) {
  return rewritten_if_any(module, [](transform::Rebuilder& to, hlo::ComputationId) {
    return [&to](InstructionId id) -> hlo::Value {
      if (!has_lanes_of_batch(to.from(), to.old(id))) return {};
      to.in_place_of(id);
      return LaneProduct(to, id).run();
    };
  });
}

}  // namespace heddle::cpu
