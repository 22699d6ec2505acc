// The functions of the public headers, read from their text: a parser of our own header style and
// no other (clang-format's layout; comments before a declaration, or behind it on its last line). A
// comment is of the declaration that follows and of its overloads; no other takes it.
#pragma once

#include <string>
#include <vector>

namespace heddle::laws {

struct PublicFunction {
  std::string name;       // "exp", "special::erfc"
  std::string signature;  // "Tensor exp(Operand x)"
  std::string summary;    // the first sentence of its comment; empty where it has none
};

struct PublicHeader {
  std::string path;     // "trace/ops/elementwise.h"
  std::string summary;  // the first sentence of its first comment
  std::vector<PublicFunction> functions;
};

// The headers that heddle.h includes from these folders, in its order, with the free functions of
// their public namespaces. Reads files below the working folder.
std::vector<PublicHeader> public_headers(const std::vector<std::string>& folders);

// Of one header's text.
PublicHeader parse_header(const std::string& path, const std::string& text);

}  // namespace heddle::laws
