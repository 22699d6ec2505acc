// Several devices as one: a mesh device is a Device whose buffers are spread over the devices it is
// made of. Programs, caches, transfers and tensors use it as they use any other.
//
//   Device* mesh = mesh_device({&cpu0, &cpu1}).value();
//   BufferPtr x = to_devices(*mesh, literal, sharding).value();  // each device gets its tile
//
// A module is compiled for all of them as partitions of one program (runtime/spmd.h). A parameter
// that has no sharding takes its argument as it is laid out; an argument that is laid out otherwise
// than its parameter says is moved first, from device to device. A result has the sharding that the
// module gives it, else it is whole on every device.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/sharding/sharding.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/upload_options.h"

namespace heddle::runtime {

// Returns the mesh device of these devices, in this order; the same one for the same devices. It
// lives as long as the process; what is asked of it once its devices' backend is gone is
// FailedPrecondition. One device is itself.
//
// errors   InvalidArgument for no device, one that is there twice, or devices of several backends;
//          FailedPrecondition for one whose backend is gone
[[nodiscard]] StatusOr<Device*> mesh_device(std::span<Device* const> devices);

// The devices that a device is made of; itself where it is none of a mesh.
[[nodiscard]] std::vector<Device*> devices_of(Device& device);

// An array of a mesh device.
class ShardedBuffer final : public Buffer {
 public:
  // `parts` are by device, of type tiles.shape.
  ShardedBuffer(Device& mesh, Shape shape, hlo::Sharding sharding, hlo::Tiles tiles,
                std::vector<BufferPtr> parts);

  [[nodiscard]] const hlo::Sharding& sharding() const { return sharding_; }
  [[nodiscard]] const hlo::Tiles& tiles() const { return tiles_; }
  [[nodiscard]] const std::vector<BufferPtr>& parts() const { return parts_; }

  [[nodiscard]] ValueState state() const override;
  [[nodiscard]] Status await() override;
  void release() override;

 private:
  const hlo::Sharding sharding_;
  const hlo::Tiles tiles_;
  const std::vector<BufferPtr> parts_;
};

// How a buffer is laid over the devices of a mesh; null for one of a plain device.
[[nodiscard]] const hlo::Sharding* sharding_of(const Buffer& buffer);

// Copies an array to the devices of a mesh, to each its tile: one upload a device. A plain device
// gets all of it. to_device() does this with {replicated}.
//
// errors   of to_device(); InvalidArgument for a sharding that does not fit
[[nodiscard]] StatusOr<BufferPtr> to_devices(Device& mesh, const Literal& literal,
                                             const hlo::Sharding& sharding,
                                             std::string_view what = "",
                                             const UploadOptions& options = {});

}  // namespace heddle::runtime
