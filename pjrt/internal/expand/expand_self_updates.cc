// A dynamic-update-slice of an array by what is computed from other places of that array. XLA's
// CPU may compute the update while it writes the array in place, and then reads elements that it
// has written: it looks for such reads before it puts a reshape of the result into the same kernel,
// and not after that (an opt-barrier is gone by then). The update goes through add-dependency, past
// which nothing is put together; a kernel more is computed, and nothing is copied. A scatter of one
// index is such an update there too, with its function of what was there.
#include <algorithm>
#include <span>

#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/pjrt/internal/sources.h"

namespace heddle::pjrt {
namespace {

// The arrays that a scatter writes to; its indices and as many updates follow.
size_t array_count(const Instruction& scatter) { return (scatter.operands.size() - 1) / 2; }

bool is_scatter_of_one_index(const Computation& computation, const Instruction& scatter) {
  const auto& attrs = scatter.attrs.get<hlo::ScatterAttrs>();
  const Shape& indices = computation.at(scatter.operands[array_count(scatter)]).shape;
  for (int64_t d = 0; d < indices.rank(); ++d)
    if (d != attrs.index_vector_dim && indices.dimension(d) != 1) return false;
  return true;
}

bool is_update(const Computation& computation, const Instruction& now) {
  if (now.opcode == Opcode::kScatter) return is_scatter_of_one_index(computation, now);
  return now.opcode == Opcode::kDynamicUpdateSlice;
}

std::span<const InstructionId> arrays_of(const Instruction& update) {
  const std::span<const InstructionId> all = update.operands;
  return all.first(update.opcode == Opcode::kScatter ? array_count(update) : 1);
}

// What is written.
template <class Update>  // const or not
auto updates_of(Update& update) {
  const std::span all(update.operands);
  return update.opcode == Opcode::kScatter ? all.subspan(array_count(update) + 1)
                                           : all.subspan(1, 1);
}

// Whether it is the part of the array that the update is written to.
bool is_same_part(const Computation& computation, const Instruction& update,
                  const Instruction& part) {
  return update.opcode == Opcode::kDynamicUpdateSlice && part.opcode == Opcode::kDynamicSlice &&
         part.operands[0] == update.operands[0] &&
         part.shape.dimensions() == computation.at(update.operands[1]).shape.dimensions() &&
         std::equal(part.operands.begin() + 1, part.operands.end(), update.operands.begin() + 2,
                    update.operands.end());
}

// What the update is made of, element by element: of the part that it replaces each element is read
// before it is written, so that part is left out.
std::vector<Source> made_of(const Computation& computation, hlo::ComputationId id,
                            const Instruction& update) {
  std::vector<Source> out;
  std::vector<bool> seen(computation.instructions.size());
  const auto updates = updates_of(update);
  std::vector<InstructionId> next(updates.begin(), updates.end());
  while (!next.empty()) {
    const InstructionId at = next.back();
    next.pop_back();
    if (seen[at.value]) continue;
    seen[at.value] = true;
    const Instruction& now = computation.at(at);
    if (is_same_part(computation, update, now)) continue;
    if (hlo::has_trait(now.opcode, hlo::kElementwise)) {
      next.insert(next.end(), now.operands.begin(), now.operands.end());
    } else {
      out.push_back({id, at, {}});
    }
  }
  return out;
}

// Of an array of several elements, or a tuple with one. Another may change nothing that is read.
bool has_several(const Shape& shape) {
  if (shape.is_tuple())
    return std::ranges::any_of(shape.elements(),
                               [](const Shape& each) { return has_several(each); });
  return shape.is_array() && shape.element_count() > 1;
}

bool has_several(const Sources& sources, const Source& source) {
  const Shape* at = &sources.at(source).shape;
  for (const int64_t i : source.element) at = &at->elements()[static_cast<size_t>(i)];
  return has_several(*at);
}

// Whether the op's result may be that operand: what an earlier update wrote into the array is not.
bool is_of_the_array(const Sources& sources, const Source& at, size_t operand) {
  const Instruction& now = sources.at(at);
  const auto part = [&](size_t i) -> const Shape& {
    return sources.at({at.computation, now.operands[i], {}}).shape;
  };
  switch (now.opcode) {
    case Opcode::kDynamicUpdateSlice:
      return operand == 0 || (operand == 1 && part(1).dimensions() == part(0).dimensions());
    case Opcode::kScatter: {
      const size_t arrays = array_count(now);
      return operand < arrays ||
             (operand > arrays &&
              part(operand).element_count() == part(operand - arrays - 1).element_count());
    }
    default: return true;
  }
}

// Whether the source, or a tuple that it is an element of, is among those found.
bool has_all_of(const std::set<Source>& found, Source source) {
  while (!found.contains(source)) {
    if (source.element.empty()) return false;
    source.element.pop_back();
  }
  return true;
}

bool have_one_array(const Sources& sources, const std::set<Source>& a, const std::set<Source>& b) {
  const auto is_in = [&](const std::set<Source>& found) {
    return
        [&](const Source& each) { return has_all_of(found, each) && has_several(sources, each); };
  };
  return std::ranges::any_of(a, is_in(b)) || std::ranges::any_of(b, is_in(a));
}

bool reads_what_it_writes(const Sources& sources, hlo::ComputationId id,
                          const Computation& computation, const Instruction& update) {
  if (!is_update(computation, update)) return false;
  const std::vector<Source> parts = made_of(computation, id, update);
  if (parts.empty()) return false;
  std::vector<Source> arrays;
  for (const InstructionId array : arrays_of(update)) arrays.push_back({id, array, {}});
  const auto any = [](const Source&, size_t) { return true; };
  const auto array = [&](const Source& at, size_t operand) {
    return is_of_the_array(sources, at, operand);
  };
  const auto loops = Sources::Loops::kOneTrip;
  std::set<Source> written, read;
  if (!sources.collect(arrays, loops, array, written)) return true;
  if (!sources.collect(parts, loops, any, read)) return true;
  return have_one_array(sources, written, read);
}

Value written(transform::Rebuilder& to, InstructionId i) {
  Instruction now = to.mapped(i);
  Graph& graph = to.in_place_of(i);
  const Value order = graph.op(Opcode::kAfterAll, {});
  for (InstructionId& update : updates_of(now))
    update = graph.op(Opcode::kAddDependency, {graph.wrap(update), order}).id();
  return graph.append(std::move(now));
}

}  // namespace

StatusOr<hlo::Module> expand_self_updates(const hlo::Module& module) {
  const Sources sources(module);
  return transform::with_rewritten(
      module, [&](auto&, transform::Rebuilder& to, hlo::ComputationId id, InstructionId i) {
        return reads_what_it_writes(sources, id, to.from(), to.old(i)) ? written(to, i) : Value();
      });
}

}  // namespace heddle::pjrt
