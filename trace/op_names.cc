#include "heddle/trace/op_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <string>
#include <utility>

#include "heddle/base/text/strings.h"

namespace heddle::trace_internal {
namespace {

using hlo::Opcode;

// Those that have another name than HLO's.
constexpr std::pair<Opcode, std::string_view> kNames[] = {
    {Opcode::kAnd, "bitwise_and"},
    {Opcode::kBroadcast, "broadcast_in_dim"},
    {Opcode::kClz, "clz"},
    {Opcode::kConcatenate, "concat"},
    {Opcode::kConvert, "astype"},
    {Opcode::kConvolution, "conv"},
    {Opcode::kCos, "cos"},
    {Opcode::kExp, "exp"},
    {Opcode::kExpm1, "expm1"},
    {Opcode::kLog1p, "log1p"},
    {Opcode::kNegate, "negative"},
    {Opcode::kNot, "bitwise_not"},
    {Opcode::kOptBarrier, "optimization_barrier"},
    {Opcode::kOr, "bitwise_or"},
    {Opcode::kPopcnt, "population_count"},
    {Opcode::kRemainder, "rem"},
    {Opcode::kReverse, "flip"},
    {Opcode::kRoundAfz, "round_half_away"},
    {Opcode::kRoundEven, "round"},
    {Opcode::kSelect, "where"},
    {Opcode::kSin, "sin"},
    {Opcode::kSort, "sort_by"},
    {Opcode::kXor, "bitwise_xor"}};

std::string named(Opcode opcode) {
  const auto* found =
      std::ranges::find(kNames, opcode, &std::pair<Opcode, std::string_view>::first);
  if (found != std::end(kNames)) return std::string(found->second);
  std::string name(to_string(opcode));
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace

std::string_view user_name(Opcode opcode) {
  static const auto& names = *[] {
    auto* all = new std::array<std::string, hlo::kOpcodeCount>;
    for (size_t i = 0; i < all->size(); ++i) (*all)[i] = named(static_cast<Opcode>(i));
    return all;
  }();
  return names[static_cast<size_t>(opcode)];
}

namespace {

bool stays_in_names(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '-' || c == '.';
}

}  // namespace

std::string program_named(std::string_view name) {
  return name == "main" ? "the program" : base::cat("program ", name);
}

std::string name_in_hlo(std::string_view name) {
  std::string fit(name);
  std::ranges::replace_if(fit, std::not_fn(stays_in_names), '_');
  if (!std::isalpha(static_cast<unsigned char>(fit[0]))) fit.insert(0, 1, '_');
  return fit;
}

}  // namespace heddle::trace_internal
