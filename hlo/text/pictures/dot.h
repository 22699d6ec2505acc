// Modules as pictures: Graphviz text of the graph, for `heddle opt --to dot | dot -Tsvg`.
#pragma once

#include <string>

#include "heddle/hlo/module.h"

namespace heddle::hlo {

struct DotOptions {
  int64_t max_constant_elements = 8;  // larger constants are written as {...}
  size_t max_attribute_length = 80;   // what is longer ends in ".."
};

// Returns the module as a Graphviz digraph. A computation is a cluster, an instruction a box with
// its name, type, op and attributes; the root has a double frame, the parameters are ellipses.
// Solid edges are operands, with their number where there are several; dotted ones are control
// predecessors; dashed ones go from an instruction to the computations that it calls, and say what
// for. Any name or text of a module is escaped. cost: linear in the module
std::string print_dot(const Module& module, const DotOptions& options = {});

}  // namespace heddle::hlo
