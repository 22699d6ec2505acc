#include "heddle/cpu/rewrites/products/ordered_products.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/elements/small_floats.h"
#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::DotAttrs;

// Products of fewer rows, columns or summands are as fast where their operands lie.
constexpr int64_t kFewestOfProduct = 16;
constexpr int64_t kFewestOfBatch = 32;     // of one whose vectors would go along the batch
constexpr int64_t kManySummands = 256;     // of one that may be one of several that are added
constexpr int64_t kFewestTurned = 64;      // rows that a few transposed ones serve
constexpr int64_t kFewestSideBySide = 32;  // of a result, where its transpose ends

bool contains(const Dims& dims, int64_t d) { return std::ranges::find(dims, d) != dims.end(); }

// One operand of a product, and how its dimensions stand.
struct DotOperand {
  const Shape& shape;
  const Dims& batch;
  const Dims& contracted;

  [[nodiscard]] Dims free() const {
    Dims dims;
    for (int64_t d = 0; d < shape.rank(); ++d)
      if (!contains(batch, d) && !contains(contracted, d)) dims.push_back(d);
    return dims;
  }
  [[nodiscard]] bool ends_in(const Dims& dims) const {
    int64_t last = shape.rank() - 1;
    while (last >= 0 && shape.dimension(last) == 1) --last;
    return last >= 0 && contains(dims, last);
  }
  // The numbers of the contracted dimensions, in the order in which they lie in memory.
  [[nodiscard]] std::vector<size_t> order() const {
    std::vector<size_t> numbers;
    for (size_t i = 0; i < contracted.size(); ++i)
      if (shape.dimension(contracted[i]) != 1) numbers.push_back(i);
    std::ranges::sort(numbers, {}, [&](size_t i) { return contracted[i]; });
    return numbers;
  }
  // No other dimension stands between these.
  [[nodiscard]] bool are_neighbours(const Dims& dims) const {
    const auto [first, last] = std::ranges::minmax(dims);
    for (int64_t d = first; d < last; ++d)
      if (!contains(dims, d) && shape.dimension(d) != 1) return false;
    return true;
  }
};

class DotShape {
 public:
  DotShape(const DotAttrs& attrs, const Shape& lhs, const Shape& rhs)
      : operands_{{lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims},
                  {rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims}},
        fewest_of_sides_(std::min(places_along(lhs, operands_[0].free()),
                                  places_along(rhs, operands_[1].free()))),
        fewest_(std::min(fewest_of_sides_, places_along(lhs, attrs.lhs_contracting_dims))) {}

  // Whether the result, of this shape, is written in short pieces where it is transposed.
  [[nodiscard]] bool is_broken_by(const Dims& transpose, const Shape& result) const {
    const int64_t batch = std::ssize(operands_[0].batch),
                  rows = batch + std::ssize(operands_[0].free());
    Dims order = transpose;
    std::erase_if(order, [&](int64_t d) { return result.dimension(d) == 1; });
    if (fewest_of_sides_ < kFewestOfBatch || order.empty()) return false;
    if (order.back() < batch) return true;
    if (result.dimension(order.back()) >= kFewestSideBySide) return false;
    Dims group;  // the rows or the columns
    for (int64_t d = batch; d < result.rank(); ++d)
      if ((d < rows) == (order.back() < rows) && result.dimension(d) != 1) group.push_back(d);
    return !std::ranges::equal(group, std::span(order).last(group.size()));
  }
  // The order that the operand has to lie in; empty: it lies well.
  [[nodiscard]] Dims order_for(size_t which) const {
    const DotOperand& own = operands_[which];
    const std::vector<size_t> lies = own.order();
    if (fewest_ < kFewestOfProduct || lies.empty()) return {};
    Dims order = own.batch, contracted, free = own.free();
    const bool is_last = fewest_ >= kFewestOfBatch && own.ends_in(own.batch);
    const bool is_apart =
        adds_products() && (!own.are_neighbours(own.contracted) || is_crossed(which));
    const bool is_thin = !own.are_neighbours(free) && own.ends_in(free) &&
                         own.shape.dimensions().back() < kFewestOfProduct;
    // No kernel turns integers: neither lanes of columns nor of rows lie side by side.
    const DotOperand& lhs = operands_[0];
    const bool is_across = which == 1 && is_integer(own.shape.dtype()) && lhs.ends_in(lhs.free()) &&
                           own.ends_in(own.contracted);
    if (!is_last && !is_apart && !is_thin && !is_across) return {};
    for (const size_t i : is_crossed(which) ? operands_[1 - which].order() : lies)
      contracted.push_back(own.contracted[i]);
    for (const int64_t d : own.contracted)
      if (!contains(contracted, d)) order.push_back(d);  // of one place
    const bool ends_in_free = is_across || own.ends_in(free);
    for (const Dims& dims : {ends_in_free ? contracted : free, ends_in_free ? free : contracted})
      order.insert(order.end(), dims.begin(), dims.end());
    return order;
  }

 private:
  // The contracted dimensions lie in another order in the other operand, which is the larger one.
  [[nodiscard]] bool is_crossed(size_t which) const {
    const DotOperand &own = operands_[which], &other = operands_[1 - which];
    const int64_t size = own.shape.element_count(), other_size = other.shape.element_count();
    return own.order() != other.order() && (which == 0 ? size < other_size : size <= other_size);
  }
  // Not one product of all summands.
  [[nodiscard]] bool adds_products() const {
    const DotOperand& lhs = operands_[0];
    return lhs.order().size() > 1 && std::ranges::all_of(lhs.contracted, [&](int64_t d) {
             return lhs.shape.dimension(d) < kManySummands;
           });
  }

  DotOperand operands_[2];
  int64_t fewest_of_sides_;  // rows or columns
  int64_t fewest_;           // rows, columns or summands
};

void renumber(Dims& dims, const Dims& order) {
  for (int64_t& d : dims) d = std::ranges::find(order, d) - order.begin();
}

// Through memory: a product that is read is written before, in its own order.
hlo::Value in_order(transform::Rebuilder& to, InstructionId id, hlo::Value x, const Dims& order) {
  if (to.at(x.id()).opcode == Opcode::kDot) x = copied(to, id, x);
  return copied(to, id, transpose(x, order));
}

// A matrix of small floats whose rows, as they lie in memory, are summed.
bool has_summed_rows(const transform::Rebuilder& to, InstructionId operand,
                     const Dims& contracted) {
  const Instruction& matrix = to.old(operand);
  const bool is_turned = matrix.opcode == Opcode::kTranspose;
  return matrix.shape.rank() == 2 && is_small_float(matrix.shape.dtype()) &&
         contracted == Dims{is_turned ? 0 : 1};
}

// A product of many rows by a few short ones, all of small floats, that would sum lanes for each
// place: the few are transposed before. Kernels, which have the other types, do so on their own.
hlo::Value by_turned_rows(transform::Rebuilder& to, InstructionId id) {
  const Instruction& dot = to.old(id);
  const auto& attrs = dot.attrs.get<DotAttrs>();
  if (dot.shape.rank() != 2) return {};
  const Dims* const contracted[] = {&attrs.lhs_contracting_dims, &attrs.rhs_contracting_dims};
  for (size_t i = 0; i < 2; ++i)
    if (!has_summed_rows(to, dot.operands[i], *contracted[i])) return {};
  const size_t few = dot.shape.dimension(0) < dot.shape.dimension(1) ? 0 : 1, many = 1 - few;
  const int64_t summed = (*contracted[few])[0];
  const Shape& small = to.old(dot.operands[few]).shape;
  const auto is_few = [](int64_t size, int64_t most) { return size > 1 && size < most; };
  if (!is_few(small.dimension(1 - summed), kFewestOfProduct) ||
      !is_few(small.dimension(summed), few == 1 ? kFewestOfBatch : kFewestOfProduct) ||
      dot.shape.dimension(static_cast<int64_t>(many)) < kFewestTurned)
    return {};
  const hlo::Values given = to.operands(id);
  const hlo::Value rows = summed == 0 ? given[few] : transpose(given[few], {1, 0});
  Instruction now = to.mapped(id);
  now.operands = {given[many].id(), copied(to, id, rows).id()};
  now.attrs = DotAttrs{.lhs_contracting_dims = *contracted[many],
                       .rhs_contracting_dims = {0},
                       .algorithm = attrs.algorithm};
  now.shape = Shape(dot.shape.dtype(), {dot.shape.dimension(static_cast<int64_t>(many)),
                                        dot.shape.dimension(static_cast<int64_t>(few))});
  const hlo::Value product = to.in_place_of(id).wrap(to.builder().append(std::move(now)));
  return few == 1 ? product : transpose(copied(to, id, product), {1, 0});
}

// Nothing: the product stays.
hlo::Value with_ordered_operands(transform::Rebuilder& to, InstructionId id) {
  const Instruction& dot = to.old(id);
  const DotShape product(dot.attrs.get<DotAttrs>(), to.old(dot.operands[0]).shape,
                         to.old(dot.operands[1]).shape);
  Instruction now = to.mapped(id);
  DotAttrs attrs = dot.attrs.get<DotAttrs>();
  const hlo::Values given = to.operands(id);
  bool is_other = false;
  for (size_t which = 0; which < 2; ++which) {
    const Dims order = product.order_for(which);
    if (order.empty()) continue;
    now.operands[which] = in_order(to, id, given[which], order).id();
    renumber(which == 0 ? attrs.lhs_batch_dims : attrs.rhs_batch_dims, order);
    renumber(which == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims, order);
    is_other = true;
  }
  if (!is_other) return {};
  now.attrs = std::move(attrs);
  return to.in_place_of(id).wrap(to.builder().append(std::move(now)));
}

// A product whose transpose would be written in short pieces, apart from it.
hlo::Value apart_from_transpose(transform::Rebuilder& to, InstructionId id) {
  const Instruction& transpose = to.old(id);
  const Instruction& dot = to.old(transpose.operands[0]);
  if (dot.opcode != Opcode::kDot) return {};
  const auto& attrs = dot.attrs.get<DotAttrs>();
  const DotShape product(attrs, to.old(dot.operands[0]).shape, to.old(dot.operands[1]).shape);
  const Dims& order = dimensions_of(transpose);
  if (!product.is_broken_by(order, dot.shape)) return {};
  const hlo::Value copy = copied(to, id, to.operands(id)[0]);
  Instruction now = to.mapped(id);
  now.operands[0] = copy.id();
  return to.in_place_of(id).wrap(to.builder().append(std::move(now)));
}

}  // namespace

int64_t places_along(const Shape& shape, std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1},
                         [&](int64_t all, int64_t d) { return all * shape.dimension(d); });
}

hlo::Value copied(transform::Rebuilder& to, InstructionId id, const hlo::Value& x) {
  Instruction copy;
  copy.opcode = Opcode::kCopy;
  copy.shape = x.shape();
  copy.operands = {x.id()};
  return to.in_place_of(id).wrap(to.builder().append(std::move(copy)));
}

StatusOr<hlo::Module> order_products(const hlo::Module& module) {
  return transform::with_rewritten(module,
                                   [](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
                                     switch (to.old(id).opcode) {
                                       case Opcode::kDot:
                                         if (auto turned = by_turned_rows(to, id)) return turned;
                                         return with_ordered_operands(to, id);
                                       case Opcode::kTranspose: return apart_from_transpose(to, id);
                                       default: return {};
                                     }
                                   });
}

}  // namespace heddle::cpu
