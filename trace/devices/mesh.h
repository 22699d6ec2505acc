// Mesh and Sharding: devices in a grid whose axes have names, and which axes cut which axis of an
// array.
//
//   Mesh mesh({{"data", 2}, {"model", 4}}, devices);
//   Sharding rows(mesh, {"data"});                       // axis 0 in two parts, the rest whole
//   Tensor x = array(values, {8, 16}, rows);             // each device gets its part
//   Tensor w = placeholder({16, 32}, bf16, {.sharding = Sharding(mesh, {None{}, "model"})});
//   y = with_sharding(matmul(x, w), Sharding(mesh, {"data", "model"}));
//
// The words are JAX's: a Sharding is a NamedSharding, its list a PartitionSpec. XLA's partitioner
// splits the program; docs/sharding.md tells how.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/int.h"
#include "heddle/base/source_location.h"
#include "heddle/hlo/sharding/sharding.h"
#include "heddle/runtime/backend.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle {

// Copies refer to the same mesh. One that was moved from is empty: every use of it is an Error that
// says so.
class Mesh {
 public:
  struct Axis {
    std::string name;
    base::Int size = 1;
    friend bool operator==(const Axis&, const Axis&) = default;
  };

  // `devices` in row-major order of the axes, the last of which changes fastest. Without devices
  // programs can be traced for it, and not run.
  // errors: Error (InvalidArgument) for no axes, a size below 1, a name that is empty or there
  // twice, or another number of devices
  explicit Mesh(std::vector<Axis> axes, std::vector<Device*> devices = {},
                SourceLocation at = SourceLocation::here());

  [[nodiscard]] const std::vector<Axis>& axes(SourceLocation at = SourceLocation::here()) const {
    return state("axes", at).axes;
  }
  // The number of devices.
  [[nodiscard]] int64_t size(SourceLocation at = SourceLocation::here()) const {
    return state("size", at).size;
  }
  // The number of an axis. errors: Error naming the axes there are
  [[nodiscard]] size_t axis(const std::string& name,
                            SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] const std::vector<Device*>& devices(
      SourceLocation at = SourceLocation::here()) const {
    return state("devices", at).devices;
  }
  // All of them as one (runtime/mesh.h): DefaultDevice scope(mesh.device()).
  // errors: Error where the mesh has no devices
  [[nodiscard]] Device& device(SourceLocation at = SourceLocation::here()) const;

  friend bool operator==(const Mesh& a, const Mesh& b) {
    return a.state_ == b.state_ || (a.state_ && b.state_ && *a.state_ == *b.state_);
  }

 private:
  struct State {
    std::vector<Axis> axes;
    int64_t size = 1;
    std::vector<Device*> devices;
    friend bool operator==(const State&, const State&) = default;
  };
  // errors: Error where it was moved from
  [[nodiscard]] const State& state(std::string_view op, SourceLocation at) const {
    if (state_ == nullptr) trace_internal::throw_moved_from(op, "mesh", at);
    return *state_;
  }

  std::shared_ptr<const State> state_;
};

// "Mesh(data=2, model=4)"
std::string to_string(const Mesh& mesh);

// The axes of a mesh that cut one axis of an array: a name, several (the first cuts coarsest), or
// None{}: not cut.
class MeshAxes {
 public:
  MeshAxes(None = {}) {}
  MeshAxes(const char* name) : names_{name} {}
  MeshAxes(std::string name) : names_{std::move(name)} {}
  MeshAxes(std::initializer_list<const char*> names) : names_(names.begin(), names.end()) {}
  explicit MeshAxes(std::vector<std::string> names) : names_(std::move(names)) {}
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  friend bool operator==(const MeshAxes&, const MeshAxes&) = default;

 private:
  std::vector<std::string> names_;
};

class Sharding {
 public:
  // `spec` by axis of the array, from the first; axes that it does not reach are whole. An empty
  // one is replicated.
  // errors: Error for an axis that the mesh has not, or that is named twice
  Sharding(Mesh mesh, std::vector<MeshAxes> spec, SourceLocation at = SourceLocation::here());
  Sharding(Mesh mesh, std::initializer_list<MeshAxes> spec,
           SourceLocation at = SourceLocation::here())
      : Sharding(std::move(mesh), std::vector<MeshAxes>(spec), at) {}

  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  [[nodiscard]] const std::vector<MeshAxes>& spec() const { return spec_; }
  // In how many parts an axis is cut, counted from the first: a Sharding knows no rank.
  // errors: Error for an axis below 0
  [[nodiscard]] int64_t parts(base::Int axis, SourceLocation at = SourceLocation::here()) const;
  // As XLA has it, for arrays of this rank: {devices=[2,1,4]<=[8] last_tile_dim_replicate}, in its
  // shortest form. errors: Error where spec has more entries
  [[nodiscard]] hlo::Sharding to_hlo(int64_t rank,
                                     SourceLocation at = SourceLocation::here()) const;
  // The type of one part. errors: Error where an axis does not divide
  [[nodiscard]] Shape part(const Shape& shape, SourceLocation at = SourceLocation::here()) const;

  friend bool operator==(const Sharding&, const Sharding&) = default;

 private:
  Mesh mesh_;
  std::vector<MeshAxes> spec_;
};

// "P(data, None, (x, y))"
std::string to_string(const Sharding& sharding);

namespace trace_internal {
// Sharding::part(), whose error begins with the sharding.
StatusOr<Shape> try_part(const Sharding& sharding, const Shape& shape);
}  // namespace trace_internal

struct PlaceholderOptions {
  // How the buffer that takes its place is laid out; the parameter of a program says so to XLA.
  std::optional<Sharding> sharding = {};
};
// A placeholder whose array will be laid out by a sharding.
Tensor placeholder(const base::Ints& shape, DType dtype, const PlaceholderOptions& options,
                   SourceLocation at = SourceLocation::here());

// x, laid out like this: what stands between is XLA's to choose. In a trace a mark for the
// partitioner, which changes no value; outside, x is moved from device to device where it is on
// the mesh. On one device, x.
// errors: Error where spec has more entries than x has axes, or inside of shard_map
Tensor with_sharding(const Tensor& x, const Sharding& sharding,
                     SourceLocation at = SourceLocation::here());

// A tensor from host data, on the devices of the mesh: each gets its part, one upload (counted).
// errors: Error inside a trace, or where the mesh has no devices
Tensor array(const Literal& literal, const Sharding& sharding,
             SourceLocation at = SourceLocation::here());
template <class T>
Tensor array(const std::vector<T>& values, const base::Ints& shape, const Sharding& sharding,
             SourceLocation at = SourceLocation::here());

// A concrete tensor, laid out like this: through the host (a download and uploads, counted) where
// it is on other devices than the mesh, else with_sharding().
Tensor device_put(const Tensor& x, const Sharding& sharding,
                  SourceLocation at = SourceLocation::here());
// The same of each tensor of a tree.
template <TensorTree T>
T device_put(const T& tree, const Sharding& sharding, SourceLocation at = SourceLocation::here()) {
  return tree_map([&](const Tensor& leaf) { return device_put(leaf, sharding, at); }, tree);
}

// How a placeholder or a concrete tensor is laid out; null where nobody said, and on one device.
[[nodiscard]] std::shared_ptr<const hlo::Sharding> sharding_of(const Tensor& tensor);

template <class T>
Tensor array(const std::vector<T>& values, const base::Ints& shape, const Sharding& sharding,
             SourceLocation at) {
  const trace_internal::PublicCall call("array", at);
  const auto placed = [&](const void* data, DType dtype) {
    return array(trace_internal::literal_from_bytes(data, values.size(), dtype, shape), sharding);
  };
  if constexpr (std::is_same_v<T, bool>) {  // bools have no bytes of their own
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    return placed(bytes.data(), pred);
  } else {
    return placed(values.data(), trace_internal::dtype_of<T>());
  }
}

}  // namespace heddle
