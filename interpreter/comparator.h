// Recognising what a sort's comparator compares, so that most sorts need no call per comparison.
//
// Known form: a lexicographic order of keys, where each key is the same elementwise expression of
// the left and of the right row.
// With L(k) = compare(f(left), f(right)), LT or GT, and E(k) = the same with EQ:
//   order(k, rest) = L(k)  |  or(L(k), and(E(k), rest))  |  select(E(k), rest, L(k))
// Of floats, L and E may say what encode() makes of NaN. With N(x) = compare(x, x), NE:
//   L'(k) = or(L(k), and(N(greater), not(N(less))))    E'(k) = or(E(k), and(N(left), N(right)))
// JAX's comparators are of this form: f maps -0 to +0 and every NaN to one, and the comparison is
// TOTALORDER. Those of numpy's sort, argsort, lexsort and top_k have L' and E'.
#pragma once

#include <optional>
#include <vector>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::interpreter {

using namespace hlo;

struct SortKey {
  InstructionId left;  // f of the left elements, which are the even parameters
  bool is_descending = false;
  bool is_total_order = false;  // floats: bits decide; else -0 equals +0
};

// The keys, the first deciding first. Nothing where the comparator has another form.
std::optional<std::vector<SortKey>> sort_keys(const Computation& comparator);

// Numbers whose unsigned order is the order of the key's values: total order, or numeric with any
// NaN above all numbers.
std::vector<uint64_t> encode(const Literal& values, const SortKey& key);

}  // namespace heddle::interpreter
