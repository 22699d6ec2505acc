// What a device is to Heddle: Backend (a kind of machine), Device, Buffer (an array on a device)
// and Executable (a compiled program).
//
// Fit for a foreign device that works on its own: execute() returns at once, results are pending,
// and an error of a run is carried by its results. Host bytes reach a device, and come back, only
// through runtime/transfer.h.
//
// Lifetimes: registered backends (runtime/registry.h) live as long as the process. Where another
// one goes, no call of it may be going on; its buffers and executables, and the devices that these
// are on, may stay. Reading, uploading, compiling and running are FailedPrecondition from then on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/containers/fields.h"
#include "heddle/base/status.h"
#include "heddle/base/system/stop.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/placeholder/placeholder.h"
#include "heddle/runtime/throttle.h"

namespace heddle::hlo {
struct Module;  // heddle/hlo/module.h
}

namespace heddle::runtime {

// A module on its way to the machine: nothing changes it, and all who keep it share it.
using ModulePtr = std::shared_ptr<const hlo::Module>;

class Backend;
class Buffer;
class Device;
class Download;
struct DirectKernels;  // heddle/runtime/host/direct.h
struct StridedArray;
struct UploadOptions;
using BufferPtr = std::shared_ptr<Buffer>;

// One processor with its memory. Made by its backend. Lives as long as that, and as long as a
// buffer or an executable is on it.
class Device : public std::enable_shared_from_this<Device> {
 public:
  Device(Backend& backend, int id, std::string kind);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] int id() const { return id_; }                     // 0, 1, ... within the backend
  [[nodiscard]] const std::string& kind() const { return kind_; }  // what the maker calls it
  // Once that is gone, one whose calls all are FailedPrecondition.
  [[nodiscard]] Backend& backend() const;
  [[nodiscard]] bool is_gone() const {  // with its backend
    return backend_.load(std::memory_order_acquire) == nullptr;
  }
  [[nodiscard]] const std::string& name() const { return name_; }  // "interpreter:0"
  // Never reused in this process, unlike the address.
  [[nodiscard]] uint64_t serial() const { return serial_; }

  // Bytes of the device's memory that Heddle's buffers hold now, and the most they ever held.
  // Scratch of running programs is not in it; two buffers that share bytes count twice; lent host
  // memory counts 0; what is more than INT64_MAX is that.
  [[nodiscard]] int64_t live_bytes() const {
    return counted(live_bytes_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] int64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }
  void reset_peak();  // to what is live now

  // What may be in flight, and what is: runtime/throttle.h.
  [[nodiscard]] Throttle& throttle() const { return *throttle_; }

  // For Heddle's own code: runtime/host/direct.h. Null: none, or the backend is gone.
  [[nodiscard]] const DirectKernels* direct_kernels() const {
    return direct_kernels_.load(std::memory_order_acquire);
  }
  // Of static storage. Only for a device whose buffers lie in host memory, as HostBackend's.
  void set_direct_kernels(const DirectKernels* kernels) {
    direct_kernels_.store(kernels, std::memory_order_release);
  }

 private:
  friend class Backend;
  friend class Buffer;
  void add_bytes(int64_t bytes);
  // A total of pending results that no memory could hold wraps around.
  [[nodiscard]] static int64_t counted(int64_t total) { return total < 0 ? INT64_MAX : total; }

  std::atomic<Backend*> backend_;  // null: gone
  int id_;
  std::string kind_;
  std::string name_;
  uint64_t serial_;
  std::shared_ptr<Throttle> throttle_;
  std::atomic<int64_t> live_bytes_{0};
  std::atomic<int64_t> peak_bytes_{0};
  std::atomic<const DirectKernels*> direct_kernels_{nullptr};
};

// An array on a device, or on its way there. Never a tuple. All of it may be called from any
// thread.
class Buffer {
 public:
  virtual ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] Device& device() const { return *device_; }
  [[nodiscard]] int64_t size_bytes() const { return size_bytes_; }

  // kPending, kReady or kDonated: never a placeholder.
  [[nodiscard]] virtual ValueState state() const = 0;
  // await() would return at once.
  [[nodiscard]] bool is_ready() const { return state() != ValueState::kPending; }
  [[nodiscard]] virtual bool is_deleted() const { return state() == ValueState::kDonated; }

  // Waits until the bytes are there.
  //
  // errors   that of the run that should have made them; FailedPrecondition where the buffer is
  //          donated or released
  [[nodiscard]] virtual Status await() = 0;

  // Gives the memory back, as soon as the runs that were started with it are done. Reading it
  // afterwards is an error.
  virtual void release() = 0;

  // For transfers and runs: keeps their room on the device until the bytes are there, or never will
  // be. Unless overridden, they are there.
  virtual void hold_until_ready(Throttle::Ticket ticket);

 protected:
  // `held_bytes` of the device's memory: size_bytes(), or 0 where the memory is lent by the host.
  Buffer(Device& device, Shape shape, int64_t held_bytes);
  // For release(): takes the bytes out of the device's account, once.
  void forget_bytes();

 private:
  std::shared_ptr<Device> device_;
  Shape shape_;
  int64_t size_bytes_;
  std::atomic<int64_t> held_bytes_;
};

// As await() of the buffer.
[[nodiscard]] Status wait(Buffer& buffer);

// Waits until every run and upload that was started on the device before this call is done, and for
// nothing that others start meanwhile. What failed tells so by its own buffers. In mesh.cc, which
// knows the devices of a mesh.
void synchronize(Device& device);

// The error of reading a buffer that is gone: FailedPrecondition that names its type and the
// repair.
[[nodiscard]] Status deleted_error(std::string_view op, const Shape& shape);

// The error of what is asked of a device whose backend is gone: FailedPrecondition that names the
// device and the repair.
[[nodiscard]] Status gone_error(std::string_view op, const Device& device);

// A setting that one backend knows, as data. Backends refuse names that they do not know.
struct BackendOption {
  std::string name;
  std::string value;
  static constexpr auto kFields =
      fields(field("name", &BackendOption::name), field("value", &BackendOption::value));
  friend bool operator==(const BackendOption&, const BackendOption&) = default;
};

// Part of the program cache's key.
struct CompileOptions {
  std::vector<BackendOption> backend_options;
  // Of traced programs: every float that an operation gives is looked at, and the first NaN is the
  // run's error: which operation, which step of which loop, which line. Slow.
  bool check_nans = false;
  static constexpr auto kFields = fields(field("backend_options", &CompileOptions::backend_options),
                                         field("check_nans", &CompileOptions::check_nans));
  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

struct ExecuteOptions {
  // Arguments whose memory the run may take: their buffers are deleted when it is started, whether
  // or not it succeeds. An error from before, as of wrong arguments, no room, or a program that
  // cannot be compiled for the donation, leaves them.
  std::vector<int> donate;
  // Unavailable instead of a wait, where the device has as much in flight as it may.
  bool only_if_room = false;
  // Ends the run, with Cancelled, when it asks. Not for executables that cannot be stopped.
  StopToken stop = {};
};

// The memory that a program needs. Where a backend cannot say, nothing.
struct ProgramMemory {
  int64_t argument_bytes = 0;
  int64_t result_bytes = 0;
  std::optional<int64_t> scratch_bytes;  // the most that one run holds beside the above
  std::optional<int64_t> code_bytes;
  std::optional<int64_t> peak_bytes;  // of all of them together, at one moment
};

// And what one run of it does.
struct ProgramCost : ProgramMemory {
  std::optional<double> flops;
  std::optional<double> bytes_accessed;  // read and written by the ops
  // All that the backend says, by its own names.
  std::vector<std::pair<std::string, double>> properties;
};

// A compiled program on one device. May be executed from several threads at once.
//
// Tuples are flat here: one buffer per leaf of the parameters, in parameter order, and one per leaf
// of the root; a root that is no tuple gives one.
class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Device& device() const { return *device_; }
  [[nodiscard]] const std::vector<Shape>& parameter_shapes() const { return parameter_shapes_; }
  [[nodiscard]] const std::vector<Shape>& result_shapes() const { return result_shapes_; }
  // On a mesh, of the part of one of its devices; before the first run of a program that takes its
  // parameters as they are laid out, the sizes of whole arrays alone.
  [[nodiscard]] virtual ProgramCost cost() const;
  // It was read, from the disk cache or other bytes, and not compiled.
  [[nodiscard]] bool is_from_disk() const { return from_disk_; }
  void mark_from_disk() { from_disk_ = true; }
  // Runs may be given a StopToken. PJRT has no function that ends a run.
  [[nodiscard]] virtual bool can_stop() const { return false; }

  // Starts a run and returns its results, which may be pending. Counted in `executions`.
  //
  // errors   InvalidArgument that names the argument whose count, type or device is wrong, or a
  //          donation that is none; FailedPrecondition for a deleted argument; what the run itself
  //          finds comes back here or from the results' await()
  //          Cancelled, before anything is donated, where it was asked to stop; Unimplemented for a
  //          StopToken where can_stop() is false
  // cost     no byte moves between host and device; waits where the device's throttle has no room
  [[nodiscard]] StatusOr<std::vector<BufferPtr>> execute(std::span<const BufferPtr> arguments,
                                                         const ExecuteOptions& options = {});

  // The same into buffers of the caller's, one per result, whose old values go. A loop that keeps
  // them allocates nothing by itself.
  // errors   as execute(), which leave them as they were; InvalidArgument for another number
  [[nodiscard]] Status execute_into(std::span<const BufferPtr> arguments,
                                    std::span<BufferPtr> results,
                                    const ExecuteOptions& options = {});

 protected:
  Executable(const hlo::Module& module, Device& device);

  // execute() after its checks: arguments are of this device and of the right types.
  [[nodiscard]] virtual StatusOr<std::vector<BufferPtr>> run(std::span<const BufferPtr> arguments,
                                                             const ExecuteOptions& options) = 0;
  // The same for execute_into().
  [[nodiscard]] virtual Status run_into(std::span<const BufferPtr> arguments,
                                        std::span<BufferPtr> results,
                                        const ExecuteOptions& options);
  // For run(): room on the device for a launch of so many bytes.
  // errors   Unavailable where there is none and the options forbid to wait
  [[nodiscard]] StatusOr<Throttle::Ticket> admit(int64_t bytes,
                                                 const ExecuteOptions& options) const;

 private:
  [[nodiscard]] Status check(std::span<const BufferPtr> arguments,
                             const ExecuteOptions& options) const;
  [[nodiscard]] Status check_argument(size_t number, const BufferPtr& argument) const;
  [[nodiscard]] Status check_donations(std::span<const BufferPtr> arguments,
                                       const std::vector<int>& donate) const;

  std::string name_;
  std::shared_ptr<Device> device_;
  std::vector<Shape> parameter_shapes_;
  std::vector<Shape> result_shapes_;
  bool from_disk_ = false;
};

// The bytes of them together; INT64_MAX where they are more.
[[nodiscard]] int64_t total_bytes(std::span<const Shape> shapes);

// The leaves of a type: itself, or those of its elements in order.
void append_leaves(const Shape& shape, std::vector<Shape>& leaves);

// A kind of machine: `interpreter`, `cpu`, `pjrt:NAME`. Safe from any thread.
class Backend {
 public:
  virtual ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] virtual std::string version() const = 0;  // for people: `heddle info`
  [[nodiscard]] const std::vector<std::shared_ptr<Device>>& devices() const { return devices_; }

  // Compiles a module as it was traced, scans included: how it becomes what the device runs is
  // the backend's own. The checks of a program mean the same everywhere, and are written out here
  // (transform/expand_checks.h). Counted in `compiles`, and in `lowerings` where the backend runs
  // its passes; nothing is kept in memory here (runtime/cache/program_cache.h). What a disk cache
  // holds (runtime/cache/disk_cache.h) is read instead, and not counted.
  //
  // errors   InvalidArgument for an illegal module, a foreign device or an option that the backend
  //          does not know; Unimplemented for an op that it has not
  [[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile(const ModulePtr& module,
                                                              const CompileOptions& options,
                                                              Device& device);
  [[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile(hlo::Module module,
                                                              const CompileOptions& options,
                                                              Device& device);

 protected:
  explicit Backend(std::string name) : name_(std::move(name)) {}
  Device& add_device(std::string kind);

  // compile(), of a legal module for a device of this backend, without checks.
  [[nodiscard]] virtual StatusOr<std::shared_ptr<Executable>> compile_module(
      const ModulePtr& module, const CompileOptions& options, Device& device) = 0;

 private:
  // The raw copies. Private, and called by runtime/transfer.cc alone, so that no byte passes
  // uncounted.
  friend StatusOr<BufferPtr> to_device(Device&, const Literal&, std::string_view,
                                       const UploadOptions&);
  friend StatusOr<BufferPtr> number_to_device(Device&, const Literal&);
  friend StatusOr<BufferPtr> lend_to_device(Device&, const void*, const Shape&,
                                            std::shared_ptr<const void>, std::string_view,
                                            const UploadOptions&);
  friend StatusOr<BufferPtr> to_device(Device&, const StridedArray&, std::string_view,
                                       const UploadOptions&);
  friend StatusOr<Literal> to_host(Buffer&, std::string_view);
  friend StatusOr<Download> start_to_host(Buffer&, std::string_view);
  friend StatusOr<Literal> view_on_host(Buffer&, std::string_view);

  // Copies row-major bytes of shape.byte_size(); they may change or go once this has returned.
  virtual StatusOr<BufferPtr> copy_to_device(Device& device, const void* data,
                                             const Shape& shape) = 0;
  // Uses the bytes where they are, 64-byte aligned, and holds `owner` as long as it does. Null:
  // this backend cannot.
  virtual StatusOr<BufferPtr> borrow(Device& device, const void* data, const Shape& shape,
                                     std::shared_ptr<const void> owner) = 0;
  // Waits for the buffer and writes its row-major bytes to `data`.
  virtual Status copy_to_host(Buffer& buffer, void* data) = 0;

  // copy_to_device() from memory where a step along dimension i is byte_strides[i] bytes. Where it
  // is Unimplemented, as here, the bytes are gathered first.
  virtual StatusOr<BufferPtr> copy_strided_to_device(Device& device, const void* data,
                                                     const Shape& shape,
                                                     std::span<const int64_t> byte_strides);
  // copy_to_host() that may return before the bytes are there: the function waits for them, and is
  // called once. Unless overridden, waits itself.
  virtual StatusOr<std::function<Status()>> start_copy_to_host(Buffer& buffer, void* data);
  // Waits for the buffer and shares its memory, which stays as long as the literal. Unless
  // overridden, Unimplemented.
  virtual StatusOr<Literal> share_with_host(Buffer& buffer);

  std::string name_;
  std::vector<std::shared_ptr<Device>> devices_;
};

}  // namespace heddle::runtime

namespace heddle {
using runtime::Device;
using runtime::synchronize;
}  // namespace heddle
