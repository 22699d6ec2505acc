#include "heddle/hlo/text/internal/names.h"

#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/dtype.h"

namespace heddle::hlo::text {
namespace {

constexpr std::string_view kReserved[] = {"true",
                                          "false",
                                          "inf",
                                          "nan",
                                          "HloModule",
                                          "ENTRY",
                                          "ROOT",
                                          "FileNames",
                                          "FunctionNames",
                                          "FileLocations",
                                          "StackFrames",
                                          "replicated",
                                          "maximal",
                                          "manual",
                                          "unknown",
                                          "unreduced",
                                          "last_tile_dim_replicate",
                                          "shard_as",
                                          "shard_like"};

bool is_reserved(std::string_view name) {
  auto dtype = parse_dtype(name);
  bool is_type = dtype && *dtype != DType::kTuple &&
                 *dtype != DType::kBuffer;  // tuples have no word, buffers need a '('
  return is_type || std::ranges::find(kReserved, name) != std::end(kReserved);
}

bool can_start(char c) { return is_word(std::string_view(&c, 1)); }
bool can_follow(char c) { return is_word(std::string{'_', c}); }

std::string to_word(std::string_view name) {
  if (is_word(name)) return std::string(name);
  std::string word;
  if (name.empty() || !can_start(name[0])) word.push_back('_');
  for (char c : name) word.push_back(can_follow(c) ? c : '_');
  return word;
}

}  // namespace

bool Names::is_printable(std::string_view name) const {
  return is_word(name) && !(reserved_words_ && is_reserved(name));
}

void Names::add(std::string_view wanted) {
  names_.push_back(is_printable(wanted) && unique_.take(wanted) ? wanted : std::string_view());
}

void Names::make(size_t i, std::string_view wanted) {
  std::string base = to_word(wanted);
  if (!is_printable(base)) base.push_back('_');
  names_[i] = unique_.make(std::move(base));
}

void Names::number(std::string_view prefix, size_t count) {
  for (size_t i = 0; i < count; ++i) names_.push_back(numbered_.emplace_back(base::cat(prefix, i)));
}

}  // namespace heddle::hlo::text
