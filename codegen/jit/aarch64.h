// The fields of instructions of 64-bit Arm that a linker fills in. Addresses are distances from a
// place that is a multiple of 4 KiB wherever the code is loaded. Nothing: it does not fit.
#pragma once

#include <cstdint>
#include <optional>

namespace heddle::cpu::aarch64 {

// b, bl: to another instruction, within 128 MiB.
inline std::optional<uint32_t> with_branch(uint32_t word, int64_t at, int64_t to) {
  const int64_t distance = to - at;
  constexpr int64_t kReach = int64_t{1} << 27;
  if (distance % 4 != 0 || distance < -kReach || distance >= kReach) return std::nullopt;
  return (word & 0xfc000000U) | (static_cast<uint32_t>(distance / 4) & 0x03ffffffU);
}

// adrp: the 4 KiB that `to` is in, within 4 GiB.
inline std::optional<uint32_t> with_page(uint32_t word, int64_t at, int64_t to) {
  const int64_t pages = (to >> 12) - (at >> 12);
  constexpr int64_t kReach = int64_t{1} << 20;
  if (pages < -kReach || pages >= kReach) return std::nullopt;
  const auto field = static_cast<uint32_t>(pages) & 0x1fffffU;
  return (word & 0x9f00001fU) | (field & 3) << 29 | (field >> 2) << 5;
}

// add, and loads and stores of 1 << `shift` bytes: where in its 4 KiB `to` stands.
inline std::optional<uint32_t> with_offset(uint32_t word, int64_t to, int shift) {
  const int64_t offset = to & 0xfff;
  if ((offset & ((int64_t{1} << shift) - 1)) != 0) return std::nullopt;
  return (word & ~(0xfffU << 10)) | static_cast<uint32_t>(offset >> shift) << 10;
}

// A jump to the address that a slot holds: with_page() and with_offset(.., 3) fill in the slot.
inline constexpr uint32_t kJumpBySlot[] = {
    0x90000010,  // adrp x16, slot
    0xf9400210,  // ldr x16, [x16, slot]
    0xd61f0200,  // br x16
    0xd4200000,  // brk: what nobody reaches
};

}  // namespace heddle::cpu::aarch64
