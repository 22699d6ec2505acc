#include "heddle/interpreter/ops/device/joint_collectives.h"

#include <algorithm>
#include <cstring>

#include "heddle/hlo/sharding/device_lists.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/interpreter/ops/control/start_done.h"
#include "heddle/interpreter/ops/movement/indices.h"

namespace heddle::interpreter {
namespace {

using Values = std::vector<Literal>;

// What the numbers in groups are.
enum class Numbering : uint8_t {
  kReplicas,             // replicas of the own partition
  kPartitions,           // partitions of the own replica
  kReplicasWithAll,      // replicas, with all of their partitions
  kReplicaAndPartition,  // devices: replica * partitions + partition
};

Numbering numbering_of(Opcode opcode, const CollectiveAttrs& attrs) {
  if (attrs.channel_id <= 0) return Numbering::kReplicas;
  if (opcode == Opcode::kAllToAll || opcode == Opcode::kRaggedAllToAll ||
      opcode == Opcode::kCollectiveBroadcast)
    return Numbering::kPartitions;
  return attrs.use_global_device_ids ? Numbering::kReplicaAndPartition
                                     : Numbering::kReplicasWithAll;
}

int64_t own_number(const Seat& seat, Numbering numbers) {
  switch (numbers) {
    case Numbering::kReplicas:
    case Numbering::kReplicasWithAll: return seat.replica();
    case Numbering::kPartitions: return seat.partition();
    case Numbering::kReplicaAndPartition: return seat.device;
  }
  return 0;
}

int64_t count_of(const Seat& seat, Numbering numbers) {
  switch (numbers) {
    case Numbering::kReplicas:
    case Numbering::kReplicasWithAll: return seat.devices.replicas;
    case Numbering::kPartitions: return seat.devices.partitions;
    case Numbering::kReplicaAndPartition: return seat.devices.total();
  }
  return 0;
}

// The devices behind one number of a group.
void append_devices(const Seat& seat, Numbering numbers, int64_t number, Dims& devices) {
  const int64_t partitions = seat.devices.partitions;
  switch (numbers) {
    case Numbering::kReplicas: return devices.push_back(number * partitions + seat.partition());
    case Numbering::kPartitions: return devices.push_back(seat.replica() * partitions + number);
    case Numbering::kReplicaAndPartition: return devices.push_back(number);
    case Numbering::kReplicasWithAll:
      for (int64_t p = 0; p < partitions; ++p) devices.push_back(number * partitions + p);
  }
}

Dims all_numbers(int64_t count) {
  Dims all;
  for (int64_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

// Those that take part with this device, in the order of their group.
StatusOr<Dims> members_of(const EvalArgs& in, const Seat& seat) {
  const auto& attrs = in.attrs<CollectiveAttrs>();
  const std::string_view op = to_string(in.instruction.opcode);
  const Numbering numbers = numbering_of(in.instruction.opcode, attrs);
  const int64_t self = own_number(seat, numbers), count = count_of(seat, numbers);
  StatusOr<Dims> found = group_of(attrs.replica_groups, self);
  if (!found.ok()) return base::annotate(found.status(), op, ": ");
  const Dims group = has_no_groups(attrs.replica_groups) ? all_numbers(count) : *std::move(found);
  if (group.empty()) {
    return base::invalid_argument(op, ": replica_groups leave out ", self, "; must name each of ",
                                  count, " once");
  }
  Dims devices;
  for (int64_t number : group) {
    if (number < 0 || number >= count)
      return base::invalid_argument(op, ": replica_groups name ", number, "; must be less than ",
                                    count);
    if (std::ranges::count(group, number) > 1) {
      return base::invalid_argument(op, ": replica_groups name ", number,
                                    " twice; must name each of ", count, " once");
    }
    append_devices(seat, numbers, number, devices);
  }
  return devices;
}

// Gives `value` and meets all members, whose values must be of one type: sizes may be dynamic.
StatusOr<std::shared_ptr<Meeting>> meet(const EvalArgs& in, const Seat& seat, const Dims& members,
                                        const Literal& value, MakeJoint make) {
  const Instruction& at = in.place == nullptr ? in.instruction : *in.place;
  const auto differs = [&](std::span<const Literal> all) -> Status {
    for (size_t i = 0; i < all.size(); ++i) {
      if (same_type(all[i].shape(), value.shape())) continue;
      return base::invalid_argument(to_string(in.instruction.opcode), ": device ", members[i],
                                    " gives ", all[i].shape(), ", device ", seat.device, " ",
                                    value.shape(), "; must be of one size");
    }
    return {};
  };
  const auto of_one_type = [&](std::span<const Literal> all) -> StatusOr<Values> {
    HEDDLE_RETURN_IF_ERROR(differs(all));
    return make(all);
  };
  HEDDLE_ASSIGN_OR_RETURN(auto meeting,
                          seat.rendezvous->meet(at, members, seat.device, value, of_one_type));
  HEDDLE_RETURN_IF_ERROR(meeting->joint().status());
  return meeting;
}

// One collective of one device, with what all members gave: `given[member][operand]`.
class Collective {
 public:
  Collective(EvalArgs& in, const Seat& seat) : in_(in), seat_(seat) {}

  StatusOr<Values> run() {
    const Opcode opcode = in_.instruction.opcode;
    if (opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart)
      return permuted();
    HEDDLE_ASSIGN_OR_RETURN(members_, members_of(in_, seat_));
    self_ = std::ranges::find(members_, seat_.device) - members_.begin();
    HEDDLE_RETURN_IF_ERROR(meet());
    switch (opcode) {
      case Opcode::kAllReduce:
      case Opcode::kAllReduceStart:
      case Opcode::kAllGather:
      case Opcode::kAllGatherStart: return meeting_->joint();
      case Opcode::kReduceScatter: return scattered();
      case Opcode::kAllToAll: return exchanged();
      case Opcode::kRaggedAllToAll: return exchanged_rows();
      case Opcode::kCollectiveBroadcast: return given_[0];
      case Opcode::kCollectiveReduce: return reduced_to_first();
      default:
        return base::unimplemented(to_string(opcode),
                                   ": is evaluated on one device alone; use all-reduce");
    }
  }

 private:
  [[nodiscard]] int64_t dimension() const { return in_.attrs<CollectiveAttrs>().dimensions[0]; }

  Status meet() {
    const Literal own = Literal::tuple({in_.operands.begin(), in_.operands.end()});
    const auto make = [&](std::span<const Literal> values) {
      for (const Literal& each : values) given_.push_back(each.elements());
      return joint();
    };
    HEDDLE_ASSIGN_OR_RETURN(meeting_, interpreter::meet(in_, seat_, members_, own, make));
    if (!given_.empty()) return {};  // it was made here
    for (const Literal& each : meeting_->values()) given_.push_back(each.elements());
    return {};
  }

  // What is the same for every member.
  StatusOr<Values> joint() {
    const Opcode opcode = in_.instruction.opcode;
    if (!in_.instruction.called.empty()) return sum();
    if (opcode == Opcode::kAllGather || opcode == Opcode::kAllGatherStart) return gathered();
    return Values();
  }

  // In the order of the group.
  StatusOr<Values> sum() {
    const bool takes_all = in_.caller.computation(0).parameter_count() > 2;
    Values sum = given_[0];
    for (size_t member = 1; member < given_.size(); ++member) {
      if (takes_all) {
        HEDDLE_ASSIGN_OR_RETURN(sum, combined(std::move(sum), given_[member]));
        continue;
      }
      for (size_t i = 0; i < sum.size(); ++i) {
        HEDDLE_ASSIGN_OR_RETURN(Values one, combined({sum[i]}, {given_[member][i]}));
        sum[i] = std::move(one[0]);
      }
    }
    return sum;
  }

  StatusOr<Values> combined(Values left, const Values& right) {
    left.insert(left.end(), right.begin(), right.end());
    HEDDLE_ASSIGN_OR_RETURN(Literal value, in_.caller.map(0, left));
    if (value.is_tuple()) return std::move(value.mutable_elements());
    return Values{std::move(value)};
  }

  // A start is believed, not checked, when it is made.
  Status check_dimension() const {
    const Dims& dimensions = in_.attrs<CollectiveAttrs>().dimensions;
    for (const Literal& operand : in_.operands) {
      if (dimensions.size() == 1 && operand.shape().is_array() && dimensions[0] >= 0 &&
          dimensions[0] < operand.shape().rank())
        continue;
      return base::invalid_argument(to_string(in_.instruction.opcode), ": dimensions are {",
                                    base::join(dimensions, ","), "}; must be one of ",
                                    operand.shape());
    }
    return {};
  }

  StatusOr<Values> scattered() {
    HEDDLE_ASSIGN_OR_RETURN(Values sums, meeting_->joint());
    for (Literal& sum : sums) sum = part(sum, self_);
    return sums;
  }

  StatusOr<Values> gathered() {
    HEDDLE_RETURN_IF_ERROR(check_dimension());
    Values out;
    for (size_t i = 0; i < in_.size(); ++i) {
      Values parts;
      for (const Values& each : given_) parts.push_back(each[i]);
      out.push_back(joined(parts));
    }
    return out;
  }

  // With a dimension: part `self` of every member. Without: operand `self` of every member.
  StatusOr<Values> exchanged() {
    Values parts;
    if (!in_.attrs<CollectiveAttrs>().dimensions.empty()) {
      for (const Values& each : given_) parts.push_back(part(each[0], self_));
      return Values{joined(parts)};
    }
    if (in_.size() != members_.size()) {
      return base::invalid_argument("all-to-all: has ", in_.size(), " operands for a group of ",
                                    members_.size(), "; must have one for each");
    }
    for (const Values& each : given_) parts.push_back(each[static_cast<size_t>(self_)]);
    return parts;
  }

  // Each member's slices for this device, which stand together, in the places that it says.
  StatusOr<Values> exchanged_rows() {
    Values out = {std::move(in_.operands[1])};
    const auto slices = static_cast<size_t>(in_[2].shape().element_count());
    const size_t each = slices / members_.size();
    if (slices % members_.size() != 0) {
      return base::invalid_argument("ragged-all-to-all: has ", slices, " slices for a group of ",
                                    members_.size(), "; must have as many for each");
    }
    const std::vector<int64_t> received = all_indices(in_[5]);
    for (size_t member = 0; member < members_.size(); ++member) {
      const auto first = each * static_cast<size_t>(self_);
      const std::vector<int64_t> sent = all_indices(given_[member][3]);
      for (size_t i = 0; i < each; ++i) {
        const int64_t wanted = received[member * each + i];
        if (sent[first + i] == wanted) continue;
        return base::invalid_argument("ragged-all-to-all: device ", members_[member], " sends ",
                                      sent[first + i], " rows to device ", seat_.device,
                                      ", which receives ", wanted, "; must be as many");
      }
      HEDDLE_RETURN_IF_ERROR(write_slices(given_[member], first, each, out[0]));
    }
    return out;
  }

  // The first of a group has what all give; the others, which XLA gives nothing, zeros.
  StatusOr<Values> reduced_to_first() {
    if (self_ == 0) return meeting_->joint();
    Values zeros;
    for (const Literal& operand : in_.operands) zeros.emplace_back(operand.shape());
    return zeros;
  }

  // One of as many parts of x as there are members, along dimension().
  [[nodiscard]] Literal part(const Literal& x, int64_t number) const {
    Dims sizes = x.shape().dimensions();
    int64_t& size = sizes[static_cast<size_t>(dimension())];
    size /= static_cast<int64_t>(members_.size());
    Dims start(sizes.size());
    start[static_cast<size_t>(dimension())] = number * size;
    return cut(x, start, Shape(x.shape().dtype(), std::move(sizes)));
  }

  [[nodiscard]] Literal joined(const Values& parts) const {
    Dims sizes = parts[0].shape().dimensions();
    const auto d = static_cast<size_t>(dimension());
    const int64_t step = sizes[d];
    sizes[d] *= static_cast<int64_t>(parts.size());
    Dims start(sizes.size());
    Literal out(Shape(parts[0].shape().dtype(), std::move(sizes)));
    for (const Literal& each : parts) {
      place(each, start, out);
      start[d] += step;
    }
    return out;
  }

  // What is sent to this device, or zeros. All devices meet, whether they send or not.
  StatusOr<Values> permuted() {
    const auto& attrs = in_.attrs<CollectivePermuteAttrs>();
    if (!attrs.slice_sizes.empty()) {
      return base::unimplemented(
          "collective-permute: the form with slice_sizes, which writes into an operand, is not "
          "evaluated; use the plain form");
    }
    const Numbering numbers = attrs.channel_id > 0 ? Numbering::kPartitions : Numbering::kReplicas;
    for (int64_t i = 0; i < count_of(seat_, numbers); ++i)
      append_devices(seat_, numbers, i, members_);
    HEDDLE_RETURN_IF_ERROR(meet());
    for (const SourceTarget& pair : attrs.source_target_pairs) {
      if (pair.target != own_number(seat_, numbers)) continue;
      if (pair.source >= 0 && pair.source < count_of(seat_, numbers))
        return given_[static_cast<size_t>(pair.source)];
      return base::invalid_argument("collective-permute: source is ", pair.source,
                                    "; must be less than ", count_of(seat_, numbers));
    }
    Values zeros;
    for (const Literal& operand : in_.operands) zeros.emplace_back(operand.shape());
    return zeros;
  }

  EvalArgs& in_;
  const Seat& seat_;
  Dims members_;
  int64_t self_ = 0;  // among the members
  std::shared_ptr<Meeting> meeting_;
  std::vector<Values> given_;
};

}  // namespace

bool joins_devices(const Instruction& instruction) {
  return instruction.attrs.holds<CollectiveAttrs>() ||
         instruction.attrs.holds<CollectivePermuteAttrs>() ||
         instruction.opcode == Opcode::kReplicaId || instruction.opcode == Opcode::kPartitionId;
}

bool joins_devices(const Module& module) {
  const auto joins = [](const Instruction& i) {
    return joins_devices(i) || (i.opcode == Opcode::kCustomCall &&
                                changes_view(i.attrs.get<CustomCallAttrs>().custom_call_target));
  };
  return std::ranges::any_of(module.computations, [&](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, joins);
  });
}

StatusOr<Literal> evaluate_jointly(EvalArgs& in) {
  HEDDLE_ASSIGN_OR_RETURN(Values values, Collective(in, *seat_of(in)).run());
  Literal out = in.result().is_tuple() ? Literal::tuple(std::move(values)) : std::move(values[0]);
  if (same_type(out.shape(), in.result())) return out;
  return base::invalid_argument(to_string(in.instruction.opcode), ": result is declared as ",
                                in.result(), "; of these groups it is ", out.shape());
}

StatusOr<Literal> start_jointly(EvalArgs& in) {
  const Literal sent = bundled({in.operands.begin(), in.operands.end()});
  HEDDLE_ASSIGN_OR_RETURN(Values values, Collective(in, *seat_of(in)).run());
  return with_contexts(in, {sent, bundled(std::move(values))});
}

Status write_slices(std::span<const Literal> operands, size_t first, size_t count, Literal& out) {
  const std::vector<int64_t> from = all_indices(operands[2]), sizes = all_indices(operands[3]),
                             to = all_indices(operands[4]);
  const int64_t rows_in = operands[0].shape().dimension(0), rows_out = out.shape().dimension(0);
  const int64_t row_bytes = out.byte_size() / std::max<int64_t>(1, rows_out);
  for (size_t i = first; i < first + count; ++i) {
    const bool inside = sizes[i] >= 0 && from[i] >= 0 && to[i] >= 0 &&
                        from[i] <= rows_in - sizes[i] && to[i] <= rows_out - sizes[i];
    if (!inside) {
      return base::invalid_argument("ragged-all-to-all: slice ", i, " has ", sizes[i],
                                    " rows from ", from[i], " to ", to[i], "; must lie in ",
                                    rows_in, " rows of the input and ", rows_out, " of the output");
    }
    if (sizes[i] * row_bytes == 0) continue;
    std::memcpy(out.mutable_bytes() + to[i] * row_bytes, operands[0].bytes() + from[i] * row_bytes,
                static_cast<size_t>(sizes[i] * row_bytes));
  }
  return {};
}

bool changes_view(std::string_view custom_call_target) {
  return custom_call_target == "SPMDFullToShardShape" ||
         custom_call_target == "SPMDShardToFullShape";
}

StatusOr<Literal> change_view(EvalArgs& in) {
  const std::string& target = in.attrs<CustomCallAttrs>().custom_call_target;
  const bool to_tile = target == "SPMDFullToShardShape";
  const Seat& seat = *seat_of(in);
  const Instruction* said_by = to_tile && in.computation != nullptr && in.size() == 1
                                   ? &in.computation->at(in.instruction.operands[0])
                                   : &in.instruction;
  if (in.size() != 1 || !said_by->extras->sharding.has_value()) {
    return base::invalid_argument("custom-call: ", target, ": ", to_tile ? "its operand" : "it",
                                  " has no sharding; must have one, which says how it is cut");
  }
  const Shape& full = to_tile ? in[0].shape() : in.result();
  StatusOr<Tiles> tiles = tiles_of(*said_by->extras->sharding, full, seat.devices.partitions);
  if (!tiles.ok()) return base::annotate(tiles.status(), "custom-call: ", target, ": ");
  if (!same_type(tiles->shape, to_tile ? in.result() : in[0].shape())) {
    return base::invalid_argument("custom-call: ", target, ": a tile of ", full, " is ",
                                  tiles->shape, "; it is declared as ",
                                  to_tile ? in.result() : in[0].shape());
  }
  if (to_tile) return cut(in[0], tiles->start(seat.partition()), tiles->shape);
  Dims members;
  for (int64_t p = 0; p < seat.devices.partitions; ++p)
    append_devices(seat, Numbering::kPartitions, p, members);
  const auto whole = [&](std::span<const Literal> parts) -> StatusOr<Values> {
    Literal out = Literal::uninitialised(full);
    for (int64_t holder : tiles->holders())
      place(parts[static_cast<size_t>(holder)], tiles->start(holder), out);
    return Values{std::move(out)};
  };
  HEDDLE_ASSIGN_OR_RETURN(const auto meeting, meet(in, seat, members, in[0], whole));
  HEDDLE_ASSIGN_OR_RETURN(Values values, meeting->joint());
  return std::move(values[0]);
}

}  // namespace heddle::interpreter
