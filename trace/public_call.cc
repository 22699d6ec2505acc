#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

constinit thread_local PublicCall::State PublicCall::now;

}  // namespace heddle::trace_internal
