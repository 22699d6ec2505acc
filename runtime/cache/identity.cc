#include "heddle/runtime/cache/identity.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "heddle/base/bytes.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/text.h"

namespace heddle::runtime {
namespace {

constexpr int64_t kMostElementsInText = 64;

// All elements: text has those of small constants alone.
void append_values(const Literal& literal, std::string& to) {
  for (const Literal& element : literal.elements()) append_values(element, to);
  if (literal.is_tuple() || literal.element_count() <= kMostElementsInText) return;
  base::append_text(
      {reinterpret_cast<const char*>(literal.bytes()), static_cast<size_t>(literal.byte_size())},
      to);
}

}  // namespace

std::string module_identity(const hlo::Module& module) {
  std::string identity = hlo::print(module, {.form = hlo::PrintOptions::Form::kCanonical,
                                             .metadata = false,
                                             .max_constant_elements = kMostElementsInText});
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      if (instruction.opcode == hlo::Opcode::kConstant)
        append_values(instruction.attrs.get<hlo::ConstantAttrs>().literal, identity);
    }
  }
  return identity;
}

std::string processor_identity() {
  std::string text;
#if defined(__x86_64__)
  const auto add = [&](uint32_t word) { base::append_number(word, text); };
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __cpuid(0, a, b, c, d);
  const uint32_t last = a;
  for (const uint32_t word : {b, c, d}) add(word);
  __cpuid(1, a, b, c, d);  // b: which of its cores answers
  for (const uint32_t word : {a, c, d}) add(word);
  constexpr uint32_t kFeatures[][2] = {{7, 0}, {7, 1}, {0x24, 0}};
  for (const auto& [leaf, part] : kFeatures) {
    if (leaf > last) continue;
    __cpuid_count(leaf, part, a, b, c, d);
    for (const uint32_t word : {a, b, c, d}) add(word);
  }
  __cpuid(0x80000000U, a, b, c, d);
  const uint32_t last_extended = a;
  for (const uint32_t leaf : {0x80000001U, 0x80000002U, 0x80000003U, 0x80000004U}) {
    if (leaf > last_extended) continue;
    __cpuid(leaf, a, b, c, d);
    if (leaf == 0x80000001U) b = 0;
    for (const uint32_t word : {a, b, c, d}) add(word);
  }
#elif defined(__aarch64__)
  text = "aarch64";
  for (const unsigned long which : {AT_HWCAP, AT_HWCAP2})
    base::append_number(getauxval(which), text);
#endif
  return text;
}

}  // namespace heddle::runtime
