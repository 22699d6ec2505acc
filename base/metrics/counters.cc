#include "heddle/base/metrics/counters.h"

#include <array>
#include <atomic>

#include "heddle/base/text/strings.h"

namespace heddle {
namespace {

constexpr size_t kCount = kFieldCount<Counters>;
static_assert(sizeof(Counters) == kCount * sizeof(int64_t), "a counter is one int64_t");

// The one piece of mutable global state in base/: totals that only grow.
std::array<std::atomic<int64_t>, kCount>& totals() {
  static std::array<std::atomic<int64_t>, kCount> values{};
  return values;
}

size_t index_of(int64_t Counters::*which) {
  static const Counters kProbe;
  return static_cast<size_t>(&(kProbe.*which) - &kProbe.traces);
}

}  // namespace

void count(int64_t Counters::*which, int64_t amount) {
  totals()[index_of(which)].fetch_add(amount, std::memory_order_relaxed);
}

Counters counters() {
  Counters out;
  size_t i = 0;
  for_each_field(out, [&](std::string_view, int64_t& value) {
    value = totals()[i++].load(std::memory_order_relaxed);
  });
  return out;
}

Counters operator-(const Counters& after, const Counters& before) {
  Counters out;
  std::apply(
      [&](const auto&... f) { ((out.*(f.member) = after.*(f.member) - before.*(f.member)), ...); },
      Counters::kFields);
  return out;
}

std::string to_string(const Counters& counters) {
  std::string out;
  for_each_field(counters, [&](std::string_view name, int64_t value) {
    base::append(out, out.empty() ? "" : ", ", name, " ", value);
  });
  return out;
}

}  // namespace heddle
