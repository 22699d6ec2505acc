#include "heddle/hlo/wire/internal/repeats.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using Proto = proto::HloInstructionProto;

constexpr uint32_t tag_of(int number) {
  return static_cast<uint32_t>(number) << 3 | WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}

// By Repeats::Field.
constexpr uint32_t kTags[] = {tag_of(Proto::kShapeFieldNumber), tag_of(Proto::kMetadataFieldNumber),
                              tag_of(Proto::kShardingFieldNumber),
                              tag_of(Proto::kFrontendAttributesFieldNumber)};

}  // namespace

bool Repeats::find_extents(std::string_view bytes) {
  extent_count_ = 0;
  bool is_there[kFields] = {};
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  for (size_t begin = 0; begin < bytes.size(); begin = static_cast<size_t>(in.CurrentPosition())) {
    const uint32_t tag = in.ReadTag();
    const auto field = static_cast<size_t>(std::ranges::find(kTags, tag) - kTags);
    if (field == kFields) {
      if (tag == 0 || !WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    uint32_t length = 0;
    if (std::exchange(is_there[field], true) || !in.ReadVarint32(&length)) return false;
    const auto start = static_cast<size_t>(in.CurrentPosition());
    if (length > bytes.size() - start || !in.Skip(static_cast<int>(length))) return false;
    extents_[extent_count_++] = {field, begin, start + length, bytes.substr(start, length)};
  }
  return true;
}

// Remembers a payload that is new.
std::optional<uint32_t> Repeats::look_up(const Extent& extent, uint32_t instruction) {
  Slot& slot = slots_[extent.field][std::hash<std::string_view>()(extent.payload) % kSlots];
  if (slot.instruction && slot.payload == extent.payload) return slot.instruction;
  slot = {extent.payload, instruction};
  return std::nullopt;
}

std::string_view Repeats::strip(std::string_view bytes, uint32_t instruction) {
  earlier_.fill(std::nullopt);
  if (!find_extents(bytes)) return bytes;
  rest_.clear();
  size_t kept = 0;  // up to here all is in rest_, or left out
  for (const Extent& extent : std::span(extents_).first(extent_count_)) {
    earlier_[extent.field] = look_up(extent, instruction);
    if (!earlier_[extent.field]) continue;
    rest_.append(bytes.substr(kept, extent.begin - kept));
    kept = extent.end;
  }
  if (kept == 0) return bytes;
  return rest_.append(bytes.substr(kept));
}

}  // namespace heddle::hlo::wire
