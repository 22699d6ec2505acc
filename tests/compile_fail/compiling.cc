// Arguments and functions that compile() cannot take, and optimizers without a rate.
#include "heddle/heddle.h"

using namespace heddle;

// case number_as_argument: write scalar(float(x)) for a C++ number that changes, and Static{x}
auto numbers(Tensor x) {
  auto scale = compile([](Tensor v, Static<int> n) { return v * int(n); });
#ifdef number_as_argument
  return scale(x, 3);
#else
  return scale(x, Static{3});
#endif
}

// case keeps_state: a compiled function keeps no state of its own
auto state(Tensor x) {
#ifdef keeps_state
  return compile([n = 0](Tensor v) mutable { return v + ++n; })(x);
#else
  return compile([](Tensor v, Tensor n) { return std::pair(v + n, n + 1); })(x, x);
#endif
}

// case returns_a_number: a traced function returns a tree of Tensors
auto returns(Tensor x) {
#ifdef returns_a_number
  return compile([](Tensor) { return 3; })(x);
#else
  return compile([](Tensor) { return scalar(3); })(x);
#endif
}

// case rule_without_tuples: the rule of custom_jvp takes (std::tuple of the arguments
auto rules(Tensor x) {
#ifdef rule_without_tuples
  return custom_jvp([](Tensor v) { return v; }, [](Tensor v, Tensor) { return v; })(x);
#else
  return custom_jvp([](Tensor v) { return v; },
                    [](std::tuple<Tensor> v, std::tuple<Tensor> dv) {
                      return std::pair(std::get<0>(v), std::get<0>(dv));
                    })(x);
#endif
}

// case until_of_a_number: the until of scan_until returns one Tensor, pred[]
auto until(Tensor x) {
  auto step = [](Tensor c, Tensor v) { return std::pair(c + v, None{}); };
#ifdef until_of_a_number
  return scan_until(step, [](Tensor) { return true; }, zeros({}), x).carry;
#else
  return scan_until(step, [](Tensor c) { return c > 1; }, zeros({}), x).carry;
#endif
}

// case nine_arguments (60 lines): no match | call to
Tensor sum_of_nine(Tensor x) {
  auto f = compile([](Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor g, Tensor h,
                      Tensor i, Tensor j) { return a + b + c + d + e + g + h + i + j; });
#ifdef nine_arguments
  return f(x, x, x, x, x, x, x, x, x);
#else
  return f.call_at(SourceLocation::here(), x, x, x, x, x, x, x, x, x);
#endif
}
