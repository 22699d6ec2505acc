#include "heddle/scan/progress.h"

#include <algorithm>
#include <tuple>

#include "heddle/base/metrics/progress.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/scan/cond.h"
#include "heddle/trace/ops/control/debug_calls.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

constexpr int64_t kMostCalls = 200;

}  // namespace

void progress(Operand done, base::Int total, std::string_view name, SourceLocation at) {
  const trace_internal::PublicCall call("progress", at);
  const Tensor step = as_tensor(done);
  const Shape& shape = step.shape();
  if (shape.rank() != 0 || !is_integer(shape.dtype()))
    trace_internal::refuse("step is ", shape, "; it must be an integer scalar");
  if (total < 0) trace_internal::refuse("total is ", total, "; it must be 0 or more");
  if (trace_internal::Recorder::current() == nullptr) {
    debug_internal::show_progress(name, step.astype(s64).item<int64_t>(), total);
    return;
  }
  const std::string config =
      base::cat("{name = ", hlo::quoted_text(name), ", total = ", int64_t{total}, " : i64}");
  const auto show = [&](const Tensor& i) {
    return trace_internal::emit_debug_call(hlo::kProgressCall, {i}, config);
  };
  const int64_t stride = std::max<int64_t>(total / kMostCalls, 1);
  if (stride == 1) {
    (void)show(step);
    return;
  }
  const Tensor is_due = (step % stride == 0) | (step == total - 1);
  (void)cond(
      is_due, show, [](const Tensor& i) { return (i * 0).astype(u32); }, step);
}

}  // namespace heddle
