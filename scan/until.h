// scan_until: a scan that may end before its xs do.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/scan/cond.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/public_call.h"

namespace heddle {

template <TensorTree C, TensorTree Y>
struct ScanUntilResult {
  C carry;       // after the last step that ran
  Y ys;          // stacked; zeros behind that step
  Tensor steps;  // s32[], how many steps ran
  static constexpr auto kFields =
      fields(field("carry", &ScanUntilResult::carry), field("ys", &ScanUntilResult::ys),
             field("steps", &ScanUntilResult::steps));
};

namespace scan_internal {

// pred[]: the negation of what `until` gave.
Tensor is_not_yet(const Tensor& until);

template <class Until, class C>
constexpr bool is_until() {
  if constexpr (std::is_invocable_v<Until&, C>) {
    constexpr bool kIsTensor =
        std::is_same_v<std::remove_cvref_t<std::invoke_result_t<Until&, C>>, Tensor>;
    static_assert(kIsTensor, "the until of scan_until returns one Tensor, pred[]");
    return kIsTensor;
  } else {
    static_assert(!is_tree<C>() || std::is_invocable_v<Until&, C>,
                  "the until of scan_until takes (carry), of the type of init");
    return false;
  }
}

}  // namespace scan_internal

// As scan, until a carry is enough: before each step `until(carry)` is asked, and from where it is
// true on no step is made, in the derivative neither.
//
// fn       (carry, x) -> std::pair(carry, y), as of scan
// until    carry -> pred[]: whether to stop; a numeric scalar is compared with zero
// returns  the carry, ys with the size of xs, zeros behind the last step, and the number of steps
// errors   as of scan
// cost     a step that does not run costs the test and the writing of zeros. Forward and reverse
//          mode work, and keep what scan keeps
template <class Fn, class Until, class C, class X = None>
auto scan_until(Fn&& fn, Until&& until, const C& init, const X& xs = {},
                const ScanOptions& options = {}, SourceLocation at = SourceLocation::here()) {
  using namespace scan_internal;
  const trace_internal::HigherOrderCall call("scan_until", at);
  const auto& start = as_tree(init);
  using Carry = std::remove_cvref_t<decltype(start)>;
  if constexpr (!is_until<Until, Carry>() || !std::is_invocable_v<Fn&, Carry, X>) {
    return scan_trees("scan_until", fn, fn, start, xs, options);  // says why
  } else if constexpr (!is_step<Fn, Carry, std::invoke_result_t<Fn&, Carry, X>>()) {
    return start;
  } else {
    using Y = std::tuple_element_t<1, std::remove_cvref_t<std::invoke_result_t<Fn&, Carry, X>>>;
    trace_internal::require_function("step", fn);
    trace_internal::require_function("until", until);
    using State = std::pair<Carry, Tensor>;
    const auto step = [&](State now, X x) {
      std::optional<Y> made;  // from another branch; only the shapes of its tensors are read
      const auto go_on = [&] {
        auto [next, y] = fn(now.first, x);
        const trace_internal::PublicCall own("scan_until", {});
        made = y;
        return std::pair(State(next, now.second + 1), y);
      };
      const auto stay = [&] {
        const trace_internal::PublicCall own("scan_until", {});
        return std::pair(now, tree_map([](const Tensor& y) { return zeros_like(y); }, *made));
      };
      // cond traces its first branch first.
      return cond({is_not_yet(until(now.first)), {}}, go_on, stay);
    };
    const State first(start, as_tree(0));
    auto [last, ys] = scan_trees("scan_until", step, step, first, xs, options);
    return ScanUntilResult<Carry, Y>{last.first, ys, last.second};
  }
}

}  // namespace heddle
