// What dlpack.py calls of Heddle, through ctypes: tensors as handles, and DLPack's structures as
// they are. A function that fails returns null, and bridge_error() says why.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "heddle/heddle.h"

namespace {

using heddle::Tensor;
using heddle::dlpack::ManagedTensor;

std::atomic<int> released = 0;
thread_local std::string error;

template <class Fn>
auto told(Fn&& fn) -> decltype(fn()) {
  try {
    error.clear();
    return fn();
  } catch (const std::exception& e) {
    error = e.what();
    return {};
  }
}

Tensor& at(void* handle) { return *static_cast<Tensor*>(handle); }

// A function of Python's C interface, of the process that loaded us.
template <class Fn>
Fn* python(const char* name) {
  return reinterpret_cast<Fn*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

extern "C" {

const char* bridge_error() { return error.c_str(); }

// How often memory that bridge_lend() lent has come back.
int bridge_released() { return released; }

// 0, 1, 2, .. as f32, in memory that is lent.
void* bridge_lend(int64_t rows, int64_t columns) {
  return told([&] {
    const auto count = static_cast<size_t>(rows * columns);
    void* memory = std::aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64 + 64);
    auto* values = static_cast<float*>(memory);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
    const auto release = [memory] {
      std::free(memory);
      ++released;
    };
    return new Tensor(
        heddle::lend(std::span<const float>(values, count), {rows, columns}, release));
  });
}

// The same numbers as a dtype of this name, in memory of the device.
void* bridge_count(int64_t rows, int64_t columns, const char* dtype) {
  return told([&] {
    return new Tensor(heddle::reshape(heddle::arange(rows * columns), {rows, columns})
                          .astype(*heddle::parse_dtype(dtype)));
  });
}

void bridge_drop(void* tensor) { delete &at(tensor); }
void bridge_drop_on_a_thread(void* tensor) {
  std::thread([&] { bridge_drop(tensor); }).join();
}

ManagedTensor* bridge_export(void* tensor) {
  return told([&] { return heddle::to_dlpack(at(tensor)); });
}
void* bridge_import(ManagedTensor* array) {
  return told([&] { return new Tensor(heddle::from_dlpack(array)); });
}

// x + x, by a program that is given x's memory for the result.
void* bridge_doubled(void* tensor) {
  return told([&] {
    auto twice = heddle::trace([](Tensor x) { return x + x; }, at(tensor)).compile();
    return new Tensor(twice.with({.donate = {0}})(at(tensor)));
  });
}

// -1 on failure.
double bridge_sum(void* tensor) {
  return told([&] {
           return std::optional(heddle::sum(at(tensor).astype(heddle::f64)).item<double>());
         })
      .value_or(-1);
}
bool bridge_has_memory(void* tensor, const void* data) {
  return told([&] { return heddle::host_view(at(tensor)).bytes() == data; });
}
const char* bridge_type(void* tensor) {
  static std::string text;
  text = to_string(at(tensor).shape());
  return text.c_str();
}

// Of a capsule that nobody took: as DLPack wants it of who made the capsule.
void bridge_end_capsule(void* capsule) {
  auto* is_valid = python<int(void*, const char*)>("PyCapsule_IsValid");
  auto* pointer_of = python<void*(void*, const char*)>("PyCapsule_GetPointer");
  if (is_valid(capsule, "dltensor") == 0) return;
  auto* array = static_cast<ManagedTensor*>(pointer_of(capsule, "dltensor"));
  array->deleter(array);
}

}  // extern "C"
