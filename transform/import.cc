#include "heddle/transform/import.h"

#include <iterator>

namespace heddle::transform {
namespace {

// Callees precede callers in both tables, so one offset moves every id.
hlo::ComputationId shift_callees(hlo::Module& into, size_t first, hlo::ComputationId entry) {
  for (size_t i = first; i < into.computations.size(); ++i) {
    for (hlo::Instruction& instruction : into.computations[i].instructions) {
      for (hlo::ComputationId& id : instruction.called) id = hlo::ComputationId(id.value + first);
    }
  }
  return hlo::ComputationId(entry.value + first);
}

}  // namespace

hlo::ComputationId import(hlo::Module& into, const hlo::Module& from) {
  size_t first = into.computations.size();
  into.computations.insert(into.computations.end(), from.computations.begin(),
                           from.computations.end());
  return shift_callees(into, first, from.entry);
}

hlo::ComputationId import(hlo::Module& into, hlo::Module&& from) {
  size_t first = into.computations.size();
  into.computations.insert(into.computations.end(),
                           std::make_move_iterator(from.computations.begin()),
                           std::make_move_iterator(from.computations.end()));
  return shift_callees(into, first, from.entry);
}

}  // namespace heddle::transform
