#include "heddle/pjrt/internal/host_view.h"

#include "heddle/pjrt/abi/buffer.h"

namespace heddle::pjrt {
namespace {

// An external reference to the memory: a run that is given the buffer may not write there.
class Reference {
 public:
  Reference(std::shared_ptr<const Client> client, const PjrtBuffer& buffer)
      : client_(std::move(client)), pinned_(buffer) {}
  ~Reference() {
    if (!taken_) return;
    client_->api()->destroy(abi::BufferDecreaseExternalReferenceCountArgs{.buffer = handle()});
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  [[nodiscard]] abi::Buffer* handle() const { return pinned_.get(); }
  [[nodiscard]] Status take() {
    abi::BufferIncreaseExternalReferenceCountArgs args{.buffer = handle()};
    HEDDLE_RETURN_IF_ERROR(client_->api()->call(args));
    taken_ = true;
    return {};
  }

 private:
  const std::shared_ptr<const Client> client_;
  const Pin pinned_;
  bool taken_ = false;
};

}  // namespace

StatusOr<HostView> view_of(const std::shared_ptr<const Client>& client, PjrtBuffer& buffer) {
  const Api& api = *client->api();
  const auto reference = std::make_shared<Reference>(client, buffer);
  if (reference->handle() == nullptr) return runtime::deleted_error("view", buffer.shape());
  abi::BufferIsOnCpuArgs on_cpu{.buffer = reference->handle()};
  HEDDLE_RETURN_IF_ERROR(api.call(on_cpu));
  if (!on_cpu.is_on_cpu) {
    return base::unimplemented("view: the memory of ", buffer.device().name(),
                               " is not the host's; copy with to_host()");
  }
  if (bit_width(buffer.shape().dtype()) < 8 && buffer.shape().dtype() != pred) {
    return base::unimplemented("view: ", buffer.shape(),
                               " has its elements packed on the device; copy with to_host()");
  }
  HEDDLE_RETURN_IF_ERROR(reference->take());
  abi::BufferOpaqueDeviceMemoryDataPointerArgs pointer{.buffer = reference->handle()};
  HEDDLE_RETURN_IF_ERROR(api.call(pointer));
  if (pointer.device_memory_ptr == nullptr && buffer.size_bytes() > 0) {
    return api.error(StatusCode::kInternal, name_of(pointer.kSlot), "gave no memory for ",
                     buffer.shape(), "; the plugin is at fault");
  }
  return HostView{pointer.device_memory_ptr, reference};
}

}  // namespace heddle::pjrt
