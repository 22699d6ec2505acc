// Compiled with -mamx-tile -mamx-bf16 -mamx-int8 and AVX-512.
#include <type_traits>

#include "heddle/cpu/kernels/products/internal/matmul_narrow_blocks.h"
#include "heddle/cpu/kernels/products/matmul_narrow.h"

// Of the tile in the first place, plus the product of the other two. The numbers of tiles are parts
// of the instruction.
#define HEDDLE_TILE_PRODUCT(c, a, b)                                 \
  if constexpr (std::is_same_v<typename Load::Element, uint16_t>)    \
    _tile_dpbf16ps(c, a, b);                                         \
  else if constexpr (std::is_same_v<typename Load::Element, int8_t>) \
    _tile_dpbssd(c, a, b);                                           \
  else                                                               \
    _tile_dpbuud(c, a, b)

namespace heddle::cpu {
namespace {

// C in tiles 0 to 3, two tiles of A in 4 and 5, two of B in 6 and 7.
template <class Load>
struct Amx : Load {
  static void begin() {
    struct alignas(64) {
      uint8_t palette = 1;
      uint8_t start_row = 0;
      uint8_t unused[14] = {};
      uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } shapes;
    _tile_loadconfig(&shapes);
  }
  static void end() { _tile_release(); }

  // The intrinsics do not say that they read and write memory.
  static void order_memory() { asm volatile("" ::: "memory"); }

  static void block(const Strip& a, const char* b, int64_t steps, typename Load::Sum* c,
                    int64_t c_row, BlockSize size, bool adds) {
    const bool has_two = size.rows > 16;
    const int64_t row_bytes = c_row * 4;
    auto* const below = c + 16 * c_row;
    order_memory();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (adds) {
      _tile_loadd(0, c, row_bytes);
      _tile_loadd(1, c + 16, row_bytes);
    }
    if (adds && has_two) {
      _tile_loadd(2, below, row_bytes);
      _tile_loadd(3, below + 16, row_bytes);
    }
    const char* upper = a.data;
    const char* lower = a.data + a.lower;
    for (int64_t step = 0; step < steps;
         ++step, upper += a.step, lower += a.step, b += 2 * kTileBytes) {
      _tile_loadd(4, upper, a.row);
      _tile_loadd(6, b, 64);
      _tile_loadd(7, b + kTileBytes, 64);
      HEDDLE_TILE_PRODUCT(0, 4, 6);
      HEDDLE_TILE_PRODUCT(1, 4, 7);
      if (!has_two) continue;
      _tile_loadd(5, lower, a.row);
      HEDDLE_TILE_PRODUCT(2, 5, 6);
      HEDDLE_TILE_PRODUCT(3, 5, 7);
    }
    _tile_stored(0, c, row_bytes);
    _tile_stored(1, c + 16, row_bytes);
    if (has_two) {
      _tile_stored(2, below, row_bytes);
      _tile_stored(3, below + 16, row_bytes);
    }
    order_memory();
  }
};

}  // namespace

void narrow_part_amx(DType element, const MatmulArgs& args, const MatmulPart& part) {
  if (element == bf16) return narrow_part_by<Amx<HalfWords>>(args, part);
  if (element == s8) return narrow_part_by<Amx<Bytes<int8_t>>>(args, part);
  narrow_part_by<Amx<Bytes<uint8_t>>>(args, part);
}

}  // namespace heddle::cpu

#undef HEDDLE_TILE_PRODUCT
