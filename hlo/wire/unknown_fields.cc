// Fields that are newer than this code, inside messages that are read whole and written anew. They
// are kept as a skeleton: the message without all that is known in it, which is laid under the
// message when it is written.
#include <memory>

#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownFieldSet;

const UnknownFieldSet& unknown_of(const Message& message) {
  return message.GetReflection()->GetUnknownFields(message);
}

std::vector<const FieldDescriptor*> fields_of(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

bool is_message(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

bool is_empty(const Message& message) { return message.ByteSizeLong() == 0; }

// Of a type, without its layout, which keeps its own.
bool has_unknown(const proto::ShapeProto& shape) {
  if (!unknown_of(shape).empty()) return true;
  for (const proto::ShapeProto& element : shape.tuple_shapes()) {
    if (has_unknown(element)) return true;
  }
  return false;
}

bool has_unknown(const Message& message) {
  if (!unknown_of(message).empty()) return true;
  const Reflection& r = *message.GetReflection();
  for (const FieldDescriptor* field : fields_of(message)) {
    if (!is_message(*field)) continue;
    if (!field->is_repeated() && has_unknown(r.GetMessage(message, field))) return true;
    for (int i = 0; field->is_repeated() && i < r.FieldSize(message, field); ++i) {
      if (has_unknown(r.GetRepeatedMessage(message, field, i))) return true;
    }
  }
  return false;
}

// Asked for every instruction of a large module: what most have is looked at without reflection.
bool has_unknown_parts(const proto::HloInstructionProto& from) {
  if (has_unknown(from.shape()) || !unknown_of(from.frontend_attributes()).empty()) return true;
  for (const auto& entry : from.frontend_attributes().map()) {
    if (!unknown_of(entry).empty()) return true;
  }
  if (from.has_literal() &&
      (!unknown_of(from.literal()).empty() || has_unknown(from.literal().shape())))
    return true;
  const bool has_others =
      from.has_window() || from.has_padding_config() || from.has_statistics_viz() ||
      from.has_parameter_replication() || from.has_original_value() || from.has_result_accuracy() ||
      from.has_convolution_dimension_numbers() || from.has_dot_dimension_numbers() ||
      from.has_ragged_dot_dimension_numbers() || from.has_gather_dimension_numbers() ||
      from.has_scatter_dimension_numbers() || from.has_precision_config() ||
      from.has_triangular_solve_options() || from.has_cholesky_options() ||
      from.has_collective_device_list() || from.has_iota_collective_device_list() ||
      from.has_outfeed_shape() || from.slice_dimensions_size() > 0 ||
      from.replica_groups_size() > 0 || from.source_target_pairs_size() > 0 ||
      from.operand_shapes_with_layout_size() > 0 || from.output_operand_aliasing_size() > 0;
  return has_others && has_unknown(static_cast<const Message&>(from));
}

// Parts that keep their own unknown fields; and a map's entries, which have no order.
bool keeps_its_own(const FieldDescriptor& field) {
  const auto* type = field.message_type();
  return type == proto::LayoutProto::descriptor() || type == proto::OpMetadata::descriptor() ||
         type == proto::OpSharding::descriptor() ||
         type == proto::HloScheduleProto::Entry::descriptor();
}

void make_skeleton(Message& message);

void make_skeleton(Message& message, const FieldDescriptor* field) {
  const Reflection& r = *message.GetReflection();
  if (!is_message(*field) || keeps_its_own(*field)) return r.ClearField(&message, field);
  bool holds = false;
  if (field->is_repeated()) {
    for (int i = 0; i < r.FieldSize(message, field); ++i) {
      Message& element = *r.MutableRepeatedMessage(&message, field, i);
      make_skeleton(element);
      holds = holds || !is_empty(element);
    }
  } else {
    Message& part = *r.MutableMessage(&message, field);
    make_skeleton(part);
    holds = !is_empty(part);
  }
  if (!holds) r.ClearField(&message, field);
}

void make_skeleton(Message& message) {
  for (const FieldDescriptor* field : fields_of(message)) make_skeleton(message, field);
}

}  // namespace

bool has_unknown_fields(const Message& message) { return has_unknown(message); }

std::string skeleton_of(const Message& message) {
  std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  make_skeleton(*copy);
  return bytes_of(*copy);
}

std::string unknown_parts(const proto::HloInstructionProto& from) {
  return has_unknown_parts(from) ? skeleton_of(from) : std::string();
}

void lay_under(const Message& below, Message& message) {
  const Reflection& r = *message.GetReflection();
  if (unknown_of(message).empty()) r.MutableUnknownFields(&message)->MergeFrom(unknown_of(below));
  for (const FieldDescriptor* field : fields_of(below)) {
    if (!is_message(*field)) continue;
    if (!field->is_repeated()) {
      if (r.HasField(message, field))
        lay_under(r.GetMessage(below, field), *r.MutableMessage(&message, field));
      continue;
    }
    const int size = r.FieldSize(message, field);
    if (size != r.FieldSize(below, field)) continue;  // of another type than that which was read
    for (int i = 0; i < size; ++i) {
      lay_under(r.GetRepeatedMessage(below, field, i),
                *r.MutableRepeatedMessage(&message, field, i));
    }
  }
}

void lay_under(const std::string& bytes, Message& message) {
  if (bytes.empty()) return;
  std::unique_ptr<Message> below(message.New());
  if (below->ParseFromString(bytes)) lay_under(*below, message);
}

}  // namespace heddle::hlo::wire
