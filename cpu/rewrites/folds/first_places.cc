#include "heddle/cpu/rewrites/folds/first_places.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ComparisonDirection;

constexpr int64_t kFewestSearched = 16;  // fewer are written out
constexpr int64_t kFewestTruths = 4;     // of a mask, whose reduction takes fewer operations
// A fold of pairs over columns fills vectors too, and reads the array once. It is slower for so
// many elements.
constexpr int64_t kManyElements = 1 << 14;

// How two elements of a combiner, or two positions, compare.
enum class Order : uint8_t { kLess, kEqual, kGreater, kFirstNan, kSecondNan, kBothNan };

// A value inside a combiner: one of its four parameters, or a truth.
struct Symbol {
  enum Kind : uint8_t { kUnknown, kParameter, kTruth } kind = kUnknown;
  size_t parameter = 0;
  bool truth = false;
};
Symbol truth_of(bool truth) { return {.kind = Symbol::kTruth, .truth = truth}; }

bool holds(ComparisonDirection direction, Order order) {
  switch (direction) {
    case ComparisonDirection::kEq: return order == Order::kEqual;
    case ComparisonDirection::kNe: return order != Order::kEqual;
    case ComparisonDirection::kLt: return order == Order::kLess;
    case ComparisonDirection::kLe: return order == Order::kLess || order == Order::kEqual;
    case ComparisonDirection::kGt: return order == Order::kGreater;
    case ComparisonDirection::kGe: return order == Order::kGreater || order == Order::kEqual;
  }
  return false;
}

Order turned(Order order) {
  if (order == Order::kLess) return Order::kGreater;
  if (order == Order::kGreater) return Order::kLess;
  if (order == Order::kFirstNan) return Order::kSecondNan;
  if (order == Order::kSecondNan) return Order::kFirstNan;
  return order;
}

// A combiner of (element, position) pairs, its parameters 0, 1 and 2, 3, in one case of how they
// are to each other. As it compares and selects alone, all its cases tell what it does.
class Case {
 public:
  Case(const Computation& combiner, Order elements, Order positions)
      : combiner_(combiner), elements_(elements), positions_(positions) {}

  // The parameters that it gives, an element and a position; nothing where it does more than
  // compare and select.
  std::optional<std::pair<size_t, size_t>> kept() {
    std::vector<Symbol> symbols(combiner_.instructions.size());
    for (size_t i = 0; i < symbols.size(); ++i)
      symbols[i] = symbol(combiner_.instructions[i], symbols);
    const Instruction& root = combiner_.root_instruction();
    if (root.opcode != Opcode::kTuple || root.operands.size() != 2) return std::nullopt;
    const Symbol& element = symbols[root.operands[0].value];
    const Symbol& position = symbols[root.operands[1].value];
    if (element.kind != Symbol::kParameter || position.kind != Symbol::kParameter) return {};
    return std::pair(element.parameter, position.parameter);
  }

 private:
  Symbol symbol(const Instruction& i, const std::vector<Symbol>& symbols) const {
    const auto operand = [&](size_t k) { return symbols[i.operands[k].value]; };
    const auto is_truth = [&](size_t k) { return operand(k).kind == Symbol::kTruth; };
    switch (i.opcode) {
      case Opcode::kParameter:
        return {.kind = Symbol::kParameter,
                .parameter = static_cast<size_t>(i.attrs.get<hlo::ParameterAttrs>().number)};
      case Opcode::kCompare:
        if (i.attrs.get<hlo::CompareAttrs>().type == hlo::ComparisonType::kTotalOrder) return {};
        return compared(i.attrs.get<hlo::CompareAttrs>().direction, operand(0), operand(1));
      case Opcode::kNot: return is_truth(0) ? truth_of(!operand(0).truth) : Symbol();
      case Opcode::kAnd:
      case Opcode::kOr:
        if (!is_truth(0) || !is_truth(1)) return {};
        return truth_of(i.opcode == Opcode::kAnd ? operand(0).truth && operand(1).truth
                                                 : operand(0).truth || operand(1).truth);
      case Opcode::kSelect:
        if (!is_truth(0)) return {};
        return operand(0).truth ? operand(1) : operand(2);
      default: return {};
    }
  }

  Symbol compared(ComparisonDirection direction, const Symbol& a, const Symbol& b) const {
    if (a.kind != Symbol::kParameter || b.kind != Symbol::kParameter) return {};
    if (a.parameter % 2 != b.parameter % 2) return {};
    const bool is_element = a.parameter % 2 == 0;
    Order order = is_element ? elements_ : positions_;
    if (a.parameter == b.parameter) {
      const bool is_nan =
          is_element && (order == Order::kBothNan ||
                         order == (a.parameter == 0 ? Order::kFirstNan : Order::kSecondNan));
      order = is_nan ? Order::kBothNan : Order::kEqual;
    } else if (a.parameter > b.parameter) {
      order = turned(order);
    }
    return truth_of(holds(direction, order));
  }

  const Computation& combiner_;
  Order elements_, positions_;
};

// Whether the combiner keeps the greater, or lesser, element and its position, of equal ones the
// lower position, and of a number and a NaN the NaN. The first of two NaN may be either: elements
// are combined in order.
bool keeps_extreme(const Computation& combiner, bool greatest, bool has_nan) {
  const std::array orders = {Order::kLess,     Order::kEqual,     Order::kGreater,
                             Order::kFirstNan, Order::kSecondNan, Order::kBothNan};
  for (const Order elements : std::span(orders).first(has_nan ? 6 : 3)) {
    for (const Order positions : {Order::kLess, Order::kGreater}) {
      const auto kept = Case(combiner, elements, positions).kept();
      if (!kept || kept->first % 2 != 0) return false;
      const bool are_alike = elements == Order::kEqual || elements == Order::kBothNan;
      const bool first = elements == Order::kFirstNan ||
                         elements == (greatest ? Order::kGreater : Order::kLess) ||
                         (are_alike && positions == Order::kLess);
      const bool is_right =
          kept->second == (first ? 1 : 3) && (are_alike || kept->first == kept->second - 1);
      if (!is_right && !(elements == Order::kBothNan && kept->second == 1)) return false;
    }
  }
  return true;
}

// What no element of the type is beyond: the worst one for the greatest, or the least.
std::optional<double> worst_of(DType dtype, bool greatest) {
  if (dtype == s32) {
    return greatest ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
  }
  if (dtype == pred) return greatest ? 0 : 1;
  if (dtype != f32 && dtype != f64) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return greatest ? -infinity : infinity;
}

const Literal* constant_of(const Computation& computation, InstructionId id) {
  const Instruction& constant = computation.at(id);
  if (constant.opcode != Opcode::kConstant) return nullptr;
  return &constant.attrs.get<hlo::ConstantAttrs>().literal;
}

// Whether the array counts along the dimension.
bool is_position(const Computation& computation, InstructionId id, int64_t along) {
  const Instruction* array = &computation.at(id);
  while (array->opcode == Opcode::kBroadcast) {
    const Dims& dimensions = dimensions_of(*array);
    const auto from = std::ranges::find(dimensions, along);
    if (from == dimensions.end()) return false;
    along = from - dimensions.begin();
    array = &computation.at(array->operands[0]);
  }
  return array->opcode == Opcode::kIota &&
         array->attrs.get<hlo::IotaAttrs>().iota_dimension == along;
}

// Whether the reduction is an argmax, or not `greatest` an argmin, of many elements.
bool finds_place(const hlo::Module& module, const Computation& computation,
                 const Instruction& reduce, int64_t along, bool greatest) {
  const Shape& x = computation.at(reduce.operands[0]).shape;
  const Literal* const worst = constant_of(computation, reduce.operands[2]);
  const Literal* const place = constant_of(computation, reduce.operands[3]);
  const std::optional<double> wanted = worst_of(x.dtype(), greatest);
  return wanted && worst != nullptr && place != nullptr && worst->to_double(0) == *wanted &&
         place->to_int64(0) >= 0 && is_position(computation, reduce.operands[1], along) &&
         keeps_extreme(module.at(reduce.called[0]), greatest, is_floating(x.dtype()));
}

// How many positions the type counts, less than those of s32: 0 where it is of no integers.
int64_t positions_of(DType dtype) {
  if (!is_integer(dtype)) return 0;
  return (int64_t{1} << std::min<int64_t>(bit_width(dtype) - (is_signed(dtype) ? 1 : 0), 31)) - 1;
}

// Nothing where it stays as it is.
hlo::Value written(const hlo::Module& module, transform::Rebuilder& to, InstructionId id,
                   const std::vector<bool>& wants_extreme) {
  const Instruction& reduce = to.old(id);
  if (reduce.opcode != Opcode::kReduce || reduce.operands.size() != 4 || wants_extreme[id.value])
    return {};
  const Shape& shape = to.old(reduce.operands[0]).shape;
  const Dims& dimensions = dimensions_of(reduce);
  if (dimensions.size() != 1) return {};
  const int64_t along = dimensions[0];
  if (along < shape.rank() - 1 && shape.element_count() < kManyElements) return {};
  const bool is_mask = shape.dtype() == pred;
  if (shape.is_dynamic() || shape.dimension(along) < (is_mask ? kFewestTruths : kFewestSearched) ||
      shape.dimension(along) > positions_of(to.old(reduce.operands[1]).shape.dtype()))
    return {};
  const bool greatest = finds_place(module, to.from(), reduce, along, true);
  if (!greatest && !finds_place(module, to.from(), reduce, along, false)) return {};
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Value x = to.value(reduce.operands[0]);
  const double none = std::numeric_limits<int32_t>::max();
  const auto first_of = [&](const hlo::Value& is_found) {
    return hlo::reduce(select(is_found, graph.iota(x.sizes(), along), none), Opcode::kMinimum, none,
                       {along});
  };
  const DType position_type = to.old(reduce.operands[1]).shape.dtype();
  if (is_mask) {  // 0 where none is found: all are alike then, and 0 is the first
    const hlo::Value place = first_of(greatest ? x : !x);
    const hlo::Value any = greatest ? hlo::reduce(x, Opcode::kOr, 0, {along})
                                    : hlo::reduce(x, Opcode::kAnd, 1, {along});
    return graph.tuple({any, convert(select(place == none, 0, place), position_type)});
  }
  const hlo::Value extreme = hlo::reduce(x, greatest ? Opcode::kMaximum : Opcode::kMinimum,
                                         *worst_of(shape.dtype(), greatest), {along});
  const hlo::Value of_row =
      broadcast(extreme, x.sizes(), other_dimensions(shape.rank(), {&along, 1}));
  hlo::Value is_found = compare(ComparisonDirection::kEq, x, of_row);
  if (is_floating(shape.dtype())) is_found = is_found | compare(ComparisonDirection::kNe, x, x);
  return graph.tuple({extreme, convert(first_of(is_found), position_type)});
}

// Those whose first result somebody reads, or all of them together.
std::vector<bool> wanted_extremes(const Computation& computation) {
  std::vector<bool> wanted(computation.instructions.size());
  wanted[computation.root.value] = true;
  for (const Instruction& user : computation.instructions) {
    const bool takes_place = user.opcode == Opcode::kGetTupleElement &&
                             user.attrs.get<hlo::TupleIndexAttrs>().index == 1;
    if (takes_place) continue;
    for (InstructionId operand : user.operands) wanted[operand.value] = true;
  }
  return wanted;
}

}  // namespace

StatusOr<hlo::Module> find_first_places(const hlo::Module& module) {
  std::vector<std::vector<bool>> wanted;
  for (const Computation& each : module.computations) wanted.push_back(wanted_extremes(each));
  return transform::with_rewritten(
      module, [&](transform::ModuleRebuilder&, transform::Rebuilder& to, ComputationId of,
                  InstructionId id) { return written(module, to, id, wanted[of.value]); });
}

}  // namespace heddle::cpu
