#include "heddle/trace/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>

#include "heddle/base/strings.h"
#include "heddle/hlo/numpy/npy.h"
#include "heddle/hlo/numpy/npz.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

StatusOr<std::string> read_file(const std::string& path) {
  if (path.empty()) return base::invalid_argument("the path is empty; give a file a name");
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found)
    return base::not_found(path, ": there is no such file");
  if (kind != std::filesystem::file_type::regular)
    return base::not_found(path, ": is no regular file");
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return base::not_found(path, ": cannot be read: ", std::strerror(errno));
  std::string out(static_cast<size_t>(std::max<std::streamoff>(in.tellg(), 0)), '\0');
  in.seekg(0);
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (!in) return base::not_found(path, ": cannot be read to its end");
  return out;
}

// A file that is written in pieces.
class FileWriter {
 public:
  explicit FileWriter(const std::string& path) : path_(path), out_(path, std::ios::binary) {}
  Status write(std::string_view bytes) {
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return check();
  }
  Status close() {
    out_.close();
    return check();
  }

 private:
  Status check() {
    if (path_.empty()) return base::invalid_argument("the path is empty; give the file a name");
    if (out_) return {};
    return base::make_error(StatusCode::kUnavailable, path_,
                            ": cannot be written: ", std::strerror(errno));
  }
  std::string path_;
  std::ofstream out_;
};

Literal downloaded(const Tensor& x, const std::string& op, SourceLocation at) {
  const runtime::BufferPtr buffer = trace_internal::buffer_of(x, op, at);
  return value_or_throw(runtime::to_host(*buffer, op), at);
}

// A file that takes more memory than there is is an error too.
template <class Read>
auto with_room(std::string_view op, const std::string& path, SourceLocation at, Read&& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw Error(base::resource_exhausted(op, ": ", path, ": takes more memory than there is"), at);
  }
}

void add_names(const TreeSpec& spec, const std::string& path, bool is_top,
               std::vector<std::string>& out) {
  using Kind = TreeSpec::Kind;
  if (spec.kind == Kind::kLeaf) out.push_back(is_top ? "arr_0" : path);
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const bool has_key = spec.kind == Kind::kStruct || spec.kind == Kind::kMap;
    add_names(spec.children[i],
              has_key ? trace_internal::key_name(path, is_top, spec.keys[i])
                      : trace_internal::item_name(path, is_top, i),
              false, out);
  }
}

std::vector<std::string> names_of(const TreeSpec& spec) {
  std::vector<std::string> out;
  add_names(spec, "", true, out);
  return out;
}

// "'b', 'w'": at most 8 of them.
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 8); ++i)
    base::append(out, i == 0 ? "'" : ", '", names[i].substr(0, 80), "'");
  if (names.size() > 8) base::append(out, " and ", names.size() - 8, " more");
  return out.empty() ? "no arrays" : out;
}

void refuse_static_fields(const TreeSpec& spec, const std::string& path, SourceLocation at) {
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const std::string key =
        spec.keys.empty() ? base::cat("[", i, "]") : base::cat(".", spec.keys[i]);
    if (spec.children[i].kind == TreeSpec::Kind::kStatic)
      throw Error(
          base::invalid_argument("load_npz: the tree's ", (path + key).substr(1),
                                 " is a static field, which no file has; say what it is with "
                                 "load_npz(path, like)"),
          at);
    refuse_static_fields(spec.children[i], path + key, at);
  }
}

Tensor loaded(const Literal& literal, const std::string& op, SourceLocation at) {
  if (trace_internal::Recorder::current() != nullptr) return array(literal, at);
  Device& device = *value_or_throw(runtime::find_default_device(), at);
  return trace_internal::tensor_of(value_or_throw(runtime::to_device(device, literal, op), at), at);
}

}  // namespace

void save_npy(const std::string& path, const Tensor& x, SourceLocation at) {
  const trace_internal::PublicCall call("save_npy", at);
  const Literal value = downloaded(x, "save_npy", at);
  const std::string header = value_or_throw<std::string>(hlo::npy_header(value.shape()), at);
  FileWriter file(path);
  Status status = file.write(header);
  if (status.ok())
    status = file.write(
        {reinterpret_cast<const char*>(value.bytes()), static_cast<size_t>(value.byte_size())});
  if (status.ok()) status = file.close();
  throw_if_error(base::annotate(status, "save_npy: "), at);
}

Tensor load_npy(const std::string& path, std::optional<DType> dtype, SourceLocation at) {
  const trace_internal::PublicCall call("load_npy", at);
  const Literal literal = with_room("load_npy", path, at, [&] {
    StatusOr<std::string> bytes = read_file(path);
    throw_if_error(base::annotate(bytes.status(), "load_npy: "), at);
    StatusOr<Literal> out = hlo::read_npy(*bytes, dtype);
    if (!out.ok() && bytes->starts_with("PK"))
      throw Error(
          base::invalid_argument("load_npy: ", path, ": is a .npz archive; load it with load_npz"),
          at);
    throw_if_error(base::annotate(out.status(), "load_npy: ", path, ": "), at);
    return *std::move(out);
  });
  return loaded(literal, "load_npy", at);
}

namespace trace_internal {

std::string item_name(const std::string& path, bool is_top, size_t i) {
  return is_top ? base::cat("arr_", i) : base::cat(path, "[", i, "]");
}

std::string key_name(const std::string& path, bool is_top, const std::string& key) {
  return is_top ? key : base::cat(path, ".", key);
}

StoredNames::StoredNames(std::vector<std::string> names, SourceLocation at)
    : names_(std::move(names)), at_(at) {
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
        base::invalid_argument("load_npz: a name in the file has more than ", kDeepest, " parts"),
        at_);
}

void save_leaves(const std::string& path, const TreeSpec& spec, std::span<const Tensor> leaves,
                 const SaveOptions& options, SourceLocation at) {
  const std::vector<std::string> names = names_of(spec), paths = leaf_paths(spec);
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!seen.insert(names[i]).second)
      throw Error(base::invalid_argument("save_npz: x", paths[i], " has the name '", names[i],
                                         "' in the file, as another has; rename a key"),
                  at);
  }
  std::vector<hlo::NamedLiteral> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::string op = paths[i].empty() ? "save_npz" : base::cat("save_npz of x", paths[i]);
    arrays.push_back({names[i], downloaded(leaves[i], op, at)});
  }
  FileWriter file(path);
  Status status = file.write("");
  if (status.ok())
    status = hlo::write_npz(arrays, options.compress,
                            [&](std::string_view bytes) { return file.write(bytes); });
  if (status.ok()) status = file.close();
  throw_if_error(base::annotate(status, "save_npz: "), at);
}

std::vector<Tensor> load_leaves(const std::string& path,
                                base::FunctionRef<TreeSpec(const StoredNames&)> spec_of,
                                TreeSpec& spec, std::span<const Tensor> like, SourceLocation at) {
  return with_room("load_npz", path, at, [&] {
    StatusOr<std::string> bytes = read_file(path);
    throw_if_error(base::annotate(bytes.status(), "load_npz: "), at);
    StatusOr<hlo::NpzReader> opened = hlo::NpzReader::open(*bytes);
    throw_if_error(base::annotate(opened.status(), "load_npz: ", path, ": "), at);
    std::vector<std::string> there = opened->names();
    spec = spec_of(StoredNames(there, at));
    if (like.empty()) refuse_static_fields(spec, "", at);
    const std::vector<std::string> names = names_of(spec);
    std::map<std::string_view, size_t> places;
    for (size_t i = 0; i < there.size(); ++i) places.emplace(there[i], i);
    std::vector<size_t> order;
    for (const std::string& name : names) {
      const auto found = places.find(name);
      if (found == places.end())
        throw Error(base::invalid_argument("load_npz: ", path, ": has no array '", name,
                                           "'; it has ", listed(there)),
                    at);
      order.push_back(found->second);
    }
    const std::set<std::string_view> used(names.begin(), names.end());
    for (const std::string& name : there) {
      if (!used.contains(name))
        throw Error(
            base::invalid_argument("load_npz: ", path, ": has the array '", name.substr(0, 80),
                                   "', for which the tree has no place; it has ", listed(names)),
            at);
    }
    if (used.size() != names.size())
      throw Error(
          base::invalid_argument("load_npz: two leaves of the tree have one name; rename a key"),
          at);
    std::vector<Tensor> leaves;
    for (size_t i = 0; i < names.size(); ++i) {
      const bool is_told = i < like.size() && like[i].is_valid();
      StatusOr<Literal> value =
          opened->read(order[i], is_told ? std::optional(like[i].dtype()) : std::optional<DType>());
      throw_if_error(base::annotate(value.status(), "load_npz: ", path, ": "), at);
      if (is_told && !same_type(value->shape(), like[i].shape()))
        throw Error(
            base::invalid_argument("load_npz: ", path, ": ", names[i], " is ", value->shape(),
                                   "; it must be ", like[i].shape(), " as in the tree given"),
            at);
      leaves.push_back(loaded(*value, base::cat("load_npz of ", names[i]), at));
    }
    return leaves;
  });
}

}  // namespace trace_internal

}  // namespace heddle
