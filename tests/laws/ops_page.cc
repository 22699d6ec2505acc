#include "heddle/tests/laws/ops_page.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <tuple>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/batching.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/derivative.h"
#include "heddle/hlo/op.h"
#include "heddle/interpreter/rules.h"
#include "heddle/tests/laws/function_samples.h"
#include "heddle/tests/laws/public_functions.h"
#include "heddle/tests/laws/samples.h"
#include "heddle/trace/recorder.h"

namespace heddle::laws {
namespace {

using hlo::Opcode;

constexpr DType kEveryType[] = {
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) DType::enumerator,
    HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
};

// ----- words for dtypes

// "pred int f32 f64": a class's name where all of it is there, else each by its own.
std::string type_words(const std::set<DType>& types) {
  struct Class {
    std::string_view name;
    bool (*holds)(DType);
  };
  constexpr Class kClasses[] = {
      {"pred", [](DType t) { return t == pred; }},
      {"int", [](DType t) { return is_integer(t); }},
      {"signed", [](DType t) { return is_signed(t); }},
      {"unsigned", [](DType t) { return is_unsigned(t); }},
      {"float", [](DType t) { return is_floating(t); }},
      {"complex", [](DType t) { return is_complex(t); }},
  };
  if (types.size() == std::size(kEveryType)) return "all";
  std::set<DType> left = types;
  std::string out;
  auto add = [&](std::string_view word) { base::append(out, out.empty() ? "" : " ", word); };
  for (const Class& c : kClasses) {
    std::vector<DType> members;
    std::ranges::copy_if(kEveryType, std::back_inserter(members), c.holds);
    if (!std::ranges::all_of(members, [&](DType t) { return left.count(t) > 0; })) continue;
    add(c.name);
    for (DType t : members) left.erase(t);
  }
  for (DType t : kEveryType)
    if (left.count(t)) add(to_string(t));
  return out.empty() ? "-" : out;
}

// ----- functions: what tracing a call of one shows

bool is_plumbing(Opcode op) {
  return op == Opcode::kParameter || op == Opcode::kTuple || op == Opcode::kGetTupleElement;
}

// Of what runs computations the rules stand where modules are rewritten.
bool is_region(Opcode op) {
  return op == Opcode::kScan || op == Opcode::kConditional || op == Opcode::kWhile ||
         op == Opcode::kCall || op == Opcode::kMap;
}

struct Recorded {
  std::vector<Opcode> opcodes;  // in order of first use, of loops' bodies too
  std::string no_derivative;    // why the first instruction without one has none
  bool of_floats = false;       // uses a parameter of floats or complex numbers
  bool of_operands = false;     // uses a parameter
  bool gives_floats = false;
};

// Computations of whole arrays below `id`, and not those that an op calls for each element.
// What is in a call whose derivative has a name needs none of its own.
void collect(const hlo::Module& module, hlo::ComputationId id, Recorded& out,
             bool is_named = false) {
  for (const hlo::Instruction& i : module.computations[id.value].instructions) {
    if (hlo::without_custom_derivative(i)) {  // what the function itself records
      collect(module, i.called[0], out);
      continue;
    }
    if (std::ranges::find(out.opcodes, i.opcode) == out.opcodes.end())
      out.opcodes.push_back(i.opcode);
    const hlo::Slot<hlo::JvpFn> slot = hlo::derivative_of(i).jvp;
    const bool is_known = slot || is_named || hlo::is_debug_call(i) || hlo::has_own_derivative(i) ||
                          is_region(i.opcode) || is_plumbing(i.opcode);
    if (!is_known && out.no_derivative.empty()) out.no_derivative = slot.reason();
    bool per_element = i.opcode != Opcode::kWhile && i.opcode != Opcode::kConditional &&
                       i.opcode != Opcode::kCall && i.opcode != Opcode::kScan;
    if (per_element) continue;
    for (hlo::ComputationId called : i.called)
      collect(module, called, out, is_named || !hlo::derivative_name(i).empty());
  }
}

std::optional<Recorded> record(const FunctionSample& sample, DType t) {
  try {
    Recorded out;
    trace_internal::Traced traced = trace_internal::trace_flat(
        "sample", Inputs::shapes(t),
        [&](std::span<const Tensor> parameters) {
          std::vector<Tensor> results = sample.call(Inputs::of(t, parameters));
          for (const Tensor& r : results)
            out.gives_floats |= is_floating(r.dtype()) || is_complex(r.dtype());
          return results;
        },
        SourceLocation());
    const hlo::Module& module = traced.module;
    collect(module, module.entry, out);
    const hlo::Computation& entry = module.computations[module.entry.value];
    for (const hlo::Instruction& i : entry.instructions) {
      for (hlo::InstructionId operand : i.operands) {
        const hlo::Instruction& from = entry.at(operand);
        if (from.opcode != Opcode::kParameter) continue;
        out.of_operands = true;
        out.of_floats |= is_floating(from.shape.dtype()) || is_complex(from.shape.dtype());
      }
    }
    return out;
  } catch (const Error&) {
    return std::nullopt;
  }
}

struct Facts {
  std::set<DType> types;
  std::optional<Recorded> usual;  // of f32, or else of the first dtype taken
  bool floats_to_floats = false;  // for some dtype
  bool of_operands = false;
};

Facts facts_of(const FunctionSample& sample) {
  Facts facts;
  for (DType t : kEveryType) {
    if (!sample.typed && t != f32) continue;
    std::optional<Recorded> recorded = record(sample, t);
    if (!recorded) continue;
    facts.types.insert(t);
    facts.floats_to_floats |= recorded->of_floats && recorded->gives_floats;
    facts.of_operands |= recorded->of_operands;
    if (!facts.usual || t == f32) facts.usual = recorded;
  }
  return facts;
}

bool is_filling(Opcode op) {
  return op == Opcode::kConstant || op == Opcode::kBroadcast || op == Opcode::kReshape;
}

// "while, gather and 12 elementwise". What only brings operands into shape stands where there is
// nothing else.
std::string lowering_words(const Recorded& recorded) {
  std::vector<std::string> structural, elementwise, filling;
  for (Opcode op : recorded.opcodes) {
    if (is_plumbing(op)) continue;
    auto& list = is_filling(op)                          ? filling
                 : hlo::has_trait(op, hlo::kElementwise) ? elementwise
                                                         : structural;
    list.emplace_back(to_string(op));
  }
  if (structural.empty() && elementwise.empty())
    return filling.empty() ? "-" : base::join(filling, ", ");
  std::string out = base::join(structural, ", ");
  if (elementwise.empty()) return out;
  if (elementwise.size() > 5)
    return base::cat(out, out.empty() ? "" : " and ", elementwise.size(), " elementwise");
  return base::cat(out, out.empty() ? "" : ", ", base::join(elementwise, ", "));
}

std::string has_derivative(Opcode op) {
  const hlo::Slot<hlo::JvpFn> slot = hlo::derivative_of(op).jvp;
  if (slot || is_region(op) || is_plumbing(op)) return "yes";
  return base::cat("none: ", slot.reason());
}

std::string has_batched_form(Opcode op) {
  const hlo::Slot<hlo::BatchFn> slot = hlo::batching_of(op);
  if (slot || is_region(op) || is_plumbing(op)) return "yes";
  return base::cat("no: ", slot.reason());
}

// As far as the definitions of the opcodes know.
std::string derivative_words(const Facts& facts) {
  if (!facts.of_operands) return "none: no operand";
  if (!facts.floats_to_floats) return "none: not of floats to floats";
  const std::string& why = facts.usual->no_derivative;
  return why.empty() ? "yes" : base::cat("none: ", why);
}

std::map<std::string, FunctionSample> samples_by_name() {
  std::map<std::string, FunctionSample> samples;
  for (const FunctionSample& s : every_sample()) samples.emplace(s.name, s);
  return samples;
}

bool is_recorded(const PublicHeader& header, const PublicFunction& function) {
  return std::ranges::none_of(unrecorded(), [&](const Unrecorded& u) {
    return u.what == header.path || u.what == function.name;
  });
}

std::vector<PublicHeader> surface() {
  return public_headers("trace scan numpy grad linalg special random nn");
}

// ----- the page

std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) base::append(out, c == '|' ? "\\|" : std::string(1, c));
  return out;
}

// "special::erfc" -> "4.35 ulps in f32 and 7 in f64", from the measured table of functions.md.
std::map<std::string, std::string> measured_errors() {
  std::map<std::string, std::string> errors;
  std::ifstream in("docs/functions.md");
  std::string line;
  const std::regex row(R"(\| (\w+) \| ([0-9.]+) \| [^|]+ \| ([0-9.]+) \| [^|]+ \|)");
  // Other names of functions in the table.
  const std::map<std::string, std::string> aliases = {
      {"lgamma", "gammaln"},   {"igamma", "gammainc"}, {"igammac", "gammaincc"},
      {"bessel_i0e", "i0e"},   {"bessel_i1e", "i1e"},  {"sici_ci", "sici"},
      {"fresnel_s", "fresnel"}};
  while (std::getline(in, line) && line != "<!-- measured: special -->") continue;
  for (std::smatch m; std::getline(in, line) && line != "<!-- /measured -->";) {
    if (!std::regex_match(line, m, row)) continue;
    const std::string figures = base::cat(m.str(2), " ulps in f32 and ", m.str(3), " in f64");
    errors[base::cat("special::", m.str(1))] = figures;
    if (const auto it = aliases.find(m.str(1)); it != aliases.end())
      errors[base::cat("special::", it->second)] = figures;
  }
  return errors;
}

void write_functions(std::string& out) {
  const std::map<std::string, std::string> errors = measured_errors();
  std::map<std::string, FunctionSample> samples = samples_by_name();
  std::map<std::string, Facts> known;
  for (const PublicHeader& header : surface()) {
    std::string rows;
    for (const PublicFunction& f : header.functions) {
      auto sample = samples.find(f.name);
      if (!is_recorded(header, f) || sample == samples.end()) continue;
      if (!known.count(f.name)) known.emplace(f.name, facts_of(sample->second));
      const Facts& facts = known.at(f.name);
      const auto error = errors.find(f.name);
      base::append(rows, "| `", cell(f.signature), "` | ", cell(f.summary),
                   error == errors.end() ? "" : base::cat("; errs by at most ", error->second),
                   " | ", facts.usual ? lowering_words(*facts.usual) : "-", " | ",
                   sample->second.typed ? type_words(facts.types) : "-", " | ",
                   derivative_words(facts), " |\n");
    }
    if (rows.empty()) continue;
    base::append(
        out, "\n### ", header.path, "\n\n", header.summary,
        ".\n\n| function | what it gives | HLO | dtypes | derivative |\n|---|---|---|---|---|\n",
        rows);
  }
}

// The names of the fields, which are those of the text.
template <class Attributes>
std::string attribute_words() {
  std::string out;
  auto add = [&](const auto& field) {
    base::append(out, out.empty() ? "" : " ", "`", field.name, "`");
  };
  std::apply([&](const auto&... field) { (add(field), ...); }, Attributes::kFields);
  return out.empty() ? "-" : out;
}

std::string attributes_of(Opcode opcode) {
  switch (opcode) {
#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) \
  case Opcode::enumerator:                                           \
    return attribute_words<hlo::attrs>();
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
  }
  return "-";
}

struct OpcodeFacts {
  std::set<DType> types;
  bool gives_floats = false;
};

// Of the samples, which the laws run.
OpcodeFacts facts_of(Opcode opcode) {
  OpcodeFacts facts;
  for (const Sample& s : samples_of(opcode)) {
    if (!s.row->types.empty()) facts.types.insert(s.type);
    const hlo::Computation& entry = s.module.computations[s.module.entry.value];
    const Shape& result = entry.at(entry.root).shape;
    facts.gives_floats |=
        !result.is_array() || is_floating(result.dtype()) || is_complex(result.dtype());
  }
  return facts;
}

std::string operand_words(Opcode opcode) {
  std::vector<std::string> names;
  // Ops of one family share the names of the one that has most.
  const int64_t count = hlo::operand_count(opcode);
  for (std::string_view name : hlo::definition(opcode).operand_names) {
    if (count == hlo::kVariadic || std::ssize(names) < count) names.emplace_back(name);
  }
  std::string out = base::join(names, ", ");
  if (hlo::operand_count(opcode) == hlo::kVariadic) out += out.empty() ? ".." : " ..";
  return out.empty() ? "-" : out;
}

void write_opcodes(std::string& out) {
  for (Opcode opcode : every_opcode()) {
    const auto& evaluate = interpreter::evaluation(opcode).evaluate;
    OpcodeFacts facts = facts_of(opcode);
    base::append(out, "| `", to_string(opcode), "` | ", cell(operand_words(opcode)), " | ",
                 attributes_of(opcode), " | ", type_words(facts.types), " | ",
                 evaluate ? "yes" : cell(base::cat("no: ", evaluate.reason())), " | ",
                 facts.gives_floats ? cell(has_derivative(opcode)) : "none: not to floats", " | ",
                 cell(has_batched_form(opcode)), " |\n");
  }
}

}  // namespace

std::string ops_page() {
  std::string out =
      "# Functions and opcodes\n\n"
      "Made from the definitions: `./dev docs` writes this page, and a test compares it with what "
      "they say. [functions.md](functions.md) has what a table cannot say: random numbers, and "
      "where "
      "special functions err most.\n\n"
      "- **HLO**: the opcodes that a call records, seen by tracing one; what brings operands into "
      "shape (`constant`, `broadcast`, `reshape`) is named only where there is nothing else, and "
      "more than five elementwise ones are counted.\n"
      "- **dtypes**: those for which a call can be traced, of the first operand or as asked for; "
      "`int`, `signed`, `unsigned`, `float`, `complex` and `all` are all such types of "
      "[hlo/dtype.h](../hlo/dtype.h), 8-bit and narrower ones too.\n"
      "- **derivative**: `yes`, or `none` and why; see [derivatives.md](derivatives.md).\n\n"
      "Errors of special functions are the greatest on 10,000 points each, against mpmath: "
      "`tests/special/measure.py` measures them, and says in functions.md what an ulp is there.\n\n"
      "## Functions\n";
  write_functions(out);
  base::append(
      out,
      "\n## Opcodes\n\nAs in the text of HLO: operands, attributes, the element types that the "
      "laws try it with, of the operand that decides (of several operands or results the others "
      "follow; a shape rule may take more), whether the evaluator runs it, and whether `vmap` goes "
      "through it where an operand differs between examples.\n\n"
      "| opcode | operands | attributes | types | evaluated | derivative | vmap |\n"
      "|---|---|---|---|---|---|---|\n");
  write_opcodes(out);
  return out;
}

std::vector<std::string> ops_page_gaps() {
  std::vector<std::string> gaps;
  std::map<std::string, FunctionSample> samples = samples_by_name();
  std::set<std::string> named;
  for (const PublicHeader& header : surface()) {
    for (const PublicFunction& f : header.functions) {
      named.insert(f.name);
      if (!is_recorded(header, f)) continue;
      if (f.summary.empty())
        gaps.push_back(
            base::cat(header.path, ": ", f.signature, " has no comment; say what it gives"));
      auto sample = samples.find(f.name);
      if (sample == samples.end())
        gaps.push_back(base::cat(header.path, ": ", f.name,
                                 " has no sample; add a call of it to "
                                 "tests/laws/core_samples.cc or catalogue_samples.cc"));
      else if (!facts_of(sample->second).usual)
        gaps.push_back(base::cat(f.name, ": its sample can be traced for no dtype"));
    }
  }
  for (const auto& [name, sample] : samples)
    if (!named.count(name))
      gaps.push_back(base::cat(name, ": has a sample and is in no public header"));
  return gaps;
}

}  // namespace heddle::laws
