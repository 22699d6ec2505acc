// Parts of the wire form, one pair of functions a part. write_*: fills a cleared message. take_*:
// reads what Heddle understands and clears it in the message; what is left then is kept as bytes
// (rest_of) and merged back when the part is written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/base/text/utf8.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace google::protobuf {
class MessageLite;
class Message;
}  // namespace google::protobuf

namespace heddle::proto {
class FrontendAttributes;
class HloInstructionProto;
class HloModuleProto;
class HloScheduleProto;
class LiteralProto;
class OpSharding;
class ProgramShapeProto;
class ShapeProto;
}  // namespace heddle::proto

namespace heddle::hlo::wire {

// ---- shape.cc
void write_shape(const Shape& shape, proto::ShapeProto& to);
// errors: an unknown element type, sizes and layouts that check_shape refuses
StatusOr<Shape> read_shape(const proto::ShapeProto& from);

// ---- literal.cc
// `as` has the type of the literal; the elements are written in the order of its layout. What is
// elided is written without elements.
void write_literal(const Literal& literal, const Shape& as, proto::LiteralProto& to);
// Elements are counted before any memory is taken.
StatusOr<Literal> read_literal(const proto::LiteralProto& from);

// ---- sharding.cc
void write_sharding(const Sharding& sharding, proto::OpSharding& to);
StatusOr<Sharding> take_sharding(proto::OpSharding& from);
void write_replica_groups(const ReplicaGroups& groups, proto::HloInstructionProto& to);
StatusOr<ReplicaGroups> take_replica_groups(proto::HloInstructionProto& from);

// ---- attributes.cc
void write_attrs(const Instruction& instruction, proto::HloInstructionProto& to);
// `shape` is the instruction's own. The operand ids must still stand in the message.
StatusOr<Attrs> take_attrs(Opcode opcode, const Shape& shape, proto::HloInstructionProto& from);
// The slice sizes of a collective-permute come as one list, to be cut by the rank of what is
// sliced.
Attrs cut_slice_sizes(std::span<const Shape* const> operands, const Attrs& attrs);

// ---- extras.cc
// Metadata and all else that any instruction may carry, but for ids. A traced instruction without
// metadata gets its line.
void write_extras(const Instruction& instruction, proto::HloInstructionProto& to);
// The last part of an instruction to be taken: whatever is left is kept as bytes. Extras that `to`
// has already stay.
Status take_extras(proto::HloInstructionProto& from, base::Box<InstructionExtras>& to);
void write_frontend_attributes(const FrontendAttributes& attributes, proto::FrontendAttributes& to);
FrontendAttributes take_frontend_attributes(proto::FrontendAttributes& from);

// ---- module_extras.cc
// The header of a module, but for names, ids and the schedule.
void write_header(const Module& module, proto::HloModuleProto& to);
// The host_program_shape, whose layouts are those of the entry; they are kept where they differ
// from the instructions' own.
Status take_entry_layout(const proto::HloModuleProto& from, Module& module);
// The last part of a header to be taken.
Status take_header(proto::HloModuleProto& from, Module& module);

// ---- bytes.cc
// The serialised messages of field `number`, and the other fields put together: so that a long list
// is read one item at a time.
struct Split {
  std::vector<std::string_view> items;
  std::string others;
};
// errors: InvalidArgument where the bytes are no fields
StatusOr<Split> split(std::string_view bytes, int number);
// Appends a length-delimited field: its tag and length, for what the caller appends then; its
// bytes; a message, deterministic.
void append_head(std::string& out, int number, size_t length);
void append_field(std::string& out, int number, std::string_view bytes);
void append_field(std::string& out, int number, const google::protobuf::MessageLite& message);
// Deterministic; empty for an empty message. What a take leaves is kept in this form.
std::string bytes_of(const google::protobuf::MessageLite& message);
// Puts the fields of `bytes` into the message, beside what is there. Bytes that are no fields of it
// change nothing.
void merge(const std::string& bytes, google::protobuf::Message& message);
using base::is_valid_utf8;  // XLA's readers refuse other text
using base::valid_utf8;
// At most 80 characters, for error messages.
std::string_view shorten(std::string_view name);

// ---- unknown_fields.cc
// What is newer than this code inside of the instruction's parts, as a skeleton of them:
// serialised, without all that is known.
// Empty where there is nothing, which is found out fast. Metadata, shardings and layouts keep their
// own.
std::string unknown_parts(const proto::HloInstructionProto& from);
// The same in two steps, of any message.
bool has_unknown_fields(const google::protobuf::Message& message);
std::string skeleton_of(const google::protobuf::Message& message);
// Puts the unknown fields of a skeleton where they were, in parts that are there, are as many, and
// have none.
void lay_under(const google::protobuf::Message& skeleton, google::protobuf::Message& message);
void lay_under(const std::string& skeleton, google::protobuf::Message& message);

// ---- order.cc
// An order of 0 .. uses.size()-1 in which all of uses[i] stand before i, as near to the given order
// as possible.
struct Order {
  std::vector<uint32_t> items;
  bool is_cyclic = false;
  uint32_t on_cycle = 0;  // an item of the cycle
};
Order dependency_order(const std::vector<std::vector<uint32_t>>& uses);

}  // namespace heddle::hlo::wire
