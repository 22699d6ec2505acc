#include "heddle/hlo/text/internal/values.h"

#include <algorithm>

#include "heddle/hlo/text/internal/elements.h"
#include "heddle/hlo/text/internal/shapes.h"

namespace heddle::hlo::text {
namespace {

// Items with a separator between them.
template <class Range, class WriteItem>
void write_items(std::string& out, const Range& items, std::string_view separator,
                 WriteItem write_item) {
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.append(separator);
    first = false;
    write_item(item);
  }
}

}  // namespace

void Codec<bool>::write(std::string& out, const bool& value) { base::append(out, value); }
bool Codec<bool>::read(TextCursor& in, bool& value) { return in.read_bool(value); }

void Codec<int64_t>::write(std::string& out, const int64_t& value) { base::append(out, value); }
bool Codec<int64_t>::read(TextCursor& in, int64_t& value) { return in.read_int(value); }

void Codec<float>::write(std::string& out, const float& value) { write_float(out, value); }
bool Codec<float>::read(TextCursor& in, float& value) { return read_float(in, value); }

void Codec<std::string>::write(std::string& out, const std::string& value) {
  append_quoted(out, value);
}
bool Codec<std::string>::read(TextCursor& in, std::string& value) { return in.read_string(value); }

void Codec<Dims>::write(std::string& out, const Dims& value) {
  out.push_back('{');
  write_items(out, value, ",", [&](int64_t item) { base::append(out, item); });
  out.push_back('}');
}

bool Codec<Dims>::read(TextCursor& in, Dims& value) {
  value.clear();
  return in.expect('{') && read_items(in, '}', [&] { return in.read_int(value.emplace_back()); });
}

void Codec<std::vector<bool>>::write(std::string& out, const std::vector<bool>& value) {
  out.push_back('{');
  write_items(out, value, ",", [&](bool item) { base::append(out, item); });
  out.push_back('}');
}

bool Codec<std::vector<bool>>::read(TextCursor& in, std::vector<bool>& value) {
  value.clear();
  return in.expect('{') && read_items(in, '}', [&] {
           bool item = false;
           if (!in.read_bool(item)) return false;
           value.push_back(item);
           return true;
         });
}

void Codec<std::vector<Dims>>::write(std::string& out, const std::vector<Dims>& value) {
  out.push_back('{');
  write_items(out, value, ",", [&](const Dims& item) { Codec<Dims>::write(out, item); });
  out.push_back('}');
}

bool Codec<std::vector<Dims>>::read(TextCursor& in, std::vector<Dims>& value) {
  value.clear();
  return in.expect('{') &&
         read_items(in, '}', [&] { return Codec<Dims>::read(in, value.emplace_back()); });
}

void Codec<std::vector<Precision>>::write(std::string& out, const std::vector<Precision>& value) {
  out.push_back('{');
  write_items(out, value, ",", [&](Precision item) { Codec<Precision>::write(out, item); });
  out.push_back('}');
}

bool Codec<std::vector<Precision>>::read(TextCursor& in, std::vector<Precision>& value) {
  value.clear();
  return in.expect('{') &&
         read_items(in, '}', [&] { return Codec<Precision>::read(in, value.emplace_back()); });
}

void Codec<std::vector<SliceDimension>>::write(std::string& out,
                                               const std::vector<SliceDimension>& value) {
  bool strided =
      std::ranges::any_of(value, [](const SliceDimension& item) { return item.stride != 1; });
  out.push_back('{');
  write_items(out, value, ", ", [&](const SliceDimension& item) {
    base::append(out, "[", item.start, ":", item.limit);
    if (strided) base::append(out, ":", item.stride);
    out.push_back(']');
  });
  out.push_back('}');
}

bool Codec<std::vector<SliceDimension>>::read(TextCursor& in, std::vector<SliceDimension>& value) {
  value.clear();
  return in.expect('{') && read_items(in, '}', [&] {
           SliceDimension& item = value.emplace_back();
           return in.expect('[') && in.read_int(item.start) && in.expect(':') &&
                  in.read_int(item.limit) && (!in.accept(':') || in.read_int(item.stride)) &&
                  in.expect(']');
         });
}

void Codec<std::vector<PadDimension>>::write(std::string& out,
                                             const std::vector<PadDimension>& value) {
  bool interior =
      std::ranges::any_of(value, [](const PadDimension& item) { return item.interior != 0; });
  write_items(out, value, "x", [&](const PadDimension& item) {
    base::append(out, item.low, "_", item.high);
    if (interior) base::append(out, "_", item.interior);
  });
}

bool Codec<std::vector<PadDimension>>::read(TextCursor& in, std::vector<PadDimension>& value) {
  value.clear();
  if (char next = in.peek(); next != '-' && (next < '0' || next > '9'))
    return true;  // a scalar has no dimension to pad
  do {
    PadDimension& item = value.emplace_back();
    if (!in.read_int(item.low) || !in.expect('_') || !in.read_int(item.high)) return false;
    if (in.raw() == '_' && (!in.accept('_') || !in.read_int(item.interior))) return false;
  } while (in.raw() == 'x' && in.accept('x'));
  return true;
}

void Codec<std::vector<OperandAlias>>::write(std::string& out,
                                             const std::vector<OperandAlias>& value) {
  out.push_back('{');
  write_items(out, value, ", ", [&](const OperandAlias& item) {
    Codec<Dims>::write(out, item.output_index);
    base::append(out, ": (", item.operand, ", ");
    Codec<Dims>::write(out, item.operand_index);
    out.push_back(')');
  });
  out.push_back('}');
}

bool Codec<std::vector<OperandAlias>>::read(TextCursor& in, std::vector<OperandAlias>& value) {
  value.clear();
  return in.expect('{') && read_items(in, '}', [&] {
           OperandAlias& item = value.emplace_back();
           return Codec<Dims>::read(in, item.output_index) && in.expect(':') && in.expect('(') &&
                  in.read_int(item.operand) && in.expect(',') &&
                  Codec<Dims>::read(in, item.operand_index) && in.expect(')');
         });
}

void Codec<std::vector<SourceTarget>>::write(std::string& out,
                                             const std::vector<SourceTarget>& value) {
  out.push_back('{');
  write_items(out, value, ",", [&](const SourceTarget& item) {
    base::append(out, "{", item.source, ",", item.target, "}");
  });
  out.push_back('}');
}

bool Codec<std::vector<SourceTarget>>::read(TextCursor& in, std::vector<SourceTarget>& value) {
  value.clear();
  return in.expect('{') && read_items(in, '}', [&] {
           SourceTarget& item = value.emplace_back();
           return in.expect('{') && in.read_int(item.source) && in.expect(',') &&
                  in.read_int(item.target) && in.expect('}');
         });
}

void Codec<std::vector<Shape>>::write(std::string& out, const std::vector<Shape>& value) {
  out.push_back('{');
  write_items(out, value, ", ", [&](const Shape& item) { Codec<Shape>::write(out, item); });
  out.push_back('}');
}

bool Codec<std::vector<Shape>>::read(TextCursor& in, std::vector<Shape>& value) {
  value.clear();
  return in.expect('{') &&
         read_items(in, '}', [&] { return read_shape(in, value.emplace_back()); });
}

void Codec<Shape>::write(std::string& out, const Shape& value) {
  write_shape(out, value, /*layouts=*/true);
}
bool Codec<Shape>::read(TextCursor& in, Shape& value) { return read_shape(in, value); }

void Codec<Literal>::write(std::string& out, const Literal& value) {
  write_shape(out, value.shape(), /*layouts=*/true);
  out.push_back(' ');
  write_literal(out, value, -1);
}

bool Codec<Literal>::read(TextCursor& in, Literal& value) {
  Shape shape;
  return read_shape(in, shape) && read_literal(in, shape, value);
}

void Codec<FrontendAttributes>::write(std::string& out, const FrontendAttributes& value) {
  out.push_back('{');
  write_items(out, value, ",", [&](const auto& item) {
    base::append(out, item.first, "=");
    write_raw_or_quoted(out, item.second);
  });
  out.push_back('}');
}

bool Codec<FrontendAttributes>::read(TextCursor& in, FrontendAttributes& value) {
  value.clear();
  if (!in.expect('{')) return false;
  bool ok = read_items(in, '}', [&] {
    auto& [key, text] = value.emplace_back(in.word(), "");
    return (!key.empty() || in.fail_expected("name=")) && in.expect('=') &&
           read_raw_or_quoted(in, text);
  });
  if (!ok) return false;
  std::ranges::sort(value, {}, &FrontendAttributes::value_type::first);
  auto twice = std::ranges::adjacent_find(value, {}, &FrontendAttributes::value_type::first);
  return twice == value.end() ||
         in.fail("the attribute ", twice->first, " stands in this group twice");
}

void write_raw_or_quoted(std::string& out, std::string_view value) {
  if (is_brace_group(value)) {
    out.append(value);
  } else {
    append_quoted(out, value);
  }
}

bool read_raw_or_quoted(TextCursor& in, std::string& value) {
  return in.peek() == '{' ? read_group(in, value) : in.read_string(value);
}

bool read_group(TextCursor& in, std::string& value) {
  std::string_view group;
  if (!in.read_braces(group)) return false;
  value = group;
  return true;
}

int find_name(std::string_view name, const std::string_view* names, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!name.empty() && names[i] == name) return static_cast<int>(i);
  }
  return -1;
}

bool fail_enum(TextCursor& in, const std::string_view* names, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) {
    if (!names[i].empty()) base::append(all, all.empty() ? "" : " ", names[i]);
  }
  return in.fail_expected(base::cat("one of ", all));
}

}  // namespace heddle::hlo::text
