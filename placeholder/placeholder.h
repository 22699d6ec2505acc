// Placeholder: a value that does not exist yet. It has an id, a type and the line that made it; no
// buffer and no memory.
//
// Tracing runs on placeholders. They are told apart by id alone: two of equal shape are two
// parameters, one used twice is one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/base/source_location.h"
#include "heddle/base/status.h"
#include "heddle/hlo/shape.h"
#include "heddle/hlo/sharding/sharding.h"

namespace heddle {

// The name of a value, whatever state it is in. 0 is no value.
using ValueId = uint64_t;

// Returns 1, 2, 3, ...: one process-wide count, never reused, independent of addresses and buffers.
// Safe from any thread.
[[nodiscard]] ValueId next_value_id();

// The state of a value. A program may be traced on a value of any state, and run on kPending and
// kReady.
enum class ValueState : uint8_t {
  kPlaceholder,  // a type and an id; there is no buffer, and none is on its way
  kPending,      // a run that has started will fill the buffer
  kReady,        // the bytes are there, or the run that should have made them has failed
  kDonated,      // a run has taken the buffer, or it was released: nobody can read it any more
};
[[nodiscard]] std::string_view to_string(ValueState state);

struct Placeholder {
  ValueId id = 0;
  Shape shape;
  SourceLocation where;                           // the user's line that made it
  std::shared_ptr<const hlo::Sharding> sharding;  // null: none given
};

// Returns "placeholder #12 bf16[126,16384,53248] made at train.cc:41".
[[nodiscard]] std::string to_string(const Placeholder& placeholder);

// The error of reading the value of a placeholder, by the function `op`.
// returns  FailedPrecondition that names it, its shape, the line that made it, and the repair
[[nodiscard]] Status read_error(const Placeholder& placeholder, std::string_view op = "read");

}  // namespace heddle
