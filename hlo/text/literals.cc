// Literals: { { 1, 2 }, { 3, 4 } }, ( {1}, 2.5 ), {...}.
#include <algorithm>
#include <span>

#include "heddle/hlo/text/internal/elements.h"

namespace heddle::hlo::text {
namespace {

class ArrayWriter {
 public:
  ArrayWriter(std::string& out, const Literal& literal)
      : out_(out), literal_(literal), sizes_(literal.shape().dimensions()), at_(literal.bytes()) {}

  void write() {
    if (sizes_.empty()) {
      write_element(out_, dtype(), at_);
    } else if (empties() > kMaxEmpties) {
      out_.append("{}");
    } else {
      write_dimension(0, 0);
    }
  }

 private:
  static constexpr int64_t kMaxEmpties =
      1000;  // f32[3,0] is { {}, {}, {} }; of more than so many empties, one stands for all

  [[nodiscard]] int64_t empties() const {
    if (literal_.element_count() > 0) return 0;
    int64_t count = 1;
    for (size_t i = 0; sizes_[i] != 0; ++i) count *= sizes_[i];
    return count;
  }

  [[nodiscard]] DType dtype() const { return literal_.shape().dtype(); }

  // `index` is the position of this group in the dimension outside it.
  void write_dimension(size_t dimension, int64_t index) {
    bool innermost = dimension + 1 == sizes_.size();
    int64_t size = sizes_[dimension];
    std::string_view space = innermost && (sizes_.size() == 1 || size <= 1) ? "" : " ";
    out_.push_back('{');
    if (!innermost && sizes_.size() > 3 && dimension > 0) {
      base::append(out_, " /*i", dimension - 1, "=", index, "*/", size > 0 ? " " : "");
    } else {
      out_.append(space);
    }
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) out_.append(", ");
      if (innermost) {
        write_next();
      } else {
        write_dimension(dimension + 1, i);
      }
    }
    base::append(out_, space, "}");
  }

  void write_next() {
    if (dtype() == pred) {
      out_.push_back(std::to_integer<int>(*at_) != 0 ? '1' : '0');
    } else {
      write_element(out_, dtype(), at_);
    }
    at_ += storage_bytes(dtype());
  }

  std::string& out_;
  const Literal& literal_;
  std::span<const int64_t> sizes_;
  const std::byte* at_;
};

class ArrayReader {
 public:
  ArrayReader(TextCursor& in, const Shape& shape) : in_(in), shape_(shape) {}

  bool read(Literal& literal) {
    const size_t start = in_.position();
    if (shape_.is_dynamic())
      return in_.fail("a constant cannot be of dynamic size: ", to_string(shape_));
    // An element takes a character and, but for the last one, a comma or a blank.
    if (shape_.element_count() > static_cast<int64_t>(in_.remaining() / 2 + 1)) {
      return in_.fail_at(start, base::invalid_argument("the constant ends before all elements of ",
                                                       to_string(shape_)));
    }
    literal = Literal::uninitialised(shape_);
    at_ = literal.mutable_bytes();
    return shape_.rank() == 0 ? read_element(in_, shape_.dtype(), at_) : read_dimension(0);
  }

 private:
  bool read_dimension(int64_t dimension) {
    if (!in_.expect('{')) return false;
    if (shape_.element_count() == 0 && in_.accept('}'))
      return true;  // empties need not be spelled out
    for (int64_t i = 0; i < shape_.dimension(dimension); ++i) {
      in_.accept(',');
      if (in_.peek() == '}') return fail_count(dimension, "has only ", i);
      if (!read_item(dimension)) return false;
    }
    in_.accept(',');
    return in_.accept('}') || in_.failed() ||
           fail_count(dimension, "has more than ", shape_.dimension(dimension));
  }

  bool read_item(int64_t dimension) {
    if (dimension + 1 < shape_.rank()) return read_dimension(dimension + 1);
    if (in_.peek() == '{') return in_.fail("the constant nests deeper than ", to_string(shape_));
    if (!read_element(in_, shape_.dtype(), at_)) return false;
    at_ += storage_bytes(shape_.dtype());
    return true;
  }

  bool fail_count(int64_t dimension, std::string_view what, int64_t count) {
    return in_.fail("dimension ", dimension, " of the constant ", what, count, " elements; ",
                    to_string(shape_), " needs ", shape_.dimension(dimension));
  }

  TextCursor& in_;
  const Shape& shape_;
  std::byte* at_ = nullptr;
};

bool accept_elided(TextCursor& in) {
  const size_t start = in.position();
  if (in.accept('{') && in.accept("...") && in.accept('}')) return true;
  in.rewind(start);
  return false;
}

// Of a tuple: the tuple of such, since a literal of a tuple has its elements.
Literal elided(const Shape& shape) {
  if (!shape.is_tuple()) return Literal::elided(shape);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(elided(element));
  return Literal::tuple(std::move(elements));
}

// A tuple that was elided as a whole is printed so.
bool is_all_elided(const Literal& literal) {
  if (!literal.is_tuple()) return literal.is_elided();
  return !literal.elements().empty() && std::ranges::all_of(literal.elements(), is_all_elided);
}

bool read_tuple(TextCursor& in, const Shape& shape, Literal& literal) {
  std::vector<Literal> elements;
  if (!in.expect('(')) return false;
  for (const Shape& element : shape.elements()) {
    in.accept(',');
    if (!read_literal(in, element, elements.emplace_back())) return false;
  }
  in.accept(',');
  literal = Literal::tuple(std::move(elements));
  return in.expect(')');
}

}  // namespace

void write_literal(std::string& out, const Literal& literal, int64_t max_elements) {
  if (is_all_elided(literal)) {
    out.append("{...}");
    return;
  }
  if (literal.is_tuple()) {
    for (size_t i = 0; i < literal.elements().size(); ++i) {
      out.append(i == 0 ? "( " : ", ");
      write_literal(out, literal.elements()[i], max_elements);
    }
    out.append(literal.elements().empty() ? "()" : " )");
    return;
  }
  if (!literal.shape().is_array()) return;
  bool too_long =
      max_elements >= 0 && literal.shape().rank() > 0 && literal.element_count() > max_elements;
  if (too_long) {
    out.append("{...}");
  } else {
    ArrayWriter(out, literal).write();
  }
}

bool read_literal(TextCursor& in, const Shape& shape, Literal& literal) {
  const bool may_be_elided = shape.is_tuple() || (shape.is_array() && shape.rank() > 0);
  if (may_be_elided && accept_elided(in)) {
    literal = elided(shape);
    return true;
  }
  if (shape.is_tuple()) return read_tuple(in, shape, literal);
  if (!shape.is_array()) return in.fail("a constant cannot be of type ", to_string(shape));
  return ArrayReader(in, shape).read(literal);
}

}  // namespace heddle::hlo::text
