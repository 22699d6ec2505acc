// Trees: structures whose leaves are Tensors. Nodes are std::pair, tuple, array, vector, optional,
// string-keyed map, None, and structs with one kFields line. Field names give the paths in errors
// ("carry.layers[1].b").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/fields.h"
#include "heddle/base/function_ref.h"
#include "heddle/base/source_location.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// The empty tree: no xs, no ys.
struct None {
  friend bool operator==(None, None) { return true; }
};

// The runtime structure of a tree: what static types do not say (lengths, keys, whether an optional
// is there).
struct TreeSpec {
  enum class Kind : uint8_t { kLeaf, kNone, kTuple, kVector, kMap, kStruct, kMissing };
  Kind kind = Kind::kLeaf;
  std::vector<std::string> keys = {};  // of kMap and kStruct
  std::vector<TreeSpec> children = {};
  friend bool operator==(const TreeSpec&, const TreeSpec&) = default;
};

size_t leaf_count(const TreeSpec& spec);  // How many leaves a tree of this structure has
// Paths of the leaves in order: "" for a lone leaf, ".w", "[0]", ".layers[1].b", "['key']".
std::vector<std::string> leaf_paths(const TreeSpec& spec);
// "(*, None, {w: *, b: *})"
std::string to_string(const TreeSpec& spec);
// Where two structures that differ do so first, and what each has there; nothing: a key of the
// other alone.
struct TreeDifference {
  std::string path;
  std::optional<TreeSpec> first, second;
};
TreeDifference tree_difference(const TreeSpec& a, const TreeSpec& b);
// The same in words: ".w is a tensor in on_true and a vector of 2 in on_false", for the two places
// " in on_true" and " in on_false".
std::string first_difference(const TreeSpec& a, const TreeSpec& b, std::string_view in_a,
                             std::string_view in_b);
// What the outermost node is: "a tensor", "a vector of 2", "a map with the keys {a, b}".
std::string describe(const TreeSpec& spec);
// How `have` differs from what it must be, from `path` on: "arg0 has key 'z'; it must have the keys
// {a, b}". Empty where they are equal.
std::string unlike(const TreeSpec& have, const TreeSpec& want, const std::string& path);

namespace trace_internal {

// Names the first leaf that the user forgot to give a value. `spec` is asked only where there is
// one. errors: throws Error "what: name.path has no value"
void require_values(std::string_view what, std::string_view name, std::span<const Tensor> leaves,
                    FunctionRef<TreeSpec()> spec, SourceLocation at);

}  // namespace trace_internal

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

}  // namespace tree_internal

// Whether T is a tree. `Within`: the structs around it, which may hold vectors of themselves.
template <class T, class... Within>
constexpr bool is_tree();

namespace tree_internal {

template <class Member>
struct MemberType;
template <class Struct, class T>
struct MemberType<T Struct::*> {
  using Type = T;
};

// Its template argument is the member that the compiler names.
template <auto kMember, bool kIsTree>
constexpr bool require_member() {
  static_assert(kIsTree,
                "a member in kFields is neither a Tensor nor a tree of Tensors (the line above "
                "names it); make it one, or keep it outside of the struct and capture it");
  return kIsTree;
}

template <class T, class... Within>
constexpr bool members_are_trees() {
  return []<size_t... I>(std::index_sequence<I...>) {
    return (require_member<std::get<I>(T::kFields).member,
                           is_tree<typename MemberType<std::remove_cvref_t<
                                       decltype(std::get<I>(T::kFields).member)>>::Type,
                                   T, Within...>()>() &&
            ...);
  }
  (std::make_index_sequence<kFieldCount<T>>());
}

}  // namespace tree_internal

template <class T, class... Within>
constexpr bool is_tree() {
  using namespace tree_internal;
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, None> ||
                (std::is_same_v<T, Within> || ...))
    return true;
  else if constexpr (HasFields<T>)
    return members_are_trees<T, Within...>();
  else if constexpr (IsTuple<T>::value) {
    return []<size_t... I>(std::index_sequence<I...>) {
      return (is_tree<std::tuple_element_t<I, T>, Within...>() && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (IsVector<T>::value || IsOptional<T>::value)
    return is_tree<typename T::value_type, Within...>();
  else if constexpr (IsMap<T>::value)
    return is_tree<typename T::mapped_type, Within...>();
  else
    return false;
}

// A type whose leaves are Tensors.
template <class T>
concept Tree = is_tree<std::remove_cvref_t<T>>();

// Calls visit(const Tensor&) for each leaf in order.
template <Tree T, class Visit>
void for_each_leaf(const T& tree, Visit&& visit) {
  using namespace tree_internal;
  if constexpr (std::is_same_v<T, Tensor>)
    visit(tree);
  else if constexpr (std::is_same_v<T, None>)
    return;
  else if constexpr (HasFields<T>)
    for_each_field(tree, [&](std::string_view, const auto& child) { for_each_leaf(child, visit); });
  else if constexpr (IsTuple<T>::value)
    std::apply([&](const auto&... child) { (for_each_leaf(child, visit), ...); }, tree);
  else if constexpr (IsVector<T>::value)
    for (const auto& child : tree) for_each_leaf(child, visit);
  else if constexpr (IsOptional<T>::value) {
    if (tree) for_each_leaf(*tree, visit);
  } else
    for (const auto& [key, child] : tree) for_each_leaf(child, visit);
}

// The leaves in order.
template <Tree T>
std::vector<Tensor> flatten(const T& tree) {
  std::vector<Tensor> leaves;
  for_each_leaf(tree, [&](const Tensor& leaf) { leaves.push_back(leaf); });
  return leaves;
}

// The structure of a tree, without its tensors.
template <Tree T>
TreeSpec tree_spec(const T& tree) {
  using namespace tree_internal;
  using Kind = TreeSpec::Kind;
  TreeSpec spec;
  if constexpr (std::is_same_v<T, None>)
    spec.kind = Kind::kNone;
  else if constexpr (HasFields<T>) {
    spec.kind = Kind::kStruct;
    for_each_field(tree, [&](std::string_view name, const auto& child) {
      spec.keys.emplace_back(name);
      spec.children.push_back(tree_spec(child));
    });
  } else if constexpr (IsTuple<T>::value) {
    spec.kind = Kind::kTuple;
    std::apply([&](const auto&... child) { (spec.children.push_back(tree_spec(child)), ...); },
               tree);
  } else if constexpr (IsVector<T>::value) {
    spec.kind = Kind::kVector;
    for (const auto& child : tree) spec.children.push_back(tree_spec(child));
  } else if constexpr (IsOptional<T>::value) {
    if (tree) return tree_spec(*tree);
    spec.kind = Kind::kMissing;
  } else if constexpr (IsMap<T>::value) {
    spec.kind = Kind::kMap;
    for (const auto& [key, child] : tree) {
      spec.keys.push_back(key);
      spec.children.push_back(tree_spec(child));
    }
  }
  return spec;
}

// Whether tree_spec(tree) is `spec`, without making it.
template <Tree T>
bool has_structure(const T& tree, const TreeSpec& spec) {
  using namespace tree_internal;
  using Kind = TreeSpec::Kind;
  [[maybe_unused]] const std::vector<TreeSpec>& children = spec.children;
  [[maybe_unused]] size_t i = 0;
  if constexpr (std::is_same_v<T, Tensor>) {
    return spec.kind == Kind::kLeaf;
  } else if constexpr (std::is_same_v<T, None>) {
    return spec.kind == Kind::kNone;
  } else if constexpr (HasFields<T>) {
    bool same = spec.kind == Kind::kStruct && children.size() == kFieldCount<T>;
    for_each_field(tree, [&](std::string_view name, const auto& child) {
      same = same && spec.keys[i] == name && has_structure(child, children[i]);
      ++i;
    });
    return same;
  } else if constexpr (IsTuple<T>::value) {
    if (spec.kind != Kind::kTuple || children.size() != std::tuple_size_v<T>) return false;
    return std::apply(
        [&](const auto&... child) { return (has_structure(child, children[i++]) && ...); }, tree);
  } else if constexpr (IsVector<T>::value) {
    return spec.kind == Kind::kVector && children.size() == tree.size() &&
           std::ranges::all_of(tree,
                               [&](const auto& t) { return has_structure(t, children[i++]); });
  } else if constexpr (IsOptional<T>::value) {
    return tree ? has_structure(*tree, spec) : spec.kind == Kind::kMissing;
  } else {
    return spec.kind == Kind::kMap && children.size() == tree.size() &&
           std::ranges::all_of(tree, [&](const auto& entry) {
             const size_t place = i++;
             return spec.keys[place] == entry.first && has_structure(entry.second, children[place]);
           });
  }
}

// Whether unflatten<T> can take the structure: nodes are told apart by their children, so that a
// tuple may stand for a struct.
template <Tree T>
bool fits(const TreeSpec& spec) {
  using namespace tree_internal;
  using Kind = TreeSpec::Kind;
  const std::vector<TreeSpec>& children = spec.children;
  if constexpr (std::is_same_v<T, Tensor>) {
    return spec.kind == Kind::kLeaf;
  } else if constexpr (std::is_same_v<T, None>) {
    return spec.kind == Kind::kNone;
  } else if constexpr (HasFields<T>) {
    size_t count = 0;
    bool same = true;
    for_each_field(T{}, [&](std::string_view, const auto& child) {
      using Child = std::remove_cvref_t<decltype(child)>;
      same = same && count < children.size() && fits<Child>(children[count]);
      ++count;
    });
    return same && count == children.size();
  } else if constexpr (IsTuple<T>::value) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return children.size() == sizeof...(I) &&
             (fits<std::tuple_element_t<I, T>>(children[I]) && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (IsVector<T>::value) {
    return spec.kind != Kind::kLeaf && std::ranges::all_of(children, fits<typename T::value_type>);
  } else if constexpr (IsOptional<T>::value) {
    return spec.kind == Kind::kMissing || fits<typename T::value_type>(spec);
  } else {
    return spec.keys.size() == children.size() && spec.kind != Kind::kLeaf &&
           std::ranges::all_of(children, fits<typename T::mapped_type>);
  }
}

// A T of the given structure, which it fits; takes its leaves from the front of `leaves`.
template <Tree T>
T unflatten(const TreeSpec& spec, std::span<const Tensor>& leaves) {
  using namespace tree_internal;
  if constexpr (std::is_same_v<T, Tensor>) {
    Tensor leaf = leaves.front();
    leaves = leaves.subspan(1);
    return leaf;
  } else if constexpr (std::is_same_v<T, None>) {
    return {};
  } else if constexpr (HasFields<T>) {
    T out{};
    size_t i = 0;
    for_each_field(out, [&](std::string_view, auto& child) {
      child = unflatten<std::remove_cvref_t<decltype(child)>>(spec.children[i++], leaves);
    });
    return out;
  } else if constexpr (IsTuple<T>::value) {
    T out{};
    size_t i = 0;
    std::apply(
        [&](auto&... child) {
          ((child = unflatten<std::remove_cvref_t<decltype(child)>>(spec.children[i++], leaves)),
           ...);
        },
        out);
    return out;
  } else if constexpr (IsVector<T>::value) {
    T out;
    out.reserve(spec.children.size());
    for (const TreeSpec& child : spec.children)
      out.push_back(unflatten<typename T::value_type>(child, leaves));
    return out;
  } else if constexpr (IsOptional<T>::value) {
    if (spec.kind == TreeSpec::Kind::kMissing) return std::nullopt;
    return unflatten<typename T::value_type>(spec, leaves);
  } else {
    T out;
    for (size_t i = 0; i < spec.children.size(); ++i) {
      out.emplace(spec.keys[i], unflatten<typename T::mapped_type>(spec.children[i], leaves));
    }
    return out;
  }
}

// The same tree with each leaf replaced by fn(leaf).
template <Tree T, class Fn>
T tree_map(Fn&& fn, const T& tree) {
  std::vector<Tensor> leaves;
  for_each_leaf(tree, [&](const Tensor& leaf) { leaves.push_back(fn(leaf)); });
  std::span<const Tensor> rest(leaves);
  return unflatten<T>(tree_spec(tree), rest);
}

}  // namespace heddle
