// Liveness: which values of a module its result and its effects need, to one level of tuples and
// through calls and loops.
//
// A carry that only the loop itself reads is dead, although the body reads and writes it. The need
// starts at the module's result and walks backwards, through while, scan, conditional and call
// element by element, so that it never enters a cycle that nothing outside needs. Computations that
// several instructions call have one signature: all live callers keep a part that one of them
// needs.
//
// Parts: part 0 of an instruction is the instruction itself; part 1 + e is element e of its tuple.
// A value that is no tuple has only part 0.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/hlo/module.h"
#include "heddle/transform/effects.h"

namespace heddle::transform {

class Liveness {
 public:
  // cost: linear in the module (in its edges, counted by element for tuples of regions)
  explicit Liveness(const hlo::Module& module);

  // Whether anything live calls the computation.
  [[nodiscard]] bool is_live(hlo::ComputationId id) const { return entered_[id.value]; }
  [[nodiscard]] bool is_live(hlo::ComputationId id, hlo::InstructionId instruction) const {
    return live(node(id, instruction), 0);
  }
  // For each element of a tuple-shaped instruction, whether it is needed. Empty for other shapes.
  [[nodiscard]] std::vector<bool> elements(hlo::ComputationId id,
                                           hlo::InstructionId instruction) const {
    return elements(node(id, instruction));
  }
  // The same for each element of a computation's result, if that is a tuple.
  [[nodiscard]] std::vector<bool> result_elements(hlo::ComputationId id) const {
    return elements(result_node(id));
  }

 private:
  // One a value: an instruction, or the result of a computation (which may need less of the root
  // than others do).
  using Node = uint32_t;
  struct Item {
    hlo::ComputationId computation;
    hlo::InstructionId instruction;  // not valid: the result
    uint32_t part;
  };
  struct Caller {
    hlo::ComputationId computation;
    hlo::InstructionId instruction;
    uint32_t which;  // called[which]
  };

  void lay_out();
  [[nodiscard]] Node node(hlo::ComputationId id, hlo::InstructionId i) const {
    return first_node_[id.value] + i.value;
  }
  [[nodiscard]] Node result_node(hlo::ComputationId id) const {
    return first_node_[id.value + 1] - 1;
  }
  [[nodiscard]] bool live(Node node, size_t part) const { return live_[first_part_[node] + part]; }
  [[nodiscard]] size_t part_count(Node node) const {
    return first_part_[node + 1] - first_part_[node];
  }
  [[nodiscard]] std::vector<bool> elements(Node node) const;
  [[nodiscard]] const hlo::Instruction& at(const Caller& caller) const {
    return module_.at(caller.computation).at(caller.instruction);
  }

  // need..: queues what was not needed before.
  void need(Node node, Item item);
  void need(hlo::ComputationId c, hlo::InstructionId i, size_t part);
  void need_all(hlo::ComputationId c, hlo::InstructionId i);
  void need_result(hlo::ComputationId c, size_t part);
  void need_signature(hlo::ComputationId c);  // every parameter and the whole result

  void follow_all();
  bool keep_one_input_of_scans();
  void follow(const Item& item);
  void follow_result(hlo::ComputationId c, size_t part);
  void follow_instruction(hlo::ComputationId c, hlo::InstructionId i);
  void follow_region(hlo::ComputationId c, hlo::InstructionId i);
  void follow_opaque(hlo::ComputationId c, hlo::InstructionId i);
  void follow_element(hlo::ComputationId c, hlo::InstructionId i, size_t element);
  void follow_carry(hlo::ComputationId c, hlo::InstructionId i, size_t element);
  void follow_parameter(hlo::ComputationId c, size_t number, size_t part);

  void enter(hlo::ComputationId callee, Caller caller);
  void caller_needs_parameter(const Caller& caller, size_t number, size_t part);
  void caller_needs_result(const Caller& caller, size_t part);

  const hlo::Module& module_;
  Effects effects_;
  std::vector<Node> first_node_;                   // by computation, and one past the last
  std::vector<uint32_t> first_part_;               // by node, and one past the last
  std::vector<bool> live_;                         // by part
  std::vector<bool> entered_;                      // by computation
  std::vector<std::vector<Caller>> live_callers_;  // by computation
  std::vector<Item> queue_;
};

// Whether a callee's parameters and result may shrink, and the instruction with them: call, while,
// conditional, scan, but for composite calls (their name promises the signature) and scans of a
// single bare value.
bool shrinks_with_callee(const hlo::Module& module, const hlo::Instruction& instruction);

}  // namespace heddle::transform
