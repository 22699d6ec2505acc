#include "heddle/hlo/calls/debug_calls.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <set>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/backend_config.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle::hlo {

bool is_debug_call(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kCustomCall) return false;
  const std::string& target = instruction.attrs.get<CustomCallAttrs>().custom_call_target;
  return target == kPrintCall || target == kCheckCall || target == kProgressCall ||
         target == kReportCall;
}

bool has_debug_calls(const Module& module) {
  return std::ranges::any_of(module.computations, [](const Computation& computation) {
    return std::ranges::any_of(computation.instructions,
                               [](const Instruction& each) { return is_debug_call(each); });
  });
}

bool has_debug_calls(const Module& module, ComputationId computation) {
  std::vector<ComputationId> next{computation};
  std::set<ComputationId> seen{computation};
  while (!next.empty()) {
    const Computation& now = module.at(next.back());
    next.pop_back();
    for (const Instruction& each : now.instructions) {
      if (is_debug_call(each)) return true;
      for (ComputationId id : each.called) {
        if (seen.insert(id).second) next.push_back(id);
      }
    }
  }
  return false;
}

std::string quoted_text(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\') {
      out.push_back(c);
    } else {
      out.push_back('\\');
      out.push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
  }
  return out + '"';
}

std::string with_entry(std::string_view dictionary, std::string_view name, std::string_view value) {
  const size_t end = dictionary.rfind('}');
  const std::string_view before =
      end == std::string_view::npos ? std::string_view("{") : dictionary.substr(0, end);
  return base::cat(before, before.size() > 1 ? ", " : "", name, " = ", value, "}");
}

std::string_view dictionary_entry(std::string_view dictionary, std::string_view name) {
  const DictionaryEntry entry = find_entry(dictionary, name);
  return entry.found ? entry.value : std::string_view();
}

namespace {

// Calls literal(text) and place() as they come.
template <class OnText, class OnPlace>
Status parse_format(std::string_view format, const OnText& literal, const OnPlace& place) {
  for (size_t i = 0; i < format.size(); ++i) {
    const std::string_view two = format.substr(i, 2);
    if (two == "{}") {
      place();
      ++i;
    } else if (two == "{{" || two == "}}") {
      literal(two.substr(0, 1));
      ++i;
    } else if (two[0] == '{' || two[0] == '}') {
      return base::invalid_argument(
          "a lone ", two.substr(0, 1), " at ", i,
          "; a place for a value is {}, with no format in it, and a brace is "
          "written twice");
    } else {
      literal(two.substr(0, 1));
    }
  }
  return {};
}

}  // namespace

StatusOr<size_t> count_places(std::string_view format) {
  size_t count = 0;
  HEDDLE_RETURN_IF_ERROR(parse_format(
      format, [](std::string_view) {}, [&] { ++count; }));
  return count;
}

std::string filled(std::string_view format, std::span<const std::string> texts) {
  std::string out;
  size_t next = 0;
  const Status status = parse_format(
      format, [&](std::string_view text) { out += text; },
      [&] { out += next < texts.size() ? std::string_view(texts[next++]) : "{}"; });
  return status.ok() ? out : std::string(format);
}

std::string_view what_is_not_finite(const Literal& literal) {
  if (!literal.shape().is_array()) return {};
  const DType dtype = literal.shape().dtype();
  if (!is_floating(dtype) && !is_complex(dtype)) return {};
  const int64_t count = literal.element_count();
  for (int64_t i = 0; i < count; ++i) {
    std::complex<double> x = literal.to_double(i);
    if (dtype == c64) x = literal.values<std::complex<float>>()[static_cast<size_t>(i)];
    if (dtype == c128) x = literal.values<std::complex<double>>()[static_cast<size_t>(i)];
    if (std::isnan(x.real()) || std::isnan(x.imag())) return "not a number";
    if (std::isinf(x.real()) || std::isinf(x.imag())) return "infinite";
  }
  return {};
}

}  // namespace heddle::hlo
