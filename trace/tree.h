// Trees: structures whose leaves are Tensors. Nodes are std::pair, tuple, array, vector, optional,
// string-keyed map, None, and structs with one kFields line. Field names give the paths in errors
// ("carry.layers[1].b"). What else a struct has, such as `int heads`, is a static_field: a part of
// the structure, so that another value is another structure.
#pragma once

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

#include "heddle/base/containers/fields.h"
#include "heddle/base/containers/function_ref.h"
#include "heddle/base/source_location.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree_checks.h"

namespace heddle {

// The runtime structure of a tree: what static types do not say (lengths, keys, whether an optional
// is there).
struct TreeSpec {
  enum class Kind : uint8_t { kLeaf, kNone, kTuple, kVector, kMap, kStruct, kMissing, kStatic };
  Kind kind = Kind::kLeaf;
  std::vector<std::string> keys = {};  // of kMap and kStruct
  std::vector<TreeSpec> children = {};
  std::string value = {};  // of kStatic, as text
  friend bool operator==(const TreeSpec&, const TreeSpec&) = default;
};

size_t leaf_count(const TreeSpec& spec);  // How many leaves a tree of this structure has
std::string path_of_child(const TreeSpec& spec, size_t i);  // ".w", "[0]", "['key']"
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
                    base::FunctionRef<TreeSpec()> spec);

}  // namespace trace_internal

namespace tree_internal {

// std::ranges::all_of without <algorithm>, which heddle.h would pay for.
template <class Range, class Predicate>
bool each_of(const Range& range, Predicate predicate) {
  for (const auto& item : range) {
    if (!predicate(item)) return false;
  }
  return true;
}

// A static value as text, which tells two values apart and gives the same one back.
std::string static_text(bool value);
std::string static_text(int64_t value);
std::string static_text(uint64_t value);
std::string static_text(double value);
std::string static_text(long double value);
void read_static(const std::string& text, bool& value);
void read_static(const std::string& text, int64_t& value);
void read_static(const std::string& text, uint64_t& value);
void read_static(const std::string& text, double& value);
void read_static(const std::string& text, long double& value);

// What stands for a T among those.
template <class T>
using StaticWord = std::conditional_t<
    std::is_same_v<T, bool>, bool,
    std::conditional_t<std::is_floating_point_v<T>,
                       std::conditional_t<std::is_same_v<T, long double>, long double, double>,
                       std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>>>;

template <StaticValue T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return value;
  else
    return static_text(static_cast<StaticWord<T>>(value));
}

template <StaticValue T>
T value_of(const std::string& text) {
  if constexpr (std::is_same_v<T, std::string>) {
    return text;
  } else {
    StaticWord<T> word{};
    read_static(text, word);
    return static_cast<T>(word);
  }
}

// Calls on_tree(name, member) for each tree of a struct and on_static(name, member) for each of its
// static fields, in the order of the list.
template <HasFields T, class OnTree, class OnStatic>
void for_each_member(T&& object, OnTree&& on_tree, OnStatic&& on_static) {
  auto visit = [&](const auto& f) {
    if constexpr (FieldOf<std::remove_cvref_t<decltype(f)>>::kIsStatic)
      on_static(f.name, object.*(f.member));
    else
      on_tree(f.name, object.*(f.member));
  };
  std::apply([&](const auto&... f) { (visit(f), ...); }, fields_of<T>());
}

}  // namespace tree_internal

// Calls visit(const Tensor&) for each leaf in order.
template <TensorTree T, class Visit>
void for_each_leaf(const T& tree, Visit&& visit) {
  using namespace tree_internal;
  if constexpr (std::is_same_v<T, Tensor>)
    visit(tree);
  else if constexpr (std::is_same_v<T, None>)
    return;
  else if constexpr (HasFields<T>)
    for_each_member(
        tree, [&](std::string_view, const auto& child) { for_each_leaf(child, visit); },
        [](std::string_view, const auto&) {});
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
template <TensorTree T>
std::vector<Tensor> flatten(const T& tree) {
  std::vector<Tensor> leaves;
  for_each_leaf(tree, [&](const Tensor& leaf) { leaves.push_back(leaf); });
  return leaves;
}

// The structure of a tree, without its tensors.
template <TensorTree T>
TreeSpec tree_spec(const T& tree) {
  using namespace tree_internal;
  using Kind = TreeSpec::Kind;
  TreeSpec spec;
  if constexpr (std::is_same_v<T, None>)
    spec.kind = Kind::kNone;
  else if constexpr (HasFields<T>) {
    spec.kind = Kind::kStruct;
    for_each_member(
        tree,
        [&](std::string_view name, const auto& child) {
          spec.keys.emplace_back(name);
          spec.children.push_back(tree_spec(child));
        },
        [&](std::string_view name, const auto& value) {
          spec.keys.emplace_back(name);
          spec.children.push_back({.kind = Kind::kStatic, .value = text_of(value)});
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
template <TensorTree T>
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
    for_each_member(
        tree,
        [&](std::string_view name, const auto& child) {
          same = same && spec.keys[i] == name && has_structure(child, children[i]);
          ++i;
        },
        [&](std::string_view name, const auto& value) {
          same = same && spec.keys[i] == name && children[i].kind == Kind::kStatic &&
                 children[i].value == text_of(value);
          ++i;
        });
    return same;
  } else if constexpr (IsTuple<T>::value) {
    if (spec.kind != Kind::kTuple || children.size() != std::tuple_size_v<T>) return false;
    return std::apply(
        [&](const auto&... child) { return (has_structure(child, children[i++]) && ...); }, tree);
  } else if constexpr (IsVector<T>::value) {
    return spec.kind == Kind::kVector && children.size() == tree.size() &&
           each_of(tree, [&](const auto& t) { return has_structure(t, children[i++]); });
  } else if constexpr (IsOptional<T>::value) {
    return tree ? has_structure(*tree, spec) : spec.kind == Kind::kMissing;
  } else {
    return spec.kind == Kind::kMap && children.size() == tree.size() &&
           each_of(tree, [&](const auto& entry) {
             const size_t place = i++;
             return spec.keys[place] == entry.first && has_structure(entry.second, children[place]);
           });
  }
}

// Whether unflatten<T> can take the structure: nodes are told apart by their children, so that a
// tuple may stand for a struct.
template <TensorTree T>
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
    for_each_member(
        T{},
        [&](std::string_view, const auto& child) {
          using Child = std::remove_cvref_t<decltype(child)>;
          same = same && count < children.size() && fits<Child>(children[count]);
          ++count;
        },
        [&](std::string_view, const auto&) {
          same = same && count < children.size() && children[count].kind == Kind::kStatic;
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
    return spec.kind != Kind::kLeaf && each_of(children, fits<typename T::value_type>);
  } else if constexpr (IsOptional<T>::value) {
    return spec.kind == Kind::kMissing || fits<typename T::value_type>(spec);
  } else {
    return spec.keys.size() == children.size() && spec.kind != Kind::kLeaf &&
           each_of(children, fits<typename T::mapped_type>);
  }
}

// A T of the given structure, which it fits; takes its leaves from the front of `leaves`.
template <TensorTree T>
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
    for_each_member(
        out,
        [&](std::string_view, auto& child) {
          child = unflatten<std::remove_cvref_t<decltype(child)>>(spec.children[i++], leaves);
        },
        [&](std::string_view, auto& value) {
          value = value_of<std::remove_cvref_t<decltype(value)>>(spec.children[i++].value);
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

namespace tree_internal {

// unflatten(tree_spec(like), leaves), without the spec.
template <TensorTree T>
T unflatten_like(const T& like, std::span<const Tensor>& leaves) {
  if constexpr (std::is_same_v<T, Tensor>) {
    const Tensor& leaf = leaves.front();
    leaves = leaves.subspan(1);
    return leaf;
  } else if constexpr (std::is_same_v<T, None>) {
    return {};
  } else if constexpr (HasFields<T>) {
    T out{};
    const auto take = [&](const auto& f) {
      if constexpr (FieldOf<std::remove_cvref_t<decltype(f)>>::kIsStatic)
        out.*(f.member) = like.*(f.member);
      else
        out.*(f.member) = unflatten_like(like.*(f.member), leaves);
    };
    std::apply([&](const auto&... f) { (take(f), ...); }, fields_of<T>());
    return out;
  } else if constexpr (IsTuple<T>::value) {
    return std::apply(
        [&](const auto&... child) { return T{unflatten_like(child, leaves)...}; },  // in order
        like);
  } else if constexpr (IsVector<T>::value) {
    T out;
    out.reserve(like.size());
    for (const auto& child : like) out.push_back(unflatten_like(child, leaves));
    return out;
  } else if constexpr (IsOptional<T>::value) {
    if (!like) return std::nullopt;
    return unflatten_like(*like, leaves);
  } else {
    T out;
    for (const auto& [key, child] : like) out.emplace(key, unflatten_like(child, leaves));
    return out;
  }
}

// errors: throws Error that names the path where a tree has another structure than the first
void require_alike(std::span<const TreeSpec> specs);

template <class Fn, class T, class... Ts>
T map_leaves(Fn& fn, SourceLocation at, const T& tree, const Ts&... more) {
  static_assert((is_tree_or_explained<T> && ... && is_tree_or_explained<Ts>),
                "tree_map takes a function of Tensors, and then trees of Tensors");
  if constexpr (!(is_tree<T>() && ... && is_tree<Ts>())) {
    explain<T>();
    (explain<Ts>(), ...);
    return tree;
  } else {
    using Leaf = std::conditional_t<true, const Tensor&, T>;
    constexpr bool kFits =
        std::is_invocable_r_v<Tensor, Fn&, Leaf, std::conditional_t<true, const Tensor&, Ts>...>;
    if constexpr (!std::is_invocable_v<Fn&, Leaf, std::conditional_t<true, const Tensor&, Ts>...>) {
      static_assert(is_misfit_told<Fn, T, Ts...>(),
                    "the function of tree_map takes one Tensor of each tree, gives a Tensor");
    } else {
      static_assert(kFits,
                    "the function of tree_map takes one Tensor of each tree, gives a Tensor");
    }
    if constexpr (kFits) {
      const std::vector<TreeSpec> specs{tree_spec(tree), tree_spec(more)...};
      {
        const trace_internal::PublicCall call("tree_map", at);
        trace_internal::require_function("function", fn);
        require_alike(specs);
      }
      const std::vector<std::vector<Tensor>> all{flatten(tree), flatten(more)...};
      std::vector<Tensor> leaves;
      for (size_t i = 0; i < all[0].size(); ++i) {
        leaves.push_back([&]<size_t... I>(std::index_sequence<I...>)->Tensor {
          return fn(all[I][i]...);
        }(std::make_index_sequence<1 + sizeof...(Ts)>()));
      }
      std::span<const Tensor> rest(leaves);
      return unflatten<T>(specs[0], rest);
    } else {
      return tree;
    }
  }
}

}  // namespace tree_internal

// A tree like the first, of fn(leaf, leaf of the second, ..) for each leaf, of up to 8 trees.
//
// errors  Error (InvalidArgument) that names the path where the trees differ in structure
template <class Fn, class T>
requires(!trace_internal::TakesOperands<Fn>) T
    tree_map(Fn&& fn, const T& tree, SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree);
}
template <class Fn, class T, class B>
requires(!std::is_same_v<B, SourceLocation> && !trace_internal::TakesOperands<Fn>) T
    tree_map(Fn&& fn, const T& tree, const B& b, SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree, b);
}
template <class Fn, class T, class B, class C>
requires(!std::is_same_v<C, SourceLocation>) T
    tree_map(Fn&& fn, const T& tree, const B& b, const C& c,
             SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree, b, c);
}
template <class Fn, class T, class B, class C, class D>
requires(!std::is_same_v<D, SourceLocation>) T
    tree_map(Fn&& fn, const T& tree, const B& b, const C& c, const D& d,
             SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree, b, c, d);
}
template <class Fn, class T, class B, class C, class D, class E>
requires(!std::is_same_v<E, SourceLocation>) T
    tree_map(Fn&& fn, const T& tree, const B& b, const C& c, const D& d, const E& e,
             SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree, b, c, d, e);
}
template <class Fn, class T, class B, class C, class D, class E, class F>
requires(!std::is_same_v<F, SourceLocation>) T
    tree_map(Fn&& fn, const T& tree, const B& b, const C& c, const D& d, const E& e, const F& f,
             SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree, b, c, d, e, f);
}
template <class Fn, class T, class B, class C, class D, class E, class F, class G>
requires(!std::is_same_v<G, SourceLocation>) T
    tree_map(Fn&& fn, const T& tree, const B& b, const C& c, const D& d, const E& e, const F& f,
             const G& g, SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree, b, c, d, e, f, g);
}
template <class Fn, class T, class B, class C, class D, class E, class F, class G, class H>
requires(!std::is_same_v<H, SourceLocation>) T
    tree_map(Fn&& fn, const T& tree, const B& b, const C& c, const D& d, const E& e, const F& f,
             const G& g, const H& h, SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree, b, c, d, e, f, g, h);
}

// The same with a function of Heddle's by its name: tree_map(exp, tree), tree_map(fmod, a, b).
template <class T>
T tree_map(trace_internal::ByName<Operand> fn, const T& tree,
           SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree);
}
template <class T, class B>
T tree_map(trace_internal::ByName<Operand, Operand> fn, const T& tree, const B& b,
           SourceLocation at = SourceLocation::here()) {
  return tree_internal::map_leaves(fn, at, tree, b);
}

}  // namespace heddle
