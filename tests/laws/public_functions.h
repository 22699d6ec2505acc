// The functions of the public headers, as tests/layers/public_functions.py reads them.
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
  std::string path;     // "trace/ops/elementwise/elementwise.h"
  std::string summary;  // the first sentence of its first comment
  std::vector<PublicFunction> functions;
};

// The headers that heddle.h includes from these folders, "trace scan", in its order, with the free
// functions of their public namespaces. None where there is no python3.
std::vector<PublicHeader> public_headers(const std::string& folders);

}  // namespace heddle::laws
