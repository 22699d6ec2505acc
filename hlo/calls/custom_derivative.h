// Functions with a derivative that their author wrote. In a traced module they are custom-calls
// with computations, which derivatives read and `lower-scan` turns into calls:
//
//   custom-call(args.., captures..), target heddle.custom_jvp, called = {fn, rule}
//   custom-call(args.., captures..), target heddle.custom_vjp, called = {fn, forward, backward}
//
//   custom-call(args..), target heddle.with_tangent, called = {fn, tangent}
//   custom-call(args..), target heddle.elementwise, called = {fn}
//
//   fn(args.., captures of fn)                         -> results..
//   rule(args.., tangents.., captures of rule)         -> results.., tangents..
//   tangent(args.., results.., tangents..)             -> tangents of results..
//   forward(args.., captures of forward)               -> results.., residuals..
//   backward(residuals.., cotangents.., captures of it) -> cotangents of args..
//
//   custom-call(b.., captures..), target heddle.linear_solve, called = {solve, matvec} or
//       {solve, matvec, transpose_solve, transpose_matvec}
//   custom-call(guess.., captures..), target heddle.root, called = {solve, f, tangent_solve}
//
//   solve(b.., captures of it)  -> x.. of b's types, with matvec(x.., captures of it) = b
//   solve(guess.., captures)    -> x.. with f(x.., captures of f) = 0
//   tangent_solve(x.., y.., captures) -> z.. with f's derivative by x, at x, of z = y
//
// An elementwise fn, whose elements each depend on those of the same place, has loops that have no
// way back. Its partial derivatives are functions of this kind too, made by forward mode.
//
// The results that a tangent reads are those of the call: derivatives of the tangent find the rule
// again, at every order.
//
// All are leaves; integers have tangents and cotangents too, zeros that nobody reads. The
// backend_config says how many operands are arguments, and how many captures each function has:
// "2,0,1". Reverse mode writes the linear part of a custom_vjp as
//
//   custom-call(residuals.., captures.., tangents..), target heddle.custom_pullback,
//       called = {backward}
//
// of floats alone, whose transpose is `backward`. It has no other meaning: it cannot be run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::hlo {

inline constexpr std::string_view kCustomJvp = "heddle.custom_jvp";
inline constexpr std::string_view kWithTangent = "heddle.with_tangent";
inline constexpr std::string_view kElementwiseCall = "heddle.elementwise";
inline constexpr std::string_view kCustomVjp = "heddle.custom_vjp";
inline constexpr std::string_view kLinearSolve = "heddle.linear_solve";
inline constexpr std::string_view kRoot = "heddle.root";
inline constexpr std::string_view kCustomPullback = "heddle.custom_pullback";

// Whether an instruction is a custom-call of this target.
bool is_custom(const Instruction& instruction, std::string_view target);

// Whether it is a custom-call that can be run, and has a derivative of its own.
bool has_own_derivative(const Instruction& instruction);

// The numbers of a backend_config, if there are as many and their sum is the number of operands.
std::optional<std::vector<size_t>> operand_counts(std::string_view config, size_t operands,
                                                  size_t numbers);
std::optional<std::vector<size_t>> operand_counts(const Instruction& instruction, size_t numbers);

// Whether a computation takes arrays of these types, and gives this many.
bool takes(const Computation& computation, const std::vector<Shape>& parameters, size_t results);

// A call of the function itself, in place of a custom-call that has a derivative; nothing where an
// instruction is none.
std::optional<Instruction> without_custom_derivative(const Instruction& instruction);

// Whether a pullback is in the module: its linear part has reverse mode only.
bool has_custom_pullback(const Module& module);

}  // namespace heddle::hlo
