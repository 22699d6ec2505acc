#include "heddle/pjrt/internal/program.h"

#include <algorithm>
#include <type_traits>

#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/pjrt/internal/types.h"
#include "heddle/transform/lapack/expand.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::pjrt {
namespace {

template <Opcode... kOpcodes>
bool has(const hlo::Module& module) {
  return std::ranges::any_of(module.computations, [&](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [&](const hlo::Instruction& instruction) {
      return ((instruction.opcode == kOpcodes) || ...);
    });
  });
}

// The second half of the pipeline: what plugins do not know, or compile wrongly, in this order.
struct Expansion {
  bool (*applies)(const hlo::Module&);
  StatusOr<hlo::Module> (*run)(const hlo::Module&);
};
constexpr Expansion kExpansions[] = {
    {has<Opcode::kMulhi>, expand_mulhi},
    {has<Opcode::kRaggedDot>, expand_ragged_dot},
    {has_complex_bits, expand_complex_bits},
    {has_complex_converts, expand_complex_converts},
    {has_misread_powers, expand_powers},
    {has_counts, expand_counts},
    {has_unknown_functions, expand_functions},
    {has_misread_starts, expand_reduce_starts},
    {has<Opcode::kDynamicSlice, Opcode::kGather>, expand_nested_slices},
    {has<Opcode::kDynamicUpdateSlice, Opcode::kScatter>, expand_self_updates},
    {has_scalar_operands, expand_scalar_operands},
};

Status check_leaves(const Shape& shape, int plugin_minor, std::string_view what) {
  std::vector<Shape> leaves;
  runtime::append_leaves(shape, leaves);
  for (const Shape& leaf : leaves)
    HEDDLE_RETURN_IF_ERROR(base::annotate(check_transferable(leaf, plugin_minor), what, ": "));
  return {};
}

Status check_signature(const hlo::Module& module, int plugin_minor) {
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    HEDDLE_RETURN_IF_ERROR(check_leaves(entry.parameter_shape(i), plugin_minor,
                                        base::cat("compile ", module.name, ": parameter ", i)));
  }
  HEDDLE_RETURN_IF_ERROR(check_leaves(entry.result_shape(), plugin_minor,
                                      base::cat("compile ", module.name, ": the result")));
  const hlo::ModuleExtras& extras = *module.extras;
  if (extras.replica_count <= 1 && extras.num_partitions <= 1) return {};
  return base::unimplemented("compile ", module.name, ": a program of ", extras.replica_count,
                             " replicas and ", extras.num_partitions,
                             " partitions; compile it for as many devices (runtime/spmd.h)");
}

bool is_flat(const hlo::Computation& entry) {
  const auto is_tuple = [](const Shape& shape) { return shape.is_tuple(); };
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    if (is_tuple(entry.parameter_shape(i))) return false;
  }
  const Shape& result = entry.result_shape();
  return !result.is_tuple() || std::ranges::none_of(result.elements(), is_tuple);
}

// A parameter for each leaf, put back into tuples.
hlo::Value nested_parameters(hlo::Graph& graph, const Shape& shape, const std::string& name) {
  if (!shape.is_tuple()) return graph.wrap(graph.builder().parameter(shape, name));
  hlo::Values elements;
  for (const Shape& element : shape.elements())
    elements.push_back(nested_parameters(graph, element, ""));
  return graph.tuple(elements);
}

void append_leaf_values(const hlo::Value& value, hlo::Values& leaves) {
  if (!value.shape().is_tuple()) {
    leaves.push_back(value);
    return;
  }
  for (const hlo::Value& element : value.graph().elements(value))
    append_leaf_values(element, leaves);
}

hlo::Computation flat_entry(transform::ModuleRebuilder& into, hlo::ComputationId id) {
  transform::Rebuilder to(into, id);
  const hlo::Computation& old = to.from();
  hlo::Graph& graph = to.in_place_of(old.root);
  for (InstructionId parameter : old.parameters) {
    to.replace(parameter,
               nested_parameters(graph, to.old(parameter).shape, to.old(parameter).name));
  }
  for (InstructionId i : to.order()) {
    if (to.old(i).opcode != Opcode::kParameter) to.copy(i);
  }
  hlo::Value root = to.value(old.root);
  if (root.shape().is_tuple()) {
    hlo::Values leaves;
    append_leaf_values(root, leaves);
    root = graph.tuple(leaves);
  }
  return std::move(to).finish(root.id());
}

// Parameters and results of the entry as their leaves.
StatusOr<hlo::Module> flattened(const hlo::Module& module) {
  transform::ModuleRebuilder into(module);
  for (hlo::ComputationId id : into.order()) {
    if (id == module.entry) {
      into.replace(id, flat_entry(into, id));
      continue;
    }
    transform::Rebuilder to(into, id);
    for (InstructionId i : to.order()) to.copy(i);
    into.replace(id, std::move(to).finish());
  }
  return std::move(into).finish();
}

// Each donated parameter with the first result of its type that has none yet.
std::vector<hlo::InputOutputAlias> aliases_of(const hlo::Computation& entry,
                                              const std::vector<int>& donated,
                                              const MayAlias& may_alias) {
  const Shape& result = entry.result_shape();
  std::vector<Shape> results;
  runtime::append_leaves(result, results);
  std::vector<bool> taken(results.size());
  std::vector<hlo::InputOutputAlias> aliases;
  for (int parameter : donated) {
    const Shape& shape = entry.parameter_shape(static_cast<size_t>(parameter));
    for (size_t i = 0; i < results.size(); ++i) {
      if (taken[i] || !same_type(results[i], shape)) continue;
      if (may_alias != nullptr && !may_alias(parameter, i)) continue;
      taken[i] = true;
      auto& alias = aliases.emplace_back();
      alias.parameter = parameter;
      if (result.is_tuple()) alias.output_index = {static_cast<int64_t>(i)};
      break;
    }
  }
  return aliases;
}

// What the header says of layouts and of memory given away is not what plugins are asked for here.
void write_header(const std::vector<int>& donated, const MayAlias& may_alias, hlo::Module& module) {
  const hlo::ModuleExtras& now = *module.extras;
  const bool plain = donated.empty() && now.input_output_alias.empty() &&
                     now.buffer_donors.empty() && !now.entry_result_layout.is_valid();
  if (plain) return;
  hlo::ModuleExtras& extras = module.extras.mutate();
  extras.input_output_alias = aliases_of(module.entry_computation(), donated, may_alias);
  extras.buffer_donors.clear();
  extras.entry_parameter_layouts.clear();
  extras.entry_result_layout = Shape();
}

// The name of the function that a plugin says it has not; empty for another error.
std::string missing_function(const std::string& text) {
  for (std::string_view words : {"No FFI handler registered for ",
                                 "No registered implementation for untyped custom call to ",
                                 "No registered implementation for custom call to "}) {
    const size_t at = text.find(words);
    if (at == std::string::npos) continue;
    const size_t begin = at + words.size();
    return text.substr(begin, text.find(' ', begin) - begin);
  }
  return "";
}

}  // namespace

StatusOr<hlo::Module> prepare(hlo::Module out, int plugin_minor, const std::vector<int>& donated,
                              const transform::CallFilter& expanded, const MayAlias& may_alias) {
  HEDDLE_RETURN_IF_ERROR(check_signature(out, plugin_minor));
  // Inside the program too: plugins that do not know a type read it as another.
  HEDDLE_RETURN_IF_ERROR(check_arrays(out, [&](const Shape& array) {
    return array.is_dynamic() ? Status() : check_transferable(array, plugin_minor);
  }));
  if (has<Opcode::kScan>(out)) {
    HEDDLE_ASSIGN_OR_RETURN(out, transform::lower_scan(out));
  }
  if (transform::has_lapack(out, expanded)) {
    HEDDLE_ASSIGN_OR_RETURN(out, transform::expand_lapack(out, expanded));
  }
  for (const Expansion& expansion : kExpansions) {
    if (!expansion.applies(out)) continue;
    HEDDLE_ASSIGN_OR_RETURN(out, expansion.run(out));
  }
  if (!is_flat(out.entry_computation())) {
    HEDDLE_ASSIGN_OR_RETURN(out, flattened(out));
  }
  write_header(donated, may_alias, out);
  return out;
}

namespace {

bool has_precision(const hlo::Computation& computation, const hlo::Instruction& instruction) {
  return std::ranges::any_of(instruction.operands, [&](InstructionId operand) {
    const DType dtype = computation.at(operand).shape.dtype();
    return dtype == f32 || dtype == c64;
  });
}

template <class Attrs>
void set_precision(hlo::Precision precision, hlo::Instruction& instruction) {
  Attrs attrs = instruction.attrs.get<Attrs>();
  if (!attrs.operand_precision.empty()) return;
  if constexpr (std::is_same_v<Attrs, hlo::DotAttrs>) {
    if (attrs.algorithm != hlo::DotAlgorithm::kUnset) return;
  }
  attrs.operand_precision.assign(instruction.operands.size(), precision);
  instruction.attrs = std::move(attrs);
}

}  // namespace

void set_matmul_precision(hlo::Precision precision, hlo::Module& module) {
  if (precision == hlo::Precision::kDefault) return;
  for (hlo::Computation& computation : module.computations) {
    for (hlo::Instruction& instruction : computation.instructions) {
      const bool is_dot = instruction.opcode == Opcode::kDot;
      if (!is_dot && instruction.opcode != Opcode::kConvolution) continue;
      if (!has_precision(computation, instruction)) continue;
      if (is_dot) {
        set_precision<hlo::DotAttrs>(precision, instruction);
      } else {
        set_precision<hlo::ConvolutionAttrs>(precision, instruction);
      }
    }
  }
}

void drop_trip_counts(hlo::Module& module) {
  for (hlo::Computation& computation : module.computations) {
    for (hlo::Instruction& instruction : computation.instructions) {
      if (instruction.opcode == Opcode::kWhile && !instruction.extras->backend_config.empty())
        instruction.extras.mutate().backend_config.clear();
    }
  }
}

Status explained(const Status& error, const hlo::Module& module) {
  const std::string text = base::message_of(error);
  const std::string target = missing_function(text);
  if (target.empty()) return base::annotate(error, "compile ", module.name, ": ");
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      if (!hlo::is_custom(instruction, target)) continue;
      return base::unimplemented(
          "compile ", module.name, ": custom-call ", instruction.name,
          ": the plugin has no function ", target, "; ", text,
          instruction.at.known() ? base::cat(" [", instruction.at, "]") : "");
    }
  }
  return base::annotate(error, "compile ", module.name, ": ");
}

}  // namespace heddle::pjrt
