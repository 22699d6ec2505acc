#include "heddle/cpu/lower/small_sorts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/cpu/lower/sort_keys.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/emitter.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ComparisonDirection;
using hlo::ComparisonType;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using interpreter::SortKey;
using transform::Emitter;
using Ids = std::vector<InstructionId>;

constexpr int64_t kMostSorted = 12;
constexpr size_t kMostOperands = 4;

const Shape& array_of(const Instruction& sort) {
  return sort.shape.is_tuple() ? sort.shape.element(0) : sort.shape;
}

bool is_small(const hlo::Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kSort || instruction.operands.size() > kMostOperands)
    return false;
  const int64_t dimension = instruction.attrs.get<hlo::SortAttrs>().dimensions[0];
  const Shape& shape = array_of(instruction);
  return shape.element_count() > 0 && shape.dimension(dimension) == shape.element_count() &&
         shape.element_count() <= kMostSorted &&
         std::ranges::all_of(instruction.operands, [&](InstructionId id) {
           const Shape& operand = computation.at(id).shape;
           return !operand.is_dynamic() && scalar_of(operand.dtype()).has_value();
         });
}

// The keys of a sort that is_small(); none where it stays.
std::vector<SortKey> keys_of(const hlo::Module& module, const hlo::Computation& computation,
                             const Instruction& instruction) {
  if (!is_small(computation, instruction)) return {};
  const hlo::Computation& comparator = module.at(instruction.called[0]);
  const auto keys = interpreter::sort_keys(comparator);
  if (!keys || !is_scalar_computation(comparator)) return {};
  return *keys;
}

// Writes one sort of the elements of a few arrays of one element a place.
class SmallSort {
 public:
  SmallSort(hlo::ComputationBuilder& to, const Instruction& sort,
            const hlo::Computation& comparator, std::vector<SortKey> keys)
      : emit_(to, sort), writer_(emit_, comparator, {}), sort_(sort), keys_(std::move(keys)) {}

  InstructionId run(const Ids& operands) {
    const int64_t count = array_of(sort_).element_count();
    for (int64_t at = 0; at < count; ++at) {
      Entry entry;
      for (InstructionId operand : operands) entry.values.push_back(scalar_at(operand, at));
      for (const SortKey& key : keys_) entry.keys.push_back(writer_.key_of(key, entry.values));
      entries_.push_back(std::move(entry));
    }
    // Neighbours alone change places, and equal ones never: the order is the stable one.
    for (size_t end = entries_.size(); end-- > 1;) {
      for (size_t i = 0; i < end; ++i) exchange(entries_[i], entries_[i + 1]);
    }
    Ids results;
    for (size_t j = 0; j < operands.size(); ++j) results.push_back(joined(j));
    return sort_.shape.is_tuple() ? emit_.tuple(std::move(results)) : results[0];
  }

 private:
  // One place: an element of each operand, and what decides where it goes.
  struct Entry {
    Ids values, keys;
  };

  InstructionId scalar_at(InstructionId array, int64_t at) {
    const Shape one = Shape(emit_.shape(array).dtype(), {1});
    const InstructionId flat =
        emit_.op(Opcode::kReshape, one.with_dimensions({array_of(sort_).element_count()}), {array},
                 hlo::ReshapeAttrs());
    return emit_.drop_dimension(emit_.slice(flat, 0, at, 1), 0);
  }

  InstructionId joined(size_t operand) {
    Ids parts;
    for (const Entry& entry : entries_)
      parts.push_back(emit_.add_dimension(entry.values[operand], 0));
    const InstructionId flat = emit_.concatenate(std::move(parts), 0);
    const Shape shape = array_of(sort_).with_dtype(emit_.shape(flat).dtype());
    return emit_.op(Opcode::kReshape, shape, {flat}, hlo::ReshapeAttrs());
  }

  InstructionId compared(ComparisonDirection direction, ComparisonType type, InstructionId x,
                         InstructionId y) {
    return emit_.op(Opcode::kCompare, Shape::scalar(pred), {x, y},
                    hlo::CompareAttrs{.direction = direction, .type = type});
  }
  InstructionId selected(InstructionId p, InstructionId x, InstructionId y) {
    return emit_.op(Opcode::kSelect, emit_.shape(x), {p, x, y});
  }

  // Whether a must stand before b: the first keys that differ decide.
  InstructionId is_before(const Entry& a, const Entry& b) {
    InstructionId before;
    for (size_t i = keys_.size(); i-- > 0;) {
      const ComparisonType type = is_floating(emit_.shape(a.keys[i]).dtype())
                                      ? ComparisonType::kTotalOrder
                                      : ComparisonType::kDefault;
      const auto test = [&](ComparisonDirection direction) {
        return compared(direction, type, a.keys[i], b.keys[i]);
      };
      const InstructionId less =
          test(keys_[i].is_descending ? ComparisonDirection::kGt : ComparisonDirection::kLt);
      before = before.valid() ? selected(test(ComparisonDirection::kEq), before, less) : less;
    }
    return before;
  }

  void exchange(Entry& a, Entry& b) {
    const InstructionId swaps = is_before(b, a);
    const auto exchange_all = [&](Ids& x, Ids& y) {
      for (size_t i = 0; i < x.size(); ++i)
        std::tie(x[i], y[i]) = std::pair(selected(swaps, y[i], x[i]), selected(swaps, x[i], y[i]));
    };
    exchange_all(a.values, b.values);
    exchange_all(a.keys, b.keys);
  }

  Emitter emit_;
  SortKeyWriter writer_;
  const Instruction& sort_;
  const std::vector<SortKey> keys_;
  std::vector<Entry> entries_;
};

}  // namespace

hlo::Module expand_small_sorts(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [&](auto&, transform::Rebuilder& to, auto, InstructionId id) {
        const Instruction& old = to.old(id);
        std::vector<SortKey> keys = keys_of(module, to.from(), old);
        if (keys.empty()) return InstructionId();
        Ids operands;
        for (InstructionId operand : old.operands) operands.push_back(to[operand]);
        const hlo::Computation& comparator = module.at(old.called[0]);
        return SmallSort(to.builder(), old, comparator, std::move(keys)).run(operands);
      });
}

}  // namespace heddle::cpu
