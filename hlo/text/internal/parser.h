// Reads modules: parse.cc the whole, parse_header.cc the first line, parse_computation.cc
// computations, parse_instruction.cc the lines, parse_operands.cc what stands in their parentheses,
// parse_async.cc foo-start and foo-done.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/internal/name_table.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/text/internal/called.h"
#include "heddle/hlo/text/internal/fields.h"

namespace heddle::hlo::text {

// What hostile text may ask for.
struct Limits {
  int depth = 200;  // of nested operands and inline computations
  int64_t instructions = int64_t{1} << 24;
  int64_t computations = int64_t{1} << 20;
  int64_t type_nodes =
      int64_t{1} << 20;  // types that one instruction takes in: tuple(t, t) doubles t's
  int64_t total_type_nodes = int64_t{1} << 26;  // the same, of all instructions
};

class Parser {
 public:
  explicit Parser(std::string_view text, Limits limits = {}) : in_(text), limits_(limits) {}

  StatusOr<Module> run();

 private:
  // A computation that is being read.
  struct Scope {
    Computation computation;
    NameTable ids;
    std::vector<std::pair<int64_t, InstructionId>> parameters;  // number and instruction
    std::vector<int64_t> type_nodes;                            // of each instruction's type
    std::unordered_map<std::string_view, int64_t>
        anonymous;                  // how many nested instructions of each opcode
    bool operands_declare = false;  // a bare instruction: operands become parameters
  };

  enum class AsyncStep : uint8_t { kNone, kStart, kUpdate, kDone };

  // An instruction that is being read.
  struct Draft {
    Instruction instruction;
    size_t at = 0;            // place of the opcode
    size_t attribute_at = 0;  // place of the attribute that is being read
    bool has_shape = false;
    AsyncStep async = AsyncStep::kNone;  // `opcode` is then the wrapped one
    std::string execution_thread;        // of an async step
    uint64_t seen = 0;                   // which attributes were read, by the bits below
  };
  static constexpr int kFirstCalledBit = 32;
  static constexpr int kFirstCommonBit = 40;

  // parse.cc
  bool read_module();
  bool read_bare_instruction();
  bool at_bare_instruction();
  bool check_entry_layout();

  // parse_header.cc
  bool read_header();
  bool read_header_attribute(std::string_view name);
  bool read_alias(InputOutputAlias& alias);
  bool read_donor(BufferDonor& donor);
  bool read_entry_layout();
  bool read_frames();

  // parse_computation.cc
  bool read_computation();
  bool read_signature(std::optional<Shape>& result);
  bool read_body(Scope& scope);
  bool finish(Scope& scope, size_t at, ComputationId& id);
  bool number_parameters(Scope& scope, size_t at);
  bool add(Computation computation, size_t at, int64_t type_nodes, ComputationId& id);
  bool read_name(std::string_view& name);

  // parse_instruction.cc
  bool read_line(Scope& scope);
  bool read_instruction(Scope& scope, std::string_view name, bool with_attributes,
                        InstructionId& id);
  bool read_opcode(Draft& draft);
  bool read_attrs(Scope& scope, Draft& draft, bool with_attributes);
  template <class Struct>
  bool read_struct(Scope& scope, Draft& draft, bool with_attributes);
  bool read_attributes(Scope& scope, Draft& draft, std::span<const FieldText> fields, void* attrs);
  bool read_attribute(Scope& scope, Draft& draft, std::string_view name,
                      std::span<const FieldText> fields, void* attrs);
  bool read_common(Scope& scope, Draft& draft, std::string_view name, bool& known);
  bool read_called(Draft& draft, const CalledKeys& keys, std::string_view name, bool& known);
  bool read_called_list(std::vector<ComputationId>& called);
  bool read_callee(ComputationId& id);
  bool read_control_predecessors(Scope& scope, std::vector<InstructionId>& ids);
  bool check_complete(const Scope& scope, const Draft& draft, std::span<const FieldText> fields);
  bool mark(Draft& draft, int bit, std::string_view name);
  bool append(Scope& scope, Draft& draft, std::string_view name, InstructionId& id);
  bool infer(Scope& scope, Draft& draft);
  bool charge(const Scope& scope, const Draft& draft);

  // parse_operands.cc
  bool read_operands(Scope& scope, Draft& draft);
  bool read_operand(Scope& scope, InstructionId& id);
  bool read_named_operand(Scope& scope, const Shape* declared, InstructionId& id);
  bool read_nested(Scope& scope, Shape* declared, std::string_view opcode, InstructionId& id);
  std::string_view anonymous_name(Scope& scope, std::string_view opcode);
  bool declare_parameter(Scope& scope, std::string_view name, const Shape& shape,
                         InstructionId& id);

  // parse_async.cc
  bool strip_async(std::string_view word, Draft& draft);
  bool wrap_async(Scope& scope, Draft& draft);

  bool enter();  // one level deeper; pairs with --depth_

  TextCursor in_;
  Limits limits_;
  Module module_;
  ModuleExtras header_;
  std::unordered_map<std::string_view, ComputationId> computations_;
  std::vector<int64_t> result_nodes_;         // type nodes of each computation's result
  std::deque<std::string> made_names_;        // that maps of names point at
  std::optional<size_t> layout_at_;           // place of entry_computation_layout
  std::vector<const Shape*> operand_shapes_;  // of the instruction that is being checked
  std::vector<const Computation*> callees_;
  int depth_ = 0;
  int64_t instructions_ = 0;
  int64_t total_type_nodes_ = 0;
};

// Types in a type, itself included.
int64_t type_nodes(const Shape& shape);

}  // namespace heddle::hlo::text
