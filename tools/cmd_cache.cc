// heddle cache: the programs on disk.
#include <cstdio>
#include <ctime>
#include <memory>

#include "CLI/CLI.hpp"
#include "heddle/runtime/cache/disk_cache.h"
#include "heddle/tools/command.h"
#include "heddle/tools/number_options.h"

namespace heddle::tools {
namespace {

using runtime::DiskCache;

long long number(int64_t value) { return static_cast<long long>(value); }

// Calls use(cache) with the cache of the environment. No cache, or a missing folder, is no error.
template <class Use>
Status with_cache(const Use& use) {
  HEDDLE_ASSIGN_OR_RETURN(runtime::DiskCacheOptions options, runtime::disk_cache_options());
  std::printf("%s, at most %lld bytes\n", options.folder.c_str(), number(options.capacity_bytes));
  DiskCache cache(std::move(options));
  Status status = use(cache);
  if (status.code() != StatusCode::kNotFound) return status;
  std::printf("0 programs, 0 bytes\n");
  return {};
}

std::string time_of(int64_t seconds) {
  const time_t time = seconds;
  tm parts{};
  char text[32] = {};
  if (localtime_r(&time, &parts) == nullptr) return "?";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

Status list() {
  return with_cache([](const DiskCache& cache) -> Status {
    HEDDLE_ASSIGN_OR_RETURN(const auto entries, cache.entries());
    int64_t bytes = 0;
    for (const DiskCache::Entry& entry : entries) {
      bytes += entry.bytes;
      std::printf("%s  %s %10lld bytes  %s\n", entry.name.c_str(), time_of(entry.used_at).c_str(),
                  number(entry.bytes),
                  entry.problem.empty() ? entry.about.c_str() : entry.problem.c_str());
    }
    std::printf("%zu programs, %lld bytes\n", entries.size(), number(bytes));
    return {};
  });
}

// code: 1 if a damaged file stays.
Status verify(bool removes, int& code) {
  return with_cache([&](DiskCache& cache) -> Status {
    HEDDLE_ASSIGN_OR_RETURN(const auto entries, cache.entries());
    size_t whole = 0;
    for (const DiskCache::Entry& entry : entries) {
      if (entry.problem.empty()) {
        ++whole;
        continue;
      }
      std::printf("%s  %s%s\n", entry.name.c_str(), entry.problem.c_str(),
                  removes ? "; removed" : "");
      if (removes) {
        HEDDLE_RETURN_IF_ERROR(cache.remove(entry.name));
      } else {
        code = 1;
      }
    }
    std::printf("%zu programs whole, %zu not\n", whole, entries.size() - whole);
    return {};
  });
}

Status prune(int64_t most_bytes) {
  return with_cache([&](DiskCache& cache) -> Status {
    const int64_t most = most_bytes >= 0 ? most_bytes : cache.options().capacity_bytes;
    HEDDLE_ASSIGN_OR_RETURN(const DiskCache::Size removed, cache.prune(most));
    HEDDLE_ASSIGN_OR_RETURN(const DiskCache::Size left, cache.size());
    std::printf("%lld %s removed, %lld bytes; %lld left, %lld bytes\n", number(removed.files),
                removed.files == 1 ? "program" : "programs", number(removed.bytes),
                number(left.files), number(left.bytes));
    return {};
  });
}

}  // namespace

void add_cache_command(CLI::App& app, int& code) {
  CLI::App* command =
      app.add_subcommand("cache", "Lists, verifies and prunes the programs kept on disk");
  command->require_subcommand(1);
  command->add_subcommand("list", "Lists them, the last used first")->callback([&code] {
    code = report(list());
  });

  auto removes = std::make_shared<bool>(false);
  CLI::App* verifies = command->add_subcommand(
      "verify", "Reads each of them; 1 is the exit status where one is not whole");
  verifies->add_flag("--remove", *removes, "remove those that are not whole");
  verifies->callback([removes, &code] {
    const Status status = verify(*removes, code);
    if (!status.ok()) code = report(status);
  });

  auto most_bytes = std::make_shared<int64_t>(-1);
  CLI::App* prunes = command->add_subcommand("prune", "Removes the least recently used ones");
  prunes
      ->add_option("--bytes", *most_bytes,
                   "what may be left; else the cache's capacity, $HEDDLE_CACHE_BYTES")
      ->check(at_least(0, INT64_MAX));
  prunes->callback([most_bytes, &code] { code = report(prune(*most_bytes)); });
  command->add_subcommand("clear", "Removes all of them")->callback([&code] {
    code = report(prune(0));
  });
}

}  // namespace heddle::tools
