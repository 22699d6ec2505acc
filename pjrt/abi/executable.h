// Calls of the PJRT C API on programs. See table.h.
#pragma once

#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt::abi {

struct ClientCompileArgs {
  static constexpr Slot kSlot = Slot::kClientCompile;
  Head head;
  Client* client = {};
  const Program* program = {};
  const char* compile_options = {};
  size_t compile_options_size = {};
  LoadedExecutable* executable = {};
};

struct ExecutableDestroyArgs {
  static constexpr Slot kSlot = Slot::kExecutableDestroy;
  Head head;
  Executable* executable = {};
};

struct ExecutableNameArgs {
  static constexpr Slot kSlot = Slot::kExecutableName;
  Head head;
  Executable* executable = {};
  const char* executable_name = {};
  size_t executable_name_size = {};
};

struct ExecutableNumOutputsArgs {
  static constexpr Slot kSlot = Slot::kExecutableNumOutputs;
  Head head;
  Executable* executable = {};
  size_t outputs_count = {};
};

struct ExecutableSizeOfGeneratedCodeInBytesArgs {
  static constexpr Slot kSlot = Slot::kExecutableSizeOfGeneratedCodeInBytes;
  Head head;
  Executable* executable = {};
  int64_t size_in_bytes = {};
};

struct ExecutableOutputElementTypesArgs {
  static constexpr Slot kSlot = Slot::kExecutableOutputElementTypes;
  Head head;
  Executable* executable = {};
  BufferType* output_types = {};
  size_t output_types_count = {};
};

struct ExecutableOutputDimensionsArgs {
  static constexpr Slot kSlot = Slot::kExecutableOutputDimensions;
  Head head;
  Executable* executable = {};
  size_t outputs_count = {};
  const int64_t* dims = {};
  const size_t* dim_sizes = {};
};

struct ExecutableGetCostAnalysisArgs {
  static constexpr Slot kSlot = Slot::kExecutableGetCostAnalysis;
  Head head;
  Executable* executable = {};
  size_t properties_count = {};
  const NamedValue* properties = {};
};

struct ExecutableGetCompiledMemoryStatsArgs {
  static constexpr Slot kSlot = Slot::kExecutableGetCompiledMemoryStats;
  Head head;
  Executable* executable = {};
  int64_t generated_code_size_in_bytes = {};
  int64_t argument_size_in_bytes = {};
  int64_t output_size_in_bytes = {};
  int64_t alias_size_in_bytes = {};
  int64_t temp_size_in_bytes = {};
  int64_t host_generated_code_size_in_bytes = {};  // since 0.43
  int64_t host_argument_size_in_bytes = {};        // since 0.43
  int64_t host_output_size_in_bytes = {};          // since 0.43
  int64_t host_alias_size_in_bytes = {};           // since 0.43
  int64_t host_temp_size_in_bytes = {};            // since 0.43
  int64_t peak_memory_in_bytes = {};               // since 0.72
  int64_t total_size_in_bytes = {};                // since 0.90
  int64_t total_allocation_bytes = {};             // since 0.104
  int64_t indefinite_allocations = {};             // since 0.104
  int64_t peak_unpadded_heap_bytes = {};           // since 0.104
};

// Called twice: without memory for the code, it says the size.
struct ExecutableOptimizedProgramArgs {
  static constexpr Slot kSlot = Slot::kExecutableOptimizedProgram;
  Head head;
  Executable* executable = {};
  Program* program = {};
};

struct ExecutableSerializeArgs {
  static constexpr Slot kSlot = Slot::kExecutableSerialize;
  Head head;
  const Executable* executable = {};
  const char* serialized_bytes = {};
  size_t serialized_bytes_size = {};
  SerializedExecutable* serialized_executable = {};
  void (*serialized_executable_deleter)(SerializedExecutable* exec) = nullptr;
};

struct ExecutableDeserializeAndLoadArgs {
  static constexpr Slot kSlot = Slot::kExecutableDeserializeAndLoad;
  Head head;
  Client* client = {};
  const char* serialized_executable = {};
  size_t serialized_executable_size = {};
  LoadedExecutable* loaded_executable = {};
  const char* overridden_serialized_compile_options = {};  // since 0.71
  size_t overridden_serialized_compile_options_size = {};  // since 0.71
  LoadOptions* load_options = {};                          // since 0.111
};

struct LoadedExecutableDestroyArgs {
  static constexpr Slot kSlot = Slot::kLoadedExecutableDestroy;
  Head head;
  LoadedExecutable* executable = {};
};

struct LoadedExecutableGetExecutableArgs {
  static constexpr Slot kSlot = Slot::kLoadedExecutableGetExecutable;
  Head head;
  LoadedExecutable* loaded_executable = {};
  Executable* executable = {};
};

struct LoadedExecutableAddressableDevicesArgs {
  static constexpr Slot kSlot = Slot::kLoadedExecutableAddressableDevices;
  Head head;
  LoadedExecutable* executable = {};
  Device* const* addressable_devices = {};
  size_t addressable_devices_count = {};
};

struct ExecuteOptions {
  Head head;
  SendCallbackInfo** send_callbacks = {};
  RecvCallbackInfo** recv_callbacks = {};
  size_t send_ops_count = {};
  size_t recv_ops_count = {};
  int launch_id = {};
  const int64_t* non_donatable_input_indices = {};         // since 0.39
  size_t non_donatable_input_indices_count = {};           // since 0.39
  ExecuteContext* context = {};                            // since 0.64
  const char* call_location = {};                          // since 0.76
  size_t tasks_count = {};                                 // since 0.78
  int* task_ids = {};                                      // since 0.78
  int64_t* incarnation_ids = {};                           // since 0.78
  MultiSliceConfig* multi_slice_config = {};               // since 0.97
  bool use_major_to_minor_data_layout_for_callbacks = {};  // since 0.108
  HloOutputCallbackInfo* hlo_output_callbacks = {};        // since 0.112
  size_t hlo_output_callbacks_count = {};                  // since 0.112
};

struct LoadedExecutableExecuteArgs {
  static constexpr Slot kSlot = Slot::kLoadedExecutableExecute;
  Head head;
  LoadedExecutable* executable = {};
  ExecuteOptions* options = {};
  Buffer* const* const* argument_lists = {};
  size_t devices_count = {};
  size_t args_count = {};
  Buffer** const* output_lists = {};
  Event** device_complete_events = {};
  Device* execute_device = {};
};

}  // namespace heddle::pjrt::abi
