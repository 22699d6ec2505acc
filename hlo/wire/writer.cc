// to_proto: ids are flat and count from 1 over the whole module, which XLA of every age reads.
#include <google/protobuf/arena.h>

#include <memory>

#include "heddle/hlo/internal/name_table.h"
#include "heddle/hlo/wire.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo {
namespace {

using namespace wire;

constexpr int kComputationsField = proto::HloModuleProto::kComputationsFieldNumber;
constexpr int kInstructionsField = proto::HloComputationProto::kInstructionsFieldNumber;

// What most instructions need; larger ones take more for themselves alone.
constexpr size_t kWriterArenaBytes = 1 << 14;

// The name or one like it, valid and new to `names`, as XLA's reader asks; made of kind and number
// where there is none.
std::string_view unique_name(const std::string& name, std::string_view kind, int64_t number,
                             UniqueNames& names) {
  if (name.empty()) return names.make(base::cat(kind, ".", number));
  if (is_valid_utf8(name) && names.take(name)) return name;
  return names.make(valid_utf8(name));
}

class Writer {
 public:
  explicit Writer(const Module& module) : module_(module) {}

  std::string run() {
    assign_ids();
    std::string computations;
    for (size_t i = 0; i < module_.computations.size(); ++i) append_computation(i, computations);
    return header() + computations;
  }

 private:
  void assign_ids() {
    int64_t next = 1;
    for (const Computation& computation : module_.computations) {
      first_.push_back(next);
      next += computation.size();
      names_.push_back(unique_name(computation.name, "computation", std::ssize(names_) + 1,
                                   unique_computations_));
    }
  }

  std::string header() {
    proto::HloModuleProto to;
    write_header(module_, to);
    to.set_name(module_.name.empty() ? "module" : valid_utf8(module_.name));
    to.mutable_entry_computation_name()->assign(names_[module_.entry.value]);
    to.set_entry_computation_id(id_of(module_.entry));
    for (const std::string& name : entry_parameter_names_) {
      to.mutable_host_program_shape()->add_parameter_names(name);
    }
    if (module_.extras->is_scheduled) write_schedule(*to.mutable_schedule());
    lay_under(module_.extras->unknown_parts, to);
    return bytes_of(to);
  }

  // The order of the instructions is the schedule.
  void write_schedule(proto::HloScheduleProto& to) const {
    for (size_t i = 0; i < module_.computations.size(); ++i) {
      if (module_.computations[i].is_fusion) continue;
      proto::HloScheduleProto::Entry& entry = *to.add_sequences();
      entry.set_key(id_of(ComputationId(i)));
      for (int64_t k = 0; k < module_.computations[i].size(); ++k)
        entry.mutable_value()->add_instruction_ids(first_[i] + k);
    }
  }

  void append_computation(size_t number, std::string& out) {
    const Computation& from = module_.computations[number];
    instructions_.clear();
    instruction_names_.clear();
    for (size_t i = 0; i < from.instructions.size(); ++i)
      append_instruction(number, i, instructions_);
    const std::string head = computation_head(number);
    append_head(out, kComputationsField, head.size() + instructions_.size());
    base::append(out, head, instructions_);
  }

  std::string computation_head(size_t number) {
    const Computation& from = module_.computations[number];
    proto::HloComputationProto to;
    merge(from.unknown_proto, to);
    to.mutable_name()->assign(names_[number]);
    to.set_id(id_of(ComputationId(number)));
    to.set_root_id(first_[number] + from.root.value);
    to.set_is_fusion_computation(from.is_fusion);
    to.set_execution_thread(valid_utf8(from.execution_thread));
    write_signature(from, *to.mutable_program_shape());
    lay_under(from.unknown_parts, to);
    if (ComputationId(number) == module_.entry) {
      entry_parameter_names_.assign(to.program_shape().parameter_names().begin(),
                                    to.program_shape().parameter_names().end());
    }
    return bytes_of(to);
  }

  void write_signature(const Computation& from, proto::ProgramShapeProto& to) const {
    for (InstructionId id : from.parameters) {
      write_shape(from.at(id).shape, *to.add_parameters());
      to.add_parameter_names()->assign(instruction_names_[id.value]);
    }
    write_shape(from.result_shape(), *to.mutable_result());
  }

  void append_instruction(size_t number, size_t i, std::string& out) {
    const Instruction& from = module_.computations[number].instructions[i];
    const int64_t id = first_[number] + static_cast<int64_t>(i);
    instruction_names_.push_back(
        unique_name(from.name, to_string(from.opcode), id, unique_instructions_));
    auto& to = *google::protobuf::Arena::CreateMessage<proto::HloInstructionProto>(&arena_);
    merge(from.extras->unknown_proto, to);
    const std::string_view opcode = to_string(from.opcode);
    to.set_opcode(opcode.data(), opcode.size());
    to.mutable_name()->assign(instruction_names_.back());
    to.set_id(id);
    write_ids(from, first_[number], to);
    write_shape(from.shape, *to.mutable_shape());
    write_attrs(from, to);
    write_extras(from, to);
    lay_under(from.extras->unknown_parts, to);
    append_field(out, kInstructionsField, to);
    arena_.Reset();
  }

  void write_ids(const Instruction& from, int64_t first, proto::HloInstructionProto& to) const {
    for (InstructionId id : from.operands) to.add_operand_ids(first + id.value);
    for (ComputationId id : from.called) to.add_called_computation_ids(id_of(id));
    for (InstructionId id : from.extras->control_predecessors)
      to.add_control_predecessor_ids(first + id.value);
  }

  static int64_t id_of(ComputationId id) { return static_cast<int64_t>(id.value) + 1; }

  const Module& module_;
  std::vector<int64_t> first_;  // the id of a computation's instruction 0
  std::vector<std::string_view> names_;
  std::vector<std::string_view> instruction_names_;  // of the computation that is being written
  std::string instructions_;                         // their bytes
  std::vector<std::string> entry_parameter_names_;
  UniqueNames unique_computations_;
  UniqueNames unique_instructions_;
  std::unique_ptr<char[]> arena_bytes_ = std::make_unique<char[]>(kWriterArenaBytes);
  google::protobuf::Arena arena_{arena_bytes_.get(), kWriterArenaBytes};
};

}  // namespace

std::string to_proto(const Module& module) { return Writer(module).run(); }

}  // namespace heddle::hlo
