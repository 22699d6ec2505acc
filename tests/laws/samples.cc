#include "heddle/tests/laws/samples.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"

namespace heddle::laws {
namespace {

using hlo::Opcode;
using Words = std::vector<std::string>;

constexpr DType kEveryType[] = {
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) DType::enumerator,
    HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
};

// The texts that stand for $d, and for $n beside each.
constexpr std::array<std::string_view, 4> kSizes = {"", "0", "3,2", "300"};
constexpr std::array<std::string_view, 4> kDimensions = {"", "0", "0,1", "0"};

Words split(std::string_view text, char at) {
  Words out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool is_in(DType type, std::string_view word) {
  if (word == "all") return true;
  if (word == "int") return is_integer(type);
  if (word == "signed") return is_signed(type);
  if (word == "unsigned") return is_unsigned(type);
  if (word == "float") return is_floating(type);
  if (word == "complex") return is_complex(type);
  return word == to_string(type);
}

bool lists(const Row& row, DType type) {
  const Words words = split(row.types, ' ');
  return std::ranges::any_of(words, [&](const std::string& word) { return is_in(type, word); });
}

std::string_view unsigned_as_wide(DType type) {
  for (DType other : kEveryType) {
    if (is_unsigned(other) && bit_width(other) == bit_width(type)) return to_string(other);
  }
  return "u64";
}

std::string with_type(std::string text, DType type) {
  text = replaced(std::move(text), "$t", to_string(type));
  text = replaced(std::move(text), "$p", to_string(real_part(type)));
  text = replaced(std::move(text), "$u", unsigned_as_wide(type));
  return replaced(std::move(text), "$c", type == f32 ? "c64" : "c128");
}

// A line of the table for one type, one op and one size, and all that its text needs.
struct Line {
  std::string text;
  DType type;
};

// "a|b(x)" for op b is "b(x)".
std::string for_op(std::string_view line, std::string_view op) {
  return base::cat(op, line.substr(line.find('(')));
}

bool has_op(std::string_view line, std::string_view op) {
  const Words ops = split(line.substr(0, line.find('(')), '|');
  return std::ranges::find(ops, op) != ops.end();
}

std::vector<Line> with_sizes(const Line& line) {
  if (line.text.find("$d") == std::string::npos) return {line};
  std::vector<Line> out;
  for (size_t i = 0; i < kSizes.size(); ++i) {
    out.push_back(
        {replaced(replaced(line.text, "$d", kSizes[i]), "$n", kDimensions[i]), line.type});
  }
  return out;
}

std::vector<Line> with_second_types(const std::vector<Line>& lines) {
  std::vector<Line> out;
  for (const Line& line : lines) {
    if (line.text.find("$s") == std::string::npos)
      out.push_back(line);
    else
      for (DType type : kEveryType)
        out.push_back({replaced(line.text, "$s", to_string(type)), line.type});
  }
  return out;
}

// The line's programs: for the types that the row lists, or for all others.
std::vector<Line> lines_of(const Row& row, std::string_view op, bool listed) {
  std::vector<Line> out;
  const bool typed = row.line.find("$t") != std::string_view::npos;
  if (!typed && listed) out.push_back({for_op(row.line, op), f32});
  for (DType type : kEveryType) {
    if (!typed || lists(row, type) != listed) continue;
    std::ranges::move(with_sizes({with_type(for_op(row.line, op), type), type}),
                      std::back_inserter(out));
  }
  return with_second_types(out);
}

// The parts of "op(a, b) -> result, attributes".
struct Parts {
  std::string op;
  Words operands;
  std::string result;
  std::string attributes;
};

// The place where brackets opened before `at` are closed, or where `stop` stands outside of any.
size_t end_of(std::string_view text, size_t at, char stop) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (depth == 0 && c == stop) return at;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
  }
  return at;
}

Parts parts_of(const std::string& line) {
  Parts parts;
  const size_t open = line.find('(');
  const size_t close = end_of(line, open + 1, ')');
  parts.op = line.substr(0, open);
  const std::string operands = line.substr(open + 1, close - open - 1);
  for (size_t at = 0; at < operands.size();) {
    const size_t end = end_of(operands, at, ',');
    parts.operands.push_back(operands.substr(at, end - at));
    at = end + 2;
  }
  const size_t result = close + std::string_view(") -> ").size();
  const size_t comma = end_of(line, result, ',');
  parts.result = line.substr(result, comma - result);
  parts.attributes = line.substr(comma);
  return parts;
}

std::string type_text(const std::string& operand) { return operand.substr(0, operand.find('~')); }

// `name` stands in the attributes as a word of its own.
bool calls(std::string_view attributes, std::string_view name) {
  for (size_t at = attributes.find(name); at != std::string_view::npos;
       at = attributes.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : attributes[at - 1];
    const size_t end = at + name.size();
    const char after = end < attributes.size() ? attributes[end] : ',';
    if (std::string_view("={ ").find(before) != std::string_view::npos &&
        (after == ',' || after == '}'))
      return true;
  }
  return false;
}

std::string called_text(const Called& called, DType type) {
  std::string text = base::cat(called.name, " {\n");
  size_t number = 0;
  for (const std::string& parameter : split(called.parameters, ' ')) {
    base::append(text, "  p", number, " = ", parameter, " parameter(", number, ")\n");
    ++number;
  }
  base::append(text, "  ", called.body, "\n}\n");
  return with_type(std::move(text), type);
}

// Numbers
// --------------------------------------------------------------------------------

// Bits that are the same on every platform: the standard fixes the engine, not its distributions.
class Numbers {
 public:
  explicit Numbers(std::string_view seed) {
    std::seed_seq words(seed.begin(), seed.end());
    engine_.seed(words);
  }
  uint64_t bits() { return engine_(); }
  uint64_t below(uint64_t n) { return bits() % n; }
  double real() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kSpecials[] = {0.0,
                                    -0.0,
                                    1.0,
                                    -1.0,
                                    0.5,
                                    kInf,
                                    -kInf,
                                    std::numeric_limits<double>::quiet_NaN(),
                                    448,
                                    65504,
                                    3.4028234663852886e38,
                                    1.1754943508222875e-38,
                                    1e-45,
                                    2.5};
    const uint64_t kind = below(8);
    if (kind < 2) return kSpecials[below(std::size(kSpecials))];
    if (kind == 2) return static_cast<double>(small());
    const double part = static_cast<double>(static_cast<int64_t>(bits() >> 11)) * 0x1p-52 * 4 - 4;
    return kind == 3 ? std::ldexp(part, static_cast<int>(below(280)) - 140) : part;
  }
  int64_t integer(DType type) {
    const int64_t sign = int64_t{1} << (bit_width(type) - 1);
    const int64_t specials[] = {0, 1, -1, sign,
                                static_cast<int64_t>(static_cast<uint64_t>(sign) - 1)};
    const uint64_t kind = below(4);
    if (kind == 0) return specials[below(std::size(specials))];
    return kind == 1 ? small() : static_cast<int64_t>(bits());
  }
  int64_t small() { return static_cast<int64_t>(below(6)) - 2; }

 private:
  std::mt19937_64 engine_;
};

Literal element(Numbers& numbers, DType type, std::string_view kind) {
  if (kind.size() == 2 && std::isdigit(static_cast<unsigned char>(kind[1]))) {
    return Literal::scalar(type, int64_t{kind[1] - '0'});
  }
  if (type == pred) return Literal::scalar(pred, static_cast<int64_t>(numbers.below(2)));
  if (kind == "~small") return Literal::scalar(type, numbers.small());
  return is_floating(type) ? Literal::scalar(type, numbers.real())
                           : Literal::scalar(type, numbers.integer(type));
}

Literal random_value(Numbers& numbers, const Shape& shape, std::string_view kind) {
  if (shape.is_tuple()) {
    std::vector<Literal> elements;
    for (const Shape& part : shape.elements())
      elements.push_back(random_value(numbers, part, kind));
    return Literal::tuple(std::move(elements));
  }
  Literal out(shape);
  if (!shape.is_array() || shape.element_count() == 0) return out;
  const DType part = real_part(shape.dtype());  // of complex numbers both parts are filled
  const int64_t width = storage_bytes(part);
  std::byte* bytes = out.mutable_bytes();
  for (int64_t at = 0; at < shape.byte_size(); at += width) {
    std::memcpy(bytes + at, element(numbers, part, kind).bytes(), static_cast<size_t>(width));
  }
  return out;
}

// Programs
// --------------------------------------------------------------------------------

Shape shape_of(const std::string& text) {
  auto shape = hlo::parse_shape(text);
  if (!shape.ok())
    throw std::runtime_error(base::cat(text, ": ", base::message_of(shape.status())));
  shape->clear_layout();
  return *std::move(shape);
}

// The root's operands; of a constant its value.
std::string operands_text(const Parts& parts, Numbers& numbers) {
  if (parts.op == "parameter") return "0";
  if (parts.op == "constant")
    return hlo::print_literal(random_value(numbers, shape_of(parts.result), ""));
  std::vector<std::string> names;
  for (size_t i = 0; i < parts.operands.size(); ++i) names.push_back(base::cat("p", i));
  return base::join(names, ", ");
}

std::string module_text(const Line& line, Numbers& numbers) {
  const Parts parts = parts_of(line.text);
  std::string text;
  for (const Called& called : called_by_rows()) {
    if (calls(parts.attributes, called.name)) base::append(text, called_text(called, line.type));
  }
  base::append(text, "ENTRY main {\n");
  for (size_t i = 0; i < parts.operands.size(); ++i) {
    base::append(text, "  p", i, " = ", type_text(parts.operands[i]), " parameter(", i, ")\n");
  }
  base::append(text, "  ROOT r = ", parts.result, " ", parts.op, "(", operands_text(parts, numbers),
               ")", parts.attributes, "\n}\n");
  return text;
}

std::vector<Literal> arguments_of(const Line& line, Numbers& numbers) {
  Parts parts = parts_of(line.text);
  if (parts.op == "parameter") parts.operands = {parts.result};
  std::vector<Literal> out;
  for (const std::string& operand : parts.operands) {
    const std::string type = type_text(operand);
    out.push_back(
        random_value(numbers, shape_of(type), std::string_view(operand).substr(type.size())));
  }
  return out;
}

Sample sample_of(const Row& row, const Line& line) {
  Numbers numbers(line.text);
  const std::string text = module_text(line, numbers);
  auto module = hlo::parse_text(text);
  if (!module.ok())
    throw std::runtime_error(base::cat(line.text, "\n", text, base::message_of(module.status())));
  return {line.text, &row, line.type, *std::move(module), arguments_of(line, numbers)};
}

std::vector<Sample> make_samples(Opcode opcode) {
  std::vector<Sample> out;
  for (const Row& row : rows()) {
    if (!has_op(row.line, to_string(opcode))) continue;
    for (const Line& line : lines_of(row, to_string(opcode), true))
      out.push_back(sample_of(row, line));
  }
  return out;
}

}  // namespace

const std::vector<Sample>& samples_of(Opcode opcode) {
  static auto* const kMade =
      new std::array<std::optional<std::vector<Sample>>, hlo::kOpcodeCount>();
  auto& made = (*kMade)[static_cast<size_t>(opcode)];
  if (!made) made = make_samples(opcode);
  return *made;
}

std::vector<Refused> refused_of(Opcode opcode) {
  std::vector<Refused> out;
  for (const Row& row : rows()) {
    if (!has_op(row.line, to_string(opcode)) || row.types.ends_with("+")) continue;
    for (const Line& line : lines_of(row, to_string(opcode), false)) {
      Numbers numbers(line.text);
      out.push_back({line.text, module_text(line, numbers)});
    }
  }
  return out;
}

std::vector<Opcode> every_opcode() {
  std::vector<Opcode> out;
  for (int i = 0; i < hlo::kOpcodeCount; ++i) out.push_back(static_cast<Opcode>(i));
  return out;
}

}  // namespace heddle::laws
