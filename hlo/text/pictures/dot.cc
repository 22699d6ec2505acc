#include "heddle/hlo/text/pictures/dot.h"

#include "heddle/hlo/text/internal/labels.h"

namespace heddle::hlo {
namespace {

// Inside double quotes Graphviz reads \" and \\, and \n as the end of a line. A new line in a name
// would end the statement.
std::string dot_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.append(c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1));
  }
  return out;
}

class DotWriter {
 public:
  DotWriter(const Module& module, const DotOptions& options) : module_(module), options_(options) {}

  std::string run() && {
    base::append(out_, "digraph \"", dot_escaped(module_.name), "\" {\n");
    out_.append("  compound=true;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n");
    out_.append("  edge [fontname=\"monospace\", fontsize=8];\n");
    for (size_t c = 0; c < module_.computations.size(); ++c) write_cluster(c);
    for (size_t c = 0; c < module_.computations.size(); ++c) write_calls(c);
    out_.append("}\n");
    return std::move(out_);
  }

 private:
  void write_node(size_t computation, size_t instruction) {
    base::append(out_, "c", computation, "_", instruction);
  }

  void write_cluster(size_t c) {
    const Computation& computation = module_.computations[c];
    base::append(out_, "  subgraph cluster_", c, " {\n    label=\"",
                 dot_escaped(label_of(computation, c)), "\";\n");
    if (module_.entry.value == c) out_.append("    penwidth=2;\n");
    for (size_t i = 0; i < computation.instructions.size(); ++i) write_instruction(c, i);
    for (size_t i = 0; i < computation.instructions.size(); ++i) write_edges(c, i);
    out_.append("  }\n");
  }

  void write_instruction(size_t c, size_t i) {
    const Computation& computation = module_.computations[c];
    const Instruction& instruction = computation.instructions[i];
    out_.append("    ");
    write_node(c, i);
    base::append(out_, " [label=\"", dot_escaped(label_of(instruction, i)), "\\n",
                 dot_escaped(to_string(instruction.shape)), "\\n",
                 dot_escaped(what_it_does(instruction, options_)), "\"");
    if (instruction.opcode == Opcode::kParameter) out_.append(", shape=ellipse");
    if (computation.root.value == i) out_.append(", peripheries=2");
    out_.append("];\n");
  }

  void write_edges(size_t c, size_t i) {
    const Instruction& instruction = module_.computations[c].instructions[i];
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      begin_edge(c, instruction.operands[k].value, c, i);
      if (instruction.operands.size() > 1) base::append(out_, " [label=\"", k, "\"]");
      out_.append(";\n");
    }
    for (InstructionId before : instruction.extras->control_predecessors) {
      begin_edge(c, before.value, c, i);
      out_.append(" [style=dotted];\n");
    }
  }

  void begin_edge(size_t from_computation, size_t from, size_t to_computation, size_t to) {
    out_.append("    ");
    write_node(from_computation, from);
    out_.append(" -> ");
    write_node(to_computation, to);
  }

  // An edge leads to a node; lhead lets it end at the callee's frame.
  void write_calls(size_t c) {
    const Computation& computation = module_.computations[c];
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      for (size_t slot = 0; slot < instruction.called.size(); ++slot) {
        const size_t callee = instruction.called[slot].value;
        begin_edge(c, i, callee, module_.computations[callee].root.value);
        base::append(out_, " [style=dashed, lhead=cluster_", callee, ", label=\"",
                     role_of(computation, instruction, slot), "\"];\n");
      }
    }
  }

  const Module& module_;
  const DotOptions& options_;
  std::string out_;
};

}  // namespace

std::string print_dot(const Module& module, const DotOptions& options) {
  return DotWriter(module, options).run();
}

}  // namespace heddle::hlo
