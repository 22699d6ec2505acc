// What the tests of runtime/ share: small programs, and values on and off a device.
#pragma once

#include <functional>
#include <initializer_list>
#include <new>
#include <string>
#include <vector>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/transfer.h"

namespace heddle::runtime {

inline Shape f32(std::vector<int64_t> dimensions) {
  return Shape(DType::kF32, std::move(dimensions));
}

// A vector of f32.
inline Literal vector_of(std::initializer_list<float> values) {
  return Literal::from<float>(f32({static_cast<int64_t>(values.size())}), values);
}

inline BufferPtr on(Device& device, std::initializer_list<float> values) {
  return to_device(device, vector_of(values)).value();
}

inline std::vector<float> values_of(Buffer& buffer) {
  const Literal literal = to_host(buffer).value();
  const auto values = literal.values<float>();
  return {values.begin(), values.end()};
}

// name(x: f32[n], y: f32[n]) = x `op` y
inline hlo::Module binary_module(hlo::Opcode op, int64_t n, std::string name = "main") {
  hlo::Module module{.name = std::move(name)};
  hlo::ComputationBuilder builder(module);
  const auto x = builder.parameter(f32({n}), "x"), y = builder.parameter(f32({n}), "y");
  const Shape result = f32({n});
  const auto root = builder.add(op, {x, y}, {}, {}, &result).value();
  module.entry = module.add(std::move(builder).finish(root));
  return module;
}

// identity(x: f32[n]) = x
inline hlo::Module identity_module(int64_t n) {
  hlo::Module module{.name = "identity"};
  hlo::ComputationBuilder builder(module);
  const auto x = builder.parameter(f32({n}), "x");
  module.entry = module.add(std::move(builder).finish(x));
  return module;
}

// A backend that can do nothing but compile, and calls `on_compile` when it does. It cannot borrow
// memory, and an upload of 1 GiB or more finds none.
class HollowBackend final : public Backend {
 public:
  explicit HollowBackend(std::function<Status()> on_compile = nullptr)
      : Backend("hollow"), on_compile_(std::move(on_compile)) {
    add_device("nothing");
  }
  std::string version() const override { return "test"; }

 private:
  struct Hollow final : Executable {
    StatusOr<std::vector<BufferPtr>> run(std::span<const BufferPtr>,
                                         const ExecuteOptions&) override {
      return base::unimplemented("run: a hollow executable");
    }
    Hollow(const hlo::Module& module, Device& device) : Executable(module, device) {}
  };
  struct Bytes final : Buffer {
    Bytes(Device& device, const Shape& shape) : Buffer(device, shape, shape.byte_size()) {}
    ValueState state() const override { return ValueState::kReady; }
    Status await() override { return {}; }
    void release() override { forget_bytes(); }
  };

  StatusOr<std::shared_ptr<Executable>> compile_module(const ModulePtr& module,
                                                       const CompileOptions&,
                                                       Device& device) override {
    if (on_compile_) HEDDLE_RETURN_IF_ERROR(on_compile_());
    return std::make_shared<Hollow>(*module, device);
  }
  StatusOr<BufferPtr> copy_to_device(Device& device, const void*, const Shape& shape) override {
    if (shape.byte_size() >= 1 << 30) throw std::bad_alloc();
    return std::make_shared<Bytes>(device, shape);
  }
  StatusOr<BufferPtr> borrow(Device&, const void*, const Shape&,
                             std::shared_ptr<const void>) override {
    return nullptr;
  }
  Status copy_to_host(Buffer&, void*) override {
    return base::unimplemented("download: a hollow buffer");
  }

  std::function<Status()> on_compile_;
};

// Four devices of an interpreter that lives as long as the process, as meshes do.
inline std::vector<Device*> four_devices() {
  static Backend& backend = *interpreter::make_backend({.devices = 4}).release();
  std::vector<Device*> out;
  for (const auto& device : backend.devices()) out.push_back(device.get());
  return out;
}

inline std::shared_ptr<Executable> compiled(const hlo::Module& module, Device& device) {
  return device.backend().compile(module, {}, device).value();
}

}  // namespace heddle::runtime
