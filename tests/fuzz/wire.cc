// Any bytes as an HloModuleProto: a module or an error. A module written again reads as an equal
// module.
#include "heddle/hlo/wire.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto module = heddle::hlo::from_proto({reinterpret_cast<const char*>(data), size});
  if (!module.ok()) return 0;
  auto again = heddle::hlo::from_proto(heddle::hlo::to_proto(*module));
  if (!again.ok() || !heddle::hlo::equal(*module, *again)) std::abort();
  return 0;
}
