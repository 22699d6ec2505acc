// Tensors and trees in files: .npy holds one array, .npz and safetensors named ones.
//
//   save_safetensors("step9.safetensors", state);           // a checkpoint
//   state = load_safetensors("step9.safetensors", state);   // on the file's own pages
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
// and s64. A safetensors file has bf16 and f8 as they are. A file that is written has its name once
// it is whole: what was there before stays until then, and also where writing fails.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/flag.h"
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

struct SafetensorsOptions {
  std::map<std::string, std::string> metadata = {};  // words beside the arrays
  base::Flag dotted = false;  // layers.0.w for layers[0].w, as PyTorch's state_dict() has names
};

struct LoadOptions {
  // An array that the tree has no place for is an error, and one that is not there. Else the first
  // is left alone, and a tensor of `like` without an array stays as it is: so a tree is loaded from
  // several files, one after the other.
  base::Flag strict = true;
  base::Flag dotted = false;  // names are as SafetensorsOptions::dotted writes them
  // Tensors use the pages of the file where they are, as lend() does: a byte is read when it is
  // used, and no other program may write to the file or cut it as long as they live. False: a copy.
  base::Flag mapped = true;
};

namespace trace_internal {

void save_npz_leaves(const std::string& path, const TreeSpec& spec, std::span<const Tensor> leaves,
                     const SaveOptions& options);
void save_safetensors_leaves(const std::string& path, const TreeSpec& spec,
                             std::span<const Tensor> leaves, const SafetensorsOptions& options);

// How a file's names are made of a tree's paths.
struct Naming {
  std::string_view op;  // who asks, of static storage
  bool dotted = false;

  // "arr_1" at the top, else "path[1]"; "w" at the top, else "path.w". Dotted: "1", "path.1".
  [[nodiscard]] std::string item(const std::string& path, bool is_top, size_t i) const;
  [[nodiscard]] std::string key(const std::string& path, bool is_top, const std::string& key) const;
};

// The names in a file, which tell how long vectors are and which keys maps have.
class StoredNames : public Naming {
 public:
  StoredNames(std::vector<std::string> names, Naming naming);
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
};

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
              names, names.key(path, is_top, spec.keys.back()), false, depth + 1));
        },
        [&](std::string_view name, const auto& value) {
          spec.keys.emplace_back(name);
          spec.children.push_back({.kind = Kind::kStatic, .value = text_of(value)});
        });
  } else if constexpr (IsTuple<T>::value) {
    spec.kind = Kind::kTuple;
    [&]<size_t... I>(std::index_sequence<I...>) {
      (spec.children.push_back(stored_spec<std::tuple_element_t<I, T>>(
           names, names.item(path, is_top, I), false, depth + 1)),
       ...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (IsVector<T>::value) {
    spec.kind = Kind::kVector;
    for (size_t i = 0; names.has(names.item(path, is_top, i)); ++i) {
      spec.children.push_back(stored_spec<typename T::value_type>(
          names, names.item(path, is_top, i), false, depth + 1));
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
          stored_spec<Child>(names, names.key(path, is_top, key), false, depth + 1));
  }
  return spec;
}

// What load_leaves() is asked for.
struct LoadRequest {
  Naming naming;
  bool is_safetensors = false;
  LoadOptions options = {};
  const std::vector<Tensor>* like = nullptr;  // what each leaf has to be; null: anything
};

// The leaves of the tree whose structure spec_of() tells.
// errors: throws Error naming the array that is missing, left over or of another type
std::vector<Tensor> load_leaves(const std::string& path, const LoadRequest& request,
                                base::FunctionRef<TreeSpec(const StoredNames&)> spec_of,
                                TreeSpec& spec);

// Where there is no `like`, the names tell what is in vectors, maps and optionals.
template <TensorTree T>
T load_tree(const std::string& path, LoadRequest request, const T* like, SourceLocation at) {
  const PublicCall call(request.naming.op, at);
  TreeSpec spec;
  std::vector<Tensor> wanted;
  if (like != nullptr) {
    wanted = flatten(*like);
    request.like = &wanted;
  }
  const std::vector<Tensor> leaves = load_leaves(
      path, request,
      [&](const StoredNames& names) {
        return like == nullptr ? stored_spec<T>(names, "", true, 0) : tree_spec(*like);
      },
      spec);
  std::span<const Tensor> rest(leaves);
  return unflatten<T>(spec, rest);
}

}  // namespace trace_internal

// Writes the tensors of a tree to the file `path`, taken as it is, under their paths: `w`,
// `layers[1].b`; a map's keys as they are. A tuple or vector at the top gives arr_0, arr_1, as
// numpy.savez(path, x, y); so does a lone tensor. None and missing optionals give nothing.
// Static fields are not in the file: load_npz(path, like) takes those of `like`.
// errors   as save_npy(); Error (InvalidArgument) where two paths are the same
// cost     a download for each tensor, counted
template <TensorTree T>
void save_npz(const std::string& path, const T& tree, const SaveOptions& options = {},
              SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("save_npz", at);
  trace_internal::save_npz_leaves(path, tree_spec(tree), flatten(tree), options);
}
// The same of tensors by name: save_npz("a.npz", {{"x", x}, {"y", y}}).
inline void save_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
                     const SaveOptions& options = {}, SourceLocation at = SourceLocation::here()) {
  save_npz<std::map<std::string, Tensor>>(path, tensors, options, at);
}

// The tree in a .npz file, as save_npz() and numpy's savez and savez_compressed write them; without
// a type a map of all arrays. Vectors are as long, maps have the keys, and optionals are there, as
// the names in the file say.
// errors   as load_npy(); Error (InvalidArgument) for an array that is missing, or that T has no
//          place for, by name
// cost     an upload for each tensor, counted
template <TensorTree T = std::map<std::string, Tensor>>
T load_npz(const std::string& path, SourceLocation at = SourceLocation::here()) {
  return trace_internal::load_tree<T>(path, {.naming = {"load_npz"}}, nullptr, at);
}

// The same, of the structure, shapes and dtypes of `like`, whose tensors may be placeholders; one
// without a value takes any shape and dtype.
// errors   as above, and Error (InvalidArgument) for an array of another shape or dtype
template <TensorTree T>
T load_npz(const std::string& path, const T& like, SourceLocation at = SourceLocation::here()) {
  return trace_internal::load_tree(path, {.naming = {"load_npz"}}, &like, at);
}

// Writes the tensors of a tree to one safetensors file, under the names that save_npz() gives them.
// Bytes come down tensor by tensor, so that no more than one of them is in memory twice.
// errors   as save_npz(); Error (InvalidArgument) for a dtype that the format has not: c128, and
//          types of fewer than 8 bits but pred
// cost     a download for each tensor, counted
template <TensorTree T>
void save_safetensors(const std::string& path, const T& tree,
                      const SafetensorsOptions& options = {},
                      SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("save_safetensors", at);
  trace_internal::save_safetensors_leaves(path, tree_spec(tree), flatten(tree), options);
}

// The tree in a safetensors file, of anyone's making; without a type a map of all arrays.
// errors   as load_npz(); where not `strict`, none for an array without a place
// cost     aliased_bytes grows by what is lent of the file: an array that begins at a multiple of
//          64 bytes, as those of a multiple of 64 bytes do in files of ours, on a device that
//          computes in host memory; an upload for each other tensor, counted
template <TensorTree T = std::map<std::string, Tensor>>
T load_safetensors(const std::string& path, const LoadOptions& options = {},
                   SourceLocation at = SourceLocation::here()) {
  return trace_internal::load_tree<T>(path, {{"load_safetensors", options.dotted}, true, options},
                                      nullptr, at);
}

// The same, of the structure, shapes and dtypes of `like`, as load_npz() takes it.
// errors   as above, and Error (InvalidArgument) for an array of another shape or dtype
template <TensorTree T>
T load_safetensors(const std::string& path, const T& like, const LoadOptions& options = {},
                   SourceLocation at = SourceLocation::here()) {
  return trace_internal::load_tree(path, {{"load_safetensors", options.dotted}, true, options},
                                   &like, at);
}

// The words that a safetensors file has beside its arrays.
// errors   as load_safetensors()
std::map<std::string, std::string> load_safetensors_metadata(
    const std::string& path, SourceLocation at = SourceLocation::here());

}  // namespace heddle
