#include "heddle/hlo/wire/internal/computation.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "heddle/hlo/internal/normal_form.h"
#include "heddle/hlo/wire/internal/repeats.h"

namespace heddle::hlo::wire {
namespace {

// An id is what its low 32 bits say: newer XLA puts the computation's id above them.
uint32_t local_id(int64_t id) { return static_cast<uint32_t>(id); }

// Opcodes of old modules that compare has taken the place of.
struct Retired {
  std::string_view opcode;
  const char* direction;
};
constexpr Retired kRetired[] = {
    {"equal-to", "EQ"},     {"not-equal-to", "NE"}, {"greater-than-or-equal-to", "GE"},
    {"greater-than", "GT"}, {"less-than", "LT"},    {"less-than-or-equal-to", "LE"},
};

void upgrade(proto::HloInstructionProto& from) {
  for (const Retired& retired : kRetired) {
    if (retired.opcode != from.opcode()) continue;
    from.set_opcode("compare");
    from.set_comparison_direction(retired.direction);
    return;
  }
}

// What most instructions need; larger ones take more for themselves alone.
constexpr size_t kArenaBytes = 1 << 14;

// Positions of instructions by id. Ids of a computation lie close together, in a list; those that
// do not, in a map.
class Positions {
 public:
  explicit Positions(size_t count) : near_(4 * count, kNone) {}

  // False where the id has a position.
  bool add(uint32_t id, uint32_t position) {
    if (position == 0) first_ = id - std::min(id, static_cast<uint32_t>(near_.size() / 2));
    if (!is_near(id)) return far_.emplace(id, position).second;
    return std::exchange(near_[id - first_], position) == kNone;
  }

  // kNone for an id that is not there.
  [[nodiscard]] uint32_t find(uint32_t id) const {
    if (is_near(id)) return near_[id - first_];
    auto found = far_.find(id);
    return found == far_.end() ? kNone : found->second;
  }

  // Puts what is at position p at place[p].
  void permute(const std::vector<uint32_t>& place) {
    for (uint32_t& position : near_) position = position == kNone ? kNone : place[position];
    for (auto& [id, position] : far_) position = place[position];
  }

  static constexpr uint32_t kNone = UINT32_MAX;

 private:
  // below first_ it wraps
  [[nodiscard]] bool is_near(uint32_t id) const { return id - first_ < near_.size(); }

  uint32_t first_ = 0;
  std::vector<uint32_t> near_;
  std::unordered_map<uint32_t, uint32_t> far_;
};

class ComputationReader {
 public:
  ComputationReader(const ComputationIds& computations, Computation& out, size_t count)
      : computations_(computations), out_(out), positions_(count) {}

  Status read(proto::HloComputationProto& head, const std::vector<std::string_view>& items,
              const Sequence* order) {
    out_.execution_thread = std::move(*head.mutable_execution_thread());
    out_.is_fusion = head.is_fusion_computation();
    out_.instructions.reserve(items.size());
    for (std::string_view item : items) {
      HEDDLE_RETURN_IF_ERROR(add(item));
    }
    HEDDLE_RETURN_IF_ERROR(resolve_operands());
    HEDDLE_RETURN_IF_ERROR(order == nullptr ? sort() : follow(*order));
    HEDDLE_RETURN_IF_ERROR(find_root(head.root_id()));
    HEDDLE_RETURN_IF_ERROR(find_parameters());
    bring_to_normal_form();
    if (has_unknown_fields(head.program_shape())) out_.unknown_parts = skeleton_of(head);
    head.clear_name();
    head.clear_id();
    head.clear_root_id();
    head.clear_program_shape();
    head.clear_is_fusion_computation();
    head.clear_execution_thread();
    out_.unknown_proto = bytes_of(head);
    return {};
  }

 private:
  // ---- one instruction

  Status add(std::string_view bytes) {
    arena_.Reset();
    const std::string_view rest =
        repeats_.strip(bytes, static_cast<uint32_t>(out_.instructions.size()));
    auto& from = *google::protobuf::Arena::CreateMessage<proto::HloInstructionProto>(&arena_);
    HEDDLE_RETURN_IF_ERROR(
        base::annotate(parse(rest, from), "instruction ", out_.instructions.size(), ": "));
    Instruction& to = out_.instructions.emplace_back();
    const Status status = take(from, to);
    return status.ok() ? status
                       : base::annotate(status, "instruction ",
                                        label(to.name, out_.instructions.size() - 1), ": ");
  }

  Status take(proto::HloInstructionProto& from, Instruction& to) {
    to.name = std::move(*from.mutable_name());
    upgrade(from);
    std::string parts = parts_of(from);
    const std::optional<Opcode> opcode = parse_opcode(from.opcode());
    if (!opcode.has_value())
      return base::invalid_argument("opcode \"", shorten(from.opcode()), "\" is not known");
    to.opcode = *opcode;
    HEDDLE_RETURN_IF_ERROR(take_shape(from, to.shape));
    HEDDLE_ASSIGN_OR_RETURN(to.attrs, take_attrs(to.opcode, to.shape, from));
    HEDDLE_RETURN_IF_ERROR(take_ids(from, to));
    from.clear_opcode();
    from.clear_name();
    copy_repeated_extras(to);
    HEDDLE_RETURN_IF_ERROR(take_extras(from, to.extras));
    if (!parts.empty()) to.extras.mutate().unknown_parts = std::move(parts);
    return {};
  }

  // With those of the fields that an earlier instruction had too, which the message is without.
  std::string parts_of(const proto::HloInstructionProto& from) const {
    std::string parts = unknown_parts(from);
    proto::HloInstructionProto more;
    if (const auto* like = earlier_with_parts(Repeats::Field::kShape);
        like && from_skeleton(*like).has_shape()) {
      *more.mutable_shape() = from_skeleton(*like).shape();
    }
    if (const auto* like = earlier_with_parts(Repeats::Field::kFrontendAttributes);
        like && from_skeleton(*like).has_frontend_attributes()) {
      *more.mutable_frontend_attributes() = from_skeleton(*like).frontend_attributes();
    }
    // fields of messages that stand behind each other are one message
    return parts + bytes_of(more);
  }

  const Instruction* earlier_with_parts(Repeats::Field field) const {
    const Instruction* like = earlier(field);
    return like == nullptr || like->extras->unknown_parts.empty() ? nullptr : like;
  }

  static proto::HloInstructionProto from_skeleton(const Instruction& like) {
    proto::HloInstructionProto skeleton;
    (void)skeleton.ParseFromString(like.extras->unknown_parts);
    return skeleton;
  }

  Status take_shape(proto::HloInstructionProto& from, Shape& to) {
    if (const Instruction* like = earlier(Repeats::Field::kShape)) {
      to = like->shape;
      return {};
    }
    if (!from.has_shape()) return base::invalid_argument("has no shape");
    HEDDLE_ASSIGN_OR_RETURN(to, read_shape(from.shape()));
    from.clear_shape();
    return {};
  }

  void copy_repeated_extras(Instruction& to) {
    using Field = Repeats::Field;
    const Instruction* like = nullptr;
    if ((like = earlier(Field::kMetadata))) to.extras.mutate().metadata = like->extras->metadata;
    if ((like = earlier(Field::kSharding))) to.extras.mutate().sharding = like->extras->sharding;
    if ((like = earlier(Field::kFrontendAttributes))) {
      to.extras.mutate().frontend_attributes = like->extras->frontend_attributes;
    }
  }

  // The instruction that says the same in this field; null where the message itself has to be
  // asked.
  const Instruction* earlier(Repeats::Field field) const {
    const std::optional<uint32_t> position = repeats_.earlier(field);
    return position ? &out_.instructions[*position] : nullptr;
  }

  // Operands and control predecessors are kept as written until all instructions are there.
  Status take_ids(proto::HloInstructionProto& from, Instruction& to) {
    if (from.id() < 0) return base::invalid_argument("has id ", from.id(), "; ids are 0 or more");
    const auto position = static_cast<uint32_t>(out_.instructions.size() - 1);
    if (!positions_.add(local_id(from.id()), position)) {
      return base::invalid_argument("shares id ", from.id(), " with another in its computation");
    }
    for (int64_t id : from.called_computation_ids()) {
      auto found = computations_.find(id);
      if (found == computations_.end())
        return base::invalid_argument("calls computation ", id, ", which is not in the module");
      to.called.emplace_back(found->second);
    }
    to.operands.reserve(static_cast<size_t>(from.operand_ids_size()));
    for (int64_t id : from.operand_ids()) to.operands.emplace_back(local_id(id));
    if (from.control_predecessor_ids_size() > 0) {
      for (int64_t id : from.control_predecessor_ids())
        controls_[position].emplace_back(local_id(id));
    }
    from.clear_id();
    from.clear_operand_ids();
    from.clear_called_computation_ids();
    from.clear_control_predecessor_ids();
    return {};
  }

  // ---- ids to positions

  Status resolve(size_t user, std::vector<InstructionId>& ids, std::string_view what) {
    for (InstructionId& id : ids) {
      const uint32_t found = positions_.find(id.value);
      if (found == Positions::kNone) {
        return base::invalid_argument("instruction ", shorten(out_.instructions[user].name), ": ",
                                      what, " ", id.value, " is not in the computation");
      }
      id = InstructionId(found);
      is_ordered_ = is_ordered_ && id.value < user;
    }
    return {};
  }

  Status resolve_operands() {
    for (size_t i = 0; i < out_.instructions.size(); ++i) {
      HEDDLE_RETURN_IF_ERROR(resolve(i, out_.instructions[i].operands, "operand id"));
    }
    for (auto& [user, ids] : controls_)
      HEDDLE_RETURN_IF_ERROR(resolve(user, ids, "control predecessor id"));
    return {};
  }

  // ---- order

  Status sort() {
    if (is_ordered_) return place_controls(), Status();
    std::vector<std::vector<uint32_t>> uses(out_.instructions.size());
    for (size_t i = 0; i < uses.size(); ++i) {
      for (InstructionId id : out_.instructions[i].operands) uses[i].push_back(id.value);
    }
    for (const auto& [user, ids] : controls_) {
      for (InstructionId id : ids) uses[user].push_back(id.value);
    }
    const Order order = dependency_order(uses);
    if (order.is_cyclic) {
      return base::invalid_argument("instruction ", shorten(out_.instructions[order.on_cycle].name),
                                    ": depends on itself");
    }
    permute(order.items);
    return {};
  }

  Status follow(const Sequence& schedule) {
    std::vector<uint32_t> items;
    std::vector<bool> seen(out_.instructions.size());
    for (int64_t id : schedule) {
      const uint32_t found = positions_.find(local_id(id));
      if (found == Positions::kNone || seen[found]) {
        return base::invalid_argument("schedule: id ", id,
                                      " stands twice or is not in the computation");
      }
      seen[found] = true;
      items.push_back(found);
    }
    if (items.size() != seen.size()) {
      return base::invalid_argument("schedule: has ", items.size(), " of ", seen.size(),
                                    " instructions");
    }
    permute(items);
    return {};  // verify() refuses a schedule that is no dependency order
  }

  // Puts instruction items[k] at place k.
  void permute(const std::vector<uint32_t>& items) {
    std::vector<uint32_t> place(items.size());
    for (uint32_t k = 0; k < items.size(); ++k) place[items[k]] = k;
    place_controls();
    std::vector<Instruction> sorted;
    sorted.reserve(items.size());
    for (uint32_t item : items) sorted.push_back(std::move(out_.instructions[item]));
    out_.instructions = std::move(sorted);
    for (Instruction& instruction : out_.instructions) {
      for (InstructionId& id : instruction.operands) id = InstructionId(place[id.value]);
      if (!instruction.extras.has_value()) continue;
      for (InstructionId& id : instruction.extras.mutate().control_predecessors)
        id = InstructionId(place[id.value]);
    }
    positions_.permute(place);
  }

  void place_controls() {
    for (auto& [user, ids] : controls_) {
      out_.instructions[user].extras.mutate().control_predecessors = std::move(ids);
    }
  }

  // ---- the rest of the computation

  Status find_root(int64_t id) {
    const uint32_t found = positions_.find(local_id(id));
    if (found == Positions::kNone)
      return base::invalid_argument("root id ", id, " is not in the computation");
    out_.root = InstructionId(found);
    return {};
  }

  Status find_parameters() {
    std::vector<InstructionId>& parameters = out_.parameters;
    for (size_t i = 0; i < out_.instructions.size(); ++i) {
      if (out_.instructions[i].opcode == Opcode::kParameter) parameters.emplace_back(i);
    }
    std::vector<InstructionId> by_number(parameters.size());
    for (InstructionId id : parameters) {
      const int64_t number = out_.at(id).attrs.get<ParameterAttrs>().number;
      const bool good = number >= 0 && static_cast<size_t>(number) < by_number.size() &&
                        !by_number[static_cast<size_t>(number)].valid();
      if (!good) {
        return base::invalid_argument(
            "instruction ", shorten(out_.at(id).name), ": parameter number ", number,
            " stands twice or is out of range; the numbers are 0 .. ", by_number.size() - 1);
      }
      by_number[static_cast<size_t>(number)] = id;
    }
    parameters = std::move(by_number);
    return {};
  }

  void bring_to_normal_form() {
    std::vector<const Shape*> operands;
    for (Instruction& instruction : out_.instructions) {
      operands.clear();
      for (InstructionId id : instruction.operands) operands.push_back(&out_.at(id).shape);
      instruction.attrs = normal_form(instruction.opcode, operands, std::move(instruction.attrs));
      if (instruction.attrs.holds<CollectivePermuteAttrs>()) {
        instruction.attrs = cut_slice_sizes(operands, instruction.attrs);
      }
    }
  }

  const ComputationIds& computations_;
  Computation& out_;
  Positions positions_;  // by local id
  std::unordered_map<uint32_t, std::vector<InstructionId>> controls_;
  bool is_ordered_ = true;
  Repeats repeats_;
  std::unique_ptr<char[]> arena_bytes_ = std::make_unique<char[]>(kArenaBytes);
  google::protobuf::Arena arena_{arena_bytes_.get(), kArenaBytes};
};

}  // namespace

Status read_computation(const ComputationIds& computations, proto::HloComputationProto& head,
                        const std::vector<std::string_view>& items, const Sequence* order,
                        Computation& to) {
  return ComputationReader(computations, to, items.size()).read(head, items, order);
}

}  // namespace heddle::hlo::wire
