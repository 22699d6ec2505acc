// The JSON of a safetensors header: an object of objects, of which only what the format has is
// JSON here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/safetensors/safetensors.h"

namespace heddle::hlo {

struct HeaderEntry {
  std::string name, type;
  std::vector<int64_t> sizes;
  uint64_t begin = 0, end = 0;  // of its bytes, behind the header
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;
  SafetensorsMetadata metadata;
};

// errors: InvalidArgument, in words that go on after "the header "; nothing is said of sizes
StatusOr<SafetensorsHeader> parse_safetensors_header(std::string_view json);

}  // namespace heddle::hlo
