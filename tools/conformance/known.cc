#include "heddle/tools/conformance/known.h"

#include <fstream>

namespace heddle::conformance {

StatusOr<std::map<std::string, std::string>> read_known(const std::string& path) {
  std::ifstream in(path);
  if (!in) return base::not_found(path, ": cannot be read");
  std::map<std::string, std::string> out;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const size_t tab = line.find('\t');
    if (tab == 0 || tab == std::string::npos || tab + 1 == line.size())
      return base::invalid_argument(path, ":", number, ": must be a name, a tab and a cause");
    if (!out.emplace(line.substr(0, tab), line.substr(tab + 1)).second)
      return base::invalid_argument(path, ":", number, ": ", line.substr(0, tab),
                                    " stands here twice");
  }
  return out;
}

}  // namespace heddle::conformance
