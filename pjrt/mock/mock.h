// A PJRT plugin that does what a test says: its programs are functions of the test, and it can have
// any fault. A shared library of its own, so that loading is tested too; the test reaches it by
// heddle_pjrt_mock().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/pjrt/abi/ffi.h"
#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt::mock {

// Memory of a device begins at a multiple of 64, as XLA's does.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class Other>
  Aligned(const Aligned<Other>&) {}  // implicit, as allocators are
  static constexpr std::align_val_t kAlignment{64};
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* object, size_t) { ::operator delete(object, kAlignment); }
  friend bool operator==(const Aligned&, const Aligned&) { return true; }
};

struct Array {
  abi::BufferType type = abi::BufferType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<std::byte, Aligned<std::byte>> bytes;  // row-major
};

struct Fault {
  int code = 13;
  std::string message;
};

// A compiled program. `results` says the types alone.
struct Program {
  std::vector<Array> results;
  std::function<std::vector<Array>(const std::vector<const Array*>&)> run;
  std::string code = {};                        // what it was compiled from
  std::optional<Fault> refused = std::nullopt;  // is not compiled
  std::optional<size_t> parameters = {};        // a run with another number is refused
  std::vector<size_t> aliased = {};             // parameters that a run takes, unless it may not
  std::string name = {}, options = {};
};

// How the plugin behaves from reset() on.
struct Settings {
  // Called with the program's bytes and the options'. None: a compile is an error.
  std::function<Program(std::string_view, std::string_view)> compile;
  // The same for programs in the format "mlir". None: the format is not known.
  std::function<Program(std::string_view)> compile_text = nullptr;
  bool complete = false;  // has the functions of the interface that Heddle does not call, too
  int major = 0;
  int minor = abi::kMinor;
  size_t table_size = sizeof(abi::Table);
  std::set<abi::Slot> absent;          // null pointers in the table
  std::map<abi::Slot, Fault> failing;  // these answer with an error
  Fault fault_there = {};              // of the one call that Seen::fail_at names
  std::set<abi::Slot> empty_handed;    // these succeed and give nothing
  std::set<abi::Slot> idle;            // these succeed and do nothing at all
  size_t longer_by = 0;                // structures must have so many bytes more than they have
  size_t nested_longer_by = 0;         // ... those that arguments point at
  int devices = 2;
  std::function<void()> initialising = nullptr;  // called while the plugin is loaded
  std::function<void()> creating = nullptr;      // called while a client is made
  bool asynchronous = false;                     // runs happen on a thread, without bound
  bool held = false;                             // ... and not before open()
  std::function<void(bool)> crossing = nullptr;  // true: a call enters the mock; false: it leaves
  // Has an FFI extension, which takes handlers that speak this minor version at most, and passes
  // over others in silence.
  std::optional<int> handler_minor = std::nullopt;
  std::string handler_error;  // not empty: has an FFI extension, which refuses handlers by it
  std::string run_error;      // not empty: every run fails by it, through its events
  std::string host_error;     // the same for uploads
  int more_results = 0;       // tells of more results than the program has
  bool other_types = false;   // tells of results of another type
  int64_t more_bytes = 0;     // has more bytes for the host than the array
  bool copies = false;        // never uses host memory in place
  bool silent_loans = false;  // does not say when it is done with memory that it uses in place
  bool late_uploads = false;  // arrays are there when the thread comes to them: asynchronous only
  int64_t bytes_limit = 0;    // of a device's memory, told where it is not 0
  int64_t scratch_bytes = 0;  // of each program
  std::string platform = "mock";
  std::string platform_version = {};  // empty: it cannot tell
  bool off_host = false;              // buffers are in memory that the host cannot read
  bool is_xla = false;                // has the attribute that XLA's plugins have
  int endless_extensions = 0;         // so many, in a ring
};

// What the plugin saw.
struct Seen {
  std::array<std::atomic<int>, abi::kSlotCount> calls{};
  std::atomic<int64_t> all_calls{0};  // but those on errors
  std::atomic<int> inside{0};         // calls that are in the mock now
  // A test may set this: the call of that number, from 1 on, answers with Settings::fault_there.
  std::atomic<int64_t> fail_at{0};
  std::atomic<int> failed_slot{-1};  // ... which was one of this slot
  std::atomic<int> clients{0}, programs{0}, buffers{0}, events{0}, errors{0};  // alive
  std::atomic<int64_t> bytes{0}, peak_bytes{0};                                // of buffers
  std::atomic<int64_t> in_flight{0}, peak_in_flight{0};  // bytes of results of runs not yet over
  std::atomic<int> errors_asked_early{0};  // EventError of a pending event: XLA ends the process
  std::vector<int64_t> kept;               // of the last run: arguments that it might not take
  const abi::Device* execute_device = nullptr;  // of the last run, where it names one
};

class Plugin {
 public:
  virtual void reset(Settings settings) = 0;  // nothing of the plugin may be alive
  virtual Settings& settings() = 0;
  virtual Seen& seen() = 0;
  virtual void open() = 0;  // lets held runs go
  virtual const abi::Table* table() = 0;
  // One that was registered since reset(); null where there is none of the name.
  virtual abi::FfiHandler handler(const std::string& name) = 0;

 protected:
  ~Plugin() = default;
};

}  // namespace heddle::pjrt::mock

extern "C" heddle::pjrt::mock::Plugin* heddle_pjrt_mock();
