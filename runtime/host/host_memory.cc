#include "heddle/runtime/host/host_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace heddle::runtime {
namespace {

using Bytes = std::optional<int64_t>;

// The files of a control group that say its memory.
struct Files {
  std::string_view folder;
  std::string_view limit;
  std::string_view usage;
  std::string_view cache;  // in memory.stat: what the kernel takes back before it refuses
};
constexpr Files kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                          "total_inactive_file"};
constexpr Files kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

Bytes number_in(const std::string& path) {
  std::ifstream in(path);
  int64_t number = 0;
  if (in >> number) return number;  // "max" is none
  return std::nullopt;
}

// The number that follows the word at the begin of a line.
Bytes number_after(std::string_view word, const std::string& path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(word)) continue;
    std::istringstream words(line);
    std::string first;
    int64_t number = 0;
    if (words >> first >> number && first == word) return number;
  }
  return std::nullopt;
}

Bytes least(Bytes a, Bytes b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() ? a : b;
  return std::min(*a, *b);
}

// What one group leaves.
Bytes left_in(const std::string& folder, const Files& files) {
  const auto file = [&](std::string_view name) { return folder + "/" + std::string(name); };
  const Bytes limit = number_in(file(files.limit)), usage = number_in(file(files.usage));
  if (!limit.has_value() || !usage.has_value()) return std::nullopt;
  const int64_t cache = number_after(files.cache, file("memory.stat")).value_or(0);
  const int64_t used = std::max<int64_t>(*usage - cache, 0);
  return std::max<int64_t>(*limit - used, 0);
}

// What a group and those above it leave. In a container the group's name may be one of the
// machine's, which is not there; the topmost folder is the container's own then.
Bytes left_in_groups(const std::string& root, std::string group, const Files& files) {
  Bytes left;
  while (true) {
    left = least(left, left_in(root + std::string(files.folder) + group, files));
    if (group.empty()) return left;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

// Lines as "0::/group" of version 2, "4:memory:/group" of version 1.
Bytes left_by_groups(const std::string& root) {
  Bytes left;
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (kinds == ",,") left = least(left, left_in_groups(root, group, kVersion2));
    if (kinds.find(",memory,") != std::string::npos)
      left = least(left, left_in_groups(root, group, kVersion1));
  }
  return left;
}

}  // namespace

std::optional<int64_t> available_host_memory(const std::string& root) {
  Bytes free = number_after("MemAvailable:", root + "/proc/meminfo");
  if (free.has_value()) *free *= 1024;
  return least(free, left_by_groups(root));
}

int64_t host_bytes_in_flight(int devices) {
  const Bytes available = available_host_memory();
  if (!available.has_value()) return INT64_MAX;
  return std::max<int64_t>(*available / 2 / std::max(devices, 1), 1);
}

}  // namespace heddle::runtime
