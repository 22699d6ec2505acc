// OpDef: the record of an op with its shape rule (hlo/ops/*.cc) and what passes ask of it. What
// text and builders need to know of an opcode stands in opcodes.def.
//
// Facts and slots for rules have no default: leaving one out does not compile. A slot that has no
// rule says why, in words that users will read. Evaluations, derivatives and batching have records
// of their own, in interpreter/rules.h, hlo/derivative.h and hlo/batching.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/slot.h"

namespace heddle::hlo {

// What a shape rule sees.
class InferArgs {
 public:
  InferArgs(Opcode opcode, std::span<const Shape* const> operands, const Attrs& attrs,
            std::span<const Computation* const> called, const Shape* declared,
            std::string_view function = {})
      : opcode_(opcode),
        operands_(operands),
        attrs_(attrs),
        called_(called),
        declared_(declared),
        function_(function) {}

  [[nodiscard]] Opcode opcode() const { return opcode_; }
  [[nodiscard]] size_t size() const { return operands_.size(); }
  const Shape& operator[](size_t i) const { return *operands_[i]; }
  [[nodiscard]] std::span<const Shape* const> operands() const { return operands_; }
  template <class T>
  [[nodiscard]] const T& attrs() const {
    return attrs_.get<T>();
  }
  [[nodiscard]] std::span<const Computation* const> called() const { return called_; }
  // The type that the text, proto or builder gave; null where it gave none (never for ops with
  // kDeclared).
  [[nodiscard]] const Shape* declared() const { return declared_; }

  // The function that the user called; empty where he wrote HLO.
  [[nodiscard]] std::string_view function() const { return function_; }

  // "concatenate: " or, where the user called a function, "concat: " and the parts, as an
  // InvalidArgument.
  template <class... Parts>
  [[nodiscard]] Status error(const Parts&... parts) const {
    return base::invalid_argument(function_.empty() ? to_string(opcode_) : function_, ": ",
                                  parts...);
  }

 private:
  Opcode opcode_;
  std::span<const Shape* const> operands_;
  const Attrs& attrs_;
  std::span<const Computation* const> called_;
  const Shape* declared_;
  std::string_view function_;
};

using InferFn = StatusOr<Shape> (*)(const InferArgs&);

// What an op costs where its operands are at hand.
enum class Work : uint8_t {
  kStays,   // the op is never moved: it has an effect, runs computations, or its work is unknown
  kNone,    // the op only says where elements come from: a loop reads them there
  kLittle,  // the op does one operation an element, which is less than to load a result
  kMuch,    // the op does many operations an element
  kMost,    // the op is a loop of its own, which writes its result in any case
};

// Whether an op keeps apart the rows of a batch: row i of its result follows from rows i alone.
enum class Rows : uint8_t {
  kMixed,        // the op mixes rows, or it is unknown whether it does
  kKept,         // the op always keeps rows apart
  kKeptIfAlike,  // the op keeps rows apart where its attributes are the same for all row counts
  kKeptBeside,   // like kKeptIfAlike, where the dimensions that it lists are not the rows'
  kKeptAbove,    // like kKeptIfAlike, where no row is in the last two dimensions (the matrices)
  kByRule,       // the op has a rule in compile/mixed_rows.cc
};

// Bits of what an op does with its operands.
enum Action : uint32_t {
  kPlain = 0,    // the op does none of the below
  kPicks = 1,    // each element of the result is one of operand 0
  kStrided = 2,  // the elements of a kPicks op lie at fixed strides from a place that may vary
  kHandsOn = 4,  // the result is the operands or their elements: nothing is computed or written
  kJoins = 8,    // the op adds its operands, or puts them beside each other
  kRuns = 16,    // the op gives the results of the computations that it calls, as they are
};

// A new op must answer each: there is no default.
struct Facts {
  constexpr Facts(Work work, Rows rows, uint32_t actions)
      : work(work), rows(rows), actions(actions) {}
  Work work;
  Rows rows;
  uint32_t actions;  // a sum of Action bits
};

inline constexpr Facts kOpaque{Work::kStays, Rows::kMixed, kPlain};

struct OpDef {
  Opcode opcode;
  // Names of the operands for error messages: {"x", "start_indices"}; the last one repeats for
  // variadic ops.
  std::span<const std::string_view> operand_names;
  Facts facts;
  // Shape rule = verifier: called when an instruction is built, parsed, and after each pass. Given
  // operands are of the number that opcodes.def says. Returns the result type, or the error of the
  // operand that is wrong.
  Slot<InferFn> infer;
};

// Returns the definition. A missing one is a link error that names the op.
const OpDef& definition(Opcode opcode);
inline const Facts& facts(Opcode opcode) { return definition(opcode).facts; }
inline bool does(Opcode opcode, Action action) { return (facts(opcode).actions & action) != 0; }

#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) \
  extern const OpDef enumerator##Def;
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP

// Infers and checks the type of an instruction: operand number, attribute struct, called
// computations, then the op's own rule. For an op whose type is declared, the declared type is
// checked and returned (with its layout). Errors are in the words of `function`, which the user
// called, and in those of HLO where it is empty.
StatusOr<Shape> infer_shape(Opcode opcode, std::span<const Shape* const> operands,
                            const Attrs& attrs, std::span<const Computation* const> called,
                            const Shape* declared, std::string_view function = {});

}  // namespace heddle::hlo
