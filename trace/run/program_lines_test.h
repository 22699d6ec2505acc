// Where the instructions of a program come from, which is where the user's code says.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/module.h"
#include "heddle/trace/run/program.h"

namespace heddle {

// Those, in all regions, that come from a file whose name does not end with `file`.
inline std::vector<std::string> lines_outside(const std::string& file, const Program& program) {
  std::vector<std::string> out;
  for (const hlo::Computation& computation : program.module().computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      const std::string from = instruction.at.known() ? instruction.at.file : "";
      if (!from.empty() && !from.ends_with(file))
        out.push_back(base::cat(to_string(instruction.opcode), " of ", computation.name, " at ",
                                to_string(instruction.at)));
    }
  }
  return out;
}

}  // namespace heddle
