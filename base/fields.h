// Field lists: one constexpr line per struct, from which printing, parsing, protos, equality,
// hashing and tree paths follow.
//
//   struct PadAttrs {
//     std::vector<PadDimension> padding;
// static constexpr auto kFields = std::tuple(...)  // by fields(field("padding",
// &PadAttrs::padding))
//   };
//
// A list that misses a member does not compile where it is used (complete_fields).
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace heddle {

template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view name, Member Struct::*member) {
  return {name, member};
}

template <class... Fs>
constexpr std::tuple<Fs...> fields(Fs... fs) {
  return std::tuple<Fs...>(fs...);
}

namespace fields_internal {

struct AnyValue {
  template <class T>
  operator T() const;  // never defined: only asked whether a brace initialiser would compile
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

}  // namespace fields_internal

// Has a `static constexpr auto kFields`.
template <class T>
concept HasFields = requires {
  std::remove_cvref_t<T>::kFields;
};

template <class T>
inline constexpr size_t kFieldCount =
    std::tuple_size_v<std::remove_cvref_t<decltype(std::remove_cvref_t<T>::kFields)>>;

// True if the field list names every member of the aggregate: a forgotten one would be lost in
// silence.
template <HasFields T>
constexpr bool complete_fields() {
  return kFieldCount<T> == fields_internal::member_count<T>();
}

// Calls visit(name, value) for each field in order. `object` may be const.
template <class T, class Visit>
requires HasFields<T>
constexpr void for_each_field(T&& object, Visit&& visit) {
  using Struct = std::remove_cvref_t<T>;
  static_assert(complete_fields<Struct>(), "kFields does not list every member of this struct");
  std::apply([&](const auto&... f) { (visit(f.name, object.*(f.member)), ...); }, Struct::kFields);
}

}  // namespace heddle
