// How many loops a program has, and how many of their outputs nobody reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "heddle/hlo/attrs.h"
#include "heddle/hlo/module.h"
#include "heddle/trace/run/program.h"
#include "heddle/transform/passes.h"

namespace heddle {

// What the results `of` of a computation depend on, by instruction.
inline std::vector<bool> needed(const hlo::Computation& in,
                                std::span<const hlo::InstructionId> of) {
  std::vector<bool> out(in.instructions.size());
  for (hlo::InstructionId id : of) out[id.value] = true;
  for (size_t i = out.size(); i-- > 0;) {
    if (!out[i]) continue;
    for (hlo::InstructionId id : in.instructions[i].operands) out[id.value] = true;
  }
  return out;
}

// Which elements of `tuple` the chosen instructions take.
inline std::vector<bool> elements_read(const hlo::Computation& in, hlo::InstructionId tuple,
                                       const std::vector<bool>& chosen) {
  std::vector<bool> out(in.at(tuple).shape.elements().size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    const hlo::Instruction& each = in.instructions[i];
    if (chosen[i] && each.opcode == hlo::Opcode::kGetTupleElement && each.operands[0] == tuple)
      out[static_cast<size_t>(each.attrs.get<hlo::TupleIndexAttrs>().index)] = true;
  }
  return out;
}

// The elements of a while's state that are read behind it, or by its condition, or for these.
inline std::vector<bool> read_of_state(const hlo::Module& module, const hlo::Computation& in,
                                       hlo::InstructionId loop) {
  const hlo::Computation& body = module.at(in.at(loop).called[0]);
  const hlo::Computation& condition = module.at(in.at(loop).called[1]);
  const auto add = [](std::vector<bool>& to, const std::vector<bool>& more) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = to[i] || more[i];
  };
  std::vector<bool> out = elements_read(in, loop, needed(in, {{in.root}}));
  add(out,
      elements_read(condition, condition.parameters[0], needed(condition, {{condition.root}})));
  for (size_t round = 0; round < out.size(); ++round) {
    std::vector<hlo::InstructionId> wanted;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i]) wanted.push_back(body.root_instruction().operands[i]);
    }
    add(out, elements_read(body, body.parameters[0], needed(body, wanted)));
  }
  return out;
}

// How many loops a module has, and how many of their outputs nobody reads: of a scan those that it
// stacks, of a while all.
struct Loops {
  int64_t loops = 0, dead_outputs = 0;
  friend bool operator==(const Loops&, const Loops&) = default;
  friend void PrintTo(const Loops& one, std::ostream* out) {
    *out << one.loops << " loops, " << one.dead_outputs << " dead outputs";
  }
};
inline Loops loops_of(const Program& program) {
  const hlo::Module module = *transform::inline_calls(program.module());
  Loops out;
  for (const hlo::Computation& in : module.computations) {
    for (uint32_t i = 0; i < in.instructions.size(); ++i) {
      const hlo::Instruction& each = in.instructions[i];
      const bool is_scan = each.opcode == hlo::Opcode::kScan;
      if (!is_scan && each.opcode != hlo::Opcode::kWhile) continue;
      ++out.loops;
      const hlo::InstructionId id{i};
      std::vector<bool> read =
          is_scan ? elements_read(in, id, needed(in, {{in.root}})) : read_of_state(module, in, id);
      if (is_scan)
        read.resize(read.size() -
                    static_cast<size_t>(each.attrs.get<hlo::ScanAttrs>().num_carries));
      out.dead_outputs += std::ranges::count(read, false);
    }
  }
  return out;
}

}  // namespace heddle
