// What the evaluator knows of a module before it runs: for each computation, the order of its live
// instructions and, for each use of a value, whether it is the last one. A value is moved into its
// last use, so that the op finds it unique and may write in place.
//
// Tuples come apart: get-tuple-element runs as soon as its tuple is there and moves the element out
// where nobody else reads it. So the carries of a loop reach the body's ops, and leave through the
// root tuple, without a copy and without a second owner.
//
// Scalars are bytes in a table, not Literals: moving a Literal costs more than an addition. They
// become Literals, in buffers that stay, where something else than a ScalarOp reads them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {

// A scalar of any element type, in its first bytes.
struct ScalarBytes {
  alignas(16) std::byte bytes[16] = {};
};

// Where an operand is read.
struct Source {
  enum class Kind : uint8_t {
    kSlot,      // copied (which shares its bytes)
    kLastSlot,  // moved out: no later step reads it
    kConstant,  // copied from the plan
    kScalar,    // copied from the table of scalars
    kResult,    // of the root: its step put it there
  };
  Kind kind = Kind::kSlot;
  DType scalar = DType::kInvalid;  // kScalar
  uint32_t index = 0;
};

// One instruction to run.
struct Step {
  enum class Kind : uint8_t { kScalarOp, kRule, kTuple, kElement };
  Kind kind = Kind::kRule;
  // element type of a result that goes to the table of scalars; else it goes to a slot
  DType scalar = DType::kInvalid;
  // kElement: the tuple is argument `tuple` of the call; else it lies in slot `tuple`
  bool from_argument = false;
  bool takes = false;         // kElement: this element is not read again, so it is moved out
  bool drops = false;         // kElement: the tuple in the slot is not read again
  bool unused = false;        // nobody reads the result
  bool at_root = false;       // kTuple: goes to the result of the call
  bool at_sizes = false;      // kRule: of dynamic dimensions, see sizes.h
  uint32_t slot = 0;          // of the result; or its number in the table of scalars
  uint32_t tuple = 0;         // kElement
  uint32_t element = 0;       // kElement
  uint32_t first_source = 0;  // of its operands, in Routine::sources
  uint32_t source_count = 0;
  EvaluateFn rule = nullptr;  // kRule
  ScalarOp scalar_op;         // kScalarOp
  const Instruction* instruction = nullptr;
};

// A computation, ready to run.
struct Routine {
  const Computation* computation = nullptr;
  struct Binding {
    uint32_t parameter;
    uint32_t slot;
    DType scalar;  // as in Step
  };
  std::vector<Binding> bindings;  // parameters that are read otherwise than element by element
  std::vector<Step> steps;
  std::vector<Source> sources;
  std::vector<Literal> constants;
  // the table as a run finds it: constants, and zeros for what steps write
  std::vector<ScalarBytes> scalars;
  Source root;
  uint32_t slot_count = 0;
  int depth = 0;  // of calls below and with this one
};

struct EvaluationPlan {
  Module module;
  std::vector<Routine> routines;  // by computation; empty for one that is never called
  Status alone;                   // why one device alone cannot run it: the module counts on others

  // A value of a computation on scalars, for arrays of 2^log2_size elements; made at the first
  // call. Null where elementwise ops do not suffice.
  struct LiftKey {
    ComputationId computation;
    InstructionId value;
    uint32_t log2_size = 0;
    friend auto operator<=>(const LiftKey&, const LiftKey&) = default;
  };
  std::shared_ptr<const EvaluationPlan> lifted(const LiftKey& key) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<LiftKey, std::shared_ptr<const EvaluationPlan>> lifted_;
};

// Verifies the module and plans it. See Evaluator::prepare().
StatusOr<std::shared_ptr<const EvaluationPlan>> make_evaluation_plan(Module module);

// The live instructions of a computation in the order to run them. `effects` tells by computation
// whether it has side effects.
std::vector<InstructionId> evaluation_order(const Computation& computation,
                                            const std::vector<bool>& live,
                                            const std::vector<bool>& effects);

// Has a side effect of its own or in what it calls.
bool has_side_effect(const Instruction& instruction, const std::vector<bool>& effects);

}  // namespace heddle::interpreter
