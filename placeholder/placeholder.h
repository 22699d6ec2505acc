// Placeholder: a value that does not exist yet. It has an id, a type and the line that made it; no
// buffer and no memory.
//
// Tracing runs on placeholders. They are told apart by id alone: two of equal shape are two
// parameters, one used twice is one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/base/status.h"
#include "heddle/hlo/shape.h"
#include "heddle/hlo/sharding.h"

namespace heddle {

// The name of a value, whatever state it is in. 0 is no value.
using ValueId = uint64_t;

// Returns 1, 2, 3, ...: one process-wide count, never reused, independent of addresses and buffers.
// Safe from any thread.
[[nodiscard]] ValueId next_value_id();

// Where a value stands. A program may be traced on any of them, and run on kPending and kReady.
enum class ValueState : uint8_t {
  kPlaceholder,  // a type and an id; there is no buffer, and none is on its way
  kPending,      // a run that was started will fill the buffer
  kReady,        // the bytes are there, or the run that should have made them has failed
  kDonated,      // the buffer was given to a run, or released: it cannot be read any more
};
[[nodiscard]] std::string_view to_string(ValueState state);

struct Placeholder {
  ValueId id = 0;
  Shape shape;
  SourceLocation where;                           // the user's line that made it
  std::shared_ptr<const hlo::Sharding> sharding;  // null: not said
};

// Returns "placeholder #12 bf16[126,16384,53248] made at train.cc:41".
[[nodiscard]] std::string to_string(const Placeholder& placeholder);

// What reading the value of a placeholder gives.
// returns  FailedPrecondition that names it, its shape, the line that made it, and the repair
[[nodiscard]] Status read_error(const Placeholder& placeholder);

// What running `program` without a buffer for the placeholder gives: FailedPrecondition as above.
[[nodiscard]] Status unbound_error(const Placeholder& placeholder, std::string_view program);

// The parameters of one computation in order of first use, each id once.
class ParameterSet {
 public:
  // Returns the parameter number of `id`, which becomes the next one if it is new.
  size_t number_of(ValueId id);

  // Returns its number, or nothing where it is no parameter.
  [[nodiscard]] std::optional<size_t> find(ValueId id) const;

  // By parameter number.
  [[nodiscard]] const std::vector<ValueId>& ids() const { return ids_; }
  [[nodiscard]] size_t size() const { return ids_.size(); }

 private:
  std::vector<ValueId> ids_;
  std::unordered_map<ValueId, size_t> numbers_;
};

}  // namespace heddle
