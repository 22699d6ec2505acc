#include "heddle/transform/dump.h"

#include <atomic>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "heddle/base/settings.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"

namespace heddle::transform {
namespace {

constexpr size_t kMostLetters = 100;  // of a name: file systems take no more than 255

std::string as_file_name(std::string name) {
  if (name.size() > kMostLetters) name.resize(kMostLetters);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return name;
}

}  // namespace

Status dump(const std::string& folder, const std::string& name,
            const std::vector<DumpedStage>& stages) {
  static std::atomic<int> next{1};
  char number[16];
  std::snprintf(number, sizeof number, "%04d", next.fetch_add(1));
  std::error_code ignored;  // the write tells
  std::filesystem::create_directories(folder, ignored);
  for (const DumpedStage& stage : stages) {
    const std::string path =
        base::cat(folder, "/", number, "-", as_file_name(name), ".", stage.ending);
    std::ofstream out(path, std::ios::binary);
    if (!(out << stage.text << std::flush))
      return base::make_error(StatusCode::kUnavailable, "dump: ", path, " cannot be written");
  }
  return {};
}

std::string text_of_dump(const hlo::Module& module) {
  return hlo::print(module, {.form = hlo::PrintOptions::Form::kShort,
                             .line_comments = true,
                             .max_constant_elements = 16});
}

std::string dump_folder() { return setting<Setting::kDump>(); }

Status dump_step(std::string_view step, const hlo::Module& before, const hlo::Module& after) {
  const std::string folder = dump_folder();
  if (folder.empty()) return {};
  return dump(folder, before.name,
              {{base::cat(step, ".0-before.hlo"), text_of_dump(before)},
               {base::cat(step, ".1-after.hlo"), text_of_dump(after)}});
}

StatusOr<hlo::Module> dumped(std::string_view step, const hlo::Module& before,
                             StatusOr<hlo::Module> after) {
  if (after.ok()) HEDDLE_RETURN_IF_ERROR(dump_step(step, before, *after));
  return after;
}

}  // namespace heddle::transform
