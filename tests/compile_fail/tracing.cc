// What trace cannot trace.
#include "heddle/heddle.h"

using namespace heddle;

// case trace_of_void: a traced function returns a tree of Tensors, or None{}
auto nothing(Tensor x) {
#ifdef trace_of_void
  return trace([](Tensor) {}, x);
#else
  return trace([](Tensor) { return None{}; }, x);
#endif
}

// case trace_arity: trace(fn, x, y) calls fn(x, y)
auto arity(Tensor x) {
#ifdef trace_arity
  return trace([](Tensor a) { return a; }, x, x);
#else
  return trace([](Tensor a, Tensor b) { return a + b; }, x, x);
#endif
}

// case trace_of_reference: write Tensor x or const Tensor& x for Tensor& x
auto by_reference(Tensor x) {
#ifdef trace_of_reference
  return trace([](Tensor& a) { return a; }, x);
#else
  return trace([](const Tensor& a) { return a; }, x);
#endif
}

// case trace_of_int: write Tensor i for int i
auto of_int(Tensor x) {
#ifdef trace_of_int
  return trace([](Tensor a, int n) { return a * n; }, x, x);
#else
  return trace([](Tensor a, Tensor n) { return a * n; }, x, x);
#endif
}

// case trace_of_no_function: trace(fn, x, y) calls fn(x, y)
auto value(Tensor x) {
#ifdef trace_of_no_function
  return trace(x, x);
#else
  return trace([](Tensor a) { return a; }, x);
#endif
}

// case trace_number: an argument of trace is a tree of Tensors
auto number(Tensor x) {
#ifdef trace_number
  return trace([](Tensor a, int n) { return a * n; }, x, 3);
#else
  return trace([n = 3](Tensor a) { return a * n; }, x);
#endif
}

// case trace_tied: write std::pair(..) or std::tuple(..) for std::tie(..)
auto tied(Tensor x) {
#ifdef trace_tied
  return trace([](Tensor a) { return std::tie(a, a); }, x);
#else
  return trace([](Tensor a) { return std::pair(a, a); }, x);
#endif
}

// case trace_reference: the function returns a reference, perhaps to a variable of its own
auto reference(Tensor x) {
#ifdef trace_reference
  return trace([](Tensor a) -> decltype(auto) { return a += 1; }, x);
#else
  return trace([](Tensor a) { return a += 1; }, x);
#endif
}

// case trace_to_number: a traced function returns a tree of Tensors
auto to_number(Tensor x) {
#ifdef trace_to_number
  return trace([](Tensor) { return 3; }, x);
#else
  return trace([](Tensor) { return scalar(3); }, x);
#endif
}

// case mapped_tied: write std::pair(..) or std::tuple(..) for std::tie(..)
auto mapped(Tensor x, Mesh mesh) {
#ifdef mapped_tied
  return shard_map([](Tensor a) { return std::tie(a, a); }, mesh, {{"data"}}, {{"data"}})(x);
#else
  return shard_map([](Tensor a) { return std::pair(a, a); }, mesh, {{"data"}}, {{"data"}})(x);
#endif
}

// case mapped_arity: trace(fn, x, y) calls fn(x, y)
auto mapped_two(Tensor x, Mesh mesh) {
#ifdef mapped_arity
  return shard_map([](Tensor a) { return a; }, mesh, {{"data"}}, {{"data"}})(x, x);
#else
  return shard_map([](Tensor a) { return a; }, mesh, {{"data"}}, {{"data"}})(x);
#endif
}

// case named_reference (16 lines): the function returns a reference, perhaps to a variable
auto named(Tensor x) {
#ifdef named_reference
  return map(Function("f", [](Tensor a) -> decltype(auto) { return a += 1; }), x);
#else
  return map(Function("f", [](Tensor a) { return a += 1; }), x);
#endif
}
