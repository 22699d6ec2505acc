#include "heddle/codegen/jit/image.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "heddle/base/text/strings.h"
#include "heddle/codegen/jit/jit.h"

namespace heddle::cpu {
namespace {

// Pages of the process that hold an image.
class LoadedImage final : public Code {
 public:
  LoadedImage(void* pages, size_t size, int64_t entry) : pages_(pages), size_(size) {
    entry_ = reinterpret_cast<Entry>(static_cast<char*>(pages) + entry);
  }
  ~LoadedImage() override { munmap(pages_, size_); }
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;
  Entry entry() const override { return entry_; }

 private:
  void* pages_;
  size_t size_;
  Entry entry_;
};

Status invalid(std::string_view why) {
  return base::invalid_argument("cpu: load machine code: ", why);
}

bool is_whole_pages(int64_t bytes) { return bytes >= 0 && bytes % CodeImage::kPage == 0; }

Status check(const CodeImage& image) {
  const auto size = static_cast<int64_t>(image.bytes.size());
  if (size == 0 || !is_whole_pages(size) || !is_whole_pages(image.executed_bytes) ||
      image.executed_bytes > size || image.entry < 0 || image.entry >= image.executed_bytes)
    return invalid("its parts are not where they should be");
  const auto count = static_cast<int64_t>(image.imports.size());
  for (const CodeImage::Slot& slot : image.slots) {
    if (slot.at < image.executed_bytes || slot.at % 8 != 0 || slot.at > size - 8 ||
        slot.import < -1 || slot.import >= count)
      return invalid("an address is outside of it");
  }
  return {};
}

StatusOr<std::vector<const void*>> addresses_of(const std::vector<std::string>& names,
                                                std::span<const Import> imports) {
  std::vector<const void*> addresses;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(imports, name, &Import::name);
    if (found == imports.end() || found->address == nullptr)
      return invalid(base::cat("it calls ", name, ", which is not there"));
    addresses.push_back(found->address);
  }
  return addresses;
}

}  // namespace

StatusOr<std::unique_ptr<Code>> load_code(const CodeImage& image, std::span<const Import> imports) {
#if defined(__x86_64__) || defined(__aarch64__)
  HEDDLE_RETURN_IF_ERROR(check(image));
  if (sysconf(_SC_PAGESIZE) != CodeImage::kPage) return invalid("pages have another size here");
  HEDDLE_ASSIGN_OR_RETURN(const auto addresses, addresses_of(image.imports, imports));
  const size_t size = image.bytes.size();
  const auto executed = static_cast<size_t>(image.executed_bytes);
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return base::resource_exhausted("cpu: no memory for ", size, " bytes of machine code");
  char* begin = static_cast<char*>(pages);
  auto code = std::make_unique<LoadedImage>(pages, size, image.entry);
  std::memcpy(begin, image.bytes.data(), size);
  for (const CodeImage::Slot& slot : image.slots) {
    uint64_t address = 0;
    if (slot.import >= 0) {
      address = reinterpret_cast<uint64_t>(addresses[static_cast<size_t>(slot.import)]);
    } else {
      std::memcpy(&address, begin + slot.at, sizeof address);
      address += reinterpret_cast<uint64_t>(begin);
    }
    std::memcpy(begin + slot.at, &address, sizeof address);
  }
  __builtin___clear_cache(begin, begin + executed);  // Arm fetches instructions past the data cache
  if (mprotect(begin, executed, PROT_READ | PROT_EXEC) != 0 ||
      (executed < size && mprotect(begin + executed, size - executed, PROT_READ) != 0))
    return base::internal_error("cpu: this process may not run machine code of its own");
  return code;
#else
  (void)image, (void)imports;
  return invalid("this machine is neither x86-64 nor 64-bit Arm");
#endif
}

std::vector<Import> imports_of(CallKernel call_kernel, ShareLoop share_loop) {
  std::vector<Import> imports;
  const auto add = [&](const char* name, auto* function) {
    imports.push_back({name, reinterpret_cast<const void*>(function)});
  };
  using One = double (*)(double);
  using OneF = float (*)(float);
  using Two = double (*)(double, double);
  using TwoF = float (*)(float, float);
#define HEDDLE_ONE(name)              \
  add(#name, static_cast<One>(name)); \
  add(#name "f", static_cast<OneF>(name##f));
#define HEDDLE_TWO(name)              \
  add(#name, static_cast<Two>(name)); \
  add(#name "f", static_cast<TwoF>(name##f));
  HEDDLE_ONE(exp)
  HEDDLE_ONE(expm1)
  HEDDLE_ONE(log)
  HEDDLE_ONE(log1p)
  HEDDLE_ONE(sin)
  HEDDLE_ONE(cos)
  HEDDLE_ONE(tan)
  HEDDLE_ONE(asin)
  HEDDLE_ONE(acos)
  HEDDLE_ONE(atan)
  HEDDLE_ONE(sinh)
  HEDDLE_ONE(cosh)
  HEDDLE_ONE(tanh)
  HEDDLE_ONE(asinh)
  HEDDLE_ONE(acosh)
  HEDDLE_ONE(atanh)
  HEDDLE_ONE(erf)
  HEDDLE_ONE(cbrt)
  HEDDLE_TWO(pow)
  HEDDLE_TWO(atan2)
  HEDDLE_TWO(fmod)
  // What code generation calls by itself where the machine has no instruction.
  HEDDLE_ONE(floor)
  HEDDLE_ONE(ceil)
  HEDDLE_ONE(round)
  HEDDLE_ONE(sqrt)
  HEDDLE_ONE(fabs)
  HEDDLE_ONE(roundeven)
#undef HEDDLE_ONE
#undef HEDDLE_TWO
  add("memcpy", static_cast<void* (*)(void*, const void*, size_t)>(memcpy));
  add("memset", static_cast<void* (*)(void*, int, size_t)>(memset));
  if (call_kernel != nullptr) add(kCallKernelName, call_kernel);
  if (share_loop != nullptr) add(kShareLoopName, share_loop);
  return imports;
}

}  // namespace heddle::cpu
