// The offsets and sizes of XLA's foreign function interface, as facts (64-bit Linux), against our
// structures.
#include "heddle/pjrt/abi/ffi.h"

namespace heddle::pjrt::abi {
namespace {

#define ABI_SIZE(type, bytes) static_assert(sizeof(type) == (bytes))
#define ABI_AT(type, member, byte) static_assert(offsetof(type, member) == (byte))

ABI_SIZE(FfiRegisterHandlerArgs, 56);
ABI_AT(FfiRegisterHandlerArgs, target_name, 8);
ABI_AT(FfiRegisterHandlerArgs, target_name_size, 16);
ABI_AT(FfiRegisterHandlerArgs, handler, 24);
ABI_AT(FfiRegisterHandlerArgs, platform_name, 32);
ABI_AT(FfiRegisterHandlerArgs, platform_name_size, 40);
ABI_AT(FfiRegisterHandlerArgs, traits, 48);
ABI_SIZE(FfiExtension, 48);
ABI_AT(FfiExtension, type_register, 24);
ABI_AT(FfiExtension, user_data_add, 32);
ABI_AT(FfiExtension, register_handler, 40);
ABI_SIZE(FfiErrorCreateArgs, 32);
ABI_AT(FfiErrorCreateArgs, message, 16);
ABI_AT(FfiErrorCreateArgs, code, 24);
ABI_AT(FfiApi, version, 16);
ABI_AT(FfiApi, internal, 40);
ABI_AT(FfiApi, error_create, 48);
ABI_SIZE(FfiBuffer, 48);
ABI_AT(FfiBuffer, type, 16);
ABI_AT(FfiBuffer, data, 24);
ABI_AT(FfiBuffer, rank, 32);
ABI_AT(FfiBuffer, dims, 40);
ABI_SIZE(FfiText, 16);
ABI_SIZE(FfiBuffers, 40);
ABI_AT(FfiBuffers, count, 16);
ABI_AT(FfiBuffers, types, 24);
ABI_AT(FfiBuffers, buffers, 32);
ABI_SIZE(FfiAttributes, 48);
ABI_AT(FfiAttributes, count, 16);
ABI_AT(FfiAttributes, types, 24);
ABI_AT(FfiAttributes, names, 32);
ABI_AT(FfiAttributes, values, 40);
ABI_SIZE(FfiFrame, 168);
ABI_AT(FfiFrame, api, 16);
ABI_AT(FfiFrame, context, 24);
ABI_AT(FfiFrame, stage, 32);
ABI_AT(FfiFrame, arguments, 40);
ABI_AT(FfiFrame, results, 80);
ABI_AT(FfiFrame, attributes, 120);
ABI_AT(FfiMetadata, version, 8);
ABI_AT(FfiMetadata, traits, 32);
ABI_SIZE(FfiMetadataExtension, 32);
ABI_AT(FfiMetadataExtension, metadata, 24);

}  // namespace
}  // namespace heddle::pjrt::abi
