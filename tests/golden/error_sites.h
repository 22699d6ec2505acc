// Where the shape rules write their errors: read from the sources, so that none is without a golden
// file.
#pragma once

#include <string>
#include <vector>

namespace heddle::golden {

// One `in.error(a, " is ", b, "; must be an array")`.
struct ErrorSite {
  std::string file;
  int line = 0;
  // The texts, in order; "" stands for a value between them.
  std::vector<std::string> parts;
};

// The sites in the *.cc and *.h of a folder, tests left out.
std::vector<ErrorSite> error_sites_in(const std::string& folder);

// Whether the site can have written this message, which begins with "op: ".
bool can_write(const ErrorSite& site, const std::string& message);

}  // namespace heddle::golden
