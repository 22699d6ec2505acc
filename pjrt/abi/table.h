// The PJRT C API, as its binary layout: what passes between Heddle and a plugin. Written from the
// facts of the interface, version 0.114; no part of another project's header is in it.
//
// Every structure that is passed begins with a Head, whose struct_size its maker sets. Structures
// only ever grew at their end, so that this newest layout serves every plugin; what comes later in
// a structure than its plugin knows is not read. pjrt/abi/layout.cc checks each offset.
//
// A function of the table takes one structure and returns null or an error that its receiver owns.
// This header holds the table and what all parts use; client.h, executable.h and buffer.h hold the
// calls. A plugin may be written with them too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::pjrt::abi {

// The version that the structures are of.
inline constexpr int kMajor = 0;
inline constexpr int kMinor = 114;

// Handles: made and destroyed by the plugin.
struct Buffer;
struct Client;
struct Device;
struct DeviceDescription;
struct Error;
struct Event;
struct ExecuteContext;
struct Executable;
struct LoadedExecutable;
struct Memory;

// Parts of structures that Heddle never fills.
struct HloOutputCallbackInfo;
struct LoadOptions;
struct MultiSliceConfig;
struct RecvCallbackInfo;
struct SendCallbackInfo;
struct SerializedExecutable;

// Rows of the function table.
enum class Slot : int {
#define PJRT_SLOT(row, name, since) k##name = row,
#include "heddle/pjrt/abi/slots.def"
#undef PJRT_SLOT
};
inline constexpr int kSlotCount = 138;

// The codes of absl::Status.
enum class ErrorCode : int32_t { kOk = 0, kUnknown = 2, kInvalidArgument = 3, kUnimplemented = 12 };

// Element types. The numbers are not those of DType: see element_type() in pjrt/internal/types.h.
enum class BufferType : int32_t {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBF16 = 13,
  kC64 = 14,
  kC128 = 15,
  kF8E5M2 = 16,
  kF8E4M3FN = 17,
  kF8E4M3B11FNUZ = 18,
  kF8E5M2FNUZ = 19,
  kF8E4M3FNUZ = 20,
  kS4 = 21,
  kU4 = 22,
  kToken = 23,
  kS2 = 24,
  kU2 = 25,
  kF8E4M3 = 26,     // since 0.55
  kF8E3M4 = 27,     // since 0.55
  kF8E8M0FNU = 28,  // since 0.63
  kF4E2M1FN = 29,   // since 0.63
  kS1 = 30,         // since 0.94
  kU1 = 31,         // since 0.94
};

// What a plugin may do with the host memory of an upload, and for how long.
enum class HostSemantics : int32_t {
  kDuringCall = 0,        // copied when the call returns
  kUntilTransferred = 1,  // held until the event fires
  kZeroCopy = 2,          // may be used in place; held until the event fires
  kMutableZeroCopy = 3,
};

enum class NamedValueType : int32_t {
  kString = 0,
  kInt64 = 1,
  kInt64List = 2,
  kFloat = 3,
  kBool = 4
};
enum class LayoutType : int32_t { kTiled = 0, kStrides = 1 };

// Extensions form a list. Plugins may have ones that are not listed here.
enum class ExtensionType : int32_t {
  kGpuCustomCall = 0,
  kProfiler = 1,
  kCustomPartitioner = 2,
  kStream = 3,
  kLayouts = 4,
  kFfi = 5,
  kMemoryDescriptions = 6,
  kTriton = 7,
  kRawBuffer = 8,
  kPhaseCompile = 9,
  kExample = 10,
  kUnknown = 11,
  kCrossHostTransfers = 12,
  kExecutableMetadata = 13,
  kCallback = 14,
  kHostAllocator = 15,
  kTpuTopology = 16,
  kTpuExecutable = 17,
  kMegascale = 18,
  kShardings = 19,
  kAbiVersion = 20,
  kCollectives = 21,
  kMultiSlice = 22,
  kHostMemoryAllocator = 23,
  kXlaTransform = 24,
};

struct Extension {
  size_t struct_size = sizeof(Extension);
  ExtensionType type = ExtensionType::kUnknown;
  Extension* next = nullptr;
};

// How each structure begins.
struct Head {
  size_t struct_size = 0;
  Extension* extensions = nullptr;
};

struct Version {
  Head head;
  int major = 0;
  int minor = 0;
};

// The object that GetPjrtApi() returns. Its size says how many rows there are.
struct Table {
  Head head;
  Version version;
  void* rows[kSlotCount] = {};
};

using GetTable = const Table* (*)();
inline constexpr char kGetTable[] = "GetPjrtApi";

struct NamedValue {
  Head head;
  const char* name = nullptr;
  size_t name_size = 0;
  NamedValueType type = NamedValueType::kString;
  union {
    const char* text;
    int64_t integer;
    const int64_t* integers;
    float number;
    bool flag;
  } value = {};
  size_t value_size = 0;  // characters, or integers of a list; else 1
};

struct Program {
  Head head;
  char* code = nullptr;
  size_t code_size = 0;
  const char* format = nullptr;  // "hlo": a serialised HloModuleProto
  size_t format_size = 0;
};

struct TiledLayout {
  Head head;
  const int64_t* minor_to_major = nullptr;
  size_t minor_to_major_size = 0;
  const int64_t* tile_dims = nullptr;
  const size_t* tile_dim_sizes = nullptr;
  size_t tile_count = 0;
};

struct StridesLayout {
  Head head;
  const int64_t* byte_strides = nullptr;
  size_t byte_stride_count = 0;
};

struct MemoryLayout {
  Head head;
  union Either {
    TiledLayout tiled;
    StridesLayout strides;
    Either() : tiled() {}
  } layout;
  LayoutType type = LayoutType::kTiled;
};

// The receiver owns the error.
using OnReady = void (*)(Error* error, void* user_arg);

struct ErrorDestroyArgs {
  static constexpr Slot kSlot = Slot::kErrorDestroy;
  Head head;
  Error* error = {};
};

struct ErrorMessageArgs {
  static constexpr Slot kSlot = Slot::kErrorMessage;
  Head head;
  const Error* error = {};
  const char* message = {};
  size_t message_size = {};
};

struct ErrorGetCodeArgs {
  static constexpr Slot kSlot = Slot::kErrorGetCode;
  Head head;
  const Error* error = {};
  ErrorCode code = {};
};

struct PluginAttributesArgs {
  static constexpr Slot kSlot = Slot::kPluginAttributes;
  Head head;
  const NamedValue* attributes = {};
  size_t attributes_count = {};
};

struct EventDestroyArgs {
  static constexpr Slot kSlot = Slot::kEventDestroy;
  Head head;
  Event* event = {};
};

struct EventIsReadyArgs {
  static constexpr Slot kSlot = Slot::kEventIsReady;
  Head head;
  Event* event = {};
  bool is_ready = {};
};

struct EventErrorArgs {
  static constexpr Slot kSlot = Slot::kEventError;
  Head head;
  Event* event = {};
};

struct EventAwaitArgs {
  static constexpr Slot kSlot = Slot::kEventAwait;
  Head head;
  Event* event = {};
};

struct EventOnReadyArgs {
  static constexpr Slot kSlot = Slot::kEventOnReady;
  Head head;
  Event* event = {};
  OnReady callback = {};
  void* user_arg = {};
};

struct PluginInitializeArgs {
  static constexpr Slot kSlot = Slot::kPluginInitialize;
  Head head;
};

}  // namespace heddle::pjrt::abi
