// Structs with a field list and messages, field by field: an attribute lies in the field of its own
// name unless kPlaces says where.
// One pair of functions a C++ type; write() and take() of structs call those of their members.
#pragma once

#include <google/protobuf/reflection.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// `path` is a field, "a.b" field b of message a; empty: the attribute is not on the wire.
struct Place {
  std::string_view attribute;
  std::string_view path;
};

// Specialised for the structs whose attributes lie elsewhere.
template <class Struct>
inline constexpr std::array<Place, 0> kPlaces{};

// The fields from the outermost message to the attribute's own.
using Path = std::vector<const FieldDescriptor*>;

[[noreturn]] inline void no_such_field(const Descriptor& message, std::string_view path) {
  std::fprintf(stderr, "bug in heddle: %s has no field %.*s\n", message.full_name().c_str(),
               static_cast<int>(path.size()), path.data());
  std::abort();
}

inline Path resolve(const Descriptor* message, std::string_view path) {
  Path out;
  for (std::string_view left = path; !left.empty();) {
    const size_t dot = left.find('.');
    const FieldDescriptor* field =
        message ? message->FindFieldByName(std::string(left.substr(0, dot))) : nullptr;
    if (field == nullptr) no_such_field(*proto::HloInstructionProto::descriptor(), path);
    out.push_back(field);
    message = field->message_type();
    left = dot == left.npos ? std::string_view() : left.substr(dot + 1);
  }
  return out;
}

template <class Struct>
std::string_view place_of(std::string_view attribute) {
  for (const Place& place : kPlaces<Struct>) {
    if (place.attribute == attribute) return place.path;
  }
  return attribute;
}

// One path an attribute, in the order of the field list. A struct lies in one kind of message only.
template <class Struct>
const std::vector<Path>& paths_of(const Descriptor* message) {
  static const std::vector<Path> kPaths = [&] {
    std::vector<Path> out;
    std::apply(
        [&](const auto&... f) { (out.push_back(resolve(message, place_of<Struct>(f.name))), ...); },
        Struct::kFields);
    return out;
  }();
  return kPaths;
}

// ---- one codec a type. `m` holds field `f`; a number below 0 in a field that may be absent is
// absent.

template <class Struct>
void write_fields(const Struct& from, Message& to);
template <class Struct>
Status take_fields(Message& from, Struct& to);

struct At {
  Message& message;
  const FieldDescriptor* field;

  [[nodiscard]] const Reflection& access() const { return *message.GetReflection(); }
  [[nodiscard]] bool has() const { return access().HasField(message, field); }
  [[nodiscard]] int size() const { return access().FieldSize(message, field); }
  [[nodiscard]] Message& part() const { return *access().MutableMessage(&message, field); }
  template <class M>
  [[nodiscard]] M& part_as() const {
    return static_cast<M&>(part());
  }
  void clear() const { access().ClearField(&message, field); }
  template <class... Parts>
  [[nodiscard]] Status error(const Parts&... parts) const {
    return base::invalid_argument(field->name(), ": ", parts...);
  }
};

inline void write_number(const At& at, int64_t value) {
  if (at.field->is_repeated())
    return value < 0 ? void() : at.access().AddInt64(&at.message, at.field, value);
  if (at.field->has_presence() && value < 0) return;
  switch (at.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return at.access().SetInt32(&at.message, at.field, static_cast<int32_t>(value));
    case FieldDescriptor::CPPTYPE_ENUM:
      return at.access().SetEnumValue(&at.message, at.field, static_cast<int>(value));
    default: return at.access().SetInt64(&at.message, at.field, value);
  }
}

inline int64_t read_number(const At& at) {
  switch (at.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return at.access().GetInt32(at.message, at.field);
    case FieldDescriptor::CPPTYPE_ENUM: return at.access().GetEnumValue(at.message, at.field);
    default: return at.access().GetInt64(at.message, at.field);
  }
}

inline void write(const At& at, int64_t value) { write_number(at, value); }
inline Status take(const At& at, int64_t& value) {
  if (at.field->is_repeated()) {
    if (at.size() > 1) return at.error("has ", at.size(), " numbers; takes one");
    if (at.size() == 1) value = at.access().GetRepeatedInt64(at.message, at.field, 0);
  } else if (!at.field->has_presence() || at.has()) {
    value = read_number(at);
  }
  return {};
}

inline void write(const At& at, bool value) { at.access().SetBool(&at.message, at.field, value); }
inline Status take(const At& at, bool& value) {
  value = at.access().GetBool(at.message, at.field);
  return {};
}

inline void write(const At& at, float value) { at.access().SetFloat(&at.message, at.field, value); }
inline Status take(const At& at, float& value) {
  value = at.access().GetFloat(at.message, at.field);
  return {};
}

inline void write(const At& at, const std::string& value) {
  at.access().SetString(&at.message, at.field, value);
}
inline Status take(const At& at, std::string& value) {
  value = at.access().GetString(at.message, at.field);
  return {};
}

// Enums are numbers on the wire, but for those of compare, which are names.
template <class Enum>
Status read_enum(const At& at, int64_t number, Enum& value) {
  if (number < 0 || number >= static_cast<int64_t>(std::size(EnumText<Enum>::kNames))) {
    return at.error("value ", number, " is not known");
  }
  value = static_cast<Enum>(number);
  return {};
}

template <class Enum>
requires std::is_enum_v<Enum>
void write(const At& at, Enum value) {
  if (at.field->cpp_type() != FieldDescriptor::CPPTYPE_STRING)
    return write_number(at, static_cast<int64_t>(value));
  at.access().SetString(&at.message, at.field, std::string(enum_text(value)));
}
template <class Enum>
requires std::is_enum_v<Enum> Status take(const At& at, Enum& value) {
  if (at.field->cpp_type() != FieldDescriptor::CPPTYPE_STRING)
    return read_enum(at, read_number(at), value);
  const std::string name = at.access().GetString(at.message, at.field);
  const auto& names = EnumText<Enum>::kNames;
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return at.error("value \"", shorten(name), "\" is not known");
  value = static_cast<Enum>(found - std::begin(names));
  return {};
}

inline void write(const At& at, const Dims& values) {
  for (int64_t value : values) at.access().AddInt64(&at.message, at.field, value);
}
inline Status take(const At& at, Dims& values) {
  const auto list = at.access().GetRepeatedFieldRef<int64_t>(at.message, at.field);
  values.assign(list.begin(), list.end());
  return {};
}

inline void write(const At& at, const std::vector<Precision>& values) {
  for (Precision value : values)
    at.access().AddEnumValue(&at.message, at.field, static_cast<int>(value));
}
inline Status take(const At& at, std::vector<Precision>& values) {
  for (int i = 0; i < at.size(); ++i) {
    HEDDLE_RETURN_IF_ERROR(read_enum(at, at.access().GetRepeatedEnumValue(at.message, at.field, i),
                                     values.emplace_back()));
  }
  return {};
}

inline void write(const At& at, const Shape& shape) {
  write_shape(shape, at.part_as<proto::ShapeProto>());
}
inline Status take(const At& at, Shape& shape) {
  if (!at.has()) return {};
  HEDDLE_ASSIGN_OR_RETURN(shape, read_shape(at.part_as<proto::ShapeProto>()));
  at.clear();
  return {};
}

inline void write(const At& at, const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    write_shape(shape,
                static_cast<proto::ShapeProto&>(*at.access().AddMessage(&at.message, at.field)));
  }
}
inline Status take(const At& at, std::vector<Shape>& shapes) {
  for (int i = 0; i < at.size(); ++i) {
    const Message& item = at.access().GetRepeatedMessage(at.message, at.field, i);
    HEDDLE_ASSIGN_OR_RETURN(shapes.emplace_back(),
                            read_shape(static_cast<const proto::ShapeProto&>(item)));
  }
  return {};
}

inline void write(const At& at, const Sharding& sharding) {
  write_sharding(sharding, at.part_as<proto::OpSharding>());
}
inline Status take(const At& at, Sharding& sharding) {
  HEDDLE_ASSIGN_OR_RETURN(sharding, take_sharding(at.part_as<proto::OpSharding>()));
  return {};
}

inline void write(const At& at, const Literal& literal) {
  write_literal(literal, literal.shape(), at.part_as<proto::LiteralProto>());
}
inline Status take(const At& at, Literal& literal) {
  HEDDLE_ASSIGN_OR_RETURN(literal, read_literal(at.part_as<proto::LiteralProto>()));
  at.clear();
  return {};
}

inline void write(const At& at, const ReplicaGroups& groups) {
  write_replica_groups(groups, static_cast<proto::HloInstructionProto&>(at.message));
}
inline Status take(const At& at, ReplicaGroups& groups) {
  HEDDLE_ASSIGN_OR_RETURN(
      groups, take_replica_groups(static_cast<proto::HloInstructionProto&>(at.message)));
  return {};
}

// One list on the wire, cut by the rank of the sliced operand when read (take_attrs).
inline void write(const At& at, const std::vector<Dims>& lists) {
  for (const Dims& list : lists) write(at, list);
}
inline Status take(const At& at, std::vector<Dims>& lists) {
  if (at.size() == 0) return {};
  return take(at, lists.emplace_back());
}

template <class Struct>
requires HasFields<Struct>
void write(const At& at, const Struct& value) { write_fields(value, at.part()); }
template <class Struct>
requires HasFields<Struct> Status take(const At& at, Struct& value) {
  if (!at.has()) return {};
  return take_fields(at.part(), value);
}

template <class Struct>
requires HasFields<Struct>
void write(const At& at, const std::vector<Struct>& values) {
  for (const Struct& value : values)
    write_fields(value, *at.access().AddMessage(&at.message, at.field));
}
template <class Struct>
requires HasFields<Struct> Status take(const At& at, std::vector<Struct>& values) {
  for (int i = 0; i < at.size(); ++i) {
    Message& item = *at.access().MutableRepeatedMessage(&at.message, at.field, i);
    HEDDLE_RETURN_IF_ERROR(take_fields(item, values.emplace_back()));
  }
  return {};
}

template <class T>
void write(const At& at, const base::Box<T>& value) {
  if (value.has_value()) write(at, *value);
}
template <class T>
Status take(const At& at, base::Box<T>& value) {
  return at.has() ? take(at, value.mutate()) : Status();
}

// ---- structs

inline Message& outer_part(Message& message, const Path& path) {
  Message* at = &message;
  for (size_t i = 0; i + 1 < path.size(); ++i)
    at = At{*at, path[i]}.access().MutableMessage(at, path[i]);
  return *at;
}

// Messages that are empty once their fields are taken go, or they would count as not understood.
inline void drop_if_empty(const At& at) {
  if (at.field->is_repeated() || !at.has()) return;
  if (at.part().ByteSizeLong() == 0) at.clear();
}

inline void drop_empty_parts(Message& message, const Path& path, size_t depth = 0) {
  if (depth + 1 >= path.size()) return;
  const At at{message, path[depth]};
  if (!at.has()) return;
  drop_empty_parts(at.part(), path, depth + 1);
  drop_if_empty(at);
}

template <class T>
Status take_and_clear(const At& at, T& value) {
  HEDDLE_RETURN_IF_ERROR(take(at, value));
  if (at.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !at.field->is_repeated()) {
    drop_if_empty(at);
  } else {
    at.clear();
  }
  return {};
}

inline bool is_there(Message& message, const Path& path) {
  return path.size() < 2 || message.GetReflection()->HasField(message, path[0]);
}

template <class Struct>
void write_fields(const Struct& from, Message& to) {
  const std::vector<Path>& paths = paths_of<Struct>(to.GetDescriptor());
  size_t i = 0;
  for_each_field(from, [&](std::string_view, const auto& member) {
    const Path& path = paths[i++];
    if (!path.empty()) write(At{outer_part(to, path), path.back()}, member);
  });
}

template <class Struct>
Status take_fields(Message& from, Struct& to) {
  const std::vector<Path>& paths = paths_of<Struct>(from.GetDescriptor());
  Status status;
  size_t i = 0;
  for_each_field(to, [&](std::string_view, auto& member) {
    const Path& path = paths[i++];
    if (!status.ok() || path.empty() || !is_there(from, path)) return;
    status = take_and_clear(At{outer_part(from, path), path.back()}, member);
  });
  for (const Path& path : paths) drop_empty_parts(from, path);
  return status;
}

}  // namespace heddle::hlo::wire
