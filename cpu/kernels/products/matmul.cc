#include "heddle/cpu/kernels/products/matmul.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "heddle/cpu/kernels/products/matmul_table.h"

namespace heddle::cpu {
namespace {

const MatmulTables* tables_of([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return &kMatmulAvx512;
  if (isa == Isa::kAvx2) return &kMatmulAvx2;
#endif
  return &kMatmulGeneric;
}

// Null until the first call. Threads that race here store the same pointer.
constinit std::atomic<const MatmulTables*> active{nullptr};

const MatmulTables& tables() {
  const MatmulTables* found = active.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = tables_of(host_isa());
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

template <class T>
const MatmulTable& table() {
  return std::is_same_v<T, float> ? tables().f32 : tables().f64;
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
  if (!has_isa(isa)) return false;
  active.store(tables_of(isa), std::memory_order_relaxed);
  return true;
}

template <class T>
void MatmulOf<T>::product(const MatmulArgs& args) noexcept {
  part(args, whole(args));
}

template <class T>
void MatmulOf<T>::part(const MatmulArgs& args, const MatmulPart& part) noexcept {
  table<T>().part(args, part);
}

template <class T>
int64_t MatmulOf<T>::panel() noexcept {
  return table<T>().panel;
}

template <class T>
size_t MatmulOf<T>::packed_size(int64_t k, int64_t n) noexcept {
  return static_cast<size_t>((n + panel() - 1) / panel() * panel() * k) * sizeof(T);
}

template <class T>
void MatmulOf<T>::pack_b(const MatmulArgs& args, void* packed) noexcept {
  table<T>().pack_b(args, packed);
}

template <class T>
void MatmulOf<T>::packed_product(const MatmulArgs& args, const void* packed) noexcept {
  packed_part(args, packed, whole(args));
}

template <class T>
void MatmulOf<T>::packed_part(const MatmulArgs& args, const void* packed,
                              const MatmulPart& part) noexcept {
  table<T>().packed_part(args, packed, part);
}

template struct MatmulOf<float>;
template struct MatmulOf<double>;

}  // namespace heddle::cpu
