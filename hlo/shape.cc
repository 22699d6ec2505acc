#include "heddle/hlo/shape.h"

#include <algorithm>
#include <ostream>

#include "heddle/hlo/internal/shape_table.h"

namespace heddle {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 62;

std::vector<int64_t> descending(int64_t rank) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = rank - 1 - i;
  return order;
}

bool is_permutation_of_rank(const std::vector<int64_t>& order, int64_t rank) {
  if (static_cast<int64_t>(order.size()) != rank) return false;
  uint64_t seen = 0;
  for (int64_t d : order) {
    if (d < 0 || d >= rank || ((seen >> d) & 1)) return false;
    seen |= uint64_t{1} << d;
  }
  return true;
}

Status check_array(const Shape& shape) {
  if (shape.rank() > Shape::kMaxRank) {
    return base::invalid_argument("shape: has rank ", shape.rank(), "; at most ", Shape::kMaxRank);
  }
  int64_t bytes = storage_bytes(shape.dtype());
  for (int64_t i = 0; i < shape.rank(); ++i) {
    int64_t size = shape.dimension(i);
    if (size == Shape::kUnbounded && shape.is_dynamic_dimension(i)) continue;
    if (size < 0)
      return base::invalid_argument("shape: dimension ", i, " is ", size, "; sizes are 0 or more");
    if (__builtin_mul_overflow(bytes, size == 0 ? 1 : size, &bytes) || bytes > kMaxBytes) {
      return base::resource_exhausted("shape: ", to_string(shape), " is larger than 2^62 bytes");
    }
  }
  if (shape.has_layout() && !is_permutation_of_rank(shape.layout().minor_to_major, shape.rank())) {
    return base::invalid_argument("shape: layout {", base::join(shape.layout().minor_to_major, ","),
                                  "} is no permutation of the dimensions of ", to_string(shape));
  }
  return {};
}

Status check_nested(const Shape& shape, int depth) {
  if (depth > kMaxTupleNesting)
    return base::resource_exhausted("shape: tuples nest deeper than ", kMaxTupleNesting);
  if (shape.is_array()) return check_array(shape);
  if (!shape.is_valid()) return base::invalid_argument("shape: has no element type");
  for (const Shape& element : shape.elements()) {
    HEDDLE_RETURN_IF_ERROR(check_nested(element, depth + 1));
  }
  return {};
}

}  // namespace

const Shape::Record& Shape::Record::invalid() {
  static const Record& none = *[] {
    auto* record = new Record;  // never destroyed, as other records that are not counted
    return record->type = record;
  }();
  return none;
}

Shape::Shape(const Parts& parts)
    : record_(parts.dtype == DType::kInvalid && parts.dimensions.empty() && parts.elements.empty()
                  ? nullptr
                  : ShapeTable::record_of(parts)) {}

Shape::Shape(DType dtype, std::vector<int64_t> dimensions)
    : Shape(Parts{.dtype = dtype, .dimensions = dimensions}) {}

Shape::Shape(DType dtype, std::initializer_list<int64_t> dimensions)
    : Shape(Parts{.dtype = dtype, .dimensions = {dimensions.begin(), dimensions.size()}}) {}

Shape Shape::tuple(std::vector<Shape> elements) {
  return Shape(Parts{.dtype = DType::kTuple, .elements = elements});
}

Shape Shape::buffer(Shape element) {
  return Shape(Parts{.dtype = DType::kBuffer, .elements = {&element, 1}});
}

void Shape::drop() const { ShapeTable::drop(record_); }

Shape::Parts Shape::parts() const {
  return {dtype(), dynamic_dimensions(), dimensions(), elements(),
          has_layout() ? &layout() : nullptr};
}

void Shape::set_dynamic_dimension(int64_t i, bool dynamic) {
  const uint64_t bit = uint64_t{1} << i;
  Parts changed = parts();
  changed.dynamic = dynamic ? (changed.dynamic | bit) : (changed.dynamic & ~bit);
  *this = Shape(changed);
}

void Shape::set_layout(Layout layout) {
  Layout plain;
  plain.minor_to_major = descending(rank());
  Parts changed = parts();
  changed.layout = layout == plain ? nullptr : &layout;
  *this = Shape(changed);
}

void Shape::clear_layout() {
  if (record().own_type.is_valid()) *this = Shape(record().own_type);
}

std::vector<int64_t> Shape::minor_to_major() const {
  return has_layout() ? layout().minor_to_major : descending(rank());
}

Shape Shape::with_dtype(DType dtype) const {
  if (dtype == this->dtype()) return *this;
  Parts changed = parts();
  changed.dtype = dtype;
  return Shape(changed);
}

bool same_dimensions(const Shape& a, const Shape& b) { return a.dimensions() == b.dimensions(); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

std::string to_string(const Shape& shape) {
  if (shape.is_tuple()) return base::cat("(", base::join(shape.elements(), ", "), ")");
  std::string out(to_string(shape.dtype()));
  out.push_back('[');
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) out.push_back(',');
    bool dynamic = shape.is_dynamic_dimension(i);
    if (dynamic && shape.dimension(i) == Shape::kUnbounded) {
      out.push_back('?');
    } else {
      base::append(out, dynamic ? "<=" : "", shape.dimension(i));
    }
  }
  out.push_back(']');
  return out;
}

Status check_shape(const Shape& shape) { return check_nested(shape, 0); }

void hash_value(base::Hasher& hasher, const Shape& shape) {
  hash_value(hasher, shape.record().type_hash);
}

std::vector<int64_t> row_major_strides(std::span<const int64_t> dimensions) {
  std::vector<int64_t> strides(dimensions.size(), 1);
  for (size_t i = dimensions.size(); i-- > 1;) strides[i - 1] = strides[i] * dimensions[i];
  return strides;
}

}  // namespace heddle
