#include "heddle/hlo/proto/heddle_hlo.pb.h"
#include "heddle/hlo/wire/internal/codec.h"

namespace heddle::hlo::wire {
namespace {

StatusOr<InputOutputAlias> read_alias(const proto::HloInputOutputAliasProto::AliasEntryProto& from) {
  if (from.kind() < 0 || from.kind() > 2) {
    return invalid_argument("input_output_alias: kind number ", static_cast<int>(from.kind()), " is not known");
  }
  InputOutputAlias to;
  to.output_index.assign(from.output_shape_index().begin(), from.output_shape_index().end());
  to.parameter = from.parameter_number();
  to.parameter_index.assign(from.parameter_shape_index().begin(), from.parameter_shape_index().end());
  to.kind = static_cast<InputOutputAlias::Kind>(from.kind());
  return to;
}

void write_alias(const InputOutputAlias& from, proto::HloInputOutputAliasProto::AliasEntryProto& to) {
  to.mutable_output_shape_index()->Add(from.output_index.begin(), from.output_index.end());
  to.set_parameter_number(from.parameter);
  to.mutable_parameter_shape_index()->Add(from.parameter_index.begin(), from.parameter_index.end());
  to.set_kind(static_cast<proto::HloInputOutputAliasProto::Kind>(from.kind));
}

void write_entry_layout(const Module& module, proto::ProgramShapeProto& to) {
  const Computation& entry = module.entry_computation();
  const ModuleExtras& extras = *module.extras;
  const bool own = extras.entry_result_layout.is_valid() && extras.entry_parameter_layouts.size() == entry.parameter_count();
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    write_shape(own ? extras.entry_parameter_layouts[i] : entry.parameter_shape(i), *to.add_parameters());
  }
  write_shape(own ? extras.entry_result_layout : entry.result_shape(), *to.mutable_result());
}

StatusOr<Shape> read_entry_shape(const proto::ShapeProto& from, const Shape& entry, std::string_view what) {
  HEDDLE_ASSIGN_OR_RETURN(Shape shape, read_shape(from));
  if (!same_type(shape, entry)) {
    return invalid_argument("host_program_shape: ", what, " is ", to_string(shape), "; the entry has ", to_string(entry));
  }
  return shape;
}

}  // namespace

void write_header(const Module& module, proto::HloModuleProto& to) {
  const ModuleExtras& extras = *module.extras;
  merge(extras.unknown_proto, to);
  to.set_is_dynamic(extras.is_dynamic);
  for (const InputOutputAlias& alias : extras.input_output_alias) {
    write_alias(alias, *to.mutable_input_output_alias()->add_entries());
  }
  for (const BufferDonor& donor : extras.buffer_donors) {
    auto& entry = *to.mutable_buffer_donor()->add_entries();
    entry.set_parameter_number(donor.parameter);
    entry.mutable_parameter_shape_index()->Add(donor.parameter_index.begin(), donor.parameter_index.end());
  }
  if (!extras.frontend_attributes.empty()) {
    write_frontend_attributes(extras.frontend_attributes, *to.mutable_frontend_attributes());
  }
  write_entry_layout(module, *to.mutable_host_program_shape());
}

Status take_entry_layout(const proto::HloModuleProto& from, Module& module) {
  const Computation& entry = module.entry_computation();
  const proto::ProgramShapeProto& program = from.host_program_shape();
  if (!from.has_host_program_shape()) return invalid_argument("has no host_program_shape");
  if (static_cast<size_t>(program.parameters_size()) != entry.parameter_count()) {
    return invalid_argument("host_program_shape: has ", program.parameters_size(), " parameters; the entry has ",
                            entry.parameter_count());
  }
  std::vector<Shape> parameters;
  HEDDLE_ASSIGN_OR_RETURN(Shape result, read_entry_shape(program.result(), entry.result_shape(), "the result"));
  bool differs = !(result == entry.result_shape());
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    HEDDLE_ASSIGN_OR_RETURN(parameters.emplace_back(), read_entry_shape(program.parameters(static_cast<int>(i)),
                                                                        entry.parameter_shape(i), cat("parameter ", i)));
    differs |= !(parameters.back() == entry.parameter_shape(i));
  }
  if (!differs) return {};
  module.extras.mutate().entry_parameter_layouts = std::move(parameters);
  module.extras.mutate().entry_result_layout = std::move(result);
  return {};
}

Status take_header(proto::HloModuleProto& from, Module& module) {
  ModuleExtras extras = *module.extras;
  extras.is_dynamic = from.is_dynamic();
  for (const auto& entry : from.input_output_alias().entries()) {
    HEDDLE_ASSIGN_OR_RETURN(extras.input_output_alias.emplace_back(), read_alias(entry));
  }
  for (const auto& entry : from.buffer_donor().entries()) {
    extras.buffer_donors.push_back(
        {entry.parameter_number(), {entry.parameter_shape_index().begin(), entry.parameter_shape_index().end()}});
  }
  extras.frontend_attributes = read_frontend_attributes(from.frontend_attributes());
  from.clear_is_dynamic();
  from.clear_input_output_alias();
  from.clear_buffer_donor();
  from.clear_frontend_attributes();
  if (from.stack_frame_index().ByteSizeLong() == 0) from.clear_stack_frame_index();
  if (from.device_assignment().ByteSizeLong() == 0) from.clear_device_assignment();
  extras.unknown_proto = bytes_of(from);
  if (!(extras == ModuleExtras())) module.extras = Box(std::move(extras));
  return {};
}

}  // namespace heddle::hlo::wire
