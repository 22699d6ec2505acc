// The module: its header, then its computations.
#include <algorithm>

#include "heddle/hlo/text.h"
#include "heddle/hlo/text/internal/elements.h"
#include "heddle/hlo/text/internal/shapes.h"
#include "heddle/hlo/text/internal/writer.h"

namespace heddle::hlo {
namespace text {
namespace {

void write_alias(std::string& out, const InputOutputAlias& alias) {
  Codec<Dims>::write(out, alias.output_index);
  base::append(out, ": (", alias.parameter, ", ");
  Codec<Dims>::write(out, alias.parameter_index);
  out.append(alias.kind == InputOutputAlias::Kind::kMust ? ", must-alias)" : ", may-alias)");
}

void write_donor(std::string& out, const BufferDonor& donor) {
  base::append(out, "(", donor.parameter, ", ");
  Codec<Dims>::write(out, donor.parameter_index);
  out.push_back(')');
}

// , key={ item, item }
template <class Item>
void write_group(std::string& out, std::string_view key, const std::vector<Item>& items,
                 void (*write_item)(std::string&, const Item&)) {
  if (items.empty()) return;
  base::append(out, ", ", key, "={");
  for (size_t i = 0; i < items.size(); ++i) {
    out.append(i > 0 ? ", " : " ");
    write_item(out, items[i]);
  }
  out.append(" }");
}

void write_flags(std::string& out, std::string_view key, const std::vector<bool>& flags) {
  if (flags.empty()) return;
  base::append(out, ", ", key, "=");
  Codec<std::vector<bool>>::write(out, flags);
}

}  // namespace

Writer::Writer(const Module& module, const PrintOptions& options)
    : module_(module), options_(options), computations_(!is_long()), instructions_(!is_long()) {
  if (is_canonical()) {
    computations_.number("computation.", module.computations.size());
    return;
  }
  for (const Computation& computation : module.computations) computations_.add(computation.name);
  for (size_t i = 0; i < computations_.size(); ++i) {
    if (!computations_.is_missing(i)) continue;
    const std::string& wanted = module.computations[i].name;
    computations_.make(i, wanted.empty() ? base::cat("computation.", i) : wanted);
  }
}

void Writer::write_module() {
  write_header();
  for (size_t i = 0; i < module_.computations.size(); ++i) {
    write_computation(ComputationId(i));
    out_.append("\n\n");
  }
}

void Writer::write_header() {
  Names name(/*reserved_words=*/true);
  name.add(is_canonical() ? std::string_view("module") : module_.name);
  if (name.is_missing(0))
    name.make(0, module_.name.empty() ? std::string_view("module") : module_.name);
  base::append(out_, "HloModule ", name.name(0));
  write_header_extras(*module_.extras);
  out_.append("\n\n");
  if (has_metadata() && !module_.extras->frames.empty())
    base::append(out_, module_.extras->frames, "\n\n");
}

void Writer::write_header_extras(const ModuleExtras& extras) {
  if (extras.is_scheduled) out_.append(", is_scheduled=true");
  write_group(out_, "input_output_alias", extras.input_output_alias, write_alias);
  write_group(out_, "buffer_donor", extras.buffer_donors, write_donor);
  if (extras.alias_passthrough_params) out_.append(", alias_passthrough_params=true");
  write_entry_layout(extras);
  write_flags(out_, "allow_spmd_sharding_propagation_to_parameters",
              extras.propagate_sharding_to_parameters);
  write_flags(out_, "allow_spmd_sharding_propagation_to_output",
              extras.propagate_sharding_to_output);
  if (extras.replica_count != 1) base::append(out_, ", replica_count=", extras.replica_count);
  if (extras.num_partitions != 1) base::append(out_, ", num_partitions=", extras.num_partitions);
  if (!extras.frontend_attributes.empty()) {
    out_.append(", frontend_attributes=");
    Codec<FrontendAttributes>::write(out_, extras.frontend_attributes);
  }
  write_text("origin_recovery_table", extras.origin_recovery_table);
}

void Writer::write_entry_layout(const ModuleExtras& extras) {
  if (module_.entry.value >= module_.computations.size()) return;
  const Computation& entry = module_.entry_computation();
  bool own = extras.entry_result_layout.is_valid();
  size_t count = own ? extras.entry_parameter_layouts.size() : entry.parameter_count();
  out_.append(", entry_computation_layout={(");
  for (size_t i = 0; i < count; ++i) {
    write_separator(out_, i, /*index_comments=*/true);
    const Shape& shape = own ? extras.entry_parameter_layouts[i] : entry.parameter_shape(i);
    write_shape(out_, shape, shows_layout(shape));
  }
  out_.append(")->");
  const Shape& result = own ? extras.entry_result_layout : entry.result_shape();
  write_shape(out_, result, shows_layout(result));
  out_.push_back('}');
}

bool Writer::shows_layout(const Shape& shape) const {
  return !options_.line_comments || shape.has_layout() ||
         std::ranges::any_of(shape.elements(), [&](const Shape& e) { return shows_layout(e); });
}

void Writer::write_computation(ComputationId id) {
  const Computation& computation = module_.at(id);
  name_instructions(computation);
  if (id == module_.entry) out_.append("ENTRY ");
  write_name(id);
  if (is_long()) write_signature(computation);
  out_.append(" {\n");
  for (size_t i = 0; i < computation.instructions.size(); ++i)
    write_instruction(computation, InstructionId(i));
  out_.push_back('}');
  if (computation.execution_thread.empty()) return;
  out_.append(", execution_thread=");
  append_quoted(out_, computation.execution_thread);
}

void Writer::write_signature(const Computation& computation) {
  out_.append(" (");
  for (size_t i = 0; i < computation.parameters.size(); ++i) {
    base::append(out_, i > 0 ? ", " : "", instructions_.name(computation.parameters[i].value),
                 ": ");
    write_shape(out_, computation.parameter_shape(i), /*layouts=*/false);
  }
  out_.append(") -> ");
  write_shape(out_, computation.result_shape(), /*layouts=*/false);
}

}  // namespace text

std::string print(const Module& module, const PrintOptions& options) {
  text::Writer writer(module, options);
  writer.write_module();
  return std::move(writer).take();
}

std::string print(const Module& module, ComputationId id, const PrintOptions& options) {
  text::Writer writer(module, options);
  writer.write_computation(id);
  return std::move(writer).take();
}

std::string print_shape(const Shape& shape) {
  std::string out;
  text::write_shape(out, shape, /*layouts=*/true);
  return out;
}

std::string print_literal(const Literal& literal, int64_t max_elements) {
  std::string out;
  text::write_literal(out, literal, max_elements);
  return out;
}

}  // namespace heddle::hlo
