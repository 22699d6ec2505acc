// infer_shape (hlo/op.h) for an instruction that has its type: the same checks, without a copy of
// the type.
#pragma once

#include <span>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

Status check_type(Opcode opcode, std::span<const Shape* const> operands, const Attrs& attrs,
                  std::span<const Computation* const> called, const Shape& declared);

}  // namespace heddle::hlo
