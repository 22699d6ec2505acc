// Tracing the bodies of loops and branches, through the combine cache. Private to scan/.
#pragma once

#include <string>
#include <vector>

#include "heddle/scan/body.h"
#include "heddle/scan/combine_cache.h"

namespace heddle::scan_internal {

struct BodyRequest {
  std::string_view what;  // "scan", "while_loop condition": names the trace in errors and in HLO
  const void* kind;       // tag: one callable has a body for each kind
  const Callable& callable;
  std::string structure;  // of the argument trees, and everything else that the trace depends on
  std::span<const Shape> parameters;
  bool returns_captures = false;      // the root is a tuple of the results and then the captures
  std::span<const Tensor> init = {};  // behind the last parameters: errors name its C++ numbers
  std::string_view result = {};  // the name of its result in errors; "": the callable checked it
  uint64_t variant = 0;          // which trace, where one call traces the callable at several sizes
};

// Level 1, or a trace and then level 2. Counts traces and combine_hits. After a trace it calls
// `check`, which throws if the loop cannot use the results; such a trace is not kept. The
// computation of a named Function has its name, also if an equal one has another.
BodyPtr body_for(BodyRequest request, base::FunctionRef<void(const Body&)> check);

// Types of tensors; Error if one has no value.
std::vector<Shape> shapes_of(std::span<const Tensor> tensors, std::string_view what);

// Throws unless a step returned the carry's structure and types. `name` is "carry" or the like.
void check_carry(std::string_view what, std::string_view name, const Argument& in,
                 const TreeSpec& out, std::span<const Shape> out_shapes);

// The same for the leaves that a step returned; checks also that each of them has a value.
void check_step(std::string_view what, std::string_view name, const Argument& in,
                const TreeSpec& out, std::span<const Tensor> leaves);

// The fragment behind one tuple parameter (`width` arrays): calls it with the elements listed in
// `pick`, and gives its result (a tuple), or for kBare the result's only element. `through`:
// elements of the state appended to the result unchanged.
Fragment on_tuple(const Fragment& fragment, const std::vector<Shape>& state,
                  const std::vector<size_t>& pick, const std::vector<size_t>& through, bool bare);

}  // namespace heddle::scan_internal
