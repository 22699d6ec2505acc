// Tensors and trees in NumPy's files: .npy holds one array, .npz named ones.
//
//   save_npy("x.npy", x);               // numpy.load("x.npy")
//   Tensor y = load_npy("y.npy");
//   save_npz("params.npz", params);     // a struct with the fields w and b: the arrays w and b
//   Params again = load_npz<Params>("params.npz");
//   auto all = load_npz("others.npz");  // std::map<std::string, Tensor>
//
// Files are hostile input: what is damaged, cut off or made to harm is an error. bf16 is saved as
// numpy's raw bytes '<V2', and f8 and types of fewer bits as '<V1', as ml_dtypes does: in numpy
// `x.view(ml_dtypes.bfloat16)` is the array. V2 is loaded as bf16; of V1 load_npy's dtype, or that
// of a `like`, says what it is. Everything else keeps its dtype, so numpy's default numbers are f64
// and s64.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/flag.h"
#include "heddle/base/function_ref.h"
#include "heddle/base/source_location.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle {

// Writes x to the file `path`, which is taken as it is: no ending is added.
// errors   Error: FailedPrecondition for a traced, placeholder or donated tensor, or under a
//          TransferGuard, before the file is touched; Unavailable where it cannot be written
// cost     a download, counted
void save_npy(const std::string& path, const Tensor& x, SourceLocation at = SourceLocation::here());

// The array of a .npy file, in C or Fortran order and either byte order, as a tensor on the default
// device; inside a trace an HLO constant.
// dtype    what it has to be; needed for '<V1' alone
// errors   Error: NotFound for a file that is not there; InvalidArgument for one that is damaged,
//          of another dtype than asked for, or of elements that Heddle has not (text, dates,
//          structs, Python objects); FailedPrecondition under a TransferGuard
// cost     an upload, counted
Tensor load_npy(const std::string& path, std::optional<DType> dtype = {},
                SourceLocation at = SourceLocation::here());

struct SaveOptions {
  base::Flag compress = false;  // deflated, as savez_compressed
};

namespace trace_internal {

void save_leaves(const std::string& path, const TreeSpec& spec, std::span<const Tensor> leaves,
                 const SaveOptions& options, SourceLocation at);

// The names in an archive, which tell how long vectors are and which keys maps have.
class StoredNames {
 public:
  StoredNames(std::vector<std::string> names, SourceLocation at);
  // Whether the path names an array, or what has arrays in it.
  [[nodiscard]] bool has(const std::string& path) const;
  // The keys of a map at `path`; `are_leaves`: its values are tensors, so that a key may have any
  // characters.
  [[nodiscard]] std::vector<std::string> keys(const std::string& path, bool is_top,
                                              bool are_leaves) const;
  // errors: throws Error for a path of too many parts
  void check_depth(int depth) const;

 private:
  std::vector<std::string> names_;  // sorted
  SourceLocation at_;
};

// "arr_1" at the top, else "path[1]"; "w" at the top, else "path.w".
std::string item_name(const std::string& path, bool is_top, size_t i);
std::string key_name(const std::string& path, bool is_top, const std::string& key);

template <class T>
TreeSpec stored_spec(const StoredNames& names, const std::string& path, bool is_top, int depth) {
  using namespace tree_internal;
  using Kind = TreeSpec::Kind;
  names.check_depth(depth);
  TreeSpec spec;
  if constexpr (std::is_same_v<T, None>) {
    spec.kind = Kind::kNone;
  } else if constexpr (HasFields<T>) {
    spec.kind = Kind::kStruct;
    for_each_member(
        T{},
        [&](std::string_view name, const auto& child) {
          using Child = std::remove_cvref_t<decltype(child)>;
          spec.keys.emplace_back(name);
          spec.children.push_back(stored_spec<Child>(
              names, key_name(path, is_top, spec.keys.back()), false, depth + 1));
        },
        [&](std::string_view name, const auto& value) {
          spec.keys.emplace_back(name);
          spec.children.push_back({.kind = Kind::kStatic, .value = text_of(value)});
        });
  } else if constexpr (IsTuple<T>::value) {
    spec.kind = Kind::kTuple;
    [&]<size_t... I>(std::index_sequence<I...>) {
      (spec.children.push_back(stored_spec<std::tuple_element_t<I, T>>(
           names, item_name(path, is_top, I), false, depth + 1)),
       ...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (IsVector<T>::value) {
    spec.kind = Kind::kVector;
    for (size_t i = 0; names.has(item_name(path, is_top, i)); ++i) {
      spec.children.push_back(
          stored_spec<typename T::value_type>(names, item_name(path, is_top, i), false, depth + 1));
    }
  } else if constexpr (IsOptional<T>::value) {
    if (is_top || names.has(path))
      return stored_spec<typename T::value_type>(names, path, is_top, depth + 1);
    spec.kind = Kind::kMissing;
  } else if constexpr (IsMap<T>::value) {
    using Child = typename T::mapped_type;
    spec.kind = Kind::kMap;
    spec.keys = names.keys(path, is_top, std::is_same_v<Child, Tensor>);
    for (const std::string& key : spec.keys)
      spec.children.push_back(
          stored_spec<Child>(names, key_name(path, is_top, key), false, depth + 1));
  }
  return spec;
}

// The leaves of the tree whose structure `spec` tells; `like`, where it has leaves, says what each
// has to be. errors: throws Error naming the array that is missing, left over or of another type
std::vector<Tensor> load_leaves(const std::string& path,
                                base::FunctionRef<TreeSpec(const StoredNames&)> spec_of,
                                TreeSpec& spec, std::span<const Tensor> like, SourceLocation at);

}  // namespace trace_internal

// Writes the tensors of a tree to the file `path`, taken as it is, under their paths: `w`,
// `layers[1].b`; a map's keys as they are. A tuple or vector at the top gives arr_0, arr_1, as
// numpy.savez(path, x, y); so does a lone tensor. None and missing optionals give nothing.
// Static fields are not in the file: load_npz(path, like) takes those of `like`.
// errors   as save_npy(); Error (InvalidArgument) where two paths are the same. What was in the
//          file is gone also where writing fails
// cost     a download for each tensor, counted
template <Tree T>
void save_npz(const std::string& path, const T& tree, const SaveOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  trace_internal::save_leaves(path, tree_spec(tree), flatten(tree), options, at);
}

// The tree in a .npz file, as save_npz() and numpy's savez and savez_compressed write them; without
// a type a map of all arrays. Vectors are as long, maps have the keys, and optionals are there, as
// the names in the file say.
// errors   as load_npy(); Error (InvalidArgument) for an array that is missing, or that T has no
//          place for, by name
// cost     an upload for each tensor, counted
template <Tree T = std::map<std::string, Tensor>>
T load_npz(const std::string& path, SourceLocation at = SourceLocation::here()) {
  TreeSpec spec;
  const std::vector<Tensor> leaves = trace_internal::load_leaves(
      path,
      [](const trace_internal::StoredNames& names) {
        return trace_internal::stored_spec<T>(names, "", true, 0);
      },
      spec, {}, at);
  std::span<const Tensor> rest(leaves);
  return unflatten<T>(spec, rest);
}

// The same, of the structure, shapes and dtypes of `like`, whose tensors may be placeholders; one
// without a value takes any shape and dtype.
// errors   as above, and Error (InvalidArgument) for an array of another shape or dtype
template <Tree T>
T load_npz(const std::string& path, const T& like, SourceLocation at = SourceLocation::here()) {
  TreeSpec spec;
  const std::vector<Tensor> leaves = trace_internal::load_leaves(
      path, [&](const trace_internal::StoredNames&) { return tree_spec(like); }, spec,
      flatten(like), at);
  std::span<const Tensor> rest(leaves);
  return unflatten<T>(spec, rest);
}

}  // namespace heddle
