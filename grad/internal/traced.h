// One trace of a function that is differentiated.
#pragma once

#include <span>
#include <vector>

#include "heddle/grad/flat.h"
#include "heddle/scan/combine_cache.h"

namespace heddle::grad_internal {

// Its module, the structure of its result, and what it captured.
struct Trace {
  scan_internal::Fragment module;
  TreeSpec spec;
  std::vector<Shape> results;
  std::vector<Tensor> captures;
};

// `like`: what the first arguments stand for, for shardings and errors.
Trace traced(const FlatFunction& fn, const std::vector<Shape>& arguments,
             std::span<const Tensor> like);

}  // namespace heddle::grad_internal
