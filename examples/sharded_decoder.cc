// The decoder on several devices, in two ways: XLA's partitioner splits it by the places of the
// weights; or the program says what one device does, with its sums written out. Then 405B
// parameters are staged over 8 x 16 devices that do not exist.
//
//   sharded_decoder [BACKEND]      pjrt:xla-cpu, say; by default the interpreter
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "heddle/examples/decoder.h"
#include "heddle/heddle.h"
#include "heddle/interpreter/backend.h"

using namespace heddle;
using namespace heddle::examples;

// The first `count` devices of a backend, which lives as long as the process.
std::vector<Device*> devices_of(const char* name, size_t count) {
  static runtime::Backend& own = *interpreter::make_backend({.devices = 4}).release();
  runtime::Backend* backend = &own;
  if (name != nullptr) {
    backend = value_or_throw(runtime::find_backend(name), SourceLocation::here());
  }
  std::vector<Device*> out;
  for (size_t i = 0; i < std::min(count, backend->devices().size()); ++i)
    out.push_back(backend->devices()[i].get());
  return out;
}

// Each leaf on the mesh, cut like this.
Layer placed(const Layer& layers, const Mesh& mesh, const PartitionSpecs& specs) {
  size_t next = 0;
  return tree_map(
      [&](const Tensor& leaf) { return device_put(leaf, Sharding(mesh, specs[next++].axes())); },
      layers);
}

float largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  float largest = 0;
  for (size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

// The same program as for one device; the weights' places decide what each device computes.
Tensor by_the_partitioner(const Size& size, const Mesh& mesh, const Layer& layers, Tensor x) {
  const Sharding batch(mesh, {"data"});
  Program program = trace(
      [&](Layer l, Tensor in) { return with_sharding(decode(size, l, in), batch); }, layers, x);
  return program.call<Tensor>(layers, x);
}

// What one device does: its heads and hidden units, and two sums a layer.
Tensor by_hand(const Size& size, const Mesh& mesh, const Layer& layers, Tensor x) {
  const int64_t n = mesh.axes()[mesh.axis("model")].size;
  const Size part{size.layers, size.d, size.ffn / n, size.heads / n, size.kv_heads / n, size.dh};
  auto on_device = [part](Layer l, Tensor in) {
    return decode(part, l, in, [](Tensor share) { return psum(share, "model"); });
  };
  PartitionSpecs in = tensor_parallel();
  in.push_back({"data"});
  return shard_map(on_device, mesh, in, {{"data"}})(layers, x);
}

bool stage_405b() {
  const Size llama{126, 16384, 53248, 128, 8, 128};
  const Mesh mesh({{"data", 8}, {"model", 16}});  // no devices: enough for a trace, not for a run
  const Counters before = counters();
  const PartitionSpecs specs = tensor_parallel();
  size_t next = 0;
  int64_t bytes = 0;
  Layer staged = make_layers(llama, [&](Dimensions shape) {
    const Sharding sharding(mesh, specs[next++].axes());
    bytes += sharding.part(Shape(bf16, shape)).byte_size();
    return placeholder(shape, bf16, {.sharding = sharding});
  });
  Tensor x = placeholder({8, 128, 16384}, bf16, {.sharding = Sharding(mesh, {"data"})});
  Program program = trace([&](Layer l, Tensor in) { return decode(llama, l, in); }, staged, x);
  const Counters done = counters() - before;
  std::printf("405B decoder over %s: %.1f GB a device staged, %lld bytes up\n",
              to_string(mesh).c_str(), static_cast<double>(bytes) / 1e9,
              static_cast<long long>(done.upload_bytes));
  return done.uploads == 0 && program.signature().arguments.size() == 10;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 && argv[1][0] != '/' ? argv[1] : nullptr;
  const Size size{.layers = 3, .d = 32, .ffn = 64, .heads = 8, .kv_heads = 4, .dh = 4};
  const DefaultDevice scope(*devices_of(name, 1)[0]);
  Layer layers = make_layers(size, [key = 0](Dimensions shape) mutable {
    return random::normal(random::key(++key), shape) * 0.1;
  });
  Tensor x = random::normal(random::key(0), {4, 6, size.d});
  const Tensor expected = decode(size, layers, x);

  bool good = stage_405b();
  struct Grid {
    int64_t data, model;
  };
  for (const Grid grid : {Grid{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}, {2, 2}}) {
    const std::vector<Device*> devices =
        devices_of(name, static_cast<size_t>(grid.data * grid.model));
    const Mesh mesh({{"data", grid.data}, {"model", grid.model}}, devices);
    const Layer weights = placed(layers, mesh, tensor_parallel());
    const Tensor input = device_put(x, Sharding(mesh, {"data"}));
    const float split =
        largest_difference(by_the_partitioner(size, mesh, weights, input), expected);
    const float written = largest_difference(by_hand(size, mesh, weights, input), expected);
    std::printf("%-22s partitioner differs by %.1e, shard_map by %.1e\n", to_string(mesh).c_str(),
                split, written);
    good = good && split < 1e-5 && written < 1e-5;
  }
  return good ? 0 : 1;
}
