// Any bytes, as a file of the disk cache: its parts or an error. What opens is what sealing its
// parts gives; and any bytes, sealed as parts, open as they were, until one of them is changed.
#include "heddle/base/system/sealed.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto parts = heddle::base::open_sealed(bytes);
      parts.ok() && heddle::base::seal(*parts) != bytes)
    std::abort();
  const size_t first = size / 3, second = size / 2;
  std::string sealed = heddle::base::seal({.about = bytes.substr(0, first),
                                           .key = bytes.substr(first, second - first),
                                           .payload = bytes.substr(second)});
  const auto parts = heddle::base::open_sealed(sealed);
  if (!parts.ok() || parts->about != bytes.substr(0, first) ||
      parts->key != bytes.substr(first, second - first) || parts->payload != bytes.substr(second))
    std::abort();
  if (size == 0) return 0;
  const size_t at = (data[0] * 257 + size) % sealed.size();
  sealed[at] = static_cast<char>(sealed[at] ^ (1 << data[size - 1] % 8));
  if (heddle::base::open_sealed(sealed).ok()) std::abort();
  return 0;
}
