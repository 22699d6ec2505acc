// The IR. A Module is a table of computations, callees before callers; a Computation is a table of
// instructions, operands before users. Ids are indices: the ids are the topological order. Nothing
// is edited in place: passes write new computations.
//
// Stages say what is legal (hlo/verify.h): kTraced has everything, scan too; kHlo is what goes to
// XLA.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/containers/box.h"
#include "heddle/base/ids.h"
#include "heddle/base/source_location.h"
#include "heddle/hlo/attrs.h"
#include "heddle/hlo/metadata.h"
#include "heddle/hlo/opcode.h"
#include "heddle/hlo/shape.h"
#include "heddle/hlo/sharding/sharding.h"

namespace heddle::hlo {

using InstructionId = Id<struct InstructionTag>;
using ComputationId = Id<struct ComputationTag>;

using FrontendAttributes = std::vector<std::pair<std::string, std::string>>;  // sorted by key

// What few instructions carry. What Heddle does not understand is kept as it was read, and written
// again.
struct InstructionExtras {
  Metadata metadata;
  base::Box<Sharding> sharding;
  FrontendAttributes frontend_attributes;
  std::string backend_config;
  std::vector<InstructionId> control_predecessors;
  std::vector<bool> parameter_replication;  // parameters: one per leaf buffer
  std::string statistics;                   // as text, with its braces
  std::string result_accuracy;              // as text, with its braces
  std::string origin;                       // as text, with its braces
  // serialised fields of HloInstructionProto that nothing above holds
  std::string unknown_proto;
  // ... and what is newer than Heddle inside of those that are held
  std::string unknown_parts;
  friend bool operator==(const InstructionExtras&, const InstructionExtras&) = default;
};

struct Instruction {
  Opcode opcode = Opcode::kTuple;
  Shape shape;
  std::vector<InstructionId> operands;
  Attrs attrs;
  // while: body, condition. conditional: branches, true first. select-and-scatter: select, scatter
  std::vector<ComputationId> called;
  std::string name;   // empty: printers make one from opcode and id
  SourceLocation at;  // the user's line, when traced
  base::Box<InstructionExtras> extras;
};

// The frontend attribute of this key; "" where there is none. It lives as long as the instruction.
std::string_view frontend_attribute(const Instruction& instruction, std::string_view key);

// Made by ComputationBuilder (hlo/builder.h) or Rebuilder (transform/rebuilder.h).
struct Computation {
  std::string name;                       // empty: printers make one
  std::vector<Instruction> instructions;  // operands have smaller ids
  InstructionId root;
  std::vector<InstructionId> parameters;  // by parameter number
  std::string execution_thread;           // empty: main
  bool is_fusion = false;
  // serialised fields of HloComputationProto that are not here
  std::string unknown_proto;
  // ... and what is newer than Heddle inside of those that are
  std::string unknown_parts;

  [[nodiscard]] const Instruction& at(InstructionId id) const { return instructions[id.value]; }
  [[nodiscard]] const Instruction& root_instruction() const { return at(root); }
  [[nodiscard]] const Shape& result_shape() const { return root_instruction().shape; }
  [[nodiscard]] size_t parameter_count() const { return parameters.size(); }
  [[nodiscard]] const Shape& parameter_shape(size_t number) const {
    return at(parameters[number]).shape;
  }
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(instructions.size()); }
};

struct InputOutputAlias {
  enum class Kind : uint8_t { kUndefined, kMay, kMust };
  std::vector<int64_t> output_index;
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
  Kind kind = Kind::kMay;
  friend bool operator==(const InputOutputAlias&, const InputOutputAlias&) = default;
};

struct BufferDonor {
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
  friend bool operator==(const BufferDonor&, const BufferDonor&) = default;
};

// The module header. What is not understood is kept as text or as serialised proto fields.
struct ModuleExtras {
  bool is_scheduled = false;
  bool is_dynamic = false;
  bool alias_passthrough_params = false;
  std::vector<InputOutputAlias> input_output_alias;
  std::vector<BufferDonor> buffer_donors;
  // entry_computation_layout; empty with an invalid result: as the entry says
  std::vector<Shape> entry_parameter_layouts;
  Shape entry_result_layout;
  std::vector<bool> propagate_sharding_to_parameters;
  std::vector<bool> propagate_sharding_to_output;
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  FrontendAttributes frontend_attributes;
  std::string frames;                 // FileNames .. StackFrames blocks, as text
  std::string origin_recovery_table;  // as text, with its braces
  std::string unknown_proto;          // serialised fields of HloModuleProto that are not here
  std::string unknown_parts;          // ... and what is newer than Heddle inside of those that are
  friend bool operator==(const ModuleExtras&, const ModuleExtras&) = default;
};

struct Module {
  std::string name = "main";
  std::vector<Computation> computations;  // callees before callers
  ComputationId entry;
  base::Box<ModuleExtras> extras;

  [[nodiscard]] const Computation& at(ComputationId id) const { return computations[id.value]; }
  [[nodiscard]] const Computation& entry_computation() const { return at(entry); }
  [[nodiscard]] int64_t instruction_count() const;

  // Appends a computation whose callees are all here; returns its id.
  ComputationId add(Computation computation);
};

// The header but for what says nothing of the program: that it is a schedule, the layouts at the
// entry, and the tables that metadata refers to.
ModuleExtras meaning_of(const ModuleExtras& header);

// Equality of what is computed, where it runs and how memory is shared: opcodes, types (without
// layouts), operands, attributes, sharding, frontend attributes, backend config, called
// computations, and the meaning of the header. Names, metadata and lines are not compared. Compare
// canonical forms (transform/canonical.h) to look through dead code and order. Instructions and
// computations are compared by their ids: both must be of the same tables.
bool equal(const Module& a, const Module& b);
bool equal(const Computation& a, const Computation& b);
bool equal(const Instruction& a, const Instruction& b);

// A stable hash of what equal() compares.
base::Hash128 hash_of(const Module& module);
base::Hash128 hash_of(const Computation& computation);
base::Hash128 hash_of(const Instruction& instruction);

}  // namespace heddle::hlo
