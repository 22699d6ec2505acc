// Rebuilders copy a module forward into a new one. Ids are the topological order and nothing is
// edited in place, so a pass keeps no use lists and no worklist: it walks the old instructions
// once, and drops, replaces, adds or copies each.
//
//   ModuleRebuilder module(from);
//   for (hlo::ComputationId id : module.order()) {
//     Rebuilder to(module, id);
//     for (hlo::InstructionId i : to.order()) {
//       if (is_copy(to.old(i))) to.replace(i, to[to.old(i).operands[0]]);   // users of i read its
//       operand else to.copy(i);
//     }
//     module.replace(id, std::move(to).finish());
//   }
//   return std::move(module).finish();
//
// What is new is written as hlo::Value: to.in_place_of(i) is the Graph that it is written in.
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/effects.h"

namespace heddle::transform {

// The ids 0 .. size-1 of a table. (std::views needs a newer clang than 14.)
template <class Id>
class IdRange {
 public:
  explicit IdRange(size_t size) : size_(size) {}
  struct Iterator {
    size_t at;
    Id operator*() const { return Id(at); }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) = default;
  };
  [[nodiscard]] Iterator begin() const { return {0}; }
  [[nodiscard]] Iterator end() const { return {size_}; }

 private:
  size_t size_;
};

// Writes a module, computation by computation, callees first. `from` must outlive it.
class ModuleRebuilder : public hlo::Writer {
 public:
  explicit ModuleRebuilder(const hlo::Module& from);

  [[nodiscard]] const hlo::Module& from() const { return *from_; }
  [[nodiscard]] const hlo::Module& into() const { return module(); }
  [[nodiscard]] IdRange<hlo::ComputationId> order() const {
    return IdRange<hlo::ComputationId>(from_->computations.size());
  }
  // The effects of the new computations.
  [[nodiscard]] const Effects& effects() const { return effects_; }

  // Appends a computation whose callees are in into() already; returns its id there.
  hlo::ComputationId add(hlo::Computation computation) override;
  // Appends it in place of an old one: callers of `old` call it.
  hlo::ComputationId replace(hlo::ComputationId old, hlo::Computation now);
  // Callers of `old` call the new computation `now`.
  void replace(hlo::ComputationId old, hlo::ComputationId now) { map_[old.value] = now; }

  // The new id of an old computation; not valid() if it has none yet.
  hlo::ComputationId operator[](hlo::ComputationId old) const { return map_[old.value]; }

  // The module with the computations that its entry reaches. The header (name, aliasing, unknown
  // fields) is copied.
  // errors: status()
  [[nodiscard]] StatusOr<hlo::Module> finish() &&;

 private:
  const hlo::Module* from_;
  std::vector<hlo::ComputationId> map_;
  Effects effects_;
};

// Writes one computation. Old ids belong to the original, new ids to the copy. A copy keeps its
// name, metadata, sharding, frontend attributes, unknown fields, and its source location.
class Rebuilder {
 public:
  Rebuilder(ModuleRebuilder& module, hlo::ComputationId from);

  [[nodiscard]] const hlo::Computation& from() const { return *from_; }
  [[nodiscard]] IdRange<hlo::InstructionId> order() const {
    return IdRange<hlo::InstructionId>(from_->instructions.size());
  }
  [[nodiscard]] const hlo::Instruction& old(hlo::InstructionId id) const { return from_->at(id); }

  // The instruction with operands, control predecessors and callees mapped to their new ids. It is
  // not appended. Operands must have new ids already; dropped control predecessors are left out.
  [[nodiscard]] hlo::Instruction mapped(hlo::InstructionId old) const;

  // Appends mapped(old).
  hlo::InstructionId copy(hlo::InstructionId old);
  // Users of `old` read `now`.
  void replace(hlo::InstructionId old, hlo::InstructionId now) { map_[old.value] = now; }
  void replace(hlo::InstructionId old, const hlo::Value& now) { map_[old.value] = now.id(); }
  // The new id of an old instruction; not valid() for a dropped one.
  hlo::InstructionId operator[](hlo::InstructionId old) const { return map_[old.value]; }

  // The new value of an old instruction, which was not dropped, and those of its operands.
  [[nodiscard]] hlo::Value value(hlo::InstructionId old) { return graph_.wrap(map_[old.value]); }
  [[nodiscard]] hlo::Values operands(hlo::InstructionId old);

  // The module being written.
  [[nodiscard]] const hlo::Module& into() const { return module_->into(); }
  // The new computation. What is written in place of an old instruction has its location and
  // metadata.
  hlo::Graph& in_place_of(hlo::InstructionId old) {
    graph_.set_origin(this->old(old));
    return graph_;
  }
  hlo::ComputationBuilder& builder() { return graph_.builder(); }
  [[nodiscard]] const hlo::Instruction& at(hlo::InstructionId now) const { return graph_.at(now); }

  // The new computation, with the old root's replacement as root.
  [[nodiscard]] hlo::Computation finish() && {
    return std::move(*this).finish(map_[from_->root.value]);
  }
  [[nodiscard]] hlo::Computation finish(hlo::InstructionId root) &&;

 private:
  const ModuleRebuilder* module_;
  const hlo::Computation* from_;
  hlo::Graph graph_;
  std::vector<hlo::InstructionId> map_;
};

// Removes the instructions that neither the root nor an effect needs. Parameters stay: they are the
// signature. cost: linear, instructions are moved
void sweep(hlo::Computation& computation, const Effects& effects);

// Removes computations that the entry does not reach.
void sweep(hlo::Module& module);

// The module with write(into, to, id, i) or write(to, i), a value that it appends to `to`, in place
// of instruction i of computation id. Where the value is absent the instruction stays.
template <class Write>
StatusOr<hlo::Module> with_rewritten(const hlo::Module& module, const Write& write) {
  ModuleRebuilder into(module);
  const auto written = [&](Rebuilder& to, hlo::ComputationId id, hlo::InstructionId i) {
    if constexpr (std::is_invocable_v<const Write&, Rebuilder&, hlo::InstructionId>)
      return write(to, i);
    else
      return write(into, to, id, i);
  };
  for (hlo::ComputationId id : into.order()) {
    Rebuilder to(into, id);
    for (hlo::InstructionId i : to.order()) {
      if (const hlo::Value now = written(to, id, i))
        to.replace(i, now);
      else
        to.copy(i);
    }
    into.replace(id, std::move(to).finish());
  }
  return std::move(into).finish();
}

}  // namespace heddle::transform
