#include "heddle/tools/conformance/known.h"

#include <cmath>
#include <cstdlib>
#include <fstream>

namespace heddle::conformance {
namespace {

constexpr std::string_view kByTheProcessor = "by the processor";

}  // namespace

std::optional<double> bound_by_the_processor(std::string_view cause) {
  constexpr std::string_view kWithin = ", within ";
  if (!cause.starts_with(kByTheProcessor)) return std::nullopt;
  cause.remove_prefix(kByTheProcessor.size());
  if (!cause.starts_with(kWithin)) return std::nullopt;
  const std::string rest(cause.substr(kWithin.size()));
  char* end = nullptr;
  const double bound = std::strtod(rest.c_str(), &end);
  if (*end != ':' || !std::isfinite(bound) || bound <= 0) return std::nullopt;
  return bound;
}

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
    const std::string_view cause = std::string_view(line).substr(tab + 1);
    if (cause.starts_with(kByTheProcessor) && !bound_by_the_processor(cause)) {
      return base::invalid_argument(path, ":", number,
                                    ": must say the bound: by the processor, within 1e-6: ..");
    }
    if (!out.emplace(line.substr(0, tab), line.substr(tab + 1)).second)
      return base::invalid_argument(path, ":", number, ": ", line.substr(0, tab),
                                    " stands here twice");
  }
  return out;
}

}  // namespace heddle::conformance
