#include "heddle/trace/devices/mesh.h"

#include <numeric>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/support_test.h"
#include "heddle/trace/devices/shard_map.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/device/collectives.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

const Mesh& square() {
  static const Mesh& mesh = *new Mesh({{"data", 2}, {"model", 2}}, runtime::four_devices());
  return mesh;
}
const Mesh& line() {
  static const Mesh& mesh = *new Mesh({{"i", 4}}, runtime::four_devices());
  return mesh;
}

std::string text_of(const Mesh& mesh, std::initializer_list<MeshAxes> spec, int64_t rank) {
  return hlo::to_string(Sharding(mesh, spec).to_hlo(rank));
}

std::vector<float> counted(int64_t count) {
  std::vector<float> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 0.0f);
  return out;
}

// What jax.sharding.NamedSharding gives for these.
TEST(Sharding, IsWhatXlaReads) {
  const Mesh mesh({{"x", 2}, {"y", 4}});
  EXPECT_EQ(text_of(mesh, {}, 2), "{replicated}");
  EXPECT_EQ(text_of(mesh, {"x", "y"}, 2), "{devices=[2,4]<=[8]}");
  EXPECT_EQ(text_of(mesh, {"y", "x"}, 2), "{devices=[4,2]<=[2,4]T(1,0)}");
  EXPECT_EQ(text_of(mesh, {"x"}, 2), "{devices=[2,1,4]<=[8] last_tile_dim_replicate}");
  EXPECT_EQ(text_of(mesh, {None{}, "y"}, 2),
            "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  EXPECT_EQ(text_of(mesh, {{"x", "y"}}, 1), "{devices=[8]<=[8]}");
  EXPECT_EQ(text_of(mesh, {{"y", "x"}}, 1), "{devices=[8]<=[2,4]T(1,0)}");
  EXPECT_EQ(text_of(Mesh({{"a", 2}, {"b", 3}, {"c", 5}}), {"c", "a"}, 2),
            "{devices=[5,2,3]<=[6,5]T(1,0) last_tile_dim_replicate}");
  EXPECT_EQ(text_of(Mesh({{"a", 1}, {"b", 3}}), {"a", "b"}, 2), "{devices=[1,3]<=[3]}");
  EXPECT_EQ(text_of(Mesh({{"a", 1}, {"b", 3}}), {"a"}, 2), "{replicated}");
}

// Against the meaning of the axes, for every choice of them.
TEST(Sharding, PutsEachPartWhereItsCoordinatesSay) {
  const Mesh mesh({{"a", 2}, {"b", 3}, {"c", 2}});
  const std::vector<std::vector<std::string>> choices = {
      {}, {"a"}, {"b"}, {"c"}, {"a", "c"}, {"c", "a"}, {"b", "a"}, {"b", "c"}};
  int checked = 0;
  for (const auto& first : choices) {
    for (const auto& second : choices) {
      const auto clashes = [&](const std::string& name) {
        return std::ranges::find(second, name) != second.end();
      };
      if (std::ranges::any_of(first, clashes)) continue;
      const Sharding sharding(mesh, std::vector<MeshAxes>{MeshAxes(first), MeshAxes(second)});
      const auto tiles = hlo::tiles_of(sharding.to_hlo(2), Shape(f32, {12, 12}), 12);
      ASSERT_TRUE(tiles.ok()) << to_string(sharding) << tiles.status();
      for (int64_t device = 0; device < 12; ++device) {
        const auto coordinate = [&](const std::string& name) {
          return name == "a" ? device / 6 : name == "b" ? device / 2 % 3 : device % 2;
        };
        const auto start = [&](const std::vector<std::string>& names, int64_t parts) {
          int64_t index = 0;
          for (const std::string& name : names)
            index = index * (name == "b" ? 3 : 2) + coordinate(name);
          return index * (12 / parts);
        };
        EXPECT_THAT(tiles->start(device),
                    ElementsAre(start(first, sharding.parts(0)), start(second, sharding.parts(1))))
            << to_string(sharding);
      }
      ++checked;
    }
  }
  EXPECT_EQ(checked, 29);
}

TEST(Mesh, MistakesSayWhatIsWrong) {
  const auto expect = [](auto fn, const std::string& what) {
    EXPECT_THAT(error_of(fn), HasSubstr(what));
  };
  expect([] { Mesh({}); }, "Mesh: has no axes; must have one or more");
  expect([] { Mesh({{"x", 0}}); }, "Mesh: axis x has size 0; it must be 1 or more");
  expect(
      [] {
        Mesh({{"x", 2}, {"x", 2}});
      },
      "Mesh: has axes (x, x); each must have a name of its own");
  expect(
      [] {
        Mesh({{"x", 2}}, runtime::four_devices());
      },
      "Mesh: has 4 devices, axes (x) need 2; give it as many, or axes whose sizes have the product "
      "4");
  expect(
      [] {
        Mesh({{"x", 2}}, {runtime::four_devices()[1], runtime::four_devices()[1]});
      },
      base::cat("Mesh: has the device ", runtime::four_devices()[1]->name(),
                " twice; give it another one for each place"));
  expect([] { Sharding(line(), {"j"}); }, "Mesh(i=4): has no axis \"j\"; it has (i)");
  expect(
      [] {
        Sharding(square(), {"data", {"model", "data"}});
      },
      "Sharding: P(data, (model, data)) names mesh axis data twice; it can cut one axis of an "
      "array");
  expect(
      [] {
        with_sharding(placeholder({4}, f32), Sharding(line(), {"i", None{}}));
      },
      "with_sharding: P(i, None) has 2 entries; the array has 1 axes");
  expect(
      [] {
        (void)Mesh({{"x", 2}}).device();
      },
      "Mesh(x=2): has no devices, so nothing runs on it; give it some when it is made");
  EXPECT_EQ(Sharding(line(), {"i"}).parts(0), 4);
  EXPECT_EQ(Sharding(line(), {"i"}).parts(7), 1);
  expect([] { (void)Sharding(line(), {"i"}).parts(-1); },
         "Sharding: P(i) is asked for the parts of axis -1; axes are counted from the first, which "
         "is 0 [mesh_test.cc:");
}

TEST(Placeholder, SaysHowItIsLaidOut) {
  const Mesh mesh({{"x", 2}});  // no devices
  const Counters before = counters();
  const Tensor w = placeholder({4, 6}, f32, {.sharding = Sharding(mesh, {None{}, "x"})});
  const Program program =
      trace([&](Tensor v) { return with_sharding(v + w, Sharding(mesh, {"x"})); }, w);
  EXPECT_EQ((counters() - before).uploads, 0);
  const std::string text = program.hlo_text();
  EXPECT_THAT(text, HasSubstr("parameter(0), sharding={devices=[1,2]<=[2]}"));
  EXPECT_THAT(text, HasSubstr("custom_call_target=\"Sharding\", sharding={devices=[2,1]<=[2]}"));
  EXPECT_EQ(hlo::to_string(*sharding_of(w)), "{devices=[1,2]<=[2]}");
}

TEST(Array, GoesToEachDeviceInParts) {
  const Counters before = counters();
  const Tensor x = array(counted(12), {4, 3}, Sharding(square(), {"data"}));
  EXPECT_EQ((counters() - before).upload_bytes, 4 * 6 * 4);
  EXPECT_EQ(x.to_vector<float>(), counted(12));
  EXPECT_EQ(hlo::to_string(*sharding_of(x)), "{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
}

TEST(Array, OfBoolsGoesThereToo) {
  const std::vector<bool> values = {true, false, false, true};
  const Tensor x = array(values, {4}, Sharding(line(), {"i"}));
  EXPECT_EQ(x.dtype(), pred);
  EXPECT_EQ(x.to_vector<bool>(), values);
}

TEST(Array, OpsOnItRunOnTheMesh) {
  const Tensor z = array(counted(8), {8});  // on one device
  const DefaultDevice scope(line().device());
  const Tensor x = array(counted(8), {8}, Sharding(line(), {"i"}));
  const Tensor y = with_sharding(x * 2, Sharding(line(), {"i"}));
  EXPECT_EQ(hlo::to_string(*sharding_of(y)), "{devices=[4]<=[4]}");
  EXPECT_EQ(sum(y).item<float>(), 56);
  EXPECT_THAT(error_of([&] { x + z; }),
              HasSubstr(base::cat("operands are on mesh(interpreter:0,1,2,3):0 and on ",
                                  device_of(z).name())));
  EXPECT_EQ((x + device_put(z, Sharding(line(), {}))).to_vector<float>()[7], 14);
}

TEST(DevicePut, MovesWithinAMeshWithoutTheHost) {
  const Tensor x = array(counted(16), {4, 4}, Sharding(line(), {"i"}));
  const Counters before = counters();
  const Tensor y = device_put(x, Sharding(line(), {None{}, "i"}));
  EXPECT_EQ((counters() - before).uploads + (counters() - before).downloads, 0);
  EXPECT_EQ(hlo::to_string(*sharding_of(y)), "{devices=[1,4]<=[4]}");
  EXPECT_EQ(y.to_vector<float>(), counted(16));
}

// shard_map of one function over four devices that hold 0..7 in twos.
template <class Fn>
std::vector<float> mapped(Fn fn, const PartitionSpecs& out, const Mesh& mesh = line(),
                          MeshAxes axes = "i") {
  const Tensor x = array(counted(8), {8}, Sharding(mesh, {axes}));
  return shard_map(fn, mesh, {PartitionSpec{axes}}, out)(x).template to_vector<float>();
}

TEST(ShardMap, EachDeviceHasItsPart) {
  EXPECT_THAT(mapped([](Tensor x) { return sum(x) + reshape(x, {2}); }, {{"i"}}),
              ElementsAre(1, 2, 7, 8, 13, 14, 19, 20));
}

TEST(ShardMap, Reductions) {
  EXPECT_THAT(mapped([](Tensor x) { return psum(x, "i"); }, {{}}), ElementsAre(12, 16));
  EXPECT_THAT(mapped([](Tensor x) { return pmax(x, "i"); }, {{}}), ElementsAre(6, 7));
  EXPECT_THAT(mapped([](Tensor x) { return pmin(x, "i"); }, {{}}), ElementsAre(0, 1));
  EXPECT_THAT(mapped([](Tensor x) { return pmean(x, "i"); }, {{}}), ElementsAre(3, 4));
  EXPECT_THAT(
      mapped([](Tensor x) { return all_reduce(x + 1, "i", CollectiveCombine::kProduct); }, {{}}),
      ElementsAre(1 * 3 * 5 * 7, 2 * 4 * 6 * 8));
}

// As sum() counts them: not whether any is true.
TEST(ShardMap, SumsOfPredAreCounts) {
  const auto odd = [](const Tensor& x) { return greater(x, 1.5); };
  EXPECT_THAT(mapped([&](Tensor x) { return psum(odd(x), "i").astype(f32); }, {{}}),
              ElementsAre(3, 3));
  const auto scattered = [&](Tensor x) {
    return reduce_scatter(concat({odd(x), odd(x)}), "i").astype(f32) + ones({1});
  };
  EXPECT_THAT(mapped(scattered, {{"i"}}), ElementsAre(4, 4, 4, 4));
}

TEST(ShardMap, ReductionsAlongOneAxisOfTwo) {
  // {data, model}: devices 00: {0,1}, 01: {2,3}, 10: {4,5}, 11: {6,7}.
  const MeshAxes both{"data", "model"};
  EXPECT_THAT(mapped([](Tensor x) { return psum(x, "model"); }, {{"data"}}, square(), both),
              ElementsAre(2, 4, 10, 12));
  EXPECT_THAT(mapped([](Tensor x) { return psum(x, "data"); }, {{"model"}}, square(), both),
              ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(mapped(
                  [](Tensor x) {
                    return psum(x, {"model", "data"});
                  },
                  {{}}, square(), both),
              ElementsAre(12, 16));
}

TEST(ShardMap, GathersScattersAndExchanges) {
  EXPECT_THAT(mapped([](Tensor x) { return all_gather(x, "i", {.tiled = true}); }, {{}}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(mapped([](Tensor x) { return reshape(all_gather(x, "i", {.axis = 1}), {8}); }, {{}}),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(mapped(
                  [](Tensor x) {
                    Tensor all = all_gather(x, "i", {.tiled = true});
                    return reduce_scatter(all, "i", {.tiled = true});
                  },
                  {{"i"}}),
              ElementsAre(0, 4, 8, 12, 16, 20, 24, 28));
  EXPECT_THAT(mapped(
                  [](Tensor x) {
                    Tensor rows = all_gather(x, "i");  // [4, 2]
                    return reduce_scatter(rows, "i");  // [2]
                  },
                  {{"i"}}),
              ElementsAre(0, 4, 8, 12, 16, 20, 24, 28));
  // Each device: a row of [4, 4]; then a column.
  const Tensor x = array(counted(16), {4, 4}, Sharding(line(), {"i"}));
  const auto turned = shard_map([](Tensor row) { return all_to_all(row, "i", 1, 0); }, line(),
                                {{"i"}}, {{None{}, "i"}});
  EXPECT_EQ(turned(x).to_vector<float>(), counted(16));
  const auto blocks =
      shard_map([](Tensor row) { return all_to_all(row, "i", 1, 1); }, line(), {{"i"}}, {{"i"}});
  EXPECT_THAT(blocks(x).to_vector<float>(),
              ElementsAre(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

TEST(ShardMap, PermutesAndIndices) {
  EXPECT_THAT(mapped(
                  [](Tensor x) {
                    return permute(x, "i", {{0, 1}, {1, 2}, {2, 3}});
                  },
                  {{"i"}}),
              ElementsAre(0, 0, 0, 1, 2, 3, 4, 5));
  const std::vector<std::pair<int, size_t>> pairs = {{0, 1}, {1, 2}, {2, 3}};
  EXPECT_THAT(mapped([&](Tensor x) { return permute(x, "i", pairs); }, {{"i"}}),
              ElementsAre(0, 0, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(mapped([](Tensor x) { return x * 0 + axis_index("i").astype(f32); }, {{"i"}}),
              ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  const MeshAxes both{"data", "model"};
  const auto index = [](MeshAxes axes) {
    return [axes](Tensor x) { return x * 0 + axis_index(axes).astype(f32); };
  };
  EXPECT_THAT(mapped(index("data"), {PartitionSpec{both}}, square(), both),
              ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(mapped(index({"model", "data"}), {PartitionSpec{both}}, square(), both),
              ElementsAre(0, 0, 2, 2, 1, 1, 3, 3));
}

TEST(ShardMap, TreesSpecsAndCaptures) {
  const Tensor x = array(counted(8), {8}, Sharding(line(), {"i"}));
  const Tensor scale = array(std::vector<float>{10}, {1}, Sharding(line(), {}));
  const auto fn = shard_map(
      [&](std::pair<Tensor, Tensor> parts) {
        return std::pair(parts.first * scale, psum(sum(parts.second), "i"));
      },
      line(), {{"i"}}, {{"i"}, {}});
  const auto [scaled, total] = fn(std::pair(x, x));
  EXPECT_EQ(scaled.to_vector<float>()[7], 70);
  EXPECT_EQ(total.item<float>(), 28);
}

TEST(ShardMap, IsTracedOnceAndAsJaxWritesIt) {
  const Mesh mesh({{"i", 4}});
  int runs = 0;
  const auto fn = shard_map(
      [&](Tensor x) {
        ++runs;
        return psum(x, "i");
      },
      mesh, {{"i"}}, {{}});
  const std::string text = trace(fn, placeholder({8}, f32)).hlo_text();
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(text, HasSubstr("f32[2]{0} custom-call"));
  EXPECT_THAT(text, HasSubstr("custom_call_target=\"SPMDFullToShardShape\", sharding={manual}"));
  EXPECT_THAT(text, HasSubstr("custom_call_target=\"SPMDShardToFullShape\", "
                              "sharding={replicated}"));
  EXPECT_THAT(text, HasSubstr("channel_id=1, replica_groups={{0,1,2,3}}, "
                              "use_global_device_ids=true"));
}

// Along "model" every device does the same on equal values, until the inner one cuts them.
TEST(ShardMap, InsideOfAnotherTakesOtherAxes) {
  const auto inner = shard_map(
      [](Tensor part) { return part * 10 + axis_index("model").astype(f32) + psum(part, "model"); },
      square(), {{"model"}}, {{"model"}}, {.axes = {"model"}});
  const auto outer =
      shard_map([&](Tensor x) { return inner(x) + axis_index("data").astype(f32) * 100; }, square(),
                {{"data"}}, {{"data"}}, {.axes = {"data"}});
  const Tensor x = array(counted(8), {8}, Sharding(square(), {"data"}));
  // data 0 has 0 1 2 3: its parts are 0 1 and 2 3, whose sum is 2 4.
  EXPECT_THAT(outer(x).to_vector<float>(), ElementsAre(2, 14, 23, 35, 150, 162, 171, 183));
  const std::string text = trace(outer, placeholder({8}, f32)).hlo_text();
  ASSERT_NE(text.find("SPMDFullToShardShape"), std::string::npos);
  EXPECT_EQ(text.find("SPMDFullToShardShape"), text.rfind("SPMDFullToShardShape"));
}

TEST(ShardMap, WithoutAxesTheInnerTakesWhatIsLeft) {
  const auto inner = shard_map(
      [](Tensor part) {
        return psum(part, {"data", "model"});
      },
      square(), {{None{}, "model"}}, {{}});
  const auto outer = shard_map(inner, square(), {{"data"}}, {{}}, {.axes = {"data"}});
  const Tensor x = array(counted(8), {2, 4}, Sharding(square(), {"data"}));
  EXPECT_THAT(outer(x).to_vector<float>(), ElementsAre(0 + 2 + 4 + 6, 1 + 3 + 5 + 7));
}

TEST(ShardMap, MistakesWithAxesSayWhatIsWrong) {
  const auto run = [&](auto fn, const PartitionSpecs& in, const ShardMapOptions& options) {
    return error_of([&] { shard_map(fn, square(), in, {{}}, options)(placeholder({4}, f32)); });
  };
  const auto same = [](Tensor t) { return t; };
  EXPECT_THAT(run(same, {{"model"}}, {.axes = {"data"}}),
              HasSubstr("shard_map: in_specs P(model) names mesh axis model, which it does not "
                        "take; it takes (data)"));
  EXPECT_THAT(run([](Tensor t) { return psum(t, "model"); }, {{}}, {.axes = {"data"}}),
              HasSubstr("psum: mesh axis model is not of the shard_map around; add it to its "
                        ".axes, or stand in a shard_map of that axis"));
  EXPECT_THAT(run([&](Tensor t) { return shard_map(same, square(), {{}}, {{}})(t); }, {{}}, {}),
              HasSubstr("shard_map: the shard_map around has all axes of Mesh(data=2, model=2); "
                        "give it .axes"));
  EXPECT_THAT(
      run([&](Tensor t) { return shard_map(same, square(), {{}}, {{}}, {.axes = {"data"}})(t); },
          {{}}, {.axes = {"data"}}),
      HasSubstr("shard_map: mesh axis data is of the shard_map around"));
  EXPECT_THAT(run([&](Tensor t) { return shard_map(same, line(), {{}}, {{}})(t); }, {{}}, {}),
              HasSubstr("shard_map: is on Mesh(i=4), inside of one on another mesh, Mesh(data=2, "
                        "model=2)"));
  EXPECT_THAT(run([](Tensor t) { return with_sharding(t, Sharding(square(), {})); }, {{}}, {}),
              HasSubstr("with_sharding: stands inside of shard_map"));
}

TEST(ShardMap, OnOneDeviceIsTheFunction) {
  const Mesh mesh({{"i", 1}});
  const auto fn = shard_map([](Tensor x) { return psum(x, "i") + axis_index("i").astype(f32); },
                            mesh, {{"i"}}, {{"i"}});
  EXPECT_THAT(trace(fn, placeholder({8}, f32)).hlo_text(), Not(HasSubstr("custom-call")));
  EXPECT_EQ(fn(array(counted(4))).to_vector<float>(), counted(4));
}

TEST(ShardMap, MistakesSayWhatIsWrong) {
  const Tensor x = array(counted(8), {8}, Sharding(line(), {"i"}));
  const auto run = [&](auto fn, PartitionSpecs in, PartitionSpecs out) {
    return error_of([&] { shard_map(fn, line(), std::move(in), std::move(out))(x); });
  };
  const auto same = [](Tensor t) { return t; };
  EXPECT_THAT(run(same, {{"i"}, {"i"}}, {{"i"}}),
              HasSubstr("shard_map: has 2 in_specs for 1 tree of 1 leaves; must have one for each "
                        "tree, or for each leaf"));
  EXPECT_THAT(run(same, {{"i"}}, {}), HasSubstr("shard_map: has 0 out_specs"));
  EXPECT_THAT(run([](Tensor t) { return psum(t, "j"); }, {{"i"}}, {{"i"}}),
              HasSubstr("Mesh(i=4): has no axis \"j\""));
  EXPECT_THAT(run(
                  [](Tensor t) {
                    return permute(t, "i", {{0, 4}});
                  },
                  {{"i"}}, {{"i"}}),
              HasSubstr("permute: has the pair (0, 4) in a group of 4 devices"));
  EXPECT_THAT(run([](Tensor t) { return all_to_all(t, "i", 0, 0); }, {{"i"}}, {{"i"}}),
              HasSubstr("all_to_all: axis 0 of x, f32[2], goes to a group of 4 devices; its size "
                        "must be a multiple"));
  EXPECT_THAT(run([](Tensor t) { return reduce_scatter(t, "i", {.axis = 1}); }, {{"i"}}, {{"i"}}),
              HasSubstr("reduce_scatter: axis is 1; f32[2] has axes -1 .. 0"));
  EXPECT_THAT(run([](Tensor t) { return pmean(t.astype(s32), "i"); }, {{"i"}}, {{"i"}}),
              HasSubstr("pmean: x is s32[2]; it must be of floats, cast it with astype(f32)"));
  EXPECT_THAT(error_of([&] { psum(x, "i"); }), HasSubstr("psum: is outside of shard_map"));
  EXPECT_THAT(error_of([&] { shard_map(same, line(), {{"i"}}, {{"i"}})(placeholder({6}, f32)); }),
              HasSubstr("shard_map: leaf 0 of the arguments: P(i) cuts axis 0 of f32[6] "
                        "in 4 parts; its size must be a multiple"));
}

}  // namespace
}  // namespace heddle
