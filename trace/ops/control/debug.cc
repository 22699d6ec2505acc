#include "heddle/trace/ops/control/debug.h"

#include <set>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/literal/literal_text.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/ops/control/debug_calls.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/printing.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {

std::string DebugValue::float_text(double number, bool is_single) {
  return literal_text(Literal::scalar(is_single ? f32 : f64, number), {});
}

namespace trace_internal {
namespace {

// With texts in the places that have one, and braces written twice in them; other places stay.
std::string partly_filled(std::string_view format, const std::vector<DebugValue>& values) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    const std::string_view two = format.substr(i, 2);
    if (two == "{{" || two == "}}" || two == "{}") ++i;
    if (two != "{}" || values[next].tensor() != nullptr) {
      out += two == "{{" || two == "}}" || two == "{}" ? two : two.substr(0, 1);
      next += two == "{}" ? 1 : 0;
      continue;
    }
    for (const char c : values[next++].text()) out.append(c == '{' || c == '}' ? 2 : 1, c);
  }
  return out;
}

// Outside of a trace: after what runs has printed.
void print_now(const std::string& format, const std::vector<Tensor>& tensors) {
  std::set<runtime::Device*> devices;
  for (const Tensor& x : tensors) devices.insert(&buffer_of(x, "debug_print")->device());
  for (runtime::Device* device : devices) runtime::synchronize(*device);
  std::vector<std::string> texts;
  for (const Tensor& x : tensors) texts.push_back(array_to_string(x, {}));
  debug_internal::write_lines(hlo::filled(format, texts) + "\n");
}

}  // namespace

Tensor emit_debug_call(std::string_view target, const std::vector<Tensor>& operands,
                       std::string config) {
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = target;
  attrs.custom_call_has_side_effect = true;
  attrs.api_version = hlo::ApiVersion::kTypedFfi;
  return emit({.opcode = hlo::Opcode::kCustomCall,
               .operands = operands,
               .attrs = std::move(attrs),
               .declared = Shape::scalar(u32),
               .backend_config = std::move(config)});
}

std::string place_entry() {
  const SourceLocation at = PublicCall::line_or({});
  return hlo::quoted_text(at.known() ? to_string(at) : "");
}

void print_values(const DebugFormat& format, const std::vector<DebugValue>& values) {
  const PublicCall call("debug_print", format.at());
  const StatusOr<size_t> places = hlo::count_places(format.text());
  if (!places.ok()) refuse("the format has ", base::message_of(places.status()));
  if (*places != values.size()) {
    refuse("the format has ", *places, " places {} for ", values.size(),
           " values; write one for each");
  }
  std::vector<Tensor> tensors;
  for (const DebugValue& value : values) {
    if (value.tensor() == nullptr) continue;
    (void)node_of(*value.tensor(), "debug_print");  // it has a value
    tensors.push_back(*value.tensor());
  }
  const std::string text = partly_filled(format.text(), values);
  if (Recorder::current() == nullptr) return print_now(text, tensors);
  (void)emit_debug_call(
      hlo::kPrintCall, tensors,
      base::cat("{text = ", hlo::quoted_text(text), ", at = ", place_entry(), "}"));
}

}  // namespace trace_internal

void debug_check(const Tensor& x, std::string_view name, SourceLocation at) {
  const trace_internal::PublicCall call("debug_check", at);
  const DType dtype = x.shape().dtype();
  if (dtype == pred)
    trace_internal::refuse(name, " is ", x.shape(),
                           ", and debug_check looks for NaN and infinity: "
                           "it asserts nothing of truths; show them with debug_print(\"{}\", x)");
  if (!is_floating(dtype) && !is_complex(dtype)) return;
  if (trace_internal::Recorder::current() != nullptr) {
    (void)trace_internal::emit_debug_call(hlo::kCheckCall, {x},
                                          base::cat("{name = ", hlo::quoted_text(name),
                                                    ", at = ", trace_internal::place_entry(), "}"));
    return;
  }
  if (all(is_finite(x)).item<bool>()) return;
  const Literal value =
      value_or_throw(runtime::to_host(*trace_internal::buffer_of(x, "debug_check"), "debug_check"));
  throw Error(base::make_error(StatusCode::kOutOfRange, "debug_check: ", name, " is ",
                               hlo::what_is_not_finite(value), "; it must be finite"));
}

}  // namespace heddle
