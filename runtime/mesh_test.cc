#include "heddle/runtime/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/spmd.h"
#include "heddle/runtime/support_test.h"
#include "heddle/runtime/transfer.h"
#include "heddle/runtime/transfer_guard.h"

namespace heddle::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

hlo::Module module_of(const std::string& text) { return hlo::parse_text(text).value(); }

hlo::Sharding sharding(const std::string& text) {
  const hlo::Module module =
      module_of(base::cat("ENTRY main { ROOT x = f32[] parameter(0), sharding=", text, " }"));
  return *module.entry_computation().root_instruction().extras->sharding;
}

Literal counted(std::vector<int64_t> sizes) {
  Literal out(f32(std::move(sizes)));
  std::iota(out.mutable_values<float>().begin(), out.mutable_values<float>().end(), 0.0f);
  return out;
}

Device& mesh() { return *mesh_device(four_devices()).value(); }

std::vector<BufferPtr> run(Device& device, const std::string& text,
                           const std::vector<BufferPtr>& arguments) {
  const auto program = device.backend().compile(module_of(text), {}, device);
  if (!program.ok()) throw std::runtime_error(base::message_of(program.status()));
  auto results = (*program)->execute(arguments);
  if (!results.ok()) throw std::runtime_error(base::message_of(results.status()));
  return *std::move(results);
}

TEST(Mesh, IsTheSameDeviceForTheSameDevices) {
  EXPECT_EQ(&mesh(), &mesh());
  EXPECT_EQ(mesh().name(), "mesh(interpreter:0,1,2,3):0");
  EXPECT_EQ(devices_of(mesh()), four_devices());
  EXPECT_EQ(mesh_device(std::vector{four_devices()[2]}).value(), four_devices()[2]);
}

TEST(Mesh, OfNoDevicesOrOneTwiceIsAnError) {
  EXPECT_EQ(base::message_of(mesh_device({}).status()),
            "mesh: has no devices; must have at least one");
  EXPECT_EQ(base::message_of(mesh_device(std::vector<Device*>{nullptr}).status()),
            "mesh: has a null pointer among its devices; each must be a device");
  EXPECT_EQ(
      base::message_of(mesh_device(std::vector{four_devices()[1], four_devices()[1]}).status()),
      "mesh: has interpreter:1 twice; must have it once");
  Device* other = find_device("interpreter").value();
  EXPECT_EQ(base::message_of(mesh_device(std::vector{four_devices()[1], other}).status()),
            "mesh: has interpreter:0 and interpreter:1; all its devices must be of one backend");
}

TEST(Mesh, UploadsCutAndDownloadsJoin) {
  const Literal x = counted({4, 6});
  const Counters before = counters();
  const BufferPtr buffer =
      to_devices(mesh(), x, sharding("{devices=[2,1,2]<=[4] last_tile_dim_replicate}")).value();
  Counters moved = counters() - before;
  EXPECT_EQ(moved.uploads, 4);
  EXPECT_EQ(moved.upload_bytes, 4 * 2 * 6 * 4);  // each half to two devices
  EXPECT_EQ(four_devices()[3]->live_bytes(), 2 * 6 * 4);
  EXPECT_EQ(mesh().live_bytes(), 0);
  EXPECT_EQ(to_host(*buffer).value(), x);
  moved = counters() - before;
  EXPECT_EQ(moved.downloads, 2);  // each half once
  EXPECT_EQ(moved.download_bytes, x.byte_size());
}

TEST(Mesh, PlainUploadsAreCopiesForEveryDevice) {
  const BufferPtr buffer = to_device(mesh(), counted({3})).value();
  EXPECT_EQ(*sharding_of(*buffer), hlo::Sharding());
  EXPECT_EQ(to_host(*buffer).value(), counted({3}));
  EXPECT_EQ(sharding_of(*to_device(*four_devices()[0], counted({3})).value()), nullptr);
}

// The tiles come down at the same time, each once; the buffer may go meanwhile.
TEST(Mesh, DownloadsAreStartedTileByTile) {
  const Literal x = counted({4, 6});
  BufferPtr buffer = to_devices(mesh(), x, sharding("{devices=[2,2]<=[4]}")).value();
  const Counters before = counters();
  Download download = start_to_host(*buffer).value();
  buffer->release();
  buffer.reset();
  EXPECT_EQ(download.await().value(), x);
  EXPECT_EQ((counters() - before).downloads, 4);
  EXPECT_EQ((counters() - before).download_bytes, x.byte_size());
  EXPECT_EQ(base::message_of(download.await().status()), "download: it was waited for before");
}

TEST(Mesh, ADownloadOfCopiesIsOfOneDevice) {
  const BufferPtr buffer = to_device(mesh(), counted({3})).value();
  const Counters before = counters();
  EXPECT_EQ(start_to_host(*buffer)->await().value(), counted({3}));
  EXPECT_EQ((counters() - before).downloads, 1);
  buffer->release();
  EXPECT_EQ(start_to_host(*buffer).status().code(), StatusCode::kFailedPrecondition);
}

TEST(Mesh, CopiesAreViewedAndTilesOneByOne) {
  const BufferPtr copies = to_device(mesh(), counted({3})).value();
  const Counters before = counters();
  const Literal view = view_on_host(*copies).value();
  EXPECT_EQ(view, counted({3}));
  EXPECT_EQ((counters() - before).aliased_bytes, 12);
  EXPECT_EQ((counters() - before).downloads, 0);
  const BufferPtr tiles = to_devices(mesh(), counted({8}), sharding("{devices=[4]<=[4]}")).value();
  EXPECT_EQ(base::message_of(view_on_host(*tiles).status()),
            "view: f32[8] lies in 4 tiles on mesh(interpreter:0,1,2,3):0; view its parts(), or "
            "read it with to_host()");
  const auto& parts = static_cast<const ShardedBuffer&>(*tiles).parts();
  EXPECT_THAT(view_on_host(*parts[3])->values<float>(), ElementsAre(6, 7));
}

// One array in the host's memory is that of all four.
TEST(Mesh, LentMemoryIsEveryDevices) {
  alignas(64) static const float kValues[] = {1, 2, 3};
  const Counters before = counters();
  const BufferPtr lent =
      lend_to_device(mesh(), kValues, f32({3}), std::make_shared<int>(0)).value();
  EXPECT_EQ((counters() - before).uploads, 0);
  EXPECT_EQ((counters() - before).aliased_bytes, 4 * 12);
  EXPECT_THAT(view_on_host(*lent)->values<float>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(static_cast<const void*>(view_on_host(*lent)->bytes()), kValues);
}

// A launch is one on every device: where one of them has no room, none takes it.
TEST(Mesh, ATryWithoutRoomOnADeviceIsUnavailable) {
  const BufferPtr x = to_devices(mesh(), counted({8}), sharding("{devices=[4]<=[4]}")).value();
  const auto program = mesh()
                           .backend()
                           .compile(module_of("ENTRY main { x = f32[8] parameter(0) ROOT y = "
                                              "f32[8] negate(x) }"),
                                    {}, mesh())
                           .value();
  const ExecuteOptions now{.donate = {0}, .only_if_room = true};
  Throttle& throttle = four_devices()[2]->throttle();
  const Throttle::Limits limits = throttle.limits();
  throttle.set_limits({.launches = 1});
  {
    const Throttle::Ticket other = throttle.acquire(0);
    const Status status = program->execute({&x, 1}, now).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(base::message_of(status), HasSubstr("run main: interpreter:2 has 1 launches"));
    EXPECT_FALSE(x->is_deleted());
    EXPECT_EQ(four_devices()[0]->throttle().load().launches, 0);
  }
  EXPECT_TRUE(program->execute({&x, 1}, now).ok());
  EXPECT_TRUE(x->is_deleted());
  throttle.set_limits(limits);
}

TEST(Mesh, GuardsHoldForEveryTile) {
  const TransferGuard guard(TransferGuard::Policy::kForbid);
  EXPECT_THAT(base::message_of(
                  to_devices(mesh(), counted({4}), sharding("{devices=[4]<=[4]}"), "x").status()),
              HasSubstr("x"));
}

TEST(Mesh, ProgramsRunOnTiles) {
  const BufferPtr x = to_devices(mesh(), counted({8}), sharding("{devices=[4]<=[4]}")).value();
  const auto out = run(mesh(), R"(ENTRY main {
      x = f32[8] parameter(0)
      y = f32[8] add(x, x)
      s = f32[8] custom-call(y), custom_call_target="Sharding", sharding={devices=[4]<=[4]}
      ROOT t = (f32[8], f32[8]) tuple(s, y) })",
                       {x});
  EXPECT_THAT(to_host(*out[0]).value().values<float>(), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  EXPECT_EQ(hlo::to_string(*sharding_of(*out[0])), "{devices=[4]<=[4]}");
  EXPECT_EQ(hlo::to_string(*sharding_of(*out[1])), "{replicated}");
  EXPECT_EQ(to_host(*out[1]).value(), to_host(*out[0]).value());
}

// What the program says of a parameter holds; what it leaves open is as the argument is.
TEST(Mesh, ArgumentsAreMovedFromDeviceToDevice) {
  const BufferPtr rows =
      to_devices(mesh(), counted({4, 4}), sharding("{devices=[4,1]<=[4]}")).value();
  const TransferGuard guard(TransferGuard::Policy::kForbid);
  const auto moved = run(mesh(),
                         "ENTRY main { ROOT x = f32[4,4] parameter(0), "
                         "sharding={devices=[1,4]<=[4]} }",
                         {rows});
  EXPECT_EQ(hlo::to_string(*sharding_of(*moved[0])), "{devices=[1,4]<=[4]}");
  const auto kept = run(mesh(), "ENTRY main { ROOT x = f32[4,4] parameter(0) }", {rows});
  EXPECT_EQ(hlo::to_string(*sharding_of(*kept[0])), "{devices=[4,1]<=[4]}");
  const TransferGuard allowed(TransferGuard::Policy::kAllow);
  EXPECT_EQ(to_host(*moved[0]).value(), counted({4, 4}));
  EXPECT_EQ(to_host(*kept[0]).value(), counted({4, 4}));
}

TEST(Mesh, ProgramsAreCachedAndCountedOnce) {
  const hlo::Module module = module_of(
      "ENTRY main { x = f32[8] parameter(0), sharding={devices=[4]<=[4]} ROOT y = f32[8] "
      "negate(x) }");
  const BufferPtr x = to_devices(mesh(), counted({8}), sharding("{devices=[4]<=[4]}")).value();
  ProgramCache cache;
  const Counters before = counters();
  for (int i = 0; i < 3; ++i) {
    const auto program = cache.compile(module, mesh()).value();
    ASSERT_TRUE(program->execute({&x, 1}).ok());
  }
  EXPECT_EQ((counters() - before).compiles, 1);
  EXPECT_EQ((counters() - before).executions, 3);
}

TEST(Mesh, MistakesSayWhatIsWrong) {
  const auto compile = [&](const std::string& text) {
    return base::message_of(mesh().backend().compile(module_of(text), {}, mesh()).status());
  };
  EXPECT_EQ(compile("ENTRY main { ROOT x = f32[8] parameter(0), sharding={devices=[2]<=[2]} }"),
            "compile main: parameter 0: sharding {devices=[2]<=[2]}: is of other devices than 0 .. "
            "3; must name each once");
  const BufferPtr x = to_device(*four_devices()[0], counted({8})).value();
  const auto program =
      mesh()
          .backend()
          .compile(module_of("ENTRY main { ROOT x = f32[8] parameter(0) }"), {}, mesh())
          .value();
  EXPECT_THAT(base::message_of(program->execute({&x, 1}).status()),
              HasSubstr("argument 0 is on interpreter:0; it must be on mesh(interpreter:0,1,2,3)"));
  EXPECT_EQ(
      base::message_of(to_devices(mesh(), counted({8}), sharding("{devices=[2,2]<=[4]}")).status()),
      "upload: sharding {devices=[2,2]<=[4]}: is of 2 dimensions; f32[8] has 1");
}

TEST(Mesh, ReleasedTilesAreADonatedArray) {
  const BufferPtr x = to_devices(mesh(), counted({8}), sharding("{devices=[4]<=[4]}")).value();
  EXPECT_EQ(x->state(), ValueState::kReady);
  x->release();
  EXPECT_TRUE(x->is_deleted());
  EXPECT_EQ(to_host(*x).status().code(), StatusCode::kFailedPrecondition);
}

// What is in flight is so on the devices that the mesh is made of.
TEST(Mesh, IsSynchronizedByItsDevices) {
  std::atomic<bool> done{false};
  std::thread run([&, ticket = four_devices()[2]->throttle().acquire(1)]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    done = true;
    const Throttle::Ticket gone = std::move(ticket);
  });
  synchronize(mesh());
  EXPECT_TRUE(done);
  run.join();
}

// Devices that have arguments of their own.
TEST(Spmd, ReplicasRunOnTheirOwnArguments) {
  const DeviceGrid grid{.replicas = 4, .devices = four_devices()};
  const auto program =
      compile_spmd(
          module_of(
              R"(add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
        ENTRY main { x = f32[2] parameter(0) ROOT r = f32[2] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add })"),
          {}, grid)
          .value();
  DeviceBuffers arguments;
  for (Device* device : four_devices()) {
    const auto i = static_cast<float>(device->id());
    arguments.push_back({to_device(*device, vector_of({i, 2 * i})).value()});
  }
  const DeviceBuffers results = program->execute(arguments).value();
  EXPECT_THAT(to_host(*results[1][0]).value().values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(to_host(*results[2][0]).value().values<float>(), ElementsAre(5, 10));
  EXPECT_EQ(&results[3][0]->device(), four_devices()[3]);

  std::swap(arguments[0], arguments[1]);
  EXPECT_EQ(base::message_of(program->execute(arguments).status()),
            "run main: argument 0 for interpreter:0 is f32[2] on interpreter:1; it must be f32[2] "
            "on interpreter:0");
  arguments.pop_back();
  EXPECT_EQ(base::message_of(program->execute(arguments).status()),
            "run main: got arguments for 3 devices; it runs on 4");
}

// The function that a program calls runs one on a device of its own grid, which is full of it.
TEST(Spmd, WhatAProgramStartsIsNotHeldBackByTheProgram) {
  const auto backend = interpreter::make_backend({.devices = 2});
  const std::vector<Device*> devices = {backend->devices()[0].get(), backend->devices()[1].get()};
  const auto inner = compiled(identity_module(2), *devices[0]);
  ASSERT_EQ(interpreter::register_custom_call(
                "mesh_test.inner",
                [&](interpreter::CustomCall& call) -> StatusOr<Literal> {
                  HEDDLE_ASSIGN_OR_RETURN(const BufferPtr x, to_device(*devices[0], call[0]));
                  HEDDLE_ASSIGN_OR_RETURN(const auto results, inner->execute({&x, 1}));
                  return to_host(*results[0]);
                }),
            Status());
  const auto program =
      compile_spmd(module_of("ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] custom-call(x), "
                             "custom_call_target=\"mesh_test.inner\" }"),
                   {}, {.replicas = 2, .devices = devices})
          .value();
  const DeviceBuffers arguments = {{on(*devices[0], {1, 2})}, {on(*devices[1], {3, 4})}};
  for (const Throttle::Limits full : {Throttle::Limits{.launches = 1}, {.bytes = 1}}) {
    for (Device* device : devices) device->throttle().set_limits(full);
    auto run = std::async(std::launch::async, [&] { return program->execute(arguments).status(); });
    const bool ends = run.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    EXPECT_TRUE(ends);
    for (Device* device : devices) device->throttle().set_limits({});  // so that the test ends
    EXPECT_EQ(run.get(), Status());
  }
  interpreter::unregister_custom_call("mesh_test.inner");
}

TEST(Spmd, GridsAreChecked) {
  const hlo::Module module = module_of("ENTRY main { ROOT x = f32[8] parameter(0) }");
  EXPECT_EQ(base::message_of(
                compile_spmd(module, {}, {.replicas = 3, .devices = four_devices()}).status()),
            "compile main: 4 devices for 3 replicas of 1 partitions; must be as many as their "
            "product");
  EXPECT_EQ(base::message_of(
                compile_spmd(module, {},
                             {.replicas = 2, .devices = {four_devices()[0], four_devices()[0]}})
                    .status()),
            "compile main: interpreter:0 is in the grid twice; must be there once");
  EXPECT_EQ(base::message_of(compile_spmd(module, {}, {.devices = {nullptr}}).status()),
            "compile main: device 0 is none; must be one");
  EXPECT_EQ(base::message_of(
                compile_spmd(module, {}, {.replicas = 2, .devices = {&mesh(), nullptr}}).status()),
            "compile main: device 1 is none; must be one");
  constexpr int64_t kGreat = int64_t{1} << 32;  // whose square is 0 in 64 bits
  EXPECT_EQ(compile_spmd(module, {}, {.replicas = kGreat, .partitions = kGreat}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(base::message_of(compile_spmd(module, {}, {.devices = {&mesh()}}).status()),
              HasSubstr("has programs of one device only"));
}

}  // namespace
}  // namespace heddle::runtime
