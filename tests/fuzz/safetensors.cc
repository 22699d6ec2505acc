// Any bytes, as a safetensors file: arrays or an error. What was read is laid out and read as the
// same.
#include "heddle/hlo/safetensors/safetensors.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle::hlo;
  auto file = SafetensorsFile::open(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!file.ok()) return 0;
  std::vector<SafetensorsType> types;
  std::vector<heddle::Literal> values;
  for (size_t i = 0; i < file->arrays().size(); ++i) {
    auto value = file->read(i);
    if (!value.ok()) return 0;  // several to a byte
    types.push_back({file->arrays()[i].name, value->shape()});
    values.push_back(*std::move(value));
  }
  auto layout = lay_out_safetensors(types, file->metadata());
  if (!layout.ok()) std::abort();
  std::string bytes = layout->header;
  for (const size_t i : layout->order)
    bytes.append(reinterpret_cast<const char*>(values[i].bytes()),
                 static_cast<size_t>(values[i].byte_size()));
  auto again = SafetensorsFile::open(bytes);
  if (!again.ok() || again->metadata() != file->metadata()) std::abort();
  for (size_t i = 0; i < again->arrays().size(); ++i) {
    size_t k = 0;
    while (types[k].name != again->arrays()[i].name) ++k;
    if (*again->read(i) != values[k]) std::abort();
  }
  return 0;
}
