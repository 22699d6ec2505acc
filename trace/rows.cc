#include "heddle/trace/rows.h"

#include <atomic>

#include "heddle/base/text/strings.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/node.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace trace_internal {
namespace {

thread_local RowScope* current_rows = nullptr;

uint64_t next_row_serial() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

RowScope::RowScope(int64_t rows, Tensor valid)
    : rows_(rows), valid_(std::move(valid)), serial_(next_row_serial()), outer_(current_rows) {
  current_rows = this;
}
RowScope::~RowScope() { current_rows = outer_; }

RowScope* RowScope::current() { return current_rows; }

void RowScope::append(std::string& surroundings) {
  if (current_rows == nullptr) return;
  base::append(surroundings, " a bucket of ", current_rows->rows_, " rows, trace ",
               current_rows->serial_);
}

}  // namespace trace_internal

namespace {

using trace_internal::PublicCall;
using trace_internal::refuse;
using trace_internal::RowScope;

// The rows of x, and the scope that they are of, if there is one.
struct Rows {
  int64_t count;
  int64_t rank;
  RowScope* scope;
};

Rows rows_of(const Operand& x) {
  if (!x.is_tensor()) refuse("x is the number ", number_text(x), "; a tensor has rows");
  const Shape& shape = trace_internal::node_of(x.tensor()).shape;
  if (shape.rank() == 0)
    refuse("x is ", to_string(shape), "; the rows are its first axis, and it has none");
  RowScope* scope = RowScope::current();
  if (scope != nullptr && shape.dimension(0) != scope->rows())
    refuse("x is ", to_string(shape), ", and the bucket has ", scope->rows(),
           " rows; give it a tensor with all of them");
  return {shape.dimension(0), shape.rank(), scope};
}

}  // namespace

Tensor valid_rows(Operand x) {
  const PublicCall call("valid_rows", x.at());
  const trace_internal::OnDeviceOf device(x);
  const Rows rows = rows_of(x);
  return rows.scope != nullptr ? rows.scope->ask() : full({}, rows.count, s32);
}

Tensor row_mask(Operand x) {
  const PublicCall call("row_mask", x.at());
  const trace_internal::OnDeviceOf device(x);
  const Rows rows = rows_of(x);
  std::vector<int64_t> sizes(static_cast<size_t>(rows.rank), 1);
  sizes[0] = rows.count;
  if (rows.scope == nullptr) return full(sizes, true, pred);
  return iota(s32, sizes, 0, x.at()) < rows.scope->ask();
}

}  // namespace heddle
