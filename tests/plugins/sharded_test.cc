// The tracing surface on four devices of real XLA: shardings, shard_map, and the decoder of
// examples/ in parallel. Skipped where the plugin is not there: ./dev setup-plugin xla-cpu.
#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/examples/decoder.h"
#include "heddle/heddle.h"
#include "heddle/interpreter/backend.h"
#include "heddle/tests/plugins/four_devices.h"
#include "heddle/tests/support/sharded_losses.h"
#include "heddle/trace/node.h"

namespace heddle {
namespace {

using examples::Layer;
using examples::Size;

// Four of the interpreter's: the oracle.
const std::vector<Device*>& four_evaluators() {
  static const auto& devices = *new std::vector<Device*>([] {
    auto& backend = *interpreter::make_backend({.devices = 4}).release();
    std::vector<Device*> out;
    for (const auto& device : backend.devices()) out.push_back(device.get());
    return out;
  }());
  return devices;
}

void expect_close(const Tensor& got, const Tensor& want, const std::string& what) {
  const std::vector<float> a = got.to_vector<float>(), b = want.to_vector<float>();
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 1e-5 * std::max(1.0f, std::abs(b[i]))) << what << " [" << i << "]";
}

struct Grid {
  int64_t data, model;
};
constexpr Grid kGrids[] = {{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}, {2, 2}};

class ShardedOnXla : public OnFourXlaDevices {
 protected:
  static Mesh mesh_of(const Grid& grid, const std::vector<Device*>& from = four()) {
    return Mesh({{"data", grid.data}, {"model", grid.model}},
                {from.begin(), from.begin() + grid.data * grid.model});
  }
};
HEDDLE_BY_EACH_PARTITIONER(ShardedOnXla);

// By the partitioner that is used where nobody says otherwise.
TEST(ShardMapOnXla, GradientsOutsideOfIt) {
  if (four_xla_devices().empty()) GTEST_SKIP() << "needs the plugin: ./dev setup-plugin xla-cpu";
  const Mesh mesh({{"data", 2}, {"model", 2}}, four_xla_devices());
  expect_gradients_of_whole_arrays(mesh);
  const auto square_part = [](Tensor x) { return sin(x) * x; };
  const auto mapped = shard_map(square_part, mesh, {{"data"}}, {{"data"}});
  const auto run = [&](const auto& fn) {
    return [&fn](Tensor x) {
      const auto step = [&](Tensor h, None) { return std::pair(fn(h), None{}); };
      return sum(scan(step, x, None{}, {.length = 3}).first);
    };
  };
  const Tensor x = array(std::vector<float>{1, 2, 3, 4}, {4}, Sharding(mesh, {"data"}));
  const auto kept = checkpoint(mapped);
  const auto named = [](Tensor x) { return checkpoint_name(sin(x), "sine") * x; };
  const auto saved = checkpoint(shard_map(named, mesh, {{"data"}}, {{"data"}}),
                                {.policy = checkpoint_policies::save_only_these_names({"sine"})});
  const Tensor got = grad(run(mapped))(x), again = grad(run(kept))(x), some = grad(run(saved))(x);
  const Tensor pulled = vjp(run(mapped), x).second(device_put(scalar(1.0f), Sharding(mesh, {})));
  const Tensor pushed = linearize(mapped, x).second(x);
  const DefaultDevice one(*runtime::find_device("interpreter").value());
  const Tensor want = grad(run(square_part))(array(x.to_literal()));
  expect_close(got, want, "kept");
  expect_close(again, want, "through checkpoint");
  expect_close(some, want, "saved by a checkpoint");
  expect_close(pulled, want, "by vjp");
  const Tensor y = array(x.to_literal());
  expect_close(pushed, jvp(square_part, std::tuple(y), std::tuple(y)).second, "by linearize");
}

const Size kSize{.layers = 3, .d = 32, .ffn = 64, .heads = 8, .kv_heads = 4, .dh = 4};

struct Inputs {
  Layer layers;
  Tensor x;
};

Inputs inputs() {
  Layer layers = make_layers(kSize, [key = 0](Dimensions shape) mutable {
    return random::normal(random::key(++key), shape) * 0.1;
  });
  return {layers, random::normal(random::key(0), {4, 6, kSize.d})};
}

Inputs placed(const Inputs& from, const Mesh& mesh) {
  const PartitionSpecs specs = examples::tensor_parallel();
  size_t next = 0;
  Layer layers = tree_map(
      [&](const Tensor& leaf) { return device_put(leaf, Sharding(mesh, specs[next++].axes())); },
      from.layers);
  return {layers, device_put(from.x, Sharding(mesh, {"data"}))};
}

Tensor by_the_partitioner(const Mesh& mesh, const Inputs& in) {
  const Program program = trace(
      [&](Layer l, Tensor x) {
        return with_sharding(examples::decode(kSize, l, x), Sharding(mesh, {"data"}));
      },
      in.layers, in.x);
  return program.call<Tensor>(in.layers, in.x);
}

Tensor by_hand(const Mesh& mesh, const Inputs& in) {
  const int64_t n = mesh.axes()[1].size;
  const Size part{kSize.layers,       kSize.d, kSize.ffn / n, kSize.heads / n,
                  kSize.kv_heads / n, kSize.dh};
  PartitionSpecs specs = examples::tensor_parallel();
  specs.push_back({"data"});
  const auto on_device = [part](Layer l, Tensor x) {
    return examples::decode(part, l, x, [](Tensor share) { return psum(share, "model"); });
  };
  return shard_map(on_device, mesh, specs, {{"data"}})(in.layers, in.x);
}

TEST_P(ShardedOnXla, DecoderIsThatOfOneDevice) {
  const Inputs one = inputs();  // on the interpreter
  const Tensor expected = examples::decode(kSize, one.layers, one.x);
  for (const Grid& grid : kGrids) {
    const Mesh mesh = mesh_of(grid);
    const Inputs in = placed(one, mesh);
    expect_close(by_the_partitioner(mesh, in), expected,
                 base::cat("partitioner on ", to_string(mesh)));
    expect_close(by_hand(mesh, in), expected, base::cat("shard_map on ", to_string(mesh)));
  }
}

// The second call moves no byte and compiles nothing.
TEST_P(ShardedOnXla, RepeatedCallsAreOneLaunchEach) {
  const Mesh mesh = mesh_of({2, 2});
  const Inputs in = placed(inputs(), mesh);
  (void)by_hand(mesh, in).wait();
  const Counters before = counters();
  const Tensor y = by_hand(mesh, in);
  const Counters done = counters() - before;
  EXPECT_EQ(done.uploads + done.downloads + done.compiles, 0);
  EXPECT_EQ(done.executions, 1);
  EXPECT_EQ(y.node()->buffer->device().name(), "mesh(pjrt:xla-cpu:0,1,2,3):0");
}

TEST_P(ShardedOnXla, AllReduceInAScan) {
  const Mesh mesh({{"i", 4}}, four());
  const Tensor x = array(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}, {8}, Sharding(mesh, {"i"}));
  const auto fn = shard_map(
      [](Tensor part) {
        const auto step = [](Tensor h, None) {
          h = psum(h, "i") * 0.5;
          return std::pair(h, sum(h));
        };
        return scan(step, part, None{}, {.length = 3});
      },
      mesh, {{"i"}}, {{}, {}});
  const auto [last, sums] = fn(x);
  EXPECT_THAT(last.to_vector<float>(), ElementsAre(24, 32));
  EXPECT_THAT(sums.to_vector<float>(), ElementsAre(14, 28, 56));
}

// Every collective, on XLA and on the evaluator.
TEST_P(ShardedOnXla, CollectivesAreTheEvaluators) {
  const auto all = [](Tensor x) {
    const MeshAxes both{"data", "model"};
    Tensor gathered = all_gather(x, "model", {.tiled = true});
    Tensor moved = all_to_all(reshape(gathered, {2, 8, 2}), "data", 1, 0);
    Tensor ring = permute(x, both, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
    Tensor index = axis_index({"model", "data"}).astype(f32);
    return std::tuple(psum(x, "data"), pmax(x, both), pmean(x, "model"), moved,
                      reduce_scatter(gathered, "model", {.tiled = true}), ring, index + ring,
                      all_reduce(x * 0.1, both, CollectiveCombine::kProduct));
  };
  const PartitionSpecs out(8, PartitionSpec{{"data", "model"}});
  const auto run = [&](const std::vector<Device*>& devices) {
    const Mesh mesh = mesh_of({2, 2}, devices);
    std::vector<float> values(64);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 11) - 4;
    const Tensor x = array(values, {32, 2}, Sharding(mesh, {{"data", "model"}}));
    return flatten(shard_map(all, mesh, {PartitionSpec{{"data", "model"}}}, out)(x));
  };
  const std::vector<Tensor> xla = run(four()), evaluator = run(four_evaluators());
  for (size_t i = 0; i < xla.size(); ++i)
    expect_close(xla[i], evaluator[i], base::cat("result ", i));
}

// The outer one cuts rows; the inner one, in a loop and on the other axis, columns of the weights.
TEST_P(ShardedOnXla, ShardMapInsideOfShardMap) {
  const auto run = [&](const std::vector<Device*>& devices) {
    const Mesh mesh = mesh_of({2, 2}, devices);
    const auto wide = shard_map(
        [](Tensor h, Tensor w) { return pmax(tanh(matmul(h, w)), "model") + matmul(h, w); }, mesh,
        {{}, {None{}, "model"}}, {{None{}, "model"}}, {.axes = {"model"}});
    const auto layers = shard_map(
        [&](Tensor x, Tensor w) {
          const auto step = [&](Tensor h, None) {
            const Tensor next = wide(h, w);
            return std::pair(next * 0.5 + pmean(next, "data"), sum(next));
          };
          return scan(step, x, None{}, {.length = 3});
        },
        mesh, {{"data"}, {}}, {{"data"}, {"data"}}, {.axes = {"data"}});
    const Tensor x = random::normal(random::key(1), {4, 6}),
                 w = random::normal(random::key(2), {6, 6});
    const auto whole = Sharding(mesh, {});
    const auto in_program = trace(
        [&](Tensor a, Tensor b) {
          const auto [last, sums] = layers(a, b);
          return std::pair(last, reshape(sums, {3, 2}));
        },
        x, w);
    return in_program.call<std::pair<Tensor, Tensor>>(device_put(x, whole), device_put(w, whole));
  };
  const auto [last, sums] = run(four());
  const auto [evaluated_last, evaluated_sums] = run(four_evaluators());
  expect_close(last, evaluated_last, "last");
  expect_close(sums, evaluated_sums, "sums");
}

// A loop outside, whose step is the shard_map.
TEST_P(ShardedOnXla, ShardMapInsideALoop) {
  const auto run = [&](const std::vector<Device*>& devices) {
    const Mesh mesh({{"i", 4}}, devices);
    const auto mixed = shard_map(
        [](Tensor part) {
          return part * 0.5 + permute(part, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
        },
        mesh, {{"i"}}, {{"i"}});
    const Tensor x = random::normal(random::key(1), {8, 3});
    const auto loop = trace(
        [&](Tensor h) {
          return scan([&](Tensor c, None) { return std::pair(mixed(c), None{}); }, h, None{},
                      {.length = 5})
              .first;
        },
        x);
    return loop.call<Tensor>(device_put(x, Sharding(mesh, {"i"})));
  };
  expect_close(run(four()), run(four_evaluators()), "last");
}

// Whatever the order of mesh axes, elements lie where the sharding says: each tile is read from its
// own device.
TEST_P(ShardedOnXla, EveryLayoutIsWhereItSays) {
  const Mesh mesh = mesh_of({2, 2});
  const std::vector<PartitionSpec> specs = {{},
                                            {"data"},
                                            {"model"},
                                            {None{}, "data"},
                                            {"model", "data"},
                                            PartitionSpec{{"data", "model"}},
                                            PartitionSpec{{"model", "data"}},
                                            {None{}, MeshAxes{"model", "data"}}};
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (const PartitionSpec& from : specs) {
    const Tensor x = array(values, {8, 8}, Sharding(mesh, from.axes()));
    const Program program = trace(
        [&](Tensor in) {
          std::vector<Tensor> out;
          for (const PartitionSpec& to : specs)
            out.push_back(with_sharding(in + 1, Sharding(mesh, to.axes())));
          return out;
        },
        x);
    const auto out = program.call<std::vector<Tensor>>(x);
    for (size_t i = 0; i < specs.size(); ++i) {
      const Sharding to(mesh, specs[i].axes());
      EXPECT_EQ(*sharding_of(out[i]), to.to_hlo(2)) << to_string(to);
      std::vector<float> got = out[i].to_vector<float>();
      for (float& value : got) value -= 1;
      EXPECT_EQ(got, values) << to_string(Sharding(mesh, from.axes())) << " to " << to_string(to);
    }
  }
}

TEST_P(ShardedOnXla, ShardingsInsideALoop) {
  const Mesh mesh = mesh_of({2, 2});
  const Sharding rows(mesh, {"data"}), columns(mesh, {None{}, "model"});
  const auto run = [&](Tensor h0, Tensor xs, bool marked) {
    const auto step = [&](Tensor h, Tensor x) {
      Tensor wide = matmul(h, x);
      if (marked) wide = with_sharding(wide, columns);
      h = tanh(wide);
      return std::pair(marked ? with_sharding(h, rows) : h, sum(h));
    };
    return scan(step, h0, xs);
  };
  const Tensor h0 = random::normal(random::key(1), {4, 4});
  const Tensor xs = random::normal(random::key(2), {5, 4, 4});
  const auto [last, ys] = run(h0, xs, false);
  const Tensor h = device_put(h0, rows),
               x = device_put(xs, Sharding(mesh, {None{}, None{}, "model"}));
  const Program program = trace([&](Tensor a, Tensor b) { return run(a, b, true); }, h, x);
  const auto [sharded_last, sharded_ys] = program.call<std::pair<Tensor, Tensor>>(h, x);
  expect_close(sharded_last, last, "last");
  expect_close(sharded_ys, ys, "ys");
}

}  // namespace
}  // namespace heddle
