#include "heddle/cpu/kernels/products/matmul_narrow.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "heddle/cpu/kernels/products/matmul_table.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace heddle::cpu {
namespace {

#if defined(__x86_64__)
// Linux saves tiles only of processes that asked for it (arch/x86/include/uapi/asm/prctl.h).
bool may_use_tiles() {
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

bool has_amx() {
  constexpr uint32_t kAll = 1u << 22 | 1u << 24 | 1u << 25;  // of EDX: bf16, tiles, int8
  uint32_t a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAll) == kAll && may_use_tiles();
}
#endif

NarrowUnit best_unit() {
#if defined(__x86_64__)
  if (host_isa() != Isa::kAvx512) return NarrowUnit::kNone;
  if (has_amx()) return NarrowUnit::kAmx;
  return __builtin_cpu_supports("avx512vnni") ? NarrowUnit::kVnni : NarrowUnit::kAvx512;
#endif
  return NarrowUnit::kNone;
}

NarrowUnit machines_unit() {
  static const NarrowUnit unit = best_unit();
  return unit;
}

std::atomic<NarrowUnit>& active_unit() {
  static std::atomic<NarrowUnit> unit = machines_unit();
  return unit;
}

}  // namespace

NarrowUnit narrow_unit(DType element) noexcept {
  if (element != bf16 && element != s8 && element != u8) return NarrowUnit::kNone;
  const NarrowUnit unit = active_unit().load(std::memory_order_relaxed);
#if defined(__x86_64__)
  if (element == bf16 && (unit == NarrowUnit::kVnni || unit == NarrowUnit::kAvx512))
    return __builtin_cpu_supports("avx512bf16") ? NarrowUnit::kAvx512 : NarrowUnit::kNone;
#endif
  return unit;
}

bool set_narrow_unit(NarrowUnit unit) noexcept {
  if (unit > machines_unit()) return false;
  active_unit().store(unit, std::memory_order_relaxed);
  return true;
}

void narrow_part([[maybe_unused]] DType element, [[maybe_unused]] const MatmulArgs& args,
                 [[maybe_unused]] const MatmulPart& part) noexcept {
#if defined(__x86_64__)
  switch (narrow_unit(element)) {
    case NarrowUnit::kAmx: return narrow_part_amx(element, args, part);
    case NarrowUnit::kVnni: return narrow_part_vnni(element, args, part);
    case NarrowUnit::kAvx512:
      if (element != bf16) return narrow_part_avx512(element, args, part);
      return bf16_part_avx512(args, part);
    case NarrowUnit::kNone: break;
  }
#endif
  std::fprintf(stderr, "bug in heddle: a product of narrow elements without a unit for it\n");
  std::abort();
}

}  // namespace heddle::cpu
