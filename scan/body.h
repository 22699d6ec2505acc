// How the typed loop functions hand their callables to the untyped ones: a body on flat leaves,
// with what is needed to name and find it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/scan/function.h"
#include "heddle/trace/error.h"
#include "heddle/trace/tree.h"

namespace heddle::scan_internal {

// Runs the user's callable on leaves; gives its result's leaves, and one TreeSpec for each part of
// the result (carry, ys).
using FlatBody =
    base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>, std::vector<TreeSpec>&)>;

// A callable, and how it is run on leaves.
struct Callable {
  Identity identity;
  const void* types = nullptr;  // tag of what runs it: one for each loop function, its callable's
                                // type, const or not, and the types of the arguments
  FlatBody run;
  std::string_view name = {};  // of a named Function
  bool is_own = false;         // Heddle's, so that its trace is none of the user's
};

// `run` is a lambda of the loop function: a type of its own for each callable and argument types,
// so that a callable with several overloads has one body for each. It must outlive the Callable.
template <class Fn, class Run>
Callable callable_of(const Fn& fn, Run& run) {
  return {identity_of(fn), type_tag<Run>(), run, name_of(fn)};
}

// One argument tree of a loop: its leaves, what its type does not say, and, only when needed
// (errors), its structure.
struct Argument {
  std::vector<Tensor> leaves;
  std::string structure;
  base::FunctionRef<TreeSpec()> spec;
};

// Appends lengths of vectors, keys of maps and presence of optionals: nothing for trees whose type
// says it all.
template <Tree T>
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
