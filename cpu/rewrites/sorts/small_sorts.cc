#include "heddle/cpu/rewrites/sorts/small_sorts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/rewrites/sorts/sort_keys.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ComparisonDirection;
using hlo::ComparisonType;
using interpreter::SortKey;

constexpr int64_t kMostSorted = 12;
constexpr size_t kMostOperands = 4;

const Shape& array_of(const Instruction& sort) {
  return sort.shape.is_tuple() ? sort.shape.element(0) : sort.shape;
}

bool is_small(const Computation& computation, const Instruction& instruction) {
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
std::vector<SortKey> keys_of(const hlo::Module& module, const Computation& computation,
                             const Instruction& instruction) {
  if (!is_small(computation, instruction)) return {};
  const Computation& comparator = module.at(instruction.called[0]);
  const auto keys = interpreter::sort_keys(comparator);
  if (!keys || !is_scalar_computation(comparator)) return {};
  return *keys;
}

// Writes one sort of the elements of a few arrays of one element a place.
class SmallSort {
 public:
  SmallSort(hlo::Graph& graph, const Instruction& sort, const Computation& comparator,
            std::vector<SortKey> keys)
      : graph_(graph), sort_(sort), comparator_(comparator), keys_(std::move(keys)) {}

  hlo::Value run(const hlo::Values& operands) {
    const int64_t count = array_of(sort_).element_count();
    for (int64_t at = 0; at < count; ++at) {
      Entry entry;
      for (const hlo::Value& operand : operands) {
        const hlo::Value flat = reshape(operand, {count});
        entry.values.push_back(drop_dimension(slice(flat, 0, at, 1), 0));
      }
      for (const SortKey& key : keys_) entry.keys.push_back(key_of(key, comparator_, entry.values));
      entries_.push_back(std::move(entry));
    }
    // Neighbours alone change places, and equal ones never: the order is the stable one.
    for (size_t end = entries_.size(); end-- > 1;) {
      for (size_t i = 0; i < end; ++i) exchange(entries_[i], entries_[i + 1]);
    }
    hlo::Values results;
    for (size_t j = 0; j < operands.size(); ++j) results.push_back(joined(j));
    return sort_.shape.is_tuple() ? graph_.tuple(results) : results[0];
  }

 private:
  // One place: an element of each operand, and what decides where it goes.
  struct Entry {
    hlo::Values values, keys;
  };

  hlo::Value joined(size_t operand) {
    hlo::Values parts;
    for (const Entry& entry : entries_) parts.push_back(add_dimension(entry.values[operand], 0));
    const hlo::Value flat = hlo::concatenate(parts, 0);
    const Shape shape = array_of(sort_).with_dtype(flat.dtype());
    return graph_.op(Opcode::kReshape, {flat}, hlo::ReshapeAttrs(), {}, &shape);
  }

  // Whether a must stand before b: the first keys that differ decide.
  hlo::Value is_before(const Entry& a, const Entry& b) {
    hlo::Value before;
    for (size_t i = keys_.size(); i-- > 0;) {
      const ComparisonType type =
          is_floating(a.keys[i].dtype()) ? ComparisonType::kTotalOrder : ComparisonType::kDefault;
      const auto test = [&](ComparisonDirection direction) {
        return graph_.op(Opcode::kCompare, {a.keys[i], b.keys[i]},
                         hlo::CompareAttrs{.direction = direction, .type = type});
      };
      const hlo::Value less =
          test(keys_[i].is_descending ? ComparisonDirection::kGt : ComparisonDirection::kLt);
      before = before ? select(test(ComparisonDirection::kEq), before, less) : less;
    }
    return before;
  }

  void exchange(Entry& a, Entry& b) {
    const hlo::Value swaps = is_before(b, a);
    const auto exchange_all = [&](hlo::Values& x, hlo::Values& y) {
      for (size_t i = 0; i < x.size(); ++i)
        std::tie(x[i], y[i]) = std::pair(select(swaps, y[i], x[i]), select(swaps, x[i], y[i]));
    };
    exchange_all(a.values, b.values);
    exchange_all(a.keys, b.keys);
  }

  hlo::Graph& graph_;
  const Instruction& sort_;
  const Computation& comparator_;
  const std::vector<SortKey> keys_;
  std::vector<Entry> entries_;
};

}  // namespace

StatusOr<hlo::Module> expand_small_sorts(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [&](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
        const Instruction& old = to.old(id);
        std::vector<SortKey> keys = keys_of(module, to.from(), old);
        if (keys.empty()) return {};
        const Computation& comparator = module.at(old.called[0]);
        return SmallSort(to.in_place_of(id), old, comparator, std::move(keys)).run(to.operands(id));
      });
}

}  // namespace heddle::cpu
