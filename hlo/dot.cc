#include "heddle/hlo/dot.h"

#include "heddle/hlo/text/internal/called.h"
#include "heddle/hlo/text/internal/elements.h"
#include "heddle/hlo/text/internal/fields.h"

namespace heddle::hlo {
namespace {

// Inside double quotes Graphviz reads \" and \\, and \n as the end of a line. A new line in a name
// would end the statement.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.append(c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1));
  }
  return out;
}

std::string name_of(const Instruction& instruction, size_t i) {
  return instruction.name.empty() ? base::cat(to_string(instruction.opcode), ".", i)
                                  : instruction.name;
}

std::string name_of(const Computation& computation, size_t number) {
  return computation.name.empty() ? base::cat("computation.", number) : computation.name;
}

class DotWriter {
 public:
  DotWriter(const Module& module, const DotOptions& options) : module_(module), options_(options) {}

  std::string run() && {
    base::append(out_, "digraph \"", escaped(module_.name), "\" {\n");
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
                 escaped(name_of(computation, c)), "\";\n");
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
    base::append(out_, " [label=\"", escaped(name_of(instruction, i)), "\\n",
                 escaped(to_string(instruction.shape)), "\\n", escaped(what_it_does(instruction)),
                 "\"");
    if (instruction.opcode == Opcode::kParameter) out_.append(", shape=ellipse");
    if (computation.root.value == i) out_.append(", peripheries=2");
    out_.append("];\n");
  }

  // "reduce, dimensions={0}", or "constant 1.5".
  [[nodiscard]] std::string what_it_does(const Instruction& instruction) const {
    std::string out(to_string(instruction.opcode));
    if (instruction.opcode == Opcode::kParameter) {
      base::append(out, " ", instruction.attrs.get<ParameterAttrs>().number);
    } else if (instruction.opcode == Opcode::kConstant) {
      out.push_back(' ');
      text::write_literal(out, instruction.attrs.get<ConstantAttrs>().literal,
                          options_.max_constant_elements);
    }
    visit_attrs(instruction.opcode, instruction.attrs, [&](const auto& attrs) {
      write_fields(out, text::kFieldTexts<std::remove_cvref_t<decltype(attrs)>>, &attrs);
    });
    return out;
  }

  void write_fields(std::string& out, std::span<const text::FieldText> fields,
                    const void* attrs) const {
    for (const text::FieldText& field : fields) {
      if (field.presence == text::Presence::kNever) continue;
      if (field.presence == text::Presence::kUnlessUsual && field.is_usual(attrs)) continue;
      std::string value;
      field.write(value, attrs);
      if (value.size() > options_.max_attribute_length)
        value.replace(options_.max_attribute_length, std::string::npos, "..");
      base::append(out, "\n", field.name, "=", value);
    }
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

  // What a callee is for: "body", "to_apply", "branch_computations".
  std::string_view role_of(const Computation& computation, const Instruction& instruction,
                           size_t slot) const {
    const bool predicate = !instruction.operands.empty() &&
                           computation.at(instruction.operands[0]).shape.dtype() == pred;
    const text::CalledKeys keys = text::called_keys(instruction.opcode, predicate);
    for (const text::CalledKey& key : keys.keys) {
      if (key.slot == slot) return key.name;
    }
    return keys.list;
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
