#include "heddle/trace/printing.h"

#include <ostream>
#include <string_view>

#include "heddle/hlo/literal/literal_text.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

void check_options(const PrintOptions& options) {
  const auto require = [&](std::string_view name, int64_t value, int64_t least) {
    if (value >= least) return;
    trace_internal::refuse(name, " is ", value, "; it must be ", least, " or more");
  };
  require("precision", options.precision.value_or(0), 0);
  require("threshold", options.threshold, 0);
  require("edge_items", options.edge_items, 0);
  require("line_width", options.line_width, 1);
}

}  // namespace

std::string array_to_string(const Literal& literal, const PrintOptions& options,
                            SourceLocation at) {
  const trace_internal::PublicCall call("array_to_string", at);
  check_options(options);
  return literal_text(literal, options);
}

std::string array_to_string(const Tensor& x, const PrintOptions& options, SourceLocation at) {
  const trace_internal::PublicCall call("array_to_string", at);
  check_options(options);
  if (!x.is_valid() || x.is_traced() || x.is_placeholder() || x.is_donated()) return to_string(x);
  const trace_internal::Node& node = *x.node();
  const std::string what =
      at.known() ? "print" : base::cat("print of what was made at ", to_string(node.where));
  return literal_text(value_or_throw(runtime::to_host(*node.buffer, what)), options);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << array_to_string(tensor, {}, {});
}

void PrintTo(const Tensor& tensor, std::ostream* out) { *out << to_string(tensor); }

}  // namespace heddle
