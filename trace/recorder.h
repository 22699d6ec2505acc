// The recorder: where operations go while a function is traced. Private to Heddle's own op and loop
// functions.
//
// Each running trace has one Recorder; a thread's recorders form a stack (a scan body inside a
// trace). An operand is found by where it comes from: the same trace, an outer one or a device
// (then it is captured: hoisted to one parameter, by id, however often it is used), or a trace that
// it cannot belong to (an error that says so). Nothing here takes a lock.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "heddle/base/containers/few.h"
#include "heddle/base/containers/function_ref.h"
#include "heddle/hlo/builder.h"
#include "heddle/trace/node.h"
#include "heddle/trace/op_names.h"
#include "heddle/trace/run/replay.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// What errors call operator[], which is no name in HLO.
inline constexpr std::string_view kSubscript = "x[..]";

// One operation to record, or to run when nothing is being traced.
struct Operation {
  hlo::Opcode opcode;
  std::vector<Tensor> operands;
  hlo::Attrs attrs = {};
  std::vector<Fragment> called = {};
  std::optional<Shape> declared = {};  // for ops whose type is declared (hlo::kDeclared)
  hlo::FrontendAttributes frontend_attributes = {};
  std::string backend_config = {};
  std::shared_ptr<const hlo::Sharding> sharding = {};  // null: not said
  bool takes_tuple = false;                            // the op has one operand, the tuple of these
};

// Records (or runs) an operation with one result.
// errors: throws Error with the op's shape rule's words and the user's line (PublicCall)
Tensor emit(const Operation& operation);
// An operation whose result is a tuple of arrays: one tensor each.
std::vector<Tensor> emit_many(const Operation& operation);
// A constant of the running trace; outside one a device value made by a program (no upload).
Tensor emit_constant(Literal literal);

// What a trace leaves behind.
struct Traced {
  hlo::Module module;  // entry: parameters are the arguments, then the captures; root: a tuple of
                       // the results; in canonical order, what no result needs being gone
  std::vector<Tensor> captures;  // values from outside, one a parameter, in the order of first use
};

// The form of a finished trace that is kept and shown: what C++ leaves open, the order in which the
// operands of f(x) + g(x) are evaluated, does not show in it.
Traced in_canonical_order(Traced recorded, bool root_has_captures);

class Recorder {
 public:
  // What becomes of a C++ number: a constant, which passes fold. In what runs at once it becomes an
  // operand, a capture, from the second time on that the trace comes again and differs in it; so
  // the next number finds the same program.
  // kWithStarts: those that x[..] is given as well.
  enum class Numbers : uint8_t { kConstants, kMayBecomeOperands, kWithStarts };

  // `expected`: what is likely to be recorded, which outlives the recorder. `is_named`: what is the
  // name of a user's Function. Numbers inside of a trace whose own are constants are constants too.
  Recorder(std::string_view what, const Expected& expected = {}, bool is_named = false,
           Numbers numbers = Numbers::kConstants);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The innermost running trace of this thread, or null.
  static Recorder* current();

  // Where in the program it records, place_of(): numbers that vary there are operands at once.
  void set_place(uint64_t place) { place_ = place; }
  // Errors say of what is recorded that it is of the function that was given to this one.
  void set_given_to(std::string_view function) { scope_->given_to = function; }

  // Appends a parameter; only before any capture. A placeholder `like` that fn also captures is the
  // same parameter.
  Tensor parameter(const Shape& shape, const Tensor* like = nullptr);
  std::vector<Tensor> record(
      const Operation& operation);  // one tensor per element of a tuple result
  Tensor record_one(const Operation& operation);
  // record_one() of an operation that has operands and nothing else, at most kFewOperands.
  static constexpr size_t kFewOperands = 4;
  Tensor record_plain(hlo::Opcode opcode, std::initializer_list<const Tensor*> operands,
                      SourceLocation at);
  Tensor constant(Literal literal);
  // constant() of a scalar, where it is the expected one; else a tensor without a value.
  Tensor expected_number(const void* bytes, DType dtype, SourceLocation at);
  // Records what `fragment`, whose root is a tuple, does to the operands: its instructions instead
  // of a call. Returns its results.
  std::vector<Tensor> paste(const Fragment& fragment, std::span<const Tensor> operands);

  // Ends the trace. What the root is: a tuple of the results; the lone result itself; a tuple of
  // the results and then the captures.
  enum class Root : uint8_t { kTuple, kBare, kWithCaptures };
  Traced finish(std::span<const Tensor> results, std::string_view what, Root root = Root::kTuple);
  // The same in the order of recording, for a program that is run at once by its canonical form and
  // shown to nobody.
  Traced finish_as_recorded(std::span<const Tensor> results, std::string_view what,
                            Root root = Root::kTuple);
  // Whether the trace that ends here is, from its first instruction to these results, the expected
  // one. Where it is not, nothing has ended.
  bool ends_as_expected(std::span<const Tensor> results, std::string_view what,
                        Root root = Root::kTuple);
  [[nodiscard]] bool takes_starts() const { return numbers_policy_ == Numbers::kWithStarts; }
  // After ends_as_expected(): whether the trace is the expected one but for numbers, and which.
  [[nodiscard]] bool has_other_numbers() const { return replay_.has_other_numbers(); }
  [[nodiscard]] size_t which_was_expected() const { return replay_.which(); }
  void take_numbers() { leave_replay(Numbers::kMayBecomeOperands); }
  // The captured values, in the order of recording. Numbers among them are concrete without a
  // buffer (append_buffers()), or constants of the trace around this one.
  [[nodiscard]] const std::vector<Tensor>& captures() const { return captures_; }
  // What finish_as_recorded() gave, to be expected the next time; none where it is long, or has
  // pasted instructions, which are never compared.
  std::optional<Recording> recording_of(const Traced& traced);

  [[nodiscard]] const hlo::Instruction& instruction(hlo::InstructionId id) const {
    return replay_.is_on() ? replay_.at(id) : building_->builder.at(id);
  }
  // For errors: the C++ number that alone gives an instruction its dtype, where one does.
  [[nodiscard]] std::optional<Number> number_behind(hlo::InstructionId id) const;

 private:
  // The number, which is about to be recorded, is another one from call to call.
  [[nodiscard]] bool varies_here(const Literal& literal);
  hlo::InstructionId use(const Tensor& tensor, std::string_view op, SourceLocation at = {});
  hlo::InstructionId capture(const Tensor& tensor, const Node& node);
  hlo::InstructionId captured(const Tensor& tensor, const Node& node);  // once
  hlo::InstructionId add_parameter(const Shape& shape, const hlo::Sharding* sharding,
                                   SourceLocation at);
  hlo::InstructionId add(const Operation& operation);
  // What is built where the trace is not the expected one.
  struct Building {
    hlo::Module module;
    hlo::ComputationBuilder builder{module};
    std::unordered_map<const hlo::Module*, hlo::ComputationId> imported;
    std::vector<std::pair<Fragment, hlo::ComputationId>> imports;  // keeps their keys alive
  };
  Building& building() {
    if (!building_) building_ = std::make_unique<Building>();
    return *building_;
  }
  // errors: those of the shape rule, in the words of `function`, which the user called
  hlo::InstructionId append(const Step& step, std::string_view function = {});
  hlo::ComputationId import(const Fragment& fragment);
  void leave_replay(Numbers other = Numbers::kConstants);
  Tensor number(Literal literal, SourceLocation at);
  Tensor take(hlo::InstructionId number, Literal literal, SourceLocation at);
  void hand_numbers_out();
  using Ids = base::Few<hlo::InstructionId, 8>;
  Ids root_operands(std::span<const Tensor> results, std::string_view what, Root kind);
  [[nodiscard]] const Shape& shape(hlo::InstructionId id) const { return instruction(id).shape; }
  Tensor wrap(hlo::InstructionId id, SourceLocation at) const;

  std::shared_ptr<Scope> scope_;
  Replay replay_;
  Recorder* outer_;
  std::unique_ptr<Building> building_;  // null as long as nothing is built
  std::vector<Tensor> captures_;
  // The parameters of captured values, by the value's id or, of a traced one, by its node, which
  // captures_ keeps alive.
  class CaptureTable {
   public:
    // The parameter of `key`, which is none where it is new.
    hlo::InstructionId& at(uint64_t key);

   private:
    struct Entry {
      uint64_t key;
      hlo::InstructionId parameter;
    };
    static constexpr size_t kFew = 8;
    base::Few<Entry, kFew> few_;
    std::unique_ptr<std::unordered_map<uint64_t, hlo::InstructionId>> many_;  // beyond kFew
  };
  static uint64_t key_of(const Node& node) {
    return node.scope ? reinterpret_cast<uint64_t>(&node) | 1 : node.id << 1;
  }
  CaptureTable capture_of_;
  Ids parameters_;
  bool has_pasted_ = false;
  Numbers numbers_policy_;
  uint64_t place_ = 0;  // 0: nothing is known of its numbers
  Ids numbers_;  // parameters that are C++ numbers
};

// Counts one trace, where the function that is about to run on placeholders is the user's.
void count_trace();

// Traces `fn` on parameters of the given shapes: fn gets one tensor a shape and returns the
// results. Counts one trace.
Traced trace_flat(std::string what, std::span<const Shape> shapes,
                  base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn,
                  SourceLocation at, std::span<const Tensor> like = {}, bool is_named = false);

// Runs `fn` in the running trace; with none running, in a trace of its own, whose program is then
// run. For functions of several operations that are one program to the user.
std::vector<Tensor> in_program(std::string_view what, base::FunctionRef<std::vector<Tensor>()> fn);

}  // namespace heddle::trace_internal
