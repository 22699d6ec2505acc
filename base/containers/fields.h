// Field lists: one constexpr line per struct, from which printing, parsing, protos, equality,
// hashing and tree paths follow.
//
//   struct PadAttrs {
//     std::vector<PadDimension> padding;
//     static constexpr auto kFields = fields(field("padding", &PadAttrs::padding));
//   };
//
// A struct in a function cannot have a static member; there a function does the same:
//   static constexpr auto fields() { return heddle::fields(field("w", &Cell::w)); }
//
// A list that misses a member, or has one twice, does not compile where it is used.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace heddle {
namespace base {

template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
};

template <class Struct, class Member>
struct StaticField {
  std::string_view name;
  Member Struct::*member;
};

}  // namespace base

template <class Struct, class Member>
constexpr base::Field<Struct, Member> field(std::string_view name, Member Struct::*member) {
  return {name, member};
}

// A member that is data and not a tensor. In a tree it is part of the structure.
template <class Struct, class Member>
constexpr base::StaticField<Struct, Member> static_field(std::string_view name,
                                                         Member Struct::*member) {
  return {name, member};
}

template <class... Fs>
constexpr std::tuple<Fs...> fields(Fs... fs) {
  return std::tuple<Fs...>(fs...);
}

template <class Member, class... Fs>
constexpr auto fields(const char*, Member, Fs...) {
  static_assert(!sizeof(std::type_identity<Member>),
                "a list of fields is made of field(..): fields(field(\"w\", &Cell::w), "
                "field(\"b\", &Cell::b))");
  return std::tuple<>();
}

namespace fields_internal {

struct AnyValue {
  template <class T>
  operator T() const;  // never defined: it only tests whether a brace initialiser would compile
};

template <class T, size_t... I>
constexpr bool braces_with(std::index_sequence<I...>) {
  return requires { T{((void)I, AnyValue{})...}; };
}

// The most braces that an aggregate takes is its number of members (no C arrays, no bases).
template <class T, size_t N = 0>
constexpr size_t member_count() {
  if constexpr (braces_with<T>(std::make_index_sequence<N + 1>())) {
    return member_count<T, N + 1>();
  } else {
    return N;
  }
}

template <class T>
concept HasList = requires {
  T::kFields;
};
template <class T>
concept HasListFunction = requires {
  std::tuple_size<decltype(T::fields())>::value;
};

}  // namespace fields_internal

// Has a `static constexpr auto kFields`, or the function fields().
template <class T>
concept HasFields = fields_internal::HasList<std::remove_cvref_t<T>> ||
    fields_internal::HasListFunction<std::remove_cvref_t<T>>;

// The field list of a struct.
template <HasFields T>
constexpr auto fields_of() {
  using Struct = std::remove_cvref_t<T>;
  if constexpr (fields_internal::HasList<Struct>)
    return Struct::kFields;
  else
    return Struct::fields();
}

template <class T>
inline constexpr size_t kFieldCount = std::tuple_size_v<decltype(fields_of<T>())>;

namespace fields_internal {

template <class A, class B>
constexpr bool is_same_field(const A& a, const B& b) {
  if constexpr (std::is_same_v<decltype(a.member), decltype(b.member)>)
    return a.name == b.name || a.member == b.member;
  else
    return a.name == b.name;
}

}  // namespace fields_internal

// The number of the first field with the member or the name of an earlier one; else kFieldCount.
template <HasFields T>
constexpr size_t repeated_field() {
  return std::apply(
      [](const auto&... fields) {
        size_t number = 0;
        [[maybe_unused]] auto is_repeated = [&](const auto& field) {
          size_t i = 0;
          return ((i++ < number && fields_internal::is_same_field(fields, field)) || ...);
        };
        (void)((is_repeated(fields) || (++number, false)) || ...);
        return number;
      },
      fields_of<T>());
}

// True if the field list names every member of the aggregate, once: a forgotten one would be lost
// in silence.
template <HasFields T>
constexpr bool complete_fields() {
  return kFieldCount<T> == fields_internal::member_count<T>() &&
         repeated_field<T>() == kFieldCount<T>;
}

// Calls visit(name, value) for each field in order. `object` may be const.
template <class T, class Visit>
requires HasFields<T>
constexpr void for_each_field(T&& object, Visit&& visit) {
  using Struct = std::remove_cvref_t<T>;
  static_assert(complete_fields<Struct>(), "kFields lists each member of this struct once");
  std::apply([&](const auto&... f) { (visit(f.name, object.*(f.member)), ...); },
             fields_of<Struct>());
}

}  // namespace heddle
