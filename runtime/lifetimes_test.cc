// What is left of a backend that is gone: its arrays and programs answer with errors.
#include <gtest/gtest.h>

#include "heddle/base/metrics/counters.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/runtime/mesh.h"
#include "heddle/runtime/spmd.h"
#include "heddle/runtime/support_test.h"
#include "heddle/testing.h"

namespace heddle::runtime {
namespace {

using hlo::Opcode;

Status gone(std::string_view op, std::string_view device = "interpreter:0") {
  return base::failed_precondition(
      op, ": the backend of ", device,
      " is gone; keep it as long as its arrays and programs are in use");
}

// An array and a program of a backend that is not there any more.
class Gone : public ::testing::TestWithParam<bool> {
 protected:
  Gone() { backend_.reset(); }

  std::unique_ptr<Backend> backend_ =
      interpreter::make_backend({.asynchronous = GetParam(), .devices = 2});
  std::shared_ptr<Executable> add_ =
      compiled(binary_module(Opcode::kAdd, 2, "add"), *backend_->devices()[0]);
  BufferPtr x_ = on(*backend_->devices()[0], {1, 2});
  BufferPtr sum_ = add_->execute(std::vector{x_, x_}).value()[0];
  Device& device_ = x_->device();  // as long as x_
};
INSTANTIATE_TEST_SUITE_P(Interpreters, Gone, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Asynchronous" : "Synchronous");
});

TEST_P(Gone, ArraysCannotBeRead) {
  const Effects effects = effects_of([&] {
    EXPECT_EQ(to_host(*sum_).status(), gone("download"));
    EXPECT_EQ(start_to_host(*sum_).status(), gone("download"));
    EXPECT_EQ(view_on_host(*sum_).status(), gone("download"));
  });
  EXPECT_EQ(effects.downloads, 0);
}

TEST_P(Gone, NothingIsUploadedCompiledOrRun) {
  const Literal values = vector_of({1, 2});
  EXPECT_EQ(to_device(device_, values).status(), gone("upload"));
  EXPECT_EQ(lend_to_device(device_, values.bytes(), values.shape(), values.owner()).status(),
            gone("upload"));
  EXPECT_EQ(to_device(device_, StridedArray{values.bytes(), values.shape(), {4}}).status(),
            gone("upload"));
  EXPECT_EQ(device_.backend().compile(identity_module(2), {}, device_).status(),
            gone("compile identity"));
  EXPECT_EQ(compile_cached(identity_module(2), device_).status(), gone("compile identity"));
  EXPECT_EQ(compile_spmd(identity_module(2), {}, {.devices = {&device_}}).status(),
            gone("compile identity"));
  EXPECT_EQ(add_->execute(std::vector{x_, x_}).status(), gone("run add"));
  std::vector<BufferPtr> results(1);
  EXPECT_EQ(add_->execute_into(std::vector{x_, x_}, results), gone("run add"));
}

TEST_P(Gone, WhatIsLeftStillTellsOfItself) {
  EXPECT_EQ(device_.name(), "interpreter:0");
  EXPECT_EQ(add_->device().name(), "interpreter:0");
  EXPECT_EQ(sum_->await(), Status());
  synchronize(device_);
  EXPECT_EQ(device_.throttle().load().launches, 0);
  EXPECT_EQ(device_.live_bytes(), 16);
  sum_->release();
  EXPECT_EQ(device_.live_bytes(), 8);
  sum_.reset();
  EXPECT_EQ(device_.live_bytes(), 8);
}

TEST(GoneMesh, IsAnErrorTooAndNamesTheDevice) {
  auto backend = interpreter::make_backend({.devices = 2});
  Device& one = *backend->devices()[0];
  const std::vector<Device*> devices = {&one, backend->devices()[1].get()};
  Device& mesh = *mesh_device(devices).value();
  const BufferPtr x = on(mesh, {1, 2});
  const auto add = compiled(binary_module(Opcode::kAdd, 2, "add"), mesh);
  const BufferPtr sum = add->execute(std::vector{x, x}).value()[0];
  const auto joint = compile_spmd(identity_module(2), {}, {.devices = {&one}}).value();
  const BufferPtr y = on(one, {1, 2});
  backend.reset();
  EXPECT_EQ(to_host(*sum).status(), gone("download"));
  EXPECT_EQ(to_device(mesh, vector_of({1, 2})).status(), gone("upload"));
  EXPECT_EQ(add->execute(std::vector{x, x}).status(), gone("run add"));
  EXPECT_EQ(joint->execute({{y}}).status(), gone("run identity"));
  EXPECT_EQ(mesh_device(devices).status(), gone("mesh"));
  EXPECT_EQ(compile_spmd(identity_module(2), {}, {.partitions = 2, .devices = devices}).status(),
            gone("compile identity"));
  synchronize(mesh);
}

}  // namespace
}  // namespace heddle::runtime
