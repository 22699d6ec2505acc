#include "heddle/runtime/mesh.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <typeinfo>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/text/strings.h"
#include "heddle/runtime/internal/mesh_executable.h"
#include "heddle/runtime/internal/mesh_transfer.h"
#include "heddle/runtime/transfer.h"
#include "heddle/transform/lower.h"

namespace heddle::runtime {
namespace {

std::string name_of_mesh(std::span<Device* const> devices) {
  std::string numbers;
  for (const Device* device : devices)
    base::append(numbers, numbers.empty() ? "" : ",", device->id());
  return base::cat("mesh(", devices[0]->backend().name(), ":", numbers, ")");
}

// A backend of one device.
class MeshBackend final : public Backend {
 public:
  explicit MeshBackend(std::vector<Device*> devices)
      : Backend(name_of_mesh(devices)), parts_(std::move(devices)) {
    for (Device* part : parts_) held_.push_back(part->shared_from_this());
    add_device(base::cat(parts_.size(), " x ", parts_[0]->kind()));
  }

  std::string version() const override { return parts_[0]->backend().version(); }
  const std::vector<Device*>& parts() const { return parts_; }

 protected:
  StatusOr<std::shared_ptr<Executable>> compile_module(const ModulePtr& module,
                                                       const CompileOptions& options,
                                                       Device& device) override {
    // Here and not in the backend of the parts: layouts of a loop's results are read from whiles.
    count(&Counters::lowerings);
    HEDDLE_ASSIGN_OR_RETURN(hlo::Module lowered, transform::lower(*module));
    return MeshExecutable::compile(std::move(lowered), options, device);
  }

 private:
  static Status apart() {
    return base::internal_error("a mesh device was asked for bytes; its devices have them");
  }
  StatusOr<BufferPtr> copy_to_device(Device&, const void*, const Shape&) override {
    return apart();
  }
  StatusOr<BufferPtr> borrow(Device&, const void*, const Shape&,
                             std::shared_ptr<const void>) override {
    return apart();
  }
  Status copy_to_host(Buffer&, void*) override { return apart(); }

  const std::vector<Device*> parts_;
  std::vector<std::shared_ptr<Device>> held_;  // the same: they may outlive their backend
};

Status check_devices(std::span<Device* const> devices) {
  if (devices.empty())
    return base::invalid_argument("mesh: has no devices; must have at least one");
  if (std::ranges::count(devices, nullptr) > 0)
    return base::invalid_argument(
        "mesh: has a null pointer among its devices; each must be a device");
  for (Device* device : devices) {
    if (device->is_gone()) return gone_error("mesh", *device);
    if (&device->backend() != &devices[0]->backend()) {
      return base::invalid_argument("mesh: has ", device->name(), " and ", devices[0]->name(),
                                    "; all its devices must be of one backend");
    }
    if (std::ranges::count(devices, device) > 1)
      return base::invalid_argument("mesh: has ", device->name(), " twice; must have it once");
  }
  return {};
}

struct Meshes {
  std::mutex mutex;
  std::map<std::vector<uint64_t>, std::unique_ptr<MeshBackend>> by_serials;
};

Meshes& meshes() {
  static Meshes& instance = *new Meshes;  // buffers in static storage may outlive main()
  return instance;
}

}  // namespace

StatusOr<Device*> mesh_device(std::span<Device* const> devices) {
  HEDDLE_RETURN_IF_ERROR(check_devices(devices));
  if (devices.size() == 1) return devices[0];
  std::vector<uint64_t> key;
  for (const Device* device : devices) key.push_back(device->serial());
  const std::scoped_lock lock(meshes().mutex);
  std::unique_ptr<MeshBackend>& backend = meshes().by_serials[std::move(key)];
  if (backend == nullptr)
    backend = std::make_unique<MeshBackend>(std::vector<Device*>(devices.begin(), devices.end()));
  return backend->devices()[0].get();
}

bool is_mesh(const Device& device) {
  return dynamic_cast<const MeshBackend*>(&device.backend()) != nullptr;
}

std::vector<Device*> devices_of(Device& device) {
  const auto* mesh = dynamic_cast<const MeshBackend*>(&device.backend());
  return mesh == nullptr ? std::vector<Device*>{&device} : mesh->parts();
}

void synchronize(Device& device) {
  for (Device* part : devices_of(device)) part->throttle().drain();
}

ShardedBuffer::ShardedBuffer(Device& mesh, Shape shape, hlo::Sharding sharding, hlo::Tiles tiles,
                             std::vector<BufferPtr> parts)
    : Buffer(mesh, std::move(shape), /*held_bytes=*/0),
      sharding_(std::move(sharding)),
      tiles_(std::move(tiles)),
      parts_(std::move(parts)) {}

ValueState ShardedBuffer::state() const {
  ValueState state = ValueState::kReady;
  for (const BufferPtr& part : parts_) {
    const ValueState one = part->state();
    if (one == ValueState::kDonated) return one;
    if (one == ValueState::kPending) state = one;
  }
  return state;
}

Status ShardedBuffer::await() {
  Status status;
  for (const BufferPtr& part : parts_) status.update(part->await());
  return status;
}

void ShardedBuffer::release() {
  for (const BufferPtr& part : parts_) part->release();
}

ShardedBuffer* as_sharded(Buffer& buffer) { return dynamic_cast<ShardedBuffer*>(&buffer); }

const hlo::Sharding* sharding_of(const Buffer& buffer) {
  if (typeid(buffer) != typeid(ShardedBuffer)) return nullptr;  // which is final
  return &static_cast<const ShardedBuffer&>(buffer).sharding();
}

StatusOr<BufferPtr> to_devices(Device& mesh, const Literal& literal, const hlo::Sharding& sharding,
                               std::string_view what, const UploadOptions& options) {
  if (!is_mesh(mesh)) return to_device(mesh, literal, what, options);
  if (literal.is_elided())
    return base::failed_precondition("upload: a literal of type ", literal.shape(),
                                     " whose values were elided as {...}");
  const std::vector<Device*> devices = devices_of(mesh);
  StatusOr<hlo::Tiles> tiles =
      hlo::tiles_of(sharding, literal.shape(), static_cast<int64_t>(devices.size()));
  if (!tiles.ok()) return base::annotate(tiles.status(), "upload: ");
  std::vector<BufferPtr> parts;
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto device = static_cast<int64_t>(i);
    const Literal tile = hlo::cut(literal, tiles->start(device), tiles->shape);
    HEDDLE_ASSIGN_OR_RETURN(parts.emplace_back(), to_device(*devices[i], tile, what, options));
  }
  return std::make_shared<ShardedBuffer>(mesh, literal.shape(), sharding, *std::move(tiles),
                                         std::move(parts));
}

StatusOr<Literal> assemble(ShardedBuffer& buffer, std::string_view what) {
  const hlo::Tiles& tiles = buffer.tiles();
  const auto part = [&](int64_t device) {
    return to_host(*buffer.parts()[static_cast<size_t>(device)], what);
  };
  if (tiles.is_whole()) return part(0);
  Literal out = Literal::uninitialised(buffer.shape());
  const std::vector<int64_t> holders = tiles.holders();
  // One after the other: all of them at once, as Download has them, would be as much memory again.
  HEDDLE_RETURN_IF_ERROR(place_tiles(
      tiles, holders, [&](size_t i) { return part(holders[i]); }, out));
  return out;
}

}  // namespace heddle::runtime
