// For tests of the evaluator and of region ops: programs as text.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::interpreter {
using namespace hlo;
}

namespace heddle::interpreter::run_testing {

// Throws the error's text, which fails the test.
inline Module parsed(std::string_view text) {
  auto module = parse_text(text);
  if (!module.ok()) throw std::runtime_error(base::message_of(module.status()));
  return *std::move(module);
}

// The value of a program; throws the error's text.
inline Literal run(std::string_view text, std::vector<Literal> arguments = {}) {
  auto result = evaluate(parsed(text), std::move(arguments));
  if (!result.ok()) throw std::runtime_error(base::message_of(result.status()));
  return *std::move(result);
}

inline std::string error_of(std::string_view text, std::vector<Literal> arguments = {}) {
  auto result = evaluate(parsed(text), std::move(arguments));
  return result.ok() ? "no error" : base::message_of(result.status());
}

inline Literal floats(std::initializer_list<float> values) {
  return Literal::from<float>(Shape(f32, {static_cast<int64_t>(values.size())}), values);
}
inline Literal ints(std::initializer_list<int32_t> values) {
  return Literal::from<int32_t>(Shape(s32, {static_cast<int64_t>(values.size())}), values);
}
inline Literal f32_of(float value) { return Literal::from<float>(Shape::scalar(f32), {value}); }
inline Literal s32_of(int32_t value) { return Literal::from<int32_t>(Shape::scalar(s32), {value}); }

// Elements as numbers, for comparing with lists.
inline std::vector<double> numbers(const Literal& literal) {
  std::vector<double> values;
  for (int64_t i = 0; i < literal.element_count(); ++i) values.push_back(literal.to_double(i));
  return values;
}

}  // namespace heddle::interpreter::run_testing

namespace heddle::interpreter {
using namespace run_testing;
}
