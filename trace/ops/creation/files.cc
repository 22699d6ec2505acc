#include "heddle/trace/ops/creation/files.h"

#include <algorithm>
#include <memory>
#include <new>
#include <set>

#include "heddle/base/system/files.h"
#include "heddle/base/text/strings.h"
#include "heddle/base/text/utf8.h"
#include "heddle/hlo/numpy/npy.h"
#include "heddle/hlo/numpy/npz.h"
#include "heddle/hlo/safetensors/safetensors.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

Literal downloaded(const Tensor& x, std::string_view op, const std::string& path = "x") {
  const runtime::BufferPtr buffer = trace_internal::buffer_of(x, op, path);
  return value_or_throw(
      runtime::to_host(*buffer, path == "x" ? std::string(op) : base::cat(op, " of ", path)));
}

// A file that takes more memory than there is is an error too.
template <class Read>
auto with_room(std::string_view op, const std::string& path, Read&& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw Error(base::resource_exhausted(op, ": ", path, ": takes more memory than there is"));
  }
}

void add_names(const TreeSpec& spec, const trace_internal::Naming& naming, const std::string& path,
               bool is_top, std::vector<std::string>& out) {
  using Kind = TreeSpec::Kind;
  if (spec.kind == Kind::kLeaf) out.push_back(is_top ? naming.item("", true, 0) : path);
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const bool has_key = spec.kind == Kind::kStruct || spec.kind == Kind::kMap;
    add_names(spec.children[i], naming,
              has_key ? naming.key(path, is_top, spec.keys[i]) : naming.item(path, is_top, i),
              false, out);
  }
}

std::vector<std::string> names_of(const TreeSpec& spec, const trace_internal::Naming& naming) {
  std::vector<std::string> out;
  add_names(spec, naming, "", true, out);
  return out;
}

// A name of a file's, as messages show it.
std::string_view shown(std::string_view name) { return name.substr(0, 80); }

// "'b', 'w'": at most 8 of them.
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 8); ++i)
    base::append(out, i == 0 ? "'" : ", '", shown(names[i]), "'");
  if (names.size() > 8) base::append(out, " and ", names.size() - 8, " more");
  return out.empty() ? "no arrays" : out;
}

void refuse_static_fields(std::string_view op, const TreeSpec& spec, const std::string& path) {
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const std::string key =
        spec.keys.empty() ? base::cat("[", i, "]") : base::cat(".", spec.keys[i]);
    if (spec.children[i].kind == TreeSpec::Kind::kStatic)
      throw Error(base::invalid_argument(
          op, ": the tree's ", (path + key).substr(1),
          " is a static field, which no file has; say what it is with ", op, "(path, like)"));
    refuse_static_fields(op, spec.children[i], path + key);
  }
}

Tensor loaded(const Literal& literal, const std::string& op) {
  if (trace_internal::Recorder::current() != nullptr) return array(literal);
  Device& device = *value_or_throw(runtime::find_default_device());
  return trace_internal::tensor_of(value_or_throw(runtime::to_device(device, literal, op)));
}

// Writes a file by write(sink), which hands its bytes on piece by piece.
template <class Write>
void write_file(std::string_view op, const std::string& path, const Write& write) {
  const auto run = [&]() -> Status {
    HEDDLE_ASSIGN_OR_RETURN(base::NewFile file, base::NewFile::create(path));
    HEDDLE_RETURN_IF_ERROR(write([&](std::string_view bytes) { return file.write(bytes); }));
    return file.commit();
  };
  throw_if_error(base::annotate(run(), op, ": "));
}

base::MappedFile mapped(std::string_view op, const std::string& path) {
  StatusOr<base::MappedFile> file = base::MappedFile::open(path);
  throw_if_error(base::annotate(file.status(), op, ": "));
  return *std::move(file);
}

std::string_view bytes_of(const Literal& literal) {
  return {reinterpret_cast<const char*>(literal.bytes()), static_cast<size_t>(literal.byte_size())};
}

// The named arrays of a file.
class StoredArrays {
 public:
  StoredArrays() = default;
  virtual ~StoredArrays() = default;
  StoredArrays(const StoredArrays&) = delete;
  StoredArrays& operator=(const StoredArrays&) = delete;
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // The array of names()[i]; `wanted` is the type that it has to have, or null.
  // errors: throws Error where it has another, or cannot be read
  virtual Tensor read(size_t i, const Shape* wanted) const = 0;
};

class StoredNpz : public StoredArrays {
 public:
  StoredNpz(const std::string& path)
      : path_(path), file_(mapped("load_npz", path)), archive_(opened()) {}
  [[nodiscard]] std::vector<std::string> names() const override { return archive_.names(); }
  Tensor read(size_t i, const Shape* wanted) const override {
    const std::string& name = archive_.names()[i];
    StatusOr<Literal> value =
        archive_.read(i, wanted ? std::optional(wanted->dtype()) : std::optional<DType>());
    throw_if_error(base::annotate(value.status(), "load_npz: ", path_, ": "));
    if (wanted && !same_type(value->shape(), *wanted))
      throw Error(base::invalid_argument("load_npz: ", path_, ": ", shown(name), " is ",
                                         value->shape(), "; it must be ", *wanted,
                                         " as in the tree given; give a tree of that shape"));
    return loaded(*value, base::cat("load_npz of ", shown(name)));
  }

 private:
  hlo::NpzReader opened() {
    StatusOr<hlo::NpzReader> archive = hlo::NpzReader::open(file_.bytes());
    throw_if_error(base::annotate(archive.status(), "load_npz: ", path_, ": "));
    return *std::move(archive);
  }
  std::string path_;
  base::MappedFile file_;
  hlo::NpzReader archive_;
};

hlo::SafetensorsFile opened_safetensors(std::string_view op, const std::string& path,
                                        const base::MappedFile& file) {
  StatusOr<hlo::SafetensorsFile> out = hlo::SafetensorsFile::open(file.bytes());
  throw_if_error(base::annotate(out.status(), op, ": ", path, ": "));
  return *std::move(out);
}

class StoredSafetensors : public StoredArrays {
 public:
  StoredSafetensors(const std::string& path, bool is_lent)
      : path_(path),
        is_lent_(is_lent),
        pages_(std::make_shared<const base::MappedFile>(mapped("load_safetensors", path))),
        file_(opened_safetensors("load_safetensors", path, *pages_)) {}
  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const hlo::SafetensorsArray& array : file_.arrays()) out.push_back(array.name);
    return out;
  }
  Tensor read(size_t i, const Shape* wanted) const override {
    const hlo::SafetensorsArray& array = file_.arrays()[i];
    if (wanted && array.shape.is_valid()) check_type(array, *wanted);
    const std::string op = base::cat("load_safetensors of ", shown(array.name));
    const bool is_used_as_it_is = file_.is_plain(i) && !array.bytes.empty();
    if (is_used_as_it_is && trace_internal::Recorder::current() == nullptr)
      return on_device(array, op);
    StatusOr<Literal> value = file_.read(i);
    throw_if_error(base::annotate(value.status(), "load_safetensors: ", path_, ": "));
    return loaded(*value, op);
  }

 private:
  void check_type(const hlo::SafetensorsArray& array, const Shape& wanted) const {
    if (same_type(array.shape, wanted)) return;
    std::string repair = "; give a tree of that shape";
    if (array.shape.dimensions() == wanted.dimensions())
      repair = base::cat("; load it with load_safetensors(path) and cast it with astype(",
                         wanted.dtype(), ")");
    throw Error(base::invalid_argument("load_safetensors: ", path_, ": ", shown(array.name), " is ",
                                       array.shape, "; it must be ", wanted,
                                       " as in the tree given", repair));
  }
  [[nodiscard]] Tensor on_device(const hlo::SafetensorsArray& array, const std::string& op) const {
    Device& device = *value_or_throw(runtime::find_default_device());
    const void* bytes = array.bytes.data();
    StatusOr<runtime::BufferPtr> buffer =
        is_lent_
            ? runtime::lend_to_device(device, bytes, array.shape, pages_, op)
            : runtime::to_device(
                  device,
                  {.data = bytes, .shape = array.shape, .byte_strides = strides_of(array.shape)},
                  op);
    return trace_internal::tensor_of(value_or_throw(std::move(buffer)));
  }
  static std::vector<int64_t> strides_of(const Shape& shape) {
    std::vector<int64_t> out = row_major_strides(shape.dimensions());
    for (int64_t& stride : out) stride *= storage_bytes(shape.dtype());
    return out;
  }

  std::string path_;
  bool is_lent_;
  std::shared_ptr<const base::MappedFile> pages_;
  hlo::SafetensorsFile file_;
};

// A key of a map of trees is read up to the first '.' or '[': {"a.b": {"c": x}} would come back as
// {"a": {"b.c": x}}.
void check_keys(std::string_view op, const TreeSpec& spec, const std::string& path) {
  using Kind = TreeSpec::Kind;
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const TreeSpec& child = spec.children[i];
    const std::string own = path + path_of_child(spec, i);
    if (spec.kind == Kind::kMap && child.kind != Kind::kLeaf && child.kind != Kind::kMissing &&
        spec.keys[i].find_first_of(".[") != std::string::npos) {
      throw Error(
          base::invalid_argument(op, ": x", base::printable(own), " has a key with a '.' or '[', ",
                                 "which a file has between the parts of a path; rename it"));
    }
    check_keys(op, child, own);
  }
}

// Each leaf has a name, and a name of its own.
void check_names(std::string_view op, const std::vector<std::string>& names, const TreeSpec& spec) {
  const std::vector<std::string> paths = leaf_paths(spec);
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!seen.insert(names[i]).second)
      throw Error(base::invalid_argument(op, ": x", paths[i], " has the name '", shown(names[i]),
                                         "' in the file, as another has; rename a key"));
  }
  check_keys(op, spec, "");
}

}  // namespace

void save_npy(const std::string& path, const Tensor& x, SourceLocation at) {
  const trace_internal::PublicCall call("save_npy", at);
  const Literal value = downloaded(x, "save_npy");
  const std::string header = value_or_throw<std::string>(hlo::npy_header(value.shape()));
  write_file("save_npy", path, [&](auto sink) {
    Status status = sink(header);
    return status.ok() ? sink(bytes_of(value)) : status;
  });
}

Tensor load_npy(const std::string& path, std::optional<DType> dtype, SourceLocation at) {
  const trace_internal::PublicCall call("load_npy", at);
  const Literal literal = with_room("load_npy", path, [&] {
    const base::MappedFile file = mapped("load_npy", path);
    StatusOr<Literal> out = hlo::read_npy(file.bytes(), dtype);
    if (!out.ok() && file.bytes().starts_with("PK"))
      throw Error(
          base::invalid_argument("load_npy: ", path, ": is a .npz archive; load it with load_npz"));
    throw_if_error(base::annotate(out.status(), "load_npy: ", path, ": "));
    return *std::move(out);
  });
  return loaded(literal, "load_npy");
}

namespace trace_internal {

std::string Naming::item(const std::string& path, bool is_top, size_t i) const {
  if (dotted) return key(path, is_top, base::cat(i));
  return is_top ? base::cat("arr_", i) : base::cat(path, "[", i, "]");
}

std::string Naming::key(const std::string& path, bool is_top, const std::string& key) const {
  return is_top ? key : base::cat(path, ".", key);
}

StoredNames::StoredNames(std::vector<std::string> names, Naming naming)
    : Naming(naming), names_(std::move(names)) {
  std::ranges::sort(names_);
}

bool StoredNames::has(const std::string& path) const {
  for (const char* next : {"", ".", "["}) {
    const std::string from = path + next;
    const auto found = std::ranges::lower_bound(names_, from);
    if (found == names_.end()) continue;
    if (*next == '\0' ? *found == from : found->starts_with(from)) return true;
  }
  return false;
}

std::vector<std::string> StoredNames::keys(const std::string& path, bool is_top,
                                           bool are_leaves) const {
  const std::string front = is_top ? "" : path + ".";
  std::set<std::string> out;
  for (auto name = std::ranges::lower_bound(names_, front);
       name != names_.end() && name->starts_with(front); ++name) {
    const std::string rest = name->substr(front.size());
    out.insert(are_leaves ? rest : rest.substr(0, rest.find_first_of(".[")));
  }
  return {out.begin(), out.end()};
}

void StoredNames::check_depth(int depth) const {
  constexpr int kDeepest = 100;
  if (depth > kDeepest)
    throw Error(
        base::invalid_argument(op, ": a name in the file has more than ", kDeepest, " parts"));
}

void save_npz_leaves(const std::string& path, const TreeSpec& spec, std::span<const Tensor> leaves,
                     const SaveOptions& options) {
  const std::vector<std::string> names = names_of(spec, {"save_npz"}), paths = leaf_paths(spec);
  check_names("save_npz", names, spec);
  std::vector<hlo::NamedLiteral> arrays;
  for (size_t i = 0; i < leaves.size(); ++i)
    arrays.push_back({names[i], downloaded(leaves[i], "save_npz", "x" + paths[i])});
  write_file("save_npz", path,
             [&](auto sink) { return hlo::write_npz(arrays, options.compress, sink); });
}

void save_safetensors_leaves(const std::string& path, const TreeSpec& spec,
                             std::span<const Tensor> leaves, const SafetensorsOptions& options) {
  const std::vector<std::string> names = names_of(spec, {"save_safetensors", options.dotted});
  const std::vector<std::string> paths = leaf_paths(spec);
  check_names("save_safetensors", names, spec);
  std::vector<runtime::BufferPtr> buffers;
  std::vector<hlo::SafetensorsType> types;
  for (size_t i = 0; i < leaves.size(); ++i) {
    buffers.push_back(buffer_of(leaves[i], "save_safetensors", "x" + paths[i]));
    types.push_back({names[i], leaves[i].shape()});
  }
  StatusOr<hlo::SafetensorsLayout> layout = hlo::lay_out_safetensors(types, options.metadata);
  throw_if_error(base::annotate(layout.status(), "save_safetensors: "));
  write_file("save_safetensors", path, [&](auto sink) -> Status {
    HEDDLE_RETURN_IF_ERROR(sink(layout->header));
    for (const size_t i : layout->order) {
      HEDDLE_ASSIGN_OR_RETURN(const Literal value,
                              runtime::to_host(*buffers[i], "save_safetensors of x" + paths[i]));
      HEDDLE_RETURN_IF_ERROR(sink(bytes_of(value)));
    }
    return {};
  });
}

namespace {

std::unique_ptr<StoredArrays> open_arrays(const std::string& path, const LoadRequest& request) {
  if (request.is_safetensors)
    return std::make_unique<StoredSafetensors>(path, request.options.mapped);
  return std::make_unique<StoredNpz>(path);
}

// Whether a part of the name is a number, as PyTorch names the items of a list.
bool is_dotted(std::string_view name) {
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    if (!part.empty() && part.find_first_not_of("0123456789") == part.npos) return true;
    name.remove_prefix(std::min(part.size() + 1, name.size()));
  }
  return false;
}

// Where the names are of the other kind, that is what to mend.
std::string repair_of(const LoadRequest& request, const std::vector<std::string>& there,
                      std::string_view other) {
  if (request.is_safetensors && !request.naming.dotted && std::ranges::any_of(there, is_dotted))
    return "; load names of PyTorch's with {.dotted = true}";
  return std::string(other);
}

[[noreturn]] void throw_missing(const std::string& path, const LoadRequest& request, size_t leaf,
                                const std::string& name, const std::vector<std::string>& there) {
  const Tensor* like = request.like != nullptr ? &(*request.like)[leaf] : nullptr;
  const std::string type = like != nullptr && like->is_valid()
                               ? base::cat(", and must have ", to_string(like->shape()))
                               : std::string();
  const std::string_view repair = request.is_safetensors && like != nullptr
                                      ? "; load with {.strict = false} to keep the tree's own"
                                      : "; save it too, or load a tree without it";
  throw Error(base::invalid_argument(request.naming.op, ": ", path, ": has no array '", shown(name),
                                     "'; it has ", listed(there), type,
                                     repair_of(request, there, repair)));
}

void refuse_what_is_left(const std::string& path, const LoadRequest& request,
                         const std::vector<std::string>& names,
                         const std::vector<std::string>& there) {
  const std::set<std::string_view> used(names.begin(), names.end());
  for (const std::string& name : there) {
    if (used.contains(name)) continue;
    throw Error(base::invalid_argument(
        request.naming.op, ": ", path, ": has the array '", shown(name),
        "', for which the tree has no place; it has ", listed(names),
        repair_of(request, there,
                  base::cat(request.is_safetensors ? "; load with {.strict = false} to leave it"
                                                   : "; load a tree that has a place for it",
                            ", or all arrays as a map with ", request.naming.op, "(path)"))));
  }
}

}  // namespace

std::vector<Tensor> load_leaves(const std::string& path, const LoadRequest& request,
                                base::FunctionRef<TreeSpec(const StoredNames&)> spec_of,
                                TreeSpec& spec) {
  const std::string_view op = request.naming.op;
  return with_room(op, path, [&] {
    const std::unique_ptr<StoredArrays> arrays = open_arrays(path, request);
    const std::vector<std::string> there = arrays->names();
    spec = spec_of(StoredNames(there, request.naming));
    if (request.like == nullptr) refuse_static_fields(op, spec, "");
    const std::vector<std::string> names = names_of(spec, request.naming);
    check_names(op, names, spec);
    std::map<std::string_view, size_t> places;
    for (size_t i = 0; i < there.size(); ++i) places.emplace(there[i], i);
    const bool may_stay = !request.options.strict && request.like != nullptr;
    for (size_t i = 0; i < names.size() && !may_stay; ++i) {
      if (!places.contains(names[i])) throw_missing(path, request, i, names[i], there);
    }
    if (request.options.strict) refuse_what_is_left(path, request, names, there);
    std::vector<Tensor> leaves;
    for (size_t i = 0; i < names.size(); ++i) {
      const Tensor* like = request.like != nullptr ? &(*request.like)[i] : nullptr;
      const auto place = places.find(names[i]);
      if (place == places.end()) {
        leaves.push_back(*like);
        continue;
      }
      const bool is_told = like != nullptr && like->is_valid();
      leaves.push_back(arrays->read(place->second, is_told ? &like->shape() : nullptr));
    }
    return leaves;
  });
}

}  // namespace trace_internal

std::map<std::string, std::string> load_safetensors_metadata(const std::string& path,
                                                             SourceLocation at) {
  constexpr std::string_view kOp = "load_safetensors_metadata";
  const trace_internal::PublicCall call(kOp, at);
  const base::MappedFile file = mapped(kOp, path);
  return opened_safetensors(kOp, path, file).metadata();
}

}  // namespace heddle
