// Behaviours of loops on several devices, by their numbers in the lists of docs/behaviours.md.
#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/hlo/verify.h"
#include "heddle/runtime/support_test.h"
#include "heddle/testing.h"
#include "heddle/tests/support/llama.h"
#include "heddle/tests/support/sharded_losses.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

const Mesh& square() {
  static const Mesh& mesh = *new Mesh({{"data", 2}, {"model", 2}}, runtime::four_devices());
  return mesh;
}

Tensor ramp(std::vector<int64_t> shape, const Sharding& sharding) {
  std::vector<float> values;
  for (int64_t i = 0; i < Shape(f32, shape).element_count(); ++i)
    values.push_back(static_cast<float>(i % 7) - 3);
  return array(values, std::move(shape), sharding);
}

std::string layout(const Tensor& x) { return hlo::to_string(*sharding_of(x)); }

// Carry, xs and ys keep their shardings through the loop; the scanned axis is whole.
TEST(TorchXlaSpmd, N35_CarryXsAndYsKeepTheirShardings) {
  const Sharding rows(square(), {"data"}), stacked(square(), {None{}, "data"});
  const Tensor init = ramp({4, 2}, rows), xs = ramp({5, 4, 2}, stacked);
  const auto run = [&](const Tensor& h0, const Tensor& x) {
    const auto step = [&](Tensor h, Tensor each) {
      h = with_sharding(tanh(h + each), rows);
      return std::pair(h, h * 2);
    };
    auto [last, ys] = scan(step, h0, x);
    return std::pair(with_sharding(last, rows), with_sharding(ys, stacked));
  };
  const Program program = trace(run, init, xs);
  EXPECT_THAT(program.hlo_text(), HasSubstr("parameter(0), sharding={devices=[2,1,2]<=[4]"));
  const auto [last, ys] = program.call<std::pair<Tensor, Tensor>>(init, xs);
  EXPECT_EQ(layout(last), "{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
  EXPECT_EQ(layout(ys), "{devices=[1,2,1,2]<=[4] last_tile_dim_replicate}");
  const DefaultDevice one(*runtime::find_device("interpreter").value());
  const auto [one_last, one_ys] = run(array(init.to_literal()), array(xs.to_literal()));
  EXPECT_EQ(last.to_literal(), one_last.to_literal());
  EXPECT_EQ(ys.to_literal(), one_ys.to_literal());
}

// One line of a program, outside of any trace, on arrays that are whole, cut along rows and cut
// along columns: each has a program of its own, and the same values.
TEST(Sharding, OfTheArgumentsOfAnEagerScanArePartOfItsProgram) {
  const Sharding uncut(square(), {}), rows(square(), {None{}, "data"}),
      columns(square(), {None{}, None{}, "model"});
  const Tensor whole = ramp({5, 4, 2}, uncut), cut = ramp({5, 4, 2}, rows),
               across = ramp({5, 4, 2}, columns);
  const Tensor rate = ramp({2}, uncut), init = ramp({4, 2}, uncut);
  const auto run = [&](const Tensor& xs) {
    return scan([&](Tensor c, Tensor x) { return std::pair(c + x * rate, c * x); }, init, xs);
  };
  const auto want = run(whole);
  for (const Tensor* xs : {&cut, &across, &whole, &cut}) {
    const auto got = run(*xs);
    EXPECT_EQ(got.first.to_literal(), want.first.to_literal());
    EXPECT_EQ(got.second.to_literal(), want.second.to_literal());
    expect_nothing_but_traces([&] { run(*xs); });
  }
}

// The forward half of it. A stack of layers whose weights are cut along both axes of a mesh.
TEST(TorchXlaSpmd, N36_LayersCutAlongBothAxesOfAMesh) {
  const Sharding cut(square(), {None{}, "data", "model"}), rows(square(), {"data"});
  const Tensor weights = ramp({3, 4, 4}, cut), x = ramp({2, 4}, rows);
  const auto run = [&](const Tensor& w, const Tensor& h0) {
    return scan_layers([](Tensor layer, Tensor h) { return tanh(matmul(h, layer) * 0.2); }, w, h0);
  };
  const Tensor y = trace(run, weights, x).call<Tensor>(weights, x);
  const DefaultDevice one(*runtime::find_device("interpreter").value());
  EXPECT_EQ(y.to_literal(), run(array(weights.to_literal()), array(x.to_literal())).to_literal());
}

// And the other half.
TEST(TorchXlaSpmd, N36_GradientsOfLayersCutAlongBothAxesOfAMesh) {
  const Sharding cut(square(), {None{}, "data", "model"}), rows(square(), {"data"});
  const Tensor weights = ramp({3, 4, 4}, cut), x = ramp({2, 4}, rows);
  const auto loss = [&](const Tensor& w, const Tensor& h0) {
    const auto layer = [](Tensor layer, Tensor h) { return tanh(matmul(h, layer) * 0.2); };
    return sum(square(with_sharding(scan_layers(layer, w, h0), rows)));
  };
  const auto plain = [&](const Tensor& w, const Tensor& h0) {
    const auto layer = [](Tensor layer, Tensor h) { return tanh(matmul(h, layer) * 0.2); };
    return sum(square(scan_layers(layer, w, h0)));
  };
  const Tensor got = trace(grad(loss), weights, x).call<Tensor>(weights, x);
  const DefaultDevice one(*runtime::find_device("interpreter").value());
  const Tensor want = grad(plain)(array(weights.to_literal()), array(x.to_literal()));
  EXPECT_THAT(got.to_vector<float>(),
              ::testing::Pointwise(::testing::FloatNear(1e-5F), want.to_vector<float>()));
}

// <u, C x> = <transpose of C u, x>, summed over all devices.
TEST(JaxSpmd, CollectivesHaveTheirTransposes) {
  using Fn = std::function<Tensor(const Tensor&)>;
  const MeshAxes both = {"data", "model"};
  const std::pair<const char*, Fn> all[] = {
      {"psum", [](const Tensor& x) { return psum(x, "data"); }},
      {"psum of both", [&](const Tensor& x) { return psum(x, both); }},
      {"pmean", [](const Tensor& x) { return pmean(x, "model"); }},
      {"all_gather", [](const Tensor& x) { return all_gather(x, "data", {.axis = 1}); }},
      {"tiled all_gather", [](const Tensor& x) { return all_gather(x, "data", {.tiled = true}); }},
      {"reduce_scatter",
       [](const Tensor& x) { return reduce_scatter(x, "model", {.tiled = true}); }},
      {"all_to_all", [](const Tensor& x) { return all_to_all(x, "data", 0, 1); }},
      {"all_to_all, same axis", [](const Tensor& x) { return all_to_all(x, "data", 0, 0); }},
      {"permute",
       [&](const Tensor& x) {
         return permute(x, both, {{0, 1}, {1, 2}, {3, 0}});
       }},
      {"permute to several",
       [&](const Tensor& x) {
         return permute(x, both, {{0, 1}, {0, 2}, {1, 3}});
       }},
  };
  const Tensor x = ramp({8, 4}, Sharding(square(), {"data", "model"}));
  for (const auto& [name, fn] : all) {
    const auto gap = [&](const Tensor& part) {
      const Tensor y = fn(part);
      const Tensor u = (iota(s32, y.shape().dimensions(), 0) * 3 + axis_index(both) * 5) % 7;
      const Tensor ct = u.astype(f32) - 3.0;
      const Tensor back = linear_transpose(fn, part)(ct);
      return psum(sum(ct * y) - sum(back * part), both);
    };
    const Tensor got = shard_map(gap, square(), {{"data", "model"}}, {{}})(x);
    EXPECT_EQ(got.item<float>(), 0) << name;
  }
}

// Each loss of the two along "data" is of one product.
TEST(JaxSpmd, ProductsOverDevicesHaveDerivatives) {
  const Tensor x = array<float>({0, 2, 3, 5}, {4}, Sharding(square(), {"data"}));
  const auto step = [](Tensor x) {
    const auto loss = [](Tensor x) {
      return sum(all_reduce(x, "data", CollectiveCombine::kProduct));
    };
    return grad(loss)(x);
  };
  EXPECT_THAT(shard_map(step, square(), {{"data"}}, {{"data"}})(x).to_vector<float>(),
              ::testing::ElementsAre(6, 10, 0, 4));
}

TEST(JaxSpmd, GradientsInsideOfAShardMap) {
  const Tensor x = ramp({4}, Sharding(square(), {"data"}));
  const auto step = [](Tensor x) {
    return grad([](Tensor x) { return sum(square(psum(x, "data"))); })(x);
  };
  // All devices' losses are added: along "data" there are two.
  const std::vector<float> v = x.to_vector<float>();
  const float a = 4 * (v[0] + v[2]), b = 4 * (v[1] + v[3]);
  EXPECT_THAT(shard_map(step, square(), {{"data"}}, {{"data"}})(x).to_vector<float>(),
              ::testing::ElementsAre(a, b, a, b));
}

TEST(JaxSpmd, GradientsOutsideOfAShardMap) { expect_gradients_of_whole_arrays(square()); }

// pmap's error of too many shards.
TEST(JaxSpmd, N031_ShardsInALoopThatDoNotDivide) {
  const auto body = [](Tensor, Tensor v) {
    return shard_map([](Tensor x) { return x * 2; }, square(), {{"data"}}, {{"data"}})(v);
  };
  EXPECT_THAT(error_of([&] { fori_loop(0, 3, body, ones({3})); }),
              HasSubstr("shard_map: leaf 0 of the arguments: P(data) cuts axis 0 of "
                        "f32[3] in 2 parts; its size must be a multiple [sharding_test.cc:"));
}

TEST(JaxSpmd, N049_ShardMapInALoopBodyEqualsTheDenseResult) {
  const Sharding rows(square(), {{"data", "model"}});
  const PartitionSpecs rows_of_both = {PartitionSpec({{"data", "model"}})};
  const Tensor x = ramp({4, 3}, rows);
  const auto dense = [](Tensor v) { return tanh(v * 0.5 + 1.0); };
  const auto loop = [&](auto step, const Tensor& init) {
    return trace([&](Tensor v) { return fori_loop(0, 3, step, v); }, init)
        .template call<Tensor>(init);
  };
  const auto on_parts = shard_map(dense, square(), rows_of_both, rows_of_both);
  const Tensor got = loop([&](Tensor, Tensor v) { return on_parts(v); }, x);
  const DefaultDevice one(*runtime::find_device("interpreter").value());
  const Tensor want = loop([&](Tensor, Tensor v) { return dense(v); }, array(x.to_literal()));
  EXPECT_EQ(got.to_literal(), want.to_literal());
}

// Collectives are traced with the step; on another mesh the step is another one.
TEST(JaxSpmd, N141_CollectivesInsideAScan) {
  const auto step = [](Tensor h, Tensor x) {
    h = psum(h * 0.5 + x, "model");
    return std::pair(h, h);
  };
  const auto stack = [&](Tensor h0, Tensor xs) { return scan(step, h0, xs); };
  for (const int64_t model : {1, 2, 4}) {
    const Mesh mesh({{"data", 4 / model}, {"model", model}}, runtime::four_devices());
    const Sharding columns(mesh, {"model"}), stacked(mesh, {None{}, "model"});
    const Tensor h0 = ramp({4}, columns), xs = ramp({3, 4}, stacked);
    const auto [last, ys] =
        shard_map(stack, mesh, {{"model"}, {None{}, "model"}}, {{}, {None{}}})(h0, xs);
    // The same by hand: what every device has is the sum over parts, in each step.
    const std::vector<float> h = h0.to_vector<float>(), x = xs.to_vector<float>();
    const auto width = static_cast<size_t>(4 / model);
    std::vector<float> now(h), expected;
    for (size_t t = 0; t < 3; ++t) {
      std::vector<float> sum(width);
      for (size_t i = 0; i < 4; ++i) sum[i % width] += now[i] * 0.5f + x[4 * t + i];
      for (size_t i = 0; i < 4; ++i) now[i] = sum[i % width];
      expected.insert(expected.end(), sum.begin(), sum.end());
    }
    EXPECT_EQ(ys.to_vector<float>(), expected) << to_string(mesh);
    EXPECT_EQ(last.to_vector<float>(),
              std::vector<float>(expected.end() - 4 / model, expected.end()));
  }
}

// Llama 3.1 405B over 8 x 16 devices that are not there.
TEST(Sharding, ShardedPlaceholdersStage405B) {
  const Mesh mesh({{"data", 8}, {"model", 16}});
  const Counters before = counters();
  const Program program = llama::decoder(llama::kLayers, 128, mesh);
  const Program lowered = program.lowered();
  const Counters done = counters() - before;
  EXPECT_EQ(done.uploads, 0);
  EXPECT_EQ(done.upload_bytes + done.aliased_bytes, 0);
  EXPECT_EQ(done.compiles, 0);
  EXPECT_TRUE(hlo::verify(lowered.module()).ok());
  int64_t bytes = 0;
  const hlo::Computation& entry = lowered.module().entry_computation();
  for (const hlo::InstructionId id : entry.parameters) {
    const hlo::Instruction& parameter = entry.at(id);
    ASSERT_TRUE(parameter.extras->sharding.has_value()) << parameter.name;
    const auto tiles = hlo::tiles_of(*parameter.extras->sharding, parameter.shape, mesh.size());
    ASSERT_TRUE(tiles.ok()) << tiles.status();
    bytes += tiles->shape.byte_size();
  }
  EXPECT_GT(bytes, int64_t{6} * 1000 * 1000 * 1000);
  EXPECT_LT(bytes, int64_t{7} * 1000 * 1000 * 1000);
  EXPECT_THAT(program.hlo_text(), HasSubstr("sharding={devices=[1,8,16]<=[128]}"));
  EXPECT_THAT(program.hlo_text(), HasSubstr("custom_call_target=\"Sharding\""));
}

}  // namespace
}  // namespace heddle
