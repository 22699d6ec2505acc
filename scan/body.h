// How the typed loop functions pass their callables to the untyped ones: a body on flat leaves, and
// what names and finds it.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/scan/function.h"
#include "heddle/trace/error.h"
#include "heddle/trace/tree.h"

namespace heddle::scan_internal {

// Runs the user's callable on leaves. Gives the leaves of its result, and one TreeSpec for each
// part of the result (carry, ys).
using FlatBody =
    base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>, std::vector<TreeSpec>&)>;

// A callable, and how to run it on leaves.
struct Callable {
  Identity identity;
  const void* types = nullptr;  // tag of what runs it: one for each loop function, its callable's
                                // type, const or not, and the types of the arguments
  FlatBody run;
  std::string_view name = {};  // of a named Function
  bool is_own = false;         // Heddle's: its trace does not count as one of the user's
};

// `run` is a lambda of the loop function. It has its own type for each callable and argument types,
// so that a callable with several overloads has one body for each. It must outlive the Callable.
template <class Fn, class Run>
Callable callable_of(const Fn& fn, Run& run) {
  return {identity_of(fn), type_tag<Run>(), run, name_of(fn)};
}

// The leaves of an argument, as flatten gives them; of a lone tensor without an allocation. They
// are copies, since the user's function may assign to what it captured.
template <TensorTree T>
auto leaves_of(const T& tree) {
  if constexpr (std::is_same_v<T, Tensor>)
    return std::array<Tensor, 1>{tree};
  else
    return flatten(tree);
}

// One argument tree of a loop: its leaves, what its type does not say, and, only for errors, its
// structure.
struct Argument {
  std::span<const Tensor> leaves;
  std::string structure;
  base::FunctionRef<TreeSpec()> spec;
};

// Appends lengths of vectors, keys of maps and presence of optionals. Appends nothing if the type
// says it all.
template <TensorTree T>
void append_structure(std::string& out, const T& tree) {
  using namespace tree_internal;
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, None>)
    return;
  else if constexpr (HasFields<T>)
    for_each_member(
        tree, [&](std::string_view, const auto& child) { append_structure(out, child); },
        [&](std::string_view, const auto& value) {
          const std::string text = text_of(value);
          base::append(out, "s", text.size(), ":", text);
        });
  else if constexpr (IsTuple<T>::value)
    std::apply([&](const auto&... child) { (append_structure(out, child), ...); }, tree);
  else if constexpr (IsVector<T>::value) {
    base::append(out, "v", tree.size(), ";");
    for (const auto& child : tree) append_structure(out, child);
  } else if constexpr (IsOptional<T>::value) {
    out.push_back(tree ? '1' : '0');
    if (tree) append_structure(out, *tree);
  } else {
    for (const auto& [key, child] : tree) {
      base::append(out, "m", key.size(), ":", key);
      append_structure(out, child);
    }
    out.push_back(';');
  }
}

template <class T>
std::string structure_of(const T& tree) {
  std::string out;
  append_structure(out, tree);
  return out;
}

}  // namespace heddle::scan_internal
