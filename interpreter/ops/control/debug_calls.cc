// What the calls of heddle/hlo/calls/debug_calls.h do, on the host.
#include "heddle/interpreter/ops/control/debug_calls.h"

#include <algorithm>
#include <cstring>

#include "heddle/base/located_status.h"
#include "heddle/base/metrics/debug_sink.h"
#include "heddle/base/metrics/progress.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/literal/literal_text.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

bool is_said(const CustomCall& call, std::string_view name) {
  return call.boolean(name).value_or(false);
}

// Those that come last and are no values.
size_t value_count(const CustomCall& call) {
  const size_t others = (is_said(call, "masked") ? 1 : 0) + (is_said(call, "ordered") ? 1 : 0);
  return call.size() < others ? 0 : call.size() - others;
}

StatusOr<Literal> nothing_to_say(const CustomCall& call) {
  if (same_type(call.result(), Shape::scalar(u32))) return Literal(call.result());
  return call.error("gives ", call.result(), "; must be u32[]");
}

Literal in_lane(const Literal& all, int64_t lane) {
  std::vector<int64_t> sizes = all.shape().dimensions();
  sizes.erase(sizes.begin());
  Literal out = Literal::uninitialised(Shape(all.shape().dtype(), sizes));
  const int64_t bytes = out.byte_size();
  if (bytes > 0) {
    std::memcpy(out.mutable_bytes(), all.bytes() + lane * bytes, static_cast<size_t>(bytes));
  }
  return out;
}

Status with_place(const CustomCall& call, const Status& status) {
  const StatusOr<std::string> at = call.text("at");
  return at.ok() && !at->empty() ? with_location(status, *at) : status;
}

}  // namespace

StatusOr<Literal> print_call(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(const std::string format, call.text("text"));
  const int64_t lanes = call.integer("lanes").value_or(0);
  const size_t count = value_count(call);
  const bool has_lanes = lanes > 0;
  for (size_t i = 0; i < count; ++i) {
    const Shape& shape = call[i].shape();
    if (shape.is_array() && (!has_lanes || (shape.rank() > 0 && shape.dimension(0) == lanes)))
      continue;
    return call.error("operand ", i, " is ", shape, "; must be an array with a value for each of ",
                      lanes, " lanes");
  }
  std::span<const bool> mask;
  if (is_said(call, "masked")) {
    HEDDLE_ASSIGN_OR_RETURN(mask, call.values<bool>(count));
    if (mask.size() != static_cast<size_t>(lanes))
      return call.error("has a mask of ", mask.size(), " for ", lanes, " lanes");
  }
  std::string lines;
  const bool says_lanes = count > 0 || !mask.empty();  // else nothing has so many
  for (int64_t lane = 0; lane < (says_lanes ? std::max<int64_t>(lanes, 1) : 1); ++lane) {
    if (!mask.empty() && !mask[static_cast<size_t>(lane)]) continue;
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i)
      texts.push_back(literal_text(has_lanes ? in_lane(call[i], lane) : call[i], {}));
    base::append(lines, filled(format, texts), "\n");
  }
  if (!lines.empty()) debug_internal::write_lines(lines);
  return nothing_to_say(call);
}

StatusOr<Literal> check_call(CustomCall& call) {
  if (call.size() == 0) return call.error("has no operands; takes the value to check");
  const std::string_view what = what_is_not_finite(call[0]);
  if (what.empty()) return nothing_to_say(call);
  HEDDLE_ASSIGN_OR_RETURN(const std::string name, call.text("name"));
  return with_place(call, base::make_error(StatusCode::kOutOfRange, "debug_check: ", name, " is ",
                                           what, "; it must be finite"));
}

StatusOr<Literal> progress_call(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(const std::string name, call.text("name"));
  if (call.size() == 0 || !call[0].shape().is_scalar() || !is_integer(call[0].shape().dtype()))
    return call.error("has no operand that is an integer; takes the number of the step");
  debug_internal::show_progress(name, call[0].to_int64(0), call.integer("total").value_or(0));
  return nothing_to_say(call);
}

// record: which check, from 1 (0: none); 1 for NaN, else infinite; the step of each loop, the
// innermost first, -1 where there are no more.
StatusOr<Literal> report_call(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(const std::span<const int32_t> record, call.values<int32_t>(0));
  if (record.size() < 2) return call.error("has a record of ", record.size(), "; takes 2 or more");
  if (record[0] == 0) return nothing_to_say(call);
  HEDDLE_ASSIGN_OR_RETURN(const std::string name, call.text(base::cat("name", record[0])));
  std::string steps;
  for (size_t i = 2; i < record.size() && record[i] >= 0; ++i) {
    base::append(steps, i == 2 ? " in step " : ", in step ", record[i],
                 i == 2 ? " of the loop" : " of the loop around it");
  }
  const bool is_of_nans = name.starts_with("check_nans: ");  // infinities pass
  const Status status = base::make_error(StatusCode::kOutOfRange, name, " is ",
                                         record[1] == 1 ? "not a number" : "infinite", steps,
                                         "; it must be ", is_of_nans ? "one" : "finite");
  const StatusOr<std::string> at = call.text(base::cat("at", record[0]));
  return at.ok() && !at->empty() ? with_location(status, *at) : status;
}

}  // namespace heddle::interpreter
