// XLA's foreign function interface, as far as a function of the host needs it: the extension of
// PJRT that registers a handler, and what the handler is called with. Facts of versions 0.0 to 0.3,
// whose structures only grew; see table.h.
#pragma once

#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt::abi {

// ---- The extension, of type ExtensionType::kFfi.

struct FfiRegisterHandlerArgs {
  size_t struct_size = sizeof(FfiRegisterHandlerArgs);
  const char* target_name = nullptr;
  size_t target_name_size = 0;
  void* handler = nullptr;  // an FfiHandler
  const char* platform_name = nullptr;
  size_t platform_name_size = 0;
  int32_t traits = 0;
};

struct FfiExtension {
  Extension base;
  void* type_register = nullptr;
  void* user_data_add = nullptr;
  Error* (*register_handler)(FfiRegisterHandlerArgs* args) = nullptr;
};

// ---- A call. These begin with a Head, whose list is of extensions of their own.

struct FfiError;

struct FfiErrorCreateArgs {
  Head head;
  const char* message = nullptr;  // ends in a zero
  int32_t code = 0;               // absl's
};

struct FfiErrorDestroyArgs {
  Head head;
  FfiError* error = nullptr;
};

// The stream of the device that the call's arrays belong to: a CUstream on CUDA.
struct FfiStreamGetArgs {
  Head head;
  void* context = nullptr;  // of the frame
  void* stream = nullptr;   // is filled in
};

// What the plugin offers a handler. More functions follow.
struct FfiApi {
  Head head;
  Version version;
  const void* internal = nullptr;
  FfiError* (*error_create)(FfiErrorCreateArgs* args) = nullptr;
  void* error_get_message = nullptr;
  void (*error_destroy)(FfiErrorDestroyArgs* args) = nullptr;
  void* handler_register = nullptr;
  FfiError* (*stream_get)(FfiStreamGetArgs* args) = nullptr;
};

// Element types are XLA's PrimitiveType numbers: those of DType.
struct FfiBuffer {
  Head head;
  int32_t type = 0;
  void* data = nullptr;
  int64_t rank = 0;
  int64_t* dims = nullptr;
};

inline constexpr int32_t kFfiBuffer = 1;           // the one kind of arguments and results
inline constexpr int32_t kFfiStringAttribute = 4;  // the value is an FfiText

struct FfiText {
  const char* data = nullptr;
  size_t size = 0;
};

// Arguments, or results.
struct FfiBuffers {
  Head head;
  int64_t count = 0;
  int32_t* types = nullptr;
  void** buffers = nullptr;
};

struct FfiAttributes {
  Head head;
  int64_t count = 0;
  int32_t* types = nullptr;
  FfiText** names = nullptr;  // sorted
  void** values = nullptr;
};

enum class FfiStage : int32_t { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

struct FfiFrame {
  Head head;
  const FfiApi* api = nullptr;
  void* context = nullptr;
  FfiStage stage = FfiStage::kExecute;
  FfiBuffers arguments;
  FfiBuffers results;
  FfiAttributes attributes;
};

using FfiHandler = FfiError* (*)(FfiFrame* frame);

// A frame with this extension is no call: it asks which version the handler speaks.
inline constexpr int32_t kFfiMetadata = 1;

struct FfiMetadata {
  size_t struct_size = 0;
  Version version;  // filled in by the handler
  uint32_t traits = 0;
};

struct FfiMetadataExtension {
  Extension base;  // its type is kFfiMetadata
  FfiMetadata* metadata = nullptr;
};

}  // namespace heddle::pjrt::abi
