#include "heddle/placeholder/signature.h"

#include "heddle/base/text/strings.h"

namespace heddle {
namespace {

constexpr size_t kMaxLine = 100;

// "(a, b)" on one line, or each leaf on its own, indented.
std::string list(const std::vector<SignatureLeaf>& leaves, bool one_line) {
  if (one_line || leaves.empty()) return base::cat("(", base::join(leaves, ", "), ")");
  return base::cat("(\n    ", base::join(leaves, ",\n    "), ")");
}

std::string text_of(const Signature& signature, bool one_line) {
  std::string_view gap = one_line ? " " : "\n  ";
  std::string out = base::cat(signature.name, list(signature.arguments, one_line));
  if (!signature.captures.empty())
    base::append(out, gap, "captures ", list(signature.captures, one_line));
  base::append(out, gap, "-> ", list(signature.results, one_line));
  return out;
}

}  // namespace

std::string to_string(const SignatureLeaf& leaf) {
  return leaf.path.empty() ? to_string(leaf.shape) : base::cat(leaf.path, ": ", leaf.shape);
}

std::string to_string(const Signature& signature) {
  std::string line = text_of(signature, true);
  return line.size() <= kMaxLine ? line : text_of(signature, false);
}

}  // namespace heddle
