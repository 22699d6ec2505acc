// Which types are trees, and what the compiler says of those that are none. The sentence is the
// first line; the types and members stand in the lines around it. Private to Heddle's templates.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/fields.h"

namespace heddle {

class Tensor;

// The empty tree: no xs, no ys.
struct None {
  friend bool operator==(None, None) { return true; }
};

namespace tree_internal {

template <class T>
struct IsTuple : std::false_type {};
template <class... Ts>
struct IsTuple<std::tuple<Ts...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};
template <class T, size_t N>
struct IsTuple<std::array<T, N>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
template <class T>
struct IsOtherMap : std::false_type {};
template <class K, class T>
struct IsOtherMap<std::map<K, T>> : std::true_type {};

// References, pointers and std's views: what they show may be gone when it is read.
template <class T>
concept View = std::is_reference_v<T> || std::is_pointer_v<T> || requires(const T& t) {
  typename T::element_type;
  t.subspan(0);
} || requires(const T& t) {
  typename T::type;
  { t.get() } -> std::same_as<typename T::type&>;
};

// What a static field may be.
template <class T>
concept StaticValue =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

template <class Field>
struct FieldOf;
template <class Struct, class T>
struct FieldOf<base::Field<Struct, T>> {
  using Type = T;
  static constexpr bool kIsStatic = false;
};
template <class Struct, class T>
struct FieldOf<base::StaticField<Struct, T>> {
  using Type = T;
  static constexpr bool kIsStatic = true;
};

template <class T, size_t I>
using FieldAt = FieldOf<std::tuple_element_t<I, decltype(fields_of<T>())>>;

// Why a type is no tree.
enum class Flaw {
  kNone,
  kNoTree,
  kReference,
  kKeys,
  kNotPlain,
  kTwice,
  kMissing,
  kStatic,
  kInside
};

template <class T, class... Within>
constexpr Flaw flaw_of();

template <class T, size_t I, class... Within>
constexpr Flaw flaw_of_field() {
  using Member = FieldAt<T, I>;
  if constexpr (Member::kIsStatic)
    return StaticValue<typename Member::Type> ? Flaw::kNone : Flaw::kStatic;
  else
    return flaw_of<typename Member::Type, T, Within...>();
}

// Of the members of a tuple, or of a struct, the first with a flaw; their number where none has.
template <class T, class... Within>
constexpr size_t first_flawed() {
  size_t first = 0;
  auto count = [&](Flaw flaw) { return flaw != Flaw::kNone || (++first, false); };
  if constexpr (HasFields<T>) [&]<size_t... I>(std::index_sequence<I...>) {
      (void)(count(flaw_of_field<T, I, Within...>()) || ...);
    }
  (std::make_index_sequence<kFieldCount<T>>());
  else[&]<size_t... I>(std::index_sequence<I...>) {
    (void)(count(flaw_of<std::tuple_element_t<I, T>, Within...>()) || ...);
  }
  (std::make_index_sequence<std::tuple_size_v<T>>());
  return first;
}

template <class T, class... Within>
constexpr Flaw inside_of() {
  return flaw_of<T, Within...>() == Flaw::kNone ? Flaw::kNone : Flaw::kInside;
}

// `Within`: the structs around it, which may hold vectors of themselves.
template <class T, class... Within>
constexpr Flaw flaw_of() {
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, None> ||
                (std::is_same_v<T, Within> || ...))
    return Flaw::kNone;
  else if constexpr (View<T>)
    return Flaw::kReference;
  else if constexpr (HasFields<T>) {
    if (!std::is_aggregate_v<T> || !std::default_initializable<T>) return Flaw::kNotPlain;
    if (repeated_field<T>() != kFieldCount<T>) return Flaw::kTwice;
    if (kFieldCount<T> != fields_internal::member_count<T>()) return Flaw::kMissing;
    return first_flawed<T, Within...>() == kFieldCount<T> ? Flaw::kNone : Flaw::kInside;
  } else if constexpr (IsTuple<T>::value)
    return first_flawed<T, Within...>() == std::tuple_size_v<T> ? Flaw::kNone : Flaw::kInside;
  else if constexpr (IsVector<T>::value || IsOptional<T>::value)
    return inside_of<typename T::value_type, Within...>();
  else if constexpr (IsMap<T>::value)
    return inside_of<typename T::mapped_type, Within...>();
  else if constexpr (IsOtherMap<T>::value)
    return Flaw::kKeys;
  else
    return Flaw::kNoTree;
}

}  // namespace tree_internal

template <class T>
constexpr bool is_tree() {
  return tree_internal::flaw_of<T>() == tree_internal::Flaw::kNone;
}

// A type whose leaves are Tensors.
template <class T>
concept TensorTree = is_tree<std::remove_cvref_t<T>>();

namespace tree_internal {

// ----- what the compiler says

template <class T>
constexpr void refuse_reference() {
  static_assert(!View<T>,
                "a tree holds values, and this is a reference or a view of what may be gone: "
                "write std::pair(..) or std::tuple(..) for std::tie(..) and forward_as_tuple(..)");
}

// The member that the list misses is the number kNumber, counted from 0, of type Member.
template <class Struct, size_t kNumber, class Member, auto... kAddress>
constexpr void refuse_missing() {
  static_assert(!sizeof(Struct*),
                "kFields misses a member of the struct (the line above names it): "
                "field(\"w\", &Cell::w), or static_field(..) for what is no tensor");
}
template <class Struct>
constexpr void refuse_many_missing() {
  static_assert(!sizeof(Struct*), "kFields lists each member of the struct once, and no other");
}

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

// Only the addresses of its members are taken.
template <class T>
struct Example {
  T value;
};
template <class T>
extern Example<T> example;

// The members of an aggregate of N.
template <size_t N, class T>
constexpr auto members_of(T& t) {
  if constexpr (N == 1) {
    auto& [a] = t;
    return std::tie(a);
  } else if constexpr (N == 2) {
    auto& [a, b] = t;
    return std::tie(a, b);
  } else if constexpr (N == 3) {
    auto& [a, b, c] = t;
    return std::tie(a, b, c);
  } else if constexpr (N == 4) {
    auto& [a, b, c, d] = t;
    return std::tie(a, b, c, d);
  } else if constexpr (N == 5) {
    auto& [a, b, c, d, e] = t;
    return std::tie(a, b, c, d, e);
  } else if constexpr (N == 6) {
    auto& [a, b, c, d, e, f] = t;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (N == 7) {
    auto& [a, b, c, d, e, f, g] = t;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = t;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

template <class T, size_t I, size_t N>
constexpr bool is_listed() {
  const void* at = &std::get<I>(members_of<N>(example<T>.value));
  return std::apply(
      [&](const auto&... f) { return ((at == &(example<T>.value.*f.member)) || ...); },
      fields_of<T>());
}

template <class T>
constexpr void refuse_incomplete() {
  constexpr size_t kCount = fields_internal::member_count<T>();
  if constexpr (kCount > 8 || kCount < kFieldCount<T>) {
    refuse_many_missing<T>();
  } else {
    constexpr size_t kNumber = []<size_t... I>(std::index_sequence<I...>) {
      size_t first = 0;
      (void)((!is_listed<T, I, kCount>() || (++first, false)) || ...);
      return first;
    }
    (std::make_index_sequence<kCount>());
    using Member = std::remove_cvref_t<
        std::tuple_element_t<kNumber, decltype(members_of<kCount>(example<T>.value))>>;
#if defined(__clang__)
    refuse_missing<T, kNumber, Member>();
#else  // which can name it
    refuse_missing<T, kNumber, Member, &std::get<kNumber>(members_of<kCount>(example<T>.value))>();
#endif
  }
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class T>
constexpr void refuse_keys() {
  static_assert(!sizeof(T*), "a map in a tree has keys of std::string: std::map<std::string, ..>");
}
template <class T>
constexpr void refuse_constructors() {
  static_assert(!sizeof(T*),
                "a struct in a tree is made empty and then filled: it has no constructors of its "
                "own, no bases, and no const or reference members");
}
template <auto kMember>
constexpr void refuse_twice() {
  static_assert(kMember == nullptr,
                "kFields has a member, or a name, twice (the line above names the second)");
}
template <auto kMember>
constexpr void refuse_static() {
  static_assert(kMember == nullptr,
                "a static field is a number, an enum or a std::string (the line above names the "
                "member)");
}
template <auto kMember>
constexpr void refuse_member() {
  static_assert(kMember == nullptr,
                "a member in kFields is neither a Tensor nor a tree of Tensors (the line above "
                "names it): list it by static_field(..), or keep it outside and capture it");
}
template <class T>
constexpr void refuse_number() {
  static_assert(!sizeof(T*),
                "a C++ number inside of a tree is written as a tensor: scalar(0.0f) for 0.0f; "
                "capture it, if no step changes it");
}
template <class T>
constexpr void refuse_type() {
  static_assert(!sizeof(T*),
                "a tree is made of Tensors: None, pairs, tuples, arrays, vectors, optionals, maps "
                "with string keys, and structs with kFields; capture C++ numbers instead");
}

// Fails to compile with the first flaw of T. A T that is of no kind of tree is left to the caller,
// who knows what it was to be, but not where it is inside of one.
template <class T, bool kIsInside = false, class... Within>
constexpr void explain() {
  constexpr Flaw kFlaw = flaw_of<T, Within...>();
  if constexpr (kFlaw == Flaw::kReference)
    refuse_reference<T>();
  else if constexpr (kFlaw == Flaw::kKeys)
    refuse_keys<T>();
  else if constexpr (kFlaw == Flaw::kNotPlain)
    refuse_constructors<T>();
  else if constexpr (kFlaw == Flaw::kTwice)
    refuse_twice<std::get<repeated_field<T>()>(fields_of<T>()).member>();
  else if constexpr (kFlaw == Flaw::kMissing)
    refuse_incomplete<T>();
  else if constexpr (kFlaw == Flaw::kNoTree && kIsInside && std::is_arithmetic_v<T>)
    refuse_number<T>();
  else if constexpr (kFlaw == Flaw::kNoTree && kIsInside)
    refuse_type<T>();
  else if constexpr (kFlaw == Flaw::kInside) {
    if constexpr (HasFields<T>) {
      constexpr size_t kAt = first_flawed<T, Within...>();
      constexpr Flaw kInner = flaw_of_field<T, kAt, Within...>();
      if constexpr (kInner == Flaw::kStatic)
        refuse_static<std::get<kAt>(fields_of<T>()).member>();
      else if constexpr (kInner == Flaw::kNoTree)
        refuse_member<std::get<kAt>(fields_of<T>()).member>();
      else
        explain<typename FieldAt<T, kAt>::Type, true, T, Within...>();
    } else if constexpr (IsTuple<T>::value)
      explain<std::tuple_element_t<first_flawed<T, Within...>(), T>, true, Within...>();
    else if constexpr (IsMap<T>::value)
      explain<typename T::mapped_type, true, Within...>();
    else
      explain<typename T::value_type, true, Within...>();
  }
}

// What a function gave, as a value: a reference may be to a variable of its own. std::identity's is
// to what it was given.
template <class Fn, class Result>
inline constexpr bool is_value =
    !std::is_reference_v<Result> || std::is_same_v<std::remove_cvref_t<Fn>, std::identity>;

// The type of that value; Tensor where it is refused, so that the compiler has no more to say.
template <class Fn, class... Args>
constexpr auto result_type() {
  if constexpr (std::is_invocable_v<Fn, Args...>) {
    using Result = std::invoke_result_t<Fn, Args...>;
    if constexpr (is_value<Fn, Result> && !std::is_void_v<Result>)
      return std::type_identity<std::remove_cvref_t<Result>>();
    else
      return std::type_identity<Tensor>();
  } else {
    return std::type_identity<Tensor>();
  }
}
template <class Fn, class... Args>
using ResultOf = typename decltype(result_type<Fn, Args...>())::type;

template <class Fn, class Result>
constexpr void require_value() {
  static_assert(is_value<Fn, Result>,
                "the function returns a reference, perhaps to a variable of its own, which is gone "
                "when it is read: return the value, as [](..) -> Tensor");
}

// ----- functions that do not take what they are called with

// Whether it takes them with an int for the Tensor number I, or for each.
template <class Fn, size_t I, class... Args>
constexpr bool takes_number_at() {
  using Args_ = std::tuple<Args...>;
  if constexpr (!std::is_same_v<std::tuple_element_t<I, Args_>, Tensor>)
    return false;
  else
    return []<size_t... J>(std::index_sequence<J...>) {
      return std::is_invocable_v<
          Fn&, std::conditional_t<I == J, int, std::tuple_element_t<J, Args_>>...>;
    }
  (std::index_sequence_for<Args...>());
}
template <class Fn, class... Args>
constexpr bool takes_numbers() {
  return []<size_t... I>(std::index_sequence<I...>) {
    if constexpr ((takes_number_at<Fn, I, Args...>() || ...))
      return true;  // asks no more: the body of a generic function is compiled by each question
    else
      return std::is_invocable_v<Fn&,
                                 std::conditional_t<std::is_same_v<Args, Tensor>, int, Args>...>;
  }
  (std::index_sequence_for<Args...>());
}

template <class Fn>
constexpr void refuse_lvalue_parameter() {
  static_assert(
      !sizeof(Fn*),
      "a traced function is given values, and this one takes a reference that it could "
      "change: write Tensor x or const Tensor& x for Tensor& x, and return the new value");
}
template <class Fn>
constexpr void refuse_number_parameter() {
  static_assert(!sizeof(Fn*),
                "a traced function is given Tensors, the counter of fori_loop too, and this one "
                "takes a C++ number: write Tensor i for int i");
}
template <class Fn>
constexpr void refuse_default_arguments() {
  static_assert(!sizeof(Fn*),
                "a function by its name has no default arguments, and this one has more parameters "
                "than it is given: write [](Tensor x) { return zeros_like(x); } for zeros_like");
}

// Of a function by its name; 0 of other callables.
template <class Fn>
inline constexpr size_t parameters_of = 0;
template <class Result, class... Parameters>
inline constexpr size_t parameters_of<Result(Parameters...)> = sizeof...(Parameters);

// Whether the compiler has said why the function does not take `Args`.
template <class Fn, class... Args>
constexpr bool is_misfit_told() {
  if constexpr (sizeof...(Args) == 0) {
    return false;
  } else if constexpr (parameters_of<std::remove_pointer_t<std::decay_t<Fn>>> > sizeof...(Args)) {
    refuse_default_arguments<Fn>();
    return true;
  } else if constexpr (std::is_invocable_v<Fn&, Args&...>) {
    refuse_lvalue_parameter<Fn>();
    return true;
  } else if constexpr (takes_numbers<Fn, Args...>()) {
    refuse_number_parameter<Fn>();
    return true;
  } else {
    return false;
  }
}

// For `static_assert(is_tree_or_explained<T>, "what it was to be")`, before explain<T>().
template <class T>
inline constexpr bool is_tree_or_explained = flaw_of<T>() != Flaw::kNoTree;

// Whether a function may be traced on trees; says why not.
template <class Fn, class... Args>
constexpr bool is_traceable() {
  if constexpr (!std::is_invocable_v<Fn&, Args...>) {
    static_assert(is_misfit_told<Fn, Args...>(),
                  "the function takes the trees behind it: trace(fn, x, y) calls fn(x, y)");
    return false;
  } else {
    using Result = std::invoke_result_t<Fn&, Args...>;
    using Value = std::remove_cvref_t<Result>;
    static_assert(
        is_tree_or_explained<Value>,
        "a traced function returns a tree of Tensors, or None{} where it returns nothing: of a C++ "
        "number return scalar(1.0f), and a struct needs its kFields");
    if constexpr (is_tree<Value>())
      require_value<Fn, Result>();
    else if constexpr (!std::is_void_v<Value>)
      explain<Value>();
    return is_tree<Value>() && is_value<Fn, Result>;
  }
}

}  // namespace tree_internal

}  // namespace heddle
