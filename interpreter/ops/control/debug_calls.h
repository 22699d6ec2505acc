// The functions of heddle/hlo/calls/debug_calls.h.
#pragma once

#include "heddle/interpreter/custom_call.h"

namespace heddle::interpreter {

StatusOr<Literal> print_call(CustomCall& call);
StatusOr<Literal> check_call(CustomCall& call);
StatusOr<Literal> progress_call(CustomCall& call);
StatusOr<Literal> report_call(CustomCall& call);

}  // namespace heddle::interpreter
