// Any bytes, as a .npy file or a .npz archive: arrays or an error. What was read as an array is
// written and read as the same one.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "heddle/hlo/numpy/npy.h"
#include "heddle/hlo/numpy/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto array = heddle::hlo::read_npy(bytes, heddle::f8e4m3fn);
  if (!array.ok()) array = heddle::hlo::read_npy(bytes);
  if (array.ok()) {
    auto again = heddle::hlo::read_npy(*heddle::hlo::write_npy(*array), array->shape().dtype());
    if (!again.ok() || *again != *array) std::abort();
  }
  auto archive = heddle::hlo::NpzReader::open(bytes);
  if (!archive.ok()) return 0;
  for (size_t i = 0; i < archive->names().size(); ++i) (void)archive->read(i).ok();
  return 0;
}
