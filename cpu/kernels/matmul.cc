#include "heddle/cpu/kernels/matmul.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "heddle/cpu/kernels/matmul_table.h"

namespace heddle::cpu {
namespace {

bool has(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kGeneric: return true;
    case Isa::kAvx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::kAvx512:
      return has(Isa::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw");
  }
#endif
  return isa == Isa::kGeneric;
}

const MatmulTables* tables_of([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return &kMatmulAvx512;
  if (isa == Isa::kAvx2) return &kMatmulAvx2;
#endif
  return &kMatmulGeneric;
}

const MatmulTables* best() {
  if (has(Isa::kAvx512)) return tables_of(Isa::kAvx512);
  if (has(Isa::kAvx2)) return tables_of(Isa::kAvx2);
  return tables_of(Isa::kGeneric);
}

// Null until the first call. Threads that race here store the same pointer.
constinit std::atomic<const MatmulTables*> active{nullptr};

const MatmulTables& tables() {
  const MatmulTables* found = active.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = best();
    active.store(found, std::memory_order_relaxed);
  }
  return *found;
}

struct Scratch {
  void* data = nullptr;
  size_t bytes = 0;
  ~Scratch() { std::free(data); }
};

MatmulPart whole(const MatmulArgs& args) { return {0, args.m, 0, args.n}; }

size_t packed_elements(const MatmulTable& table, int64_t k, int64_t n) {
  return static_cast<size_t>((n + table.panel - 1) / table.panel * table.panel * k);
}

}  // namespace

void* matmul_scratch(size_t bytes) {
  thread_local Scratch scratch;
  if (bytes > scratch.bytes) {
    std::free(scratch.data);
    scratch.bytes = (bytes + 4095) / 4096 * 4096;
    scratch.data = std::aligned_alloc(64, scratch.bytes);
    if (scratch.data == nullptr) {
      std::fprintf(stderr, "heddle: matmul: no memory for %zu bytes of scratch\n", scratch.bytes);
      std::abort();
    }
  }
  return scratch.data;
}

Isa matmul_isa() noexcept { return tables().isa; }

bool set_matmul_isa(Isa isa) noexcept {
  if (!has(isa)) return false;
  active.store(tables_of(isa), std::memory_order_relaxed);
  return true;
}

void matmul_f32(const MatmulArgs& args) noexcept { tables().f32.part(args, whole(args)); }
void matmul_f64(const MatmulArgs& args) noexcept { tables().f64.part(args, whole(args)); }

void matmul_part_f32(const MatmulArgs& args, const MatmulPart& part) noexcept {
  tables().f32.part(args, part);
}
void matmul_part_f64(const MatmulArgs& args, const MatmulPart& part) noexcept {
  tables().f64.part(args, part);
}

int64_t matmul_panel_f32() noexcept { return tables().f32.panel; }
int64_t matmul_panel_f64() noexcept { return tables().f64.panel; }

size_t packed_size_f32(int64_t k, int64_t n) noexcept {
  return packed_elements(tables().f32, k, n) * sizeof(float);
}
size_t packed_size_f64(int64_t k, int64_t n) noexcept {
  return packed_elements(tables().f64, k, n) * sizeof(double);
}

void pack_b_f32(const MatmulArgs& args, void* packed) noexcept {
  tables().f32.pack_b(args, packed);
}
void pack_b_f64(const MatmulArgs& args, void* packed) noexcept {
  tables().f64.pack_b(args, packed);
}

void matmul_packed_f32(const MatmulArgs& args, const void* packed) noexcept {
  tables().f32.packed_part(args, packed, whole(args));
}
void matmul_packed_f64(const MatmulArgs& args, const void* packed) noexcept {
  tables().f64.packed_part(args, packed, whole(args));
}

void matmul_packed_part_f32(const MatmulArgs& args, const void* packed,
                            const MatmulPart& part) noexcept {
  tables().f32.packed_part(args, packed, part);
}
void matmul_packed_part_f64(const MatmulArgs& args, const void* packed,
                            const MatmulPart& part) noexcept {
  tables().f64.packed_part(args, packed, part);
}

}  // namespace heddle::cpu
