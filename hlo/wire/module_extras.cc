#include "heddle/hlo/text/internal/frames.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

StatusOr<InputOutputAlias> read_alias(
    const proto::HloInputOutputAliasProto::AliasEntryProto& from) {
  if (from.kind() < 0 || from.kind() > 2) {
    return base::invalid_argument("input_output_alias: kind number ", static_cast<int>(from.kind()),
                                  " is not known");
  }
  InputOutputAlias to;
  to.output_index.assign(from.output_shape_index().begin(), from.output_shape_index().end());
  to.parameter = from.parameter_number();
  to.parameter_index.assign(from.parameter_shape_index().begin(),
                            from.parameter_shape_index().end());
  to.kind = static_cast<InputOutputAlias::Kind>(from.kind());
  return to;
}

void write_alias(const InputOutputAlias& from,
                 proto::HloInputOutputAliasProto::AliasEntryProto& to) {
  to.mutable_output_shape_index()->Add(from.output_index.begin(), from.output_index.end());
  to.set_parameter_number(from.parameter);
  to.mutable_parameter_shape_index()->Add(from.parameter_index.begin(), from.parameter_index.end());
  to.set_kind(static_cast<proto::HloInputOutputAliasProto::Kind>(from.kind));
}

void write_entry_layout(const Module& module, proto::ProgramShapeProto& to) {
  const Computation& entry = module.entry_computation();
  const ModuleExtras& extras = *module.extras;
  const bool own = extras.entry_result_layout.is_valid() &&
                   extras.entry_parameter_layouts.size() == entry.parameter_count();
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    write_shape(own ? extras.entry_parameter_layouts[i] : entry.parameter_shape(i),
                *to.add_parameters());
  }
  write_shape(own ? extras.entry_result_layout : entry.result_shape(), *to.mutable_result());
}

// ---- stack frames, which the IR keeps as text

void write_frames(const text::Frames& from, proto::StackFrameIndexProto& to) {
  for (const std::string& name : from.file_names) to.add_file_names(valid_utf8(name));
  for (const std::string& name : from.function_names) to.add_function_names(valid_utf8(name));
  for (const text::Frames::Location& location : from.locations) {
    auto& item = *to.add_file_locations();
    item.set_file_name_id(static_cast<int32_t>(location.file_name_id));
    item.set_function_name_id(static_cast<int32_t>(location.function_name_id));
    item.set_line(static_cast<int32_t>(location.line));
    item.set_end_line(static_cast<int32_t>(location.end_line));
    item.set_column(static_cast<int32_t>(location.column));
    item.set_end_column(static_cast<int32_t>(location.end_column));
  }
  for (const text::Frames::Frame& frame : from.frames) {
    auto& item = *to.add_stack_frames();
    item.set_file_location_id(static_cast<int32_t>(frame.file_location_id));
    item.set_parent_frame_id(static_cast<int32_t>(frame.parent_frame_id));
  }
}

text::Frames read_frames(const proto::StackFrameIndexProto& from) {
  text::Frames to;
  to.file_names.assign(from.file_names().begin(), from.file_names().end());
  to.function_names.assign(from.function_names().begin(), from.function_names().end());
  for (const auto& item : from.file_locations()) {
    to.locations.push_back({item.file_name_id(), item.function_name_id(), item.line(),
                            item.end_line(), item.column(), item.end_column()});
  }
  for (const auto& item : from.stack_frames())
    to.frames.push_back({item.file_location_id(), item.parent_frame_id()});
  return to;
}

// Numbers that have no text (below 0) stay behind, to be kept as bytes.
void take_frames(proto::HloModuleProto& from, ModuleExtras& to) {
  std::string text = text::print_frames(read_frames(from.stack_frame_index()));
  TextCursor in(text);
  text::Frames checked;
  size_t end = 0;
  if (!text::read_frames(in, checked, end)) return;
  to.frames = std::move(text);
  auto& taken = *from.mutable_stack_frame_index();
  taken.clear_file_names();
  taken.clear_function_names();
  taken.clear_file_locations();
  taken.clear_stack_frames();
}

StatusOr<Shape> read_entry_shape(const proto::ShapeProto& from, const Shape& entry,
                                 std::string_view what) {
  HEDDLE_ASSIGN_OR_RETURN(Shape shape, read_shape(from));
  if (!same_type(shape, entry)) {
    return base::invalid_argument("host_program_shape: ", what, " is ", to_string(shape),
                                  "; the entry has ", to_string(entry));
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
    entry.mutable_parameter_shape_index()->Add(donor.parameter_index.begin(),
                                               donor.parameter_index.end());
  }
  if (!extras.frontend_attributes.empty()) {
    write_frontend_attributes(extras.frontend_attributes, *to.mutable_frontend_attributes());
  }
  TextCursor in(extras.frames);
  text::Frames frames;
  size_t end = 0;
  if (!extras.frames.empty() && text::read_frames(in, frames, end)) {
    write_frames(frames, *to.mutable_stack_frame_index());
  }
  write_entry_layout(module, *to.mutable_host_program_shape());
}

Status take_entry_layout(const proto::HloModuleProto& from, Module& module) {
  const Computation& entry = module.entry_computation();
  const proto::ProgramShapeProto& program = from.host_program_shape();
  if (!from.has_host_program_shape()) return base::invalid_argument("has no host_program_shape");
  if (static_cast<size_t>(program.parameters_size()) != entry.parameter_count()) {
    return base::invalid_argument("host_program_shape: has ", program.parameters_size(),
                                  " parameters; the entry has ", entry.parameter_count());
  }
  std::vector<Shape> parameters;
  HEDDLE_ASSIGN_OR_RETURN(Shape result,
                          read_entry_shape(program.result(), entry.result_shape(), "the result"));
  bool differs = !(result == entry.result_shape());
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    HEDDLE_ASSIGN_OR_RETURN(parameters.emplace_back(),
                            read_entry_shape(program.parameters(static_cast<int>(i)),
                                             entry.parameter_shape(i), base::cat("parameter ", i)));
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
        {entry.parameter_number(),
         {entry.parameter_shape_index().begin(), entry.parameter_shape_index().end()}});
  }
  extras.frontend_attributes = take_frontend_attributes(*from.mutable_frontend_attributes());
  from.clear_is_dynamic();
  from.clear_input_output_alias();
  from.clear_buffer_donor();
  from.clear_frontend_attributes();
  take_frames(from, extras);
  if (from.stack_frame_index().ByteSizeLong() == 0) from.clear_stack_frame_index();
  if (from.device_assignment().ByteSizeLong() == 0) from.clear_device_assignment();
  extras.unknown_proto = bytes_of(from);
  if (!(extras == ModuleExtras())) module.extras = base::Box(std::move(extras));
  return {};
}

}  // namespace heddle::hlo::wire
