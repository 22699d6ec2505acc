// Repeats: types, metadata, shardings and frontend attributes that say, byte for byte, what they
// said in an instruction before. A module of 10^5 instructions has few different ones: what was
// read is copied, and no message is made of the same bytes again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::hlo::wire {

// For the instructions of one computation, in the order of the message.
class Repeats {
 public:
  enum class Field : uint8_t { kShape, kMetadata, kSharding, kFrontendAttributes };

  // The serialised instruction without the fields that an earlier one had too; valid until the next
  // call. `bytes` must outlive this. Bytes that are no fields, and fields that stand twice, are
  // left to the parser.
  std::string_view strip(std::string_view bytes, uint32_t instruction);

  // The instruction whose field of this kind was left out by strip().
  [[nodiscard]] std::optional<uint32_t> earlier(Field field) const {
    return earlier_[static_cast<size_t>(field)];
  }

 private:
  static constexpr size_t kFields = 4;
  static constexpr size_t kSlots = 64;  // of each field; what takes another's place is parsed again

  struct Slot {
    std::string_view payload;
    std::optional<uint32_t> instruction;
  };
  struct Extent {
    size_t field;
    size_t begin, end;  // of tag, length and payload
    std::string_view payload;
  };

  bool find_extents(std::string_view bytes);
  std::optional<uint32_t> look_up(const Extent& extent, uint32_t instruction);

  std::array<std::array<Slot, kSlots>, kFields> slots_;
  std::array<std::optional<uint32_t>, kFields> earlier_;
  std::array<Extent, kFields> extents_;  // in the order of the message
  size_t extent_count_ = 0;
  std::string rest_;
};

}  // namespace heddle::hlo::wire
