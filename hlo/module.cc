#include "heddle/hlo/module.h"

#include <algorithm>

namespace heddle::hlo {
namespace {

// All but what says nothing of the program (metadata, statistics and origin), and fields that only
// a proto has, and text does not.
bool equal_extras(const Instruction& a, const Instruction& b) {
  const InstructionExtras& x = *a.extras;
  const InstructionExtras& y = *b.extras;
  return x.sharding == y.sharding && x.frontend_attributes == y.frontend_attributes &&
         x.backend_config == y.backend_config && x.control_predecessors == y.control_predecessors &&
         x.parameter_replication == y.parameter_replication &&
         x.result_accuracy == y.result_accuracy;
}

// A bitcast reads the bytes as they lie: its layout and its operand's are part of what it computes.
bool same_layouts(const Computation& a, const Instruction& x, const Computation& b,
                  const Instruction& y) {
  return x.shape == y.shape && a.at(x.operands[0]).shape == b.at(y.operands[0]).shape;
}

void hash_instruction(base::Hasher& hasher, const Instruction& instruction) {
  hash_value(hasher, instruction.opcode);
  hash_value(hasher, instruction.shape);
  for (InstructionId id : instruction.operands) hasher.add_word(id.value);
  for (ComputationId id : instruction.called) hasher.add_word(id.value);
  hash_value(hasher, instruction.attrs);
  if (instruction.extras.has_value()) {
    if (instruction.extras->sharding.has_value()) hash_value(hasher, *instruction.extras->sharding);
    if (!instruction.extras->backend_config.empty())
      hash_value(hasher, instruction.extras->backend_config);
    for (const auto& [key, value] : instruction.extras->frontend_attributes) {
      hash_value(hasher, key);
      hash_value(hasher, value);
    }
  }
}

void hash_computation(base::Hasher& hasher, const Computation& computation) {
  hasher.add_word(computation.instructions.size());
  hasher.add_word(computation.root.value);
  for (const Instruction& i : computation.instructions) hash_instruction(hasher, i);
}

bool equal_headers(const Module& a, const Module& b) {
  return (!a.extras.has_value() && !b.extras.has_value()) ||
         meaning_of(*a.extras) == meaning_of(*b.extras);
}

// Adds nothing for a header that says nothing.
void hash_header(base::Hasher& hasher, const Module& module) {
  if (!module.extras.has_value()) return;
  const ModuleExtras extras = meaning_of(*module.extras);
  if (extras == ModuleExtras()) return;
  hasher.add_word(static_cast<uint64_t>(extras.replica_count));
  hasher.add_word(static_cast<uint64_t>(extras.num_partitions));
  hasher.add_word(extras.input_output_alias.size());
  hasher.add_word(extras.buffer_donors.size());
  for (const auto& [key, value] : extras.frontend_attributes) {
    hash_value(hasher, key);
    hash_value(hasher, value);
  }
}

}  // namespace

std::string_view frontend_attribute(const Instruction& instruction, std::string_view key) {
  for (const auto& [name, value] : instruction.extras->frontend_attributes) {
    if (name == key) return value;
  }
  return {};
}

int64_t Module::instruction_count() const {
  int64_t count = 0;
  for (const Computation& computation : computations) count += computation.size();
  return count;
}

ComputationId Module::add(Computation computation) {
  computations.push_back(std::move(computation));
  return ComputationId(computations.size() - 1);
}

ModuleExtras meaning_of(const ModuleExtras& header) {
  ModuleExtras meaning = header;
  meaning.is_scheduled = false;
  meaning.entry_parameter_layouts.clear();
  meaning.entry_result_layout = {};
  meaning.frames.clear();
  meaning.origin_recovery_table.clear();
  return meaning;
}

bool equal(const Instruction& a, const Instruction& b) {
  return a.opcode == b.opcode && a.operands == b.operands && a.called == b.called &&
         same_type(a.shape, b.shape) && a.attrs == b.attrs &&
         ((!a.extras.has_value() && !b.extras.has_value()) || equal_extras(a, b));
}

bool equal(const Computation& a, const Computation& b) {
  return a.root == b.root && a.parameters == b.parameters &&
         a.execution_thread == b.execution_thread && a.is_fusion == b.is_fusion &&
         std::ranges::equal(
             a.instructions, b.instructions, [&](const Instruction& x, const Instruction& y) {
               return equal(x, y) && (x.opcode != Opcode::kBitcast || same_layouts(a, x, b, y));
             });
}

bool equal(const Module& a, const Module& b) {
  return a.entry == b.entry && equal_headers(a, b) &&
         std::ranges::equal(a.computations, b.computations,
                            [](const Computation& x, const Computation& y) { return equal(x, y); });
}

base::Hash128 hash_of(const Module& module) {
  base::Hasher hasher;
  hasher.add_word(module.entry.value);
  for (const Computation& computation : module.computations) hash_computation(hasher, computation);
  hash_header(hasher, module);
  return hasher.digest();
}

base::Hash128 hash_of(const Computation& computation) {
  base::Hasher hasher;
  hash_computation(hasher, computation);
  return hasher.digest();
}

base::Hash128 hash_of(const Instruction& instruction) {
  base::Hasher hasher;
  hash_instruction(hasher, instruction);
  return hasher.digest();
}

}  // namespace heddle::hlo
