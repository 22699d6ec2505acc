// The functions of heddle/hlo/debug_calls.h.
#pragma once

#include "heddle/hlo/custom_call.h"

namespace heddle::hlo {

StatusOr<Literal> print_call(CustomCall& call);
StatusOr<Literal> check_call(CustomCall& call);
StatusOr<Literal> progress_call(CustomCall& call);
StatusOr<Literal> report_call(CustomCall& call);

}  // namespace heddle::hlo
