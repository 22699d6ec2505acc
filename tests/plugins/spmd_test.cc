// Several devices of real XLA: the corpus of collectives, and arrays spread over a mesh. Skipped
// where the plugin is not there: ./dev setup-plugin xla-cpu.
#include "heddle/runtime/spmd.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/runtime/mesh.h"
#include "heddle/runtime/transfer.h"
#include "heddle/tests/plugins/four_devices.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/run.h"

namespace heddle {
namespace {

using runtime::BufferPtr;
using runtime::Device;

class SpmdOnXla : public OnFourXlaDevices {
 protected:
  static Device& mesh() { return *runtime::mesh_device(four()).value(); }
};
HEDDLE_BY_EACH_PARTITIONER(SpmdOnXla);

TEST_P(SpmdOnXla, CorpusGivesTheExpectedResults) {
  runtime::Backend& backend = four()[0]->backend();
  const auto cases = conformance::read_pack("tests/conformance/spmd/spmd.cases.gz").value();
  EXPECT_EQ(cases.size(), 13u);
  for (const conformance::Case& item : cases) {
    const conformance::Result result = conformance::run_case(
        item, conformance::on_device(*four()[0]), conformance::on_replicas(backend));
    EXPECT_EQ(result.outcome, conformance::Outcome::kPassed) << item.name << ": " << result.message;
  }
}

hlo::Sharding sharding(const std::string& text) {
  const hlo::Module module =
      hlo::parse_text(base::cat("ENTRY main { ROOT x = f32[] parameter(0), sharding=", text, " }"))
          .value();
  return *module.entry_computation().root_instruction().extras->sharding;
}

Literal counted(std::vector<int64_t> sizes) {
  Literal out(Shape(f32, std::move(sizes)));
  std::iota(out.mutable_values<float>().begin(), out.mutable_values<float>().end(), 0.0f);
  return out;
}

std::vector<BufferPtr> run(Device& mesh, const std::string& text,
                           const std::vector<BufferPtr>& arguments) {
  const auto program = mesh.backend().compile(hlo::parse_text(text).value(), {}, mesh);
  if (!program.ok()) throw std::runtime_error(base::message_of(program.status()));
  auto results = (*program)->execute(arguments);
  if (!results.ok()) throw std::runtime_error(base::message_of(results.status()));
  return *std::move(results);
}

// XLA's partitioner splits the contraction, and sums the parts.
TEST_P(SpmdOnXla, ADotOverASplitDimension) {
  const BufferPtr x =
      runtime::to_devices(mesh(), counted({3, 8}), sharding("{devices=[1,4]<=[4]}")).value();
  const BufferPtr w =
      runtime::to_devices(mesh(), counted({8, 2}), sharding("{devices=[4,1]<=[4]}")).value();
  const auto out = run(mesh(), R"(ENTRY main {
      x = f32[3,8] parameter(0)
      w = f32[8,2] parameter(1)
      ROOT y = f32[3,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} })",
                       {x, w});
  EXPECT_THAT(runtime::to_host(*out[0]).value().values<float>(),
              ElementsAre(280, 308, 728, 820, 1176, 1332));
}

// What is written goes through add-dependency, and the start of a sum behind it; each partitioner
// takes both, of split rows and of split columns.
TEST_P(SpmdOnXla, UpdatesByAPartOfTheSameArrayAndStartsOfSums) {
  for (const char* cut : {"{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "{replicated}"}) {
    const BufferPtr x = runtime::to_devices(mesh(), counted({4, 8}), sharding(cut)).value();
    const std::string program = R"(
        add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
        two { a = f32[] parameter(0) b = f32[] parameter(1) x = f32[] parameter(2)
          y = f32[] parameter(3) m = f32[] maximum(a, x) n = f32[] add(b, y)
          ROOT t = (f32[], f32[]) tuple(m, n) }
        ENTRY main {
          x = f32[4,8] parameter(0)
          zero = s32[] constant(0)
          one = s32[] constant(1)
          d = f32[4,7] dynamic-slice(x, zero, zero), dynamic_slice_sizes={4,7}
          u = f32[4,8] dynamic-update-slice(x, d, zero, one)
          r = f32[4,8,1] reshape(u)
          nine = f32[] constant(9)
          p = (f32[4,8], f32[4,8]) reduce(r, r, nine, nine), dimensions={2}, to_apply=two
          m = f32[4,8] get-tuple-element(p), index=0
          sum = f32[4] reduce(u, nine), dimensions={1}, to_apply=add
          ROOT t = (f32[4,8,1], f32[4,8], f32[4]) tuple(r, m, sum) })";
    const Literal want =
        interpreter::evaluate(hlo::parse_text(program).value(), {counted({4, 8})}).value();
    const auto out = run(mesh(), program, {x});
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(runtime::to_host(*out[i]).value(), want.elements()[i]) << cut << " " << i;
  }
}

// GSPMD fills the last part up, so programs with such arrays are its, unless Shardy is asked for.
TEST(SpmdOnXlaAsItIs, ArraysThatDoNotDivide) {
  if (four_xla_devices().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  Device& mesh = *runtime::mesh_device(four_xla_devices()).value();
  const BufferPtr x =
      runtime::to_devices(mesh, counted({5}), sharding("{devices=[4]<=[4]}")).value();
  const auto out = run(mesh, R"(
      add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
      ENTRY main {
      x = f32[5] parameter(0)
      one = f32[] constant(1)
      ones = f32[5] broadcast(one), dimensions={}
      y = f32[5] add(x, ones)
      s = f32[5] custom-call(y), custom_call_target="Sharding", sharding={devices=[4]<=[4]}
      zero = f32[] constant(0)
      sum = f32[] reduce(y, zero), dimensions={0}, to_apply=add
      ROOT t = (f32[5], f32[]) tuple(s, sum) })",
                       {x});
  EXPECT_THAT(runtime::to_host(*out[0]).value().values<float>(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(runtime::to_host(*out[1]).value().values<float>(), ElementsAre(15));
}

TEST(SpmdOnXlaAsItIs, ShardySaysWhatItCannotCut) {
  if (four_xla_devices().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  Device& mesh = *runtime::mesh_device(four_devices_of("Shardy")).value();
  const auto module =
      hlo::parse_text("ENTRY main { ROOT x = f32[5] parameter(0), sharding={devices=[4]<=[4]} }");
  const auto program = mesh.backend().compile(*module, {}, mesh);
  EXPECT_THAT(base::message_of(program.status()),
              ::testing::HasSubstr("compile main: to-shardy: sharding {devices=[4]<=[4]} cuts "
                                   "dimension 0 of f32[5] in 4 parts"));
}

TEST_P(SpmdOnXla, ArgumentsAreMovedFromDeviceToDevice) {
  const BufferPtr rows =
      runtime::to_devices(mesh(), counted({4, 4}), sharding("{devices=[4,1]<=[4]}")).value();
  const auto out =
      run(mesh(), "ENTRY main { ROOT x = f32[4,4] parameter(0), sharding={devices=[1,4]<=[4]} }",
          {rows});
  EXPECT_EQ(hlo::to_string(*runtime::sharding_of(*out[0])), "{devices=[1,4]<=[4]}");
  EXPECT_EQ(runtime::to_host(*out[0]).value(), counted({4, 4}));
}

// What a mesh's devices have comes down at once, tile by tile; a whole array is viewed in place.
TEST_P(SpmdOnXla, DownloadsAndViewsOfTiles) {
  const BufferPtr x =
      runtime::to_devices(mesh(), counted({8}), sharding("{devices=[4]<=[4]}")).value();
  const auto out = run(mesh(), R"(ENTRY main {
      x = f32[8] parameter(0)
      y = f32[8] add(x, x)
      s = f32[8] custom-call(y), custom_call_target="Sharding", sharding={devices=[4]<=[4]}
      w = f32[8] custom-call(x), custom_call_target="Sharding", sharding={replicated}
      ROOT t = (f32[8], f32[8]) tuple(s, w) })",
                       {x});
  const Counters before = counters();
  EXPECT_THAT(runtime::start_to_host(*out[0])->await().value().values<float>(),
              ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  EXPECT_EQ((counters() - before).downloads, 4);
  EXPECT_EQ(runtime::view_on_host(*out[1]).value(), counted({8}));
  EXPECT_EQ((counters() - before).downloads, 4);
  EXPECT_EQ((counters() - before).aliased_bytes, 32);
}

// A program that says where its arrays lie runs on one device, too.
TEST_P(SpmdOnXla, OneDeviceTakesNoNoticeOfShardings) {
  Device& one = *four()[1];
  const auto program = one.backend().compile(
      hlo::parse_text(
          "ENTRY main { x = f32[8] parameter(0), sharding={devices=[4]<=[4]} s = f32[8] "
          "custom-call(x), custom_call_target=\"Sharding\", "
          "sharding={devices=[4]<=[4]} ROOT y = f32[8] add(x, s) }")
          .value(),
      {}, one);
  ASSERT_TRUE(program.ok()) << program.status();
  const BufferPtr x = runtime::to_device(one, counted({8})).value();
  const auto out = (*program)->execute({&x, 1}).value();
  EXPECT_EQ(runtime::to_host(*out[0]).value().to_double(7), 14);
}

// A function of the program's own gets whole arrays, on each device that runs the program.
TEST_P(SpmdOnXla, FunctionsOfTheHostAreCalled) {
  constexpr char kTarget[] = "spmd_test.reversed";
  std::atomic<int> calls{0};
  ASSERT_EQ(
      interpreter::register_custom_call(kTarget,
                                        [&](interpreter::CustomCall& call) -> StatusOr<Literal> {
                                          ++calls;
                                          Literal out = call[0];
                                          std::ranges::reverse(out.mutable_values<float>());
                                          return out;
                                        }),
      Status());
  const BufferPtr x =
      runtime::to_devices(mesh(), counted({8}), sharding("{devices=[4]<=[4]}")).value();
  const auto out = run(mesh(),
                       base::cat(R"(ENTRY main {
      x = f32[8] parameter(0)
      y = f32[8] add(x, x)
      z = f32[8] custom-call(y), custom_call_target=")",
                                 kTarget, R"("
      ROOT s = f32[8] custom-call(z), custom_call_target="Sharding", sharding={devices=[4]<=[4]}
    })"),
                       {x});
  EXPECT_THAT(runtime::to_host(*out[0]).value().values<float>(),
              ElementsAre(14, 12, 10, 8, 6, 4, 2, 0));
  EXPECT_EQ(calls, 4);
  interpreter::unregister_custom_call(kTarget);
}

// LAPACK's functions that are not written as HLO are the host's. Eigenvalues of a matrix that every
// device has a row of.
TEST_P(SpmdOnXla, EigenvaluesOfASplitMatrix) {
  const auto values = std::vector<float>{1, 5, 0, 0, 0, 2, 5, 0, 0, 0, 3, 5, 0, 0, 0, 4};
  const Literal matrix = Literal::from<float>(Shape(f32, {4, 4}), std::span<const float>(values));
  const BufferPtr a = runtime::to_devices(mesh(), matrix, sharding("{devices=[4,1]<=[4]}")).value();
  const auto out = run(mesh(), R"(ENTRY main {
      a = f32[4,4] parameter(0)
      e = (f32[4], f32[4], c64[4,4], c64[4,4], s32[]) custom-call(a),
          custom_call_target="lapack_sgeev_ffi", api_version=API_VERSION_TYPED_FFI,
          backend_config={compute_left = 86 : ui8, compute_right = 86 : ui8}
      ROOT w = f32[4] get-tuple-element(e), index=0 })",
                       {a});
  EXPECT_THAT(runtime::to_host(*out[0]).value().values<float>(),
              ::testing::UnorderedElementsAre(1, 2, 3, 4));
}

// What the plugin says of one device's part.
TEST_P(SpmdOnXla, CostIsThatOfOneDevice) {
  const auto program =
      mesh()
          .backend()
          .compile(hlo::parse_text("ENTRY main { x = f32[64,4] parameter(0), "
                                   "sharding={devices=[4,1]<=[4]} ROOT y = f32[64,4] add(x, x), "
                                   "sharding={devices=[4,1]<=[4]} }")
                       .value(),
                   {}, mesh())
          .value();
  const runtime::ProgramCost cost = program->cost();
  EXPECT_EQ(cost.argument_bytes, 256);
  EXPECT_EQ(cost.result_bytes, 256);
  EXPECT_EQ(cost.flops, 64);
  EXPECT_TRUE(cost.scratch_bytes.has_value());
}

// Launches of several threads do not wait for each other crosswise.
TEST_P(SpmdOnXla, ThreadsLaunchCollectivesAtOnce) {
  constexpr int kThreads = 3, kRuns = 20;
  const std::string text = R"(
      add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
      ENTRY main { x = f32[8] parameter(0), sharding={devices=[4]<=[4]}
      zero = f32[] constant(0)
      ROOT sum = f32[] reduce(x, zero), dimensions={0}, to_apply=add })";
  const auto program = mesh().backend().compile(hlo::parse_text(text).value(), {}, mesh()).value();
  const BufferPtr x =
      runtime::to_devices(mesh(), counted({8}), sharding("{devices=[4]<=[4]}")).value();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRuns; ++i) {
        const auto out = program->execute({&x, 1});
        right += out.ok() && runtime::to_host(*(*out)[0]).value().to_double(0) == 28;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * kRuns);
}

// A donated array is the memory of a result that is cut as it is, on every device; of one that is
// cut otherwise it is not.
TEST_P(SpmdOnXla, DonatedArraysAreTheResultsMemory) {
  const auto program = mesh()
                           .backend()
                           .compile(hlo::parse_text(R"(ENTRY main {
              x = f32[64,4] parameter(0), sharding={replicated}
              y = f32[64,4] parameter(1), sharding={devices=[4,1]<=[4]}
              a = f32[64,4] add(x, x), sharding={replicated}
              b = f32[64,4] add(y, y), sharding={devices=[4,1]<=[4]}
              c = f32[64,4] subtract(y, x), sharding={replicated}
              ROOT r = (f32[64,4], f32[64,4], f32[64,4]) tuple(a, b, c),
                  sharding={{replicated}, {devices=[4,1]<=[4]}, {replicated}} })")
                                        .value(),
                                    {}, mesh())
                           .value();
  const Literal values = counted({64, 4});
  const Counters before = counters();
  for (int turn = 0; turn < 2; ++turn) {
    const BufferPtr x = runtime::to_devices(mesh(), values, sharding("{replicated}")).value();
    const BufferPtr y =
        runtime::to_devices(mesh(), values, sharding("{devices=[4,1]<=[4]}")).value();
    const void* memory = runtime::view_on_host(*x)->bytes();
    const auto results = program->execute(std::vector{x, y}, {.donate = {0, 1}}).value();
    EXPECT_TRUE(x->is_deleted());
    EXPECT_TRUE(y->is_deleted());
    EXPECT_EQ(runtime::view_on_host(*results[0])->bytes(), memory);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(runtime::to_host(*results[static_cast<size_t>(i)])->values<float>()[255], 510);
    EXPECT_EQ(runtime::to_host(*results[2])->values<float>()[255], 0);
  }
  EXPECT_EQ(counters().compiles - before.compiles, 1);  // the program of the donation, once
}

}  // namespace
}  // namespace heddle
