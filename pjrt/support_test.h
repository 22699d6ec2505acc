// What the tests of pjrt/ share: the mock plugin, programs for it, and values on and off it.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/wire.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/pjrt/internal/api.h"
#include "heddle/pjrt/internal/types.h"
#include "heddle/pjrt/mock/mock.h"
#include "heddle/pjrt/plugin.h"
#include "heddle/runtime/transfer.h"

namespace heddle::pjrt {

using runtime::BufferPtr;
using runtime::Executable;

inline mock::Plugin& mock_plugin() {
  static mock::Plugin& plugin = [&]() -> mock::Plugin& {
    void* library = dlopen(HEDDLE_PJRT_MOCK, RTLD_NOW | RTLD_LOCAL);
    return *reinterpret_cast<mock::Plugin* (*)()>(dlsym(library, "heddle_pjrt_mock"))();
  }();
  return plugin;
}

// A program of the mock: the evaluator's.
inline mock::Array array_of(const Literal& literal) {
  const auto* bytes = literal.bytes();
  return {.type = element_type(literal.shape().dtype()),
          .dims = literal.shape().dimensions(),
          .bytes = {bytes, bytes + literal.byte_size()}};
}

inline Literal literal_of(const mock::Array& array) {
  Literal literal = Literal::uninitialised(Shape(dtype_of(array.type), array.dims));
  if (!array.bytes.empty())
    std::memcpy(literal.mutable_bytes(), array.bytes.data(), array.bytes.size());
  return literal;
}

inline mock::Program evaluated(std::string_view code, std::string_view /*options*/) {
  hlo::Module module = hlo::from_proto(code).value();
  mock::Program program;
  program.name = module.name;
  std::vector<Shape> leaves;
  runtime::append_leaves(module.entry_computation().result_shape(), leaves);
  for (const Shape& leaf : leaves)
    program.results.push_back(
        {.type = element_type(leaf.dtype()), .dims = leaf.dimensions(), .bytes = {}});
  program.run = [module = std::move(module)](const std::vector<const mock::Array*>& arguments) {
    std::vector<Literal> literals;
    for (const mock::Array* argument : arguments) literals.push_back(literal_of(*argument));
    const Literal result = interpreter::evaluate(module, std::move(literals)).value();
    if (!result.is_tuple()) return std::vector<mock::Array>{array_of(result)};
    std::vector<mock::Array> arrays;
    for (const Literal& element : result.elements()) arrays.push_back(array_of(element));
    return arrays;
  };
  return program;
}

inline mock::Settings with_evaluator() { return {.compile = evaluated}; }

inline hlo::Module module_of(const std::string& text) { return hlo::parse_text(text).value(); }

// add(x: f32[2], y: f32[2]) = x + y
inline hlo::Module add_module() {
  return module_of(R"(HloModule add
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT sum = f32[2] add(x, y)
})");
}

inline Literal vector_of(std::vector<float> values) {
  return Literal::from<float>(Shape(f32, {static_cast<int64_t>(values.size())}),
                              std::span<const float>(values));
}

inline StatusOr<std::vector<float>> floats_of(runtime::Buffer& buffer) {
  HEDDLE_ASSIGN_OR_RETURN(const Literal literal, runtime::to_host(buffer));
  const auto values = literal.values<float>();
  return std::vector<float>(values.begin(), values.end());
}

// The mock, fresh for each test. At the end nothing of it may be alive.
class MockTest : public ::testing::Test {
 protected:
  MockTest() { mock_plugin().reset(with_evaluator()); }
  ~MockTest() override { mock_plugin().open(); }

  void TearDown() override {
    mock_plugin().open();
    add_.reset();
    backend_.reset();
    expect_all_gone();
  }

  // A client whose last user was a run goes on a thread of its own, with all else of it gone; a
  // minute is for ever. No call is in the mock then, so that it may be reset.
  static void until_clients_are_gone() {
    const mock::Seen& seen = mock_plugin().seen();
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while ((seen.clients != 0 || seen.inside != 0) && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
  }
  static void expect_all_gone() {
    const mock::Seen& seen = mock_plugin().seen();
    EXPECT_EQ(seen.clients, 0);
    EXPECT_EQ(seen.programs, 0);
    EXPECT_EQ(seen.buffers, 0);
    EXPECT_EQ(seen.events, 0);
    EXPECT_EQ(seen.errors, 0);
    EXPECT_EQ(seen.bytes, 0);
    EXPECT_EQ(seen.errors_asked_early, 0);
  }

  // Starts the mock with the settings, and makes a backend of it.
  void start(mock::Settings settings) {
    add_.reset();
    backend_.reset();
    mock_plugin().reset(std::move(settings));
    auto backend = make_backend("mock", {.library = HEDDLE_PJRT_MOCK});
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }

  runtime::Device& device(size_t number = 0) { return *backend_->devices()[number]; }
  BufferPtr on_device(std::vector<float> values) {
    return runtime::to_device(device(), vector_of(std::move(values))).value();
  }
  std::shared_ptr<Executable> compiled(const hlo::Module& module) {
    return backend_->compile(module, {}, device()).value();
  }
  // x + y, compiled once.
  StatusOr<BufferPtr> add(const BufferPtr& x, const BufferPtr& y,
                          const runtime::ExecuteOptions& options = {}) {
    if (add_ == nullptr) {
      HEDDLE_ASSIGN_OR_RETURN(add_, backend_->compile(add_module(), {}, device()));
    }
    HEDDLE_ASSIGN_OR_RETURN(std::vector<BufferPtr> results,
                            add_->execute(std::vector{x, y}, options));
    return results.at(0);
  }

  std::unique_ptr<runtime::Backend> backend_;
  std::shared_ptr<Executable> add_;
};

}  // namespace heddle::pjrt
