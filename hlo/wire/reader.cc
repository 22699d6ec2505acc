// from_proto: hostile bytes in, a verified module or an error that names computation and
// instruction out. Computations and instructions are parsed one at a time, so that a message never
// stands in memory beside the whole module.
#include <map>

#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/internal/computation.h"

namespace heddle::hlo {
namespace {

using namespace wire;

constexpr int kComputations = proto::HloModuleProto::kComputationsFieldNumber;
constexpr int kInstructions = proto::HloComputationProto::kInstructionsFieldNumber;

class ModuleReader {
 public:
  StatusOr<Module> run(std::string_view bytes) {
    const Status status = read(bytes);
    if (!status.ok()) return base::annotate(status, "module ", shorten(module_.name), ": ");
    HEDDLE_RETURN_IF_ERROR(verify(module_));
    return std::move(module_);
  }

 private:
  struct Part {
    proto::HloComputationProto head;
    std::vector<std::string_view> instructions;
  };

  Status read(std::string_view bytes) {
    HEDDLE_ASSIGN_OR_RETURN(Split parts, split(bytes, kComputations));
    HEDDLE_RETURN_IF_ERROR(parse(parts.others, header_));
    module_.name = std::move(*header_.mutable_name());
    for (std::string_view item : parts.items) HEDDLE_RETURN_IF_ERROR(read_head(item));
    HEDDLE_RETURN_IF_ERROR(read_computations());
    HEDDLE_RETURN_IF_ERROR(check_names());
    HEDDLE_RETURN_IF_ERROR(sort());
    HEDDLE_RETURN_IF_ERROR(find_entry());
    HEDDLE_RETURN_IF_ERROR(take_entry_layout(header_, module_));
    std::string unknown = has_unknown_fields(header_) ? skeleton_of(header_) : std::string();
    clear_taken();
    HEDDLE_RETURN_IF_ERROR(take_header(header_, module_));
    if (!unknown.empty()) module_.extras.mutate().unknown_parts = std::move(unknown);
    return {};
  }

  Status read_head(std::string_view bytes) {
    Part part;
    HEDDLE_ASSIGN_OR_RETURN(Split split_part, split(bytes, kInstructions));
    HEDDLE_RETURN_IF_ERROR(
        base::annotate(parse(split_part.others, part.head), "computation ", parts_.size(), ": "));
    Computation computation;
    computation.name = part.head.name();
    const std::string place = base::cat("computation ", shorten(computation.name), ": ");
    if (split_part.items.empty()) return base::invalid_argument(place, "has no instructions");
    if (!ids_.emplace(part.head.id(), static_cast<uint32_t>(parts_.size())).second) {
      return base::invalid_argument(place, "shares id ", part.head.id(),
                                    " with another computation");
    }
    part.instructions = std::move(split_part.items);
    parts_.push_back(std::move(part));
    module_.computations.push_back(std::move(computation));
    return {};
  }

  Status read_computations() {
    std::map<int64_t, const Sequence*> sequences;
    for (const auto& entry : header_.schedule().sequences())
      sequences.insert_or_assign(entry.key(), &entry.value().instruction_ids());
    for (size_t i = 0; i < parts_.size(); ++i) {
      const auto scheduled = sequences.find(parts_[i].head.id());
      const Sequence* order = scheduled == sequences.end() ? nullptr : scheduled->second;
      Computation& computation = module_.computations[i];
      HEDDLE_RETURN_IF_ERROR(base::annotate(
          read_computation(ids_, parts_[i].head, parts_[i].instructions, order, computation),
          "computation ", shorten(computation.name), ": "));
    }
    if (!sequences.empty()) module_.extras.mutate().is_scheduled = true;
    return {};
  }

  Status check_names() const {
    Names computations;
    Names instructions;
    for (const Computation& computation : module_.computations) {
      HEDDLE_RETURN_IF_ERROR(base::annotate(computations.add(computation.name), "computation ",
                                            shorten(computation.name), ": "));
      for (size_t i = 0; i < computation.instructions.size(); ++i) {
        const std::string& name = computation.instructions[i].name;
        if (const Status status = instructions.add(name); !status.ok()) {
          return base::annotate(status, "computation ", shorten(computation.name), ": instruction ",
                                label(name, i), ": ");
        }
      }
    }
    return {};
  }

  // Callees first.
  Status sort() {
    std::vector<std::vector<uint32_t>> uses(module_.computations.size());
    bool is_ordered = true;
    for (uint32_t i = 0; i < uses.size(); ++i) {
      for (const Instruction& instruction : module_.computations[i].instructions) {
        for (ComputationId id : instruction.called) {
          uses[i].push_back(id.value);
          is_ordered = is_ordered && id.value < i;
        }
      }
    }
    if (is_ordered) return {};
    const Order order = dependency_order(uses);
    if (order.is_cyclic) {
      return base::invalid_argument(
          "computation ", shorten(module_.computations[order.on_cycle].name), ": calls itself");
    }
    permute(order.items);
    return {};
  }

  void permute(const std::vector<uint32_t>& items) {
    std::vector<uint32_t> place(items.size());
    std::vector<Computation> sorted;
    for (uint32_t item : items) {
      place[item] = static_cast<uint32_t>(sorted.size());
      sorted.push_back(std::move(module_.computations[item]));
    }
    for (Computation& computation : sorted) {
      for (Instruction& instruction : computation.instructions) {
        for (ComputationId& id : instruction.called) id = ComputationId(place[id.value]);
      }
    }
    for (auto& [id, position] : ids_) position = place[position];
    module_.computations = std::move(sorted);
  }

  Status find_entry() {
    auto found = ids_.find(header_.entry_computation_id());
    if (found == ids_.end()) {
      return base::invalid_argument("entry computation ", header_.entry_computation_id(),
                                    " is not in the module");
    }
    module_.entry = ComputationId(found->second);
    return {};
  }

  void clear_taken() {
    header_.clear_name();
    header_.clear_id();  // of no use once the ids of computations have changed
    header_.clear_entry_computation_id();
    header_.clear_entry_computation_name();
    header_.clear_host_program_shape();
    header_.clear_schedule();
  }

  Module module_;
  proto::HloModuleProto header_;
  std::vector<Part> parts_;
  ComputationIds ids_;
};

}  // namespace

StatusOr<Module> from_proto(std::string_view bytes) { return ModuleReader().run(bytes); }

}  // namespace heddle::hlo
