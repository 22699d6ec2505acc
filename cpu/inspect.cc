#include "heddle/cpu/inspect.h"

#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "heddle/base/strings.h"

namespace heddle::cpu {
namespace {

Status not_written(const std::string& path) {
  return base::make_error(StatusCode::kUnavailable, "cpu: ", path, " cannot be written");
}

std::string as_file_name(std::string name) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return name;
}

}  // namespace

Status dump(const std::string& folder, const std::string& name, const std::vector<Stage>& stages) {
  static std::atomic<int> next{1};
  char number[16];
  std::snprintf(number, sizeof number, "%04d", next.fetch_add(1));
  std::error_code ignored;  // writing tells
  std::filesystem::create_directories(folder, ignored);
  for (const Stage& stage : stages) {
    const std::string path =
        base::cat(folder, "/", number, "-", as_file_name(name), ".", stage.ending);
    std::ofstream out(path, std::ios::binary);
    if (!(out << stage.text << std::flush)) return not_written(path);
  }
  return {};
}

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
