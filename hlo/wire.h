// HloModuleProto, XLA's wire form. Bytes here; the generated classes stay in .cc files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

// Returns the module as a serialised HloModuleProto that any XLA accepts: flat ids, callees first,
// names unique module-wide, host_program_shape set. Deterministic: equal modules with equal names
// give equal bytes.
std::string to_proto(const Module& module);

// Reads a serialised HloModuleProto and verifies it. Bytes are hostile input.
// errors: InvalidArgument that names computation and instruction; ResourceExhausted past a limit
StatusOr<Module> from_proto(std::string_view bytes);

// A serialised LiteralProto.
std::string literal_to_proto(const Literal& literal);
StatusOr<Literal> literal_from_proto(std::string_view bytes);

}  // namespace heddle::hlo
