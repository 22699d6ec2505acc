#include "heddle/hlo/text/internal/shapes.h"

#include <utility>

namespace heddle::hlo::text {
namespace {

constexpr std::string_view kLevelTypes = "DCSH";  // dense, compressed, singleton, loose compressed

bool read_dimension(TextCursor& in, std::vector<int64_t>& sizes, uint64_t& dynamic) {
  bool bounded = in.accept("<=");
  bool unbounded = in.accept('?');
  int64_t size = Shape::kUnbounded;
  if (!unbounded && !in.read_int(size)) return false;
  if (!unbounded && size < 0) return in.fail("a dimension is negative; sizes are 0 or more");
  if (sizes.size() == Shape::kMaxRank) return in.fail("rank is more than ", Shape::kMaxRank);
  if (bounded || unbounded) dynamic |= uint64_t{1} << sizes.size();
  sizes.push_back(size);
  return true;
}

// Integers up to the closing bracket, which is read too; `*` stands for `star`.
bool read_list(TextCursor& in, std::vector<int64_t>& values, char close, int64_t star = 0) {
  while (!in.accept(close)) {
    if (!values.empty() && !in.expect(',')) return false;
    int64_t value = star;
    if (!(star != 0 && in.accept('*')) && !in.read_int(value)) return false;
    values.push_back(value);
  }
  return true;
}

bool read_number_in_parens(TextCursor& in, int64_t& value) {
  return in.expect('(') && in.read_int(value) && in.expect(')');
}

bool read_dtype_in_parens(TextCursor& in, DType& dtype) {
  if (!in.expect('(')) return false;
  auto found = parse_dtype(in.word());
  if (!found) return in.fail_expected("an element type");
  dtype = *found;
  return in.expect(')');
}

bool read_tiles(TextCursor& in, Layout& layout) {
  while (in.accept('(')) {
    if (!read_list(in, layout.tiles.emplace_back(), ')', Layout::kCombineDimension)) return false;
  }
  return true;
}

bool read_split_configs(TextCursor& in, Layout& layout) {
  while (in.accept('(')) {
    Layout::SplitConfig& split = layout.split_configs.emplace_back();
    if (!in.read_int(split.dimension) || !in.expect(':')) return false;
    if (!read_list(in, split.split_indices, ')')) return false;
  }
  return true;
}

bool read_level_types(TextCursor& in, Layout& layout) {
  if (!in.expect('(')) return false;
  while (!in.accept(')')) {
    if (!layout.dim_level_types.empty() && !in.expect(',')) return false;
    size_t type = kLevelTypes.find(in.peek());
    if (type == std::string_view::npos || !in.accept(kLevelTypes[type]))
      return in.fail_expected("a level type (D, C, S or H)");
    layout.dim_level_types.push_back(static_cast<int64_t>(type));
  }
  return true;
}

// The shape is kept as text.
bool read_physical_shape(TextCursor& in, Layout& layout) {
  if (!in.expect('(')) return false;
  size_t start = in.position();
  Shape ignored;
  if (!read_shape(in, ignored)) return false;
  layout.physical_shape = in.between(start, in.position());
  return in.expect(')');
}

bool read_property(TextCursor& in, Layout& layout) {
  if (in.accept("SC")) return read_split_configs(in, layout);
  if (in.accept('T')) return read_tiles(in, layout);
  if (in.accept('L')) return read_number_in_parens(in, layout.tail_padding_alignment);
  if (in.accept('#')) return read_dtype_in_parens(in, layout.index_type);
  if (in.accept('*')) return read_dtype_in_parens(in, layout.pointer_type);
  if (in.accept('E')) return read_number_in_parens(in, layout.element_size_in_bits);
  if (in.accept('S')) return read_number_in_parens(in, layout.memory_space);
  if (in.accept('M')) return read_number_in_parens(in, layout.metadata_prefix_bytes);
  if (in.accept('D')) return read_level_types(in, layout);
  if (in.accept('P')) return read_physical_shape(in, layout);
  return in.fail_expected("a property of a layout (D T L # * E S SC P M)");
}

// After the '{'.
bool read_layout(TextCursor& in, Layout& layout) {
  while (in.peek() != '}' && in.peek() != ':') {
    int64_t dimension = 0;
    if (!layout.minor_to_major.empty() && !in.expect(',')) return false;
    if (!in.read_int(dimension)) return false;
    layout.minor_to_major.push_back(dimension);
  }
  if (in.accept(':')) {
    while (in.peek() != '}') {
      if (!read_property(in, layout)) return false;
    }
  }
  return in.expect('}');
}

// A brace after a shape opens its layout only if an integer, ':' or, right at a scalar, '}'
// follows.
bool at_layout(TextCursor& in, int64_t rank) {
  bool adjacent = in.raw() == '{';
  size_t start = in.position();
  if (!in.accept('{')) return false;
  char next = in.peek();
  in.rewind(start);
  return (next >= '0' && next <= '9') || next == ':' || (adjacent && rank == 0 && next == '}');
}

// Reads over a layout that says row-major as printers write it: nearly all do.
bool accept_row_major(TextCursor& in, int64_t rank) {
  static constexpr std::string_view kDescending = "{9,8,7,6,5,4,3,2,1,0}";
  if (rank < 1 || rank > 10) return false;
  size_t start = in.position();
  if (in.accept('{') &&
      in.accept(kDescending.substr(kDescending.size() - 2 * static_cast<size_t>(rank))))
    return true;
  in.rewind(start);
  return false;
}

bool read_array(TextCursor& in, DType dtype, Shape& shape) {
  std::vector<int64_t> sizes;
  uint64_t dynamic = 0;
  while (!in.accept(']')) {
    if (sizes.empty()) {
      sizes.reserve(4);
    } else if (!in.expect(',')) {
      return false;
    }
    if (!read_dimension(in, sizes, dynamic)) return false;
  }
  shape = Shape(dtype, std::move(sizes));
  for (int64_t i = 0; dynamic >> i != 0 && i < shape.rank(); ++i) {
    if ((dynamic >> i) & 1) shape.set_dynamic_dimension(i, true);
  }
  if (!at_layout(in, shape.rank()) || accept_row_major(in, shape.rank())) return true;
  Layout layout;
  if (!in.accept('{') || !read_layout(in, layout)) return false;
  shape.set_layout(std::move(layout));
  return true;
}

bool read_nested(TextCursor& in, Shape& shape, int depth);

bool read_tuple(TextCursor& in, Shape& shape, int depth) {
  std::vector<Shape> elements;
  while (!in.accept(')')) {
    if (!elements.empty() && !in.expect(',')) return false;
    if (!read_nested(in, elements.emplace_back(), depth + 1)) return false;
  }
  shape = Shape::tuple(std::move(elements));
  return true;
}

bool read_nested(TextCursor& in, Shape& shape, int depth) {
  if (depth > kMaxTupleNesting)
    return in.fail_at(in.position(),
                      base::resource_exhausted("tuples nest deeper than ", kMaxTupleNesting));
  if (in.accept('(')) return read_tuple(in, shape, depth);
  size_t start = in.position();
  auto dtype = parse_dtype(in.word());
  if (!dtype || *dtype == DType::kTuple) {
    in.rewind(start);
    return in.fail_expected("a shape");
  }
  if (*dtype == DType::kBuffer) {
    Shape element;
    if (!in.expect('(') || !read_nested(in, element, depth + 1) || !in.expect(')')) return false;
    shape = Shape::buffer(std::move(element));
    return true;
  }
  if (!in.expect('[')) return false;
  if (is_array_element(*dtype)) return read_array(in, *dtype, shape);
  shape = Shape(*dtype, {});
  return in.expect(']');
}

void write_list(std::string& out, const std::vector<int64_t>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.push_back(',');
    if (values[i] == Layout::kCombineDimension) {
      out.push_back('*');
    } else {
      base::append(out, values[i]);
    }
  }
}

void write_properties(std::string& out, const Layout& layout) {
  if (!layout.dim_level_types.empty()) {
    out.append("D(");
    for (size_t i = 0; i < layout.dim_level_types.size(); ++i) {
      base::append(out, i > 0 ? "," : "",
                   kLevelTypes[static_cast<size_t>(layout.dim_level_types[i]) & 3]);
    }
    out.push_back(')');
  }
  if (!layout.tiles.empty()) out.push_back('T');
  for (const auto& tile : layout.tiles) {
    out.push_back('(');
    write_list(out, tile);
    out.push_back(')');
  }
  if (layout.tail_padding_alignment != 1)
    base::append(out, "L(", layout.tail_padding_alignment, ")");
  if (layout.index_type != DType::kInvalid) base::append(out, "#(", layout.index_type, ")");
  if (layout.pointer_type != DType::kInvalid) base::append(out, "*(", layout.pointer_type, ")");
  if (layout.element_size_in_bits != 0) base::append(out, "E(", layout.element_size_in_bits, ")");
  if (layout.memory_space != 0) base::append(out, "S(", layout.memory_space, ")");
  if (!layout.split_configs.empty()) out.append("SC");
  for (const Layout::SplitConfig& split : layout.split_configs) {
    base::append(out, "(", split.dimension, ":");
    write_list(out, split.split_indices);
    out.push_back(')');
  }
  if (!layout.physical_shape.empty()) base::append(out, "P(", layout.physical_shape, ")");
  if (layout.metadata_prefix_bytes != 0) base::append(out, "M(", layout.metadata_prefix_bytes, ")");
}

void write_layout(std::string& out, const Shape& shape) {
  if (!shape.has_layout()) {
    if (shape.rank() == 0) return;
    base::append(out, "{", shape.rank() - 1);
    for (int64_t i = shape.rank() - 1; i-- > 0;) base::append(out, ",", i);
    out.push_back('}');
    return;
  }
  std::string properties;
  write_properties(properties, shape.layout());
  out.push_back('{');
  write_list(out, shape.layout().minor_to_major);
  base::append(out, properties.empty() ? "" : ":", properties, "}");
}

void write_array(std::string& out, const Shape& shape, bool layouts) {
  base::append(out, to_string(shape.dtype()), "[");
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) out.push_back(',');
    if (shape.dimension(i) == Shape::kUnbounded) {
      out.push_back('?');
    } else {
      base::append(out, shape.is_dynamic_dimension(i) ? "<=" : "", shape.dimension(i));
    }
  }
  out.push_back(']');
  if (layouts && shape.is_array()) write_layout(out, shape);
}

}  // namespace

bool read_shape(TextCursor& in, Shape& shape) {
  size_t start = in.position();
  if (!read_nested(in, shape, 0)) return false;
  if (Status status = check_shape(shape); !status.ok()) return in.fail_at(start, status);
  return true;
}

void write_separator(std::string& out, size_t i, bool index_comments) {
  if (i == 0) return;
  out.append(", ");
  if (index_comments && i % 5 == 0) base::append(out, "/*index=", i, "*/");
}

void write_shape(std::string& out, const Shape& shape, bool layouts) {
  if (shape.dtype() == DType::kBuffer) {
    out.append("b(");
    for (const Shape& element : shape.elements()) write_shape(out, element, layouts);
    out.push_back(')');
  } else if (!shape.is_tuple()) {
    write_array(out, shape, layouts);
  } else {
    out.push_back('(');
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      write_separator(out, i, /*index_comments=*/true);
      write_shape(out, shape.elements()[i], layouts);
    }
    out.push_back(')');
  }
}

bool at_shape(TextCursor& in) {
  if (in.peek() == '(') return true;
  std::string_view word = in.peek_word();
  return !word.empty() &&
         (in.raw(word.size()) == '[' || (word == "b" && in.raw(word.size()) == '('));
}

}  // namespace heddle::hlo::text
