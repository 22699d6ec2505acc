// One computation of a message. Callees get their position in the message as id: whoever reads the
// module puts them in order.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/internal/name_table.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {

// Computations of the message by id: their position in it.
using ComputationIds = std::unordered_map<int64_t, uint32_t>;

// Sees that the names of one kind are there, and unique in the module. Names must outlive this.
class Names {
 public:
  Status add(std::string_view name) {
    if (name.empty()) return base::invalid_argument("has no name");
    if (!used_.insert(name, 0))
      return base::invalid_argument("shares its name with another one of the module");
    return {};
  }

 private:
  NameTable used_;
};

// The order of a schedule, as instruction ids.
using Sequence = google::protobuf::RepeatedField<int64_t>;

// `head` is the computation without its instructions, which are `items`; `order` may be null.
Status read_computation(const ComputationIds& computations, proto::HloComputationProto& head,
                        const std::vector<std::string_view>& items, const Sequence* order,
                        Computation& to);

// What error messages call an instruction.
inline std::string label(const std::string& name, size_t number) {
  return name.empty() ? base::cat("#", number) : std::string(shorten(name));
}

// Parses a whole message.
template <class Message>
Status parse(std::string_view bytes, Message& to) {
  if (!to.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return base::invalid_argument(
        "is no serialised ", to.GetTypeName().substr(std::string_view("heddle.proto.").size()));
  }
  return {};
}

}  // namespace heddle::hlo::wire
