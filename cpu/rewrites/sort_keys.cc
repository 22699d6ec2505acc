#include "heddle/cpu/rewrites/sort_keys.h"

#include <cmath>
#include <map>

#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

using hlo::InstructionId;

class KeyCopy {
 public:
  KeyCopy(const hlo::Computation& comparator, const hlo::Values& values)
      : comparator_(comparator), values_(values), sizes_(values[0].sizes()) {}

  hlo::Value of(InstructionId id) {
    if (const auto found = made_.find(id); found != made_.end()) return found->second;
    const hlo::Instruction& from = comparator_.at(id);
    hlo::Graph& graph = values_[0].graph();
    hlo::Value now;
    if (from.opcode == hlo::Opcode::kParameter) {
      now = values_[static_cast<size_t>(from.attrs.get<hlo::ParameterAttrs>().number) / 2];
    } else {
      hlo::Values operands;
      for (InstructionId operand : from.operands) operands.push_back(of(operand));
      const bool is_leaf = operands.empty();
      const Shape shape = is_leaf ? from.shape : from.shape.with_dimensions(sizes_);
      now = graph.op(from.opcode, operands, from.attrs, {}, &shape);
      if (is_leaf && !sizes_.empty()) now = broadcast(now, sizes_, {});
    }
    return made_.emplace(id, now).first->second;
  }

 private:
  const hlo::Computation& comparator_;
  const hlo::Values& values_;
  const hlo::Dims sizes_;
  std::map<InstructionId, hlo::Value> made_;
};

}  // namespace

hlo::Value key_of(const interpreter::SortKey& key, const hlo::Computation& comparator,
                  const hlo::Values& values) {
  const hlo::Value x = KeyCopy(comparator, values).of(key.left);
  if (!is_floating(x.dtype()) || key.is_total_order) return x;
  return select(x != x, std::nan(""), select(x == 0, 0, x));
}

}  // namespace heddle::cpu
