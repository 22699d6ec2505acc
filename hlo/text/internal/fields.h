// The text of an attribute struct, from its field list: a table of names with functions that write
// and read one field each.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/attrs.h"
#include "heddle/hlo/text/internal/values.h"

namespace heddle::hlo::text {

enum class Presence : uint8_t {
  kUnlessUsual,  // written where it is not the struct's default
  kAlways,       // written always, but may be left out of what is read
  kRequired,     // written always, and an error where it is left out
  kNever,        // no attribute of the text
};

// The same name has the same presence wherever it occurs, but for the exceptions in presence_of().
inline constexpr std::string_view kRequiredFields[] = {"iota_dimension",
                                                       "dimensions",
                                                       "index",
                                                       "direction",
                                                       "slice",
                                                       "dynamic_slice_sizes",
                                                       "padding",
                                                       "offset_dims",
                                                       "collapsed_slice_dims",
                                                       "start_index_map",
                                                       "index_vector_dim",
                                                       "slice_sizes",
                                                       "update_window_dims",
                                                       "inserted_window_dims",
                                                       "scatter_dims_to_operand_dims",
                                                       "k",
                                                       "num_carries",
                                                       "dim_labels",
                                                       "fft_type",
                                                       "fft_length",
                                                       "epsilon",
                                                       "feature_index",
                                                       "exponent_bits",
                                                       "mantissa_bits",
                                                       "distribution",
                                                       "delta",
                                                       "kind",
                                                       "custom_call_target",
                                                       "source_target_pairs"};
inline constexpr std::string_view kAlwaysWrittenFields[] = {
    "lhs_contracting_dims", "rhs_contracting_dims", "transpose_a", "largest", "replica_groups"};

constexpr bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

template <class Struct, class... Structs>
inline constexpr bool kIsAnyOf = (std::is_same_v<Struct, Structs> || ...);

template <class Struct>
constexpr Presence presence_of(std::string_view name) {
  using enum Presence;
  if (kIsAnyOf<Struct, ParameterAttrs, ConstantAttrs>)
    return kNever;  // parameter(0), constant(1.5)
  if (kIsAnyOf<Struct, RngBitGeneratorAttrs>)
    return kRequired;  // its algorithm; that of dot is optional
  if (kIsAnyOf<Struct, CustomCallAttrs> && name == "constrain_layout") return kNever;
  if (kIsAnyOf<Struct, CustomCallAttrs> && name == "dim_labels") return kUnlessUsual;
  if (kIsAnyOf<Struct, CollectiveAttrs> && name == "dimensions") return kUnlessUsual;
  if (kIsAnyOf<Struct, CollectivePermuteAttrs> && name == "slice_sizes") return kUnlessUsual;
  if (is_one_of(name, kRequiredFields)) return kRequired;
  return is_one_of(name, kAlwaysWrittenFields) ? kAlways : kUnlessUsual;
}

// One field; `attrs` points at the struct.
struct FieldText {
  std::string_view name;
  Presence presence;
  bool (*is_usual)(const void* attrs);
  void (*write)(std::string& out, const void* attrs);
  bool (*read)(TextCursor& in, void* attrs);
};

// The field number `kIndex` of the list.
template <class Struct, size_t kIndex>
struct FieldAccess {
  static constexpr auto kField = std::get<kIndex>(Struct::kFields);
  static constexpr auto kMember = kField.member;
  using Type = std::remove_cvref_t<decltype(std::declval<Struct&>().*kMember)>;

  static const Type& get(const void* attrs) { return static_cast<const Struct*>(attrs)->*kMember; }

  static bool is_usual(const void* attrs) {
    static const Struct kUsual{};
    return get(attrs) == kUsual.*kMember;
  }
  static void write(std::string& out, const void* attrs) { Codec<Type>::write(out, get(attrs)); }
  static bool read(TextCursor& in, void* attrs) {
    return Codec<Type>::read(in, static_cast<Struct*>(attrs)->*kMember);
  }

  static constexpr FieldText row() {
    return {kField.name, presence_of<Struct>(kField.name), &is_usual, &write, &read};
  }
};

// Two fields have a text that their type alone does not tell.
//
// A kind of fusion is a bare word.
template <>
inline void FieldAccess<FusionAttrs, 0>::write(std::string& out, const void* attrs) {
  out.append(get(attrs));
}
template <>
inline bool FieldAccess<FusionAttrs, 0>::read(TextCursor& in, void* attrs) {
  std::string& kind = static_cast<FusionAttrs*>(attrs)->kind;
  kind = in.word();
  return !kind.empty() || in.fail_expected("a kind of fusion (kLoop kInput kOutput kCustom)");
}
static_assert(std::get<0>(FusionAttrs::kFields).name == "kind");

// Layout constraints are there or not; where they are, there may be none of them.
inline constexpr size_t kLayoutConstraints = 8;
static_assert(std::get<kLayoutConstraints>(CustomCallAttrs::kFields).name ==
              "operand_layout_constraints");
template <>
inline bool FieldAccess<CustomCallAttrs, kLayoutConstraints>::is_usual(const void* attrs) {
  return !static_cast<const CustomCallAttrs*>(attrs)->constrain_layout;
}
template <>
inline bool FieldAccess<CustomCallAttrs, kLayoutConstraints>::read(TextCursor& in, void* attrs) {
  auto& custom_call = *static_cast<CustomCallAttrs*>(attrs);
  custom_call.constrain_layout = true;
  return Codec<std::vector<Shape>>::read(in, custom_call.operand_layout_constraints);
}

template <class Struct, size_t... kIndex>
constexpr auto make_field_texts(std::index_sequence<kIndex...>) {
  return std::array<FieldText, sizeof...(kIndex)>{FieldAccess<Struct, kIndex>::row()...};
}

// The table of a struct.
template <class Struct>
inline constexpr auto kFieldTexts =
    make_field_texts<Struct>(std::make_index_sequence<kFieldCount<Struct>>());

// A domain's fields stand in one group.
struct DomainText {
  static bool is_usual(const void*) { return false; }
  static void write(std::string& out, const void* attrs) {
    Codec<DomainAttrs>::write(out, *static_cast<const DomainAttrs*>(attrs));
  }
  static bool read(TextCursor& in, void* attrs) {
    return Codec<DomainAttrs>::read(in, *static_cast<DomainAttrs*>(attrs));
  }
};
template <>
inline constexpr auto kFieldTexts<DomainAttrs> = std::array<FieldText, 1>{FieldText{
    "domain", Presence::kRequired, &DomainText::is_usual, &DomainText::write, &DomainText::read}};

}  // namespace heddle::hlo::text
