#include "heddle/trace/tree.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"

namespace heddle {

using Kind = TreeSpec::Kind;

std::string path_of_child(const TreeSpec& spec, size_t i) {
  switch (spec.kind) {
    case Kind::kStruct: return base::cat(".", spec.keys[i]);
    case Kind::kMap: return base::cat("['", spec.keys[i], "']");
    case Kind::kTuple:
    case Kind::kVector: return base::cat("[", i, "]");
    case Kind::kLeaf:
    case Kind::kNone:
    case Kind::kStatic:
    case Kind::kMissing: break;
  }
  return "";
}

namespace {

void collect_paths(const TreeSpec& spec, const std::string& prefix, std::vector<std::string>& out) {
  if (spec.kind == Kind::kLeaf) out.push_back(prefix);
  for (size_t i = 0; i < spec.children.size(); ++i)
    collect_paths(spec.children[i], prefix + path_of_child(spec, i), out);
}

// The first key that one of two maps or structs has alone: the other's part is nothing.
std::optional<TreeDifference> lone_key(const TreeSpec& a, const TreeSpec& b,
                                       const std::string& path) {
  for (size_t i = 0; i < a.keys.size(); ++i) {
    if (std::ranges::count(b.keys, a.keys[i]) == 0)
      return TreeDifference{path + path_of_child(a, i), a.children[i], std::nullopt};
  }
  return std::nullopt;
}

std::optional<TreeDifference> difference(const TreeSpec& a, const TreeSpec& b,
                                         const std::string& path) {
  if (a.kind == b.kind && a.keys != b.keys) {
    if (auto found = lone_key(a, b, path)) return found;
    auto found = lone_key(b, a, path);
    if (found) std::swap(found->first, found->second);
    if (found) return found;
  }
  if (a.kind != b.kind || a.keys != b.keys || a.value != b.value ||
      a.children.size() != b.children.size())
    return TreeDifference{path, a, b};
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (auto found = difference(a.children[i], b.children[i], path + path_of_child(a, i)))
      return found;
  }
  return std::nullopt;
}

// "key 'z'", the first of `have` that `want` has not.
std::string strange_key(const TreeSpec& have, const TreeSpec& want) {
  for (const std::string& key : have.keys) {
    if (std::ranges::count(want.keys, key) == 0) return base::cat("key '", key, "'");
  }
  return "";
}

template <class T>
std::string shortest(T value) {
  std::array<char, 64> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

template <class T>
void read(const std::string& text, T& value) {
  std::from_chars(text.data(), text.data() + text.size(), value);
}

}  // namespace

namespace tree_internal {

std::string static_text(bool value) { return value ? "true" : "false"; }
std::string static_text(int64_t value) { return shortest(value); }
std::string static_text(uint64_t value) { return shortest(value); }
std::string static_text(double value) { return shortest(value); }
std::string static_text(long double value) { return shortest(value); }
void read_static(const std::string& text, bool& value) { value = text == "true"; }
void read_static(const std::string& text, int64_t& value) { read(text, value); }
void read_static(const std::string& text, uint64_t& value) { read(text, value); }
void read_static(const std::string& text, double& value) { read(text, value); }
void read_static(const std::string& text, long double& value) { read(text, value); }

void require_alike(std::span<const TreeSpec> specs) {
  for (size_t i = 1; i < specs.size(); ++i) {
    const std::string found = unlike(specs[i], specs[0], base::cat("tree ", i));
    if (!found.empty()) trace_internal::refuse(found, ", as tree 0 is; trees are counted from 0");
  }
}

}  // namespace tree_internal

std::string describe(const TreeSpec& spec) {
  switch (spec.kind) {
    case Kind::kLeaf: return "a tensor";
    case Kind::kNone: return "None";
    case Kind::kMissing: return "an empty optional";
    case Kind::kStatic: return base::cat("the static value ", spec.value);
    case Kind::kTuple: return base::cat("a tuple of ", spec.children.size());
    case Kind::kVector: return base::cat("a vector of ", spec.children.size());
    case Kind::kMap: return base::cat("a map with the keys {", base::join(spec.keys, ", "), "}");
    case Kind::kStruct: return base::cat("a struct {", base::join(spec.keys, ", "), "}");
  }
  return "";
}

void trace_internal::require_values(std::string_view what, std::string_view name,
                                    std::span<const Tensor> leaves,
                                    base::FunctionRef<TreeSpec()> spec) {
  const auto unset = std::ranges::find_if_not(leaves, [](const Tensor& leaf) {
    return leaf.is_valid() && !(leaf.is_traced() && leaf.node()->scope->finished);
  });
  if (unset == leaves.end()) return;
  const std::string path =
      base::cat(name, leaf_paths(spec())[static_cast<size_t>(unset - leaves.begin())]);
  if (unset->is_valid()) throw Error(escaped_error(*unset->node(), what, path));
  const std::string_view why =
      unset->node() ? why_no_value(*unset)
      : path.find("['") != std::string::npos
          ? "has no value: operator[] of a map makes an empty Tensor of a key that is missing; "
            "assign one first, or read the map with .at(..)"
          : "has no value (a default-constructed Tensor); assign one first";
  throw Error(trace_internal::invalid_argument(what, ": ", path, " ", why));
}

size_t leaf_count(const TreeSpec& spec) {
  size_t count = spec.kind == Kind::kLeaf ? 1 : 0;
  for (const TreeSpec& child : spec.children) count += leaf_count(child);
  return count;
}

std::vector<std::string> leaf_paths(const TreeSpec& spec) {
  std::vector<std::string> out;
  collect_paths(spec, "", out);
  return out;
}

TreeDifference tree_difference(const TreeSpec& a, const TreeSpec& b) {
  return difference(a, b, "").value_or(TreeDifference{});
}

std::string first_difference(const TreeSpec& a, const TreeSpec& b, std::string_view in_a,
                             std::string_view in_b) {
  const auto words = [](const std::optional<TreeSpec>& part) {
    return part ? describe(*part) : "nothing";
  };
  const TreeDifference found = tree_difference(a, b);
  return base::cat(found.path, " is ", words(found.first), in_a, " and ", words(found.second),
                   in_b);
}

std::string unlike(const TreeSpec& have, const TreeSpec& want, const std::string& path) {
  const bool keyed = have.kind == want.kind && !have.keys.empty();
  if (const std::string key = keyed ? strange_key(have, want) : ""; !key.empty())
    return base::cat(path, " has ", key, "; it must be ", describe(want));
  if (have.kind != want.kind || have.keys != want.keys || have.value != want.value ||
      have.children.size() != want.children.size())
    return base::cat(path, " is ", describe(have), "; it must be ", describe(want));
  for (size_t i = 0; i < have.children.size(); ++i) {
    std::string found = unlike(have.children[i], want.children[i], path + path_of_child(have, i));
    if (!found.empty()) return found;
  }
  return "";
}

std::string to_string(const TreeSpec& spec) {
  if (spec.kind == Kind::kLeaf) return "*";
  if (spec.kind == Kind::kStatic) return spec.value;
  if (spec.kind == Kind::kNone || spec.kind == Kind::kMissing) return "None";
  bool keyed = !spec.keys.empty();
  std::string out = keyed ? "{" : spec.kind == Kind::kVector ? "[" : "(";
  for (size_t i = 0; i < spec.children.size(); ++i) {
    base::append(out, i > 0 ? ", " : "", keyed ? spec.keys[i] + ": " : "",
                 to_string(spec.children[i]));
  }
  return out + (keyed ? "}" : spec.kind == Kind::kVector ? "]" : ")");
}

}  // namespace heddle
