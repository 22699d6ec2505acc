#include "heddle/cpu/inspect.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <mutex>

#include "heddle/base/text/strings.h"

namespace heddle::cpu {
namespace {

Status not_written(const std::string& path) {
  return base::make_error(StatusCode::kUnavailable, "cpu: ", path, " cannot be written");
}

}  // namespace

Status name_for_perf(const std::string& name, const std::vector<CodeRange>& ranges) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::string path = base::cat("/tmp/perf-", getpid(), ".map");
  std::ofstream out(path, std::ios::app);
  for (const CodeRange& range : ranges) {
    char place[64];
    std::snprintf(place, sizeof place, "%lx %lx", reinterpret_cast<unsigned long>(range.begin),
                  static_cast<unsigned long>(range.bytes));
    out << place << " heddle:" << name << " " << range.origin << "\n";
  }
  return out.flush() ? Status() : not_written(path);
}

}  // namespace heddle::cpu
