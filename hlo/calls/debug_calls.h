// Calls by which a program shows what it does while it runs: a line that is printed, a value that
// is checked for NaN and infinities, a bar of progress. They are custom-calls with an effect that
// know their own results to be nobody's: so vmap prints a line a lane, derivatives print once, and
// what is computed a second time prints nothing.
//
// Each gives u32[], 0. Its configuration is a dictionary:
//
//   heddle.print     text = "x is {}", at = "file:line"; lanes = N where each operand has a
//                    value a lane; masked = true where a last operand, pred[lanes], says which
//                    lanes print
//   heddle.check     name = "loss", at = "file:line": an error where the operand is not finite
//   heddle.progress  name = "fit", total = 100: operand s32[], which step it is
//   heddle.report    what checks of loops have found: transform/expand_checks.h
//
// ordered = true: one more operand, whose value is nothing, makes it come after another call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heddle/hlo/module.h"

namespace heddle::hlo {

inline constexpr std::string_view kPrintCall = "heddle.print";
inline constexpr std::string_view kCheckCall = "heddle.check";
inline constexpr std::string_view kProgressCall = "heddle.progress";
inline constexpr std::string_view kReportCall = "heddle.report";

bool is_debug_call(const Instruction& instruction);
// Whether one is in the module; in a computation, or in what it calls.
bool has_debug_calls(const Module& module);
bool has_debug_calls(const Module& module, ComputationId computation);

// `text` between quotes, for a dictionary of backend_config.
std::string quoted_text(std::string_view text);
// {NAME = .., NAME = ..}: `dictionary` with one entry more, which is not there yet.
std::string with_entry(std::string_view dictionary, std::string_view name, std::string_view value);

// The value of an entry, as it is written there; "" where there is none.
std::string_view dictionary_entry(std::string_view dictionary, std::string_view name);

// The places {} of a format; {{ and }} are braces. errors: InvalidArgument for a lone brace
StatusOr<size_t> count_places(std::string_view format);
// The format with its places filled in. As many texts as places.
std::string filled(std::string_view format, std::span<const std::string> texts);

// "not a number" or "infinite", of an array of floats; "" where all of it is finite.
std::string_view what_is_not_finite(const Literal& literal);

}  // namespace heddle::hlo
