// Any text: a module or an error. A module is legal, and prints to text that reads as an equal
// module.
#include "heddle/hlo/text.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "heddle/hlo/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto module = heddle::hlo::parse_text({reinterpret_cast<const char*>(data), size});
  if (!module.ok()) return 0;
  if (!heddle::hlo::verify(*module).ok()) std::abort();  // the reader checked it line by line
  auto again = heddle::hlo::parse_text(heddle::hlo::print(*module));
  if (!again.ok() || !heddle::hlo::equal(*module, *again)) std::abort();
  return 0;
}
