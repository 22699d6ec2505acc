// Shape: what a value is. An array (dtype and dimensions), a tuple of shapes, a token or an opaque
// handle.
//
// Written as XLA writes it: f32[2,3]{1,0}, s32[], (f32[4], pred[]), token[]. Row-major layout is
// the default and takes no space.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/containers/box.h"
#include "heddle/base/hash.h"
#include "heddle/base/int.h"
#include "heddle/base/status.h"
#include "heddle/hlo/dtype.h"

namespace heddle {

// How an array lies in memory, where it is not plain row-major. Heddle computes on logical
// positions; layouts are data that survives.
struct Layout {
  struct SplitConfig {
    int64_t dimension = 0;
    std::vector<int64_t> split_indices;
    friend bool operator==(const SplitConfig&, const SplitConfig&) = default;
  };
  std::vector<int64_t> minor_to_major;      // a permutation of the dimensions, fastest first
  std::vector<std::vector<int64_t>> tiles;  // T(8,128)(2,1); kCombineDimension prints as *
  int64_t tail_padding_alignment = 1;       // L(n), in elements
  DType index_type = DType::kInvalid;       // #(t)
  DType pointer_type = DType::kInvalid;     // *(t)
  int64_t element_size_in_bits = 0;         // E(bits)
  int64_t memory_space = 0;                 // S(space)
  std::vector<SplitConfig> split_configs;   // SC(d:i,j)
  int64_t metadata_prefix_bytes = 0;        // M(bytes)
  std::string physical_shape;               // P(shape), as text
  // D(..): 0 dense, 1 compressed, 2 singleton, 3 loose compressed
  std::vector<int64_t> dim_level_types;
  std::string unknown_proto;  // serialised fields of LayoutProto that are not above
  static constexpr int64_t kCombineDimension = INT64_MIN;
  friend bool operator==(const Layout&, const Layout&) = default;
};

// A handle to one immutable record, which all equal shapes of the process share: a copy is a
// pointer's, and so is equality. What changes a shape makes it the handle of another record. Safe
// from any thread, from the first static initialiser to the last destructor.
class Shape {
 public:
  static constexpr int64_t kMaxRank = 64;
  static constexpr int64_t kUnbounded = INT64_MIN;  // the size of a `?` dimension

  constexpr Shape() = default;  // invalid: no type yet
  Shape(DType dtype, std::vector<int64_t> dimensions);
  Shape(DType dtype, std::initializer_list<int64_t> dimensions);
  Shape(const Shape& other) noexcept : record_(other.record_) { retain(); }
  Shape(Shape&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Shape& operator=(const Shape& other) noexcept { return *this = Shape(other); }
  Shape& operator=(Shape&& other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~Shape() { release(); }

  static Shape scalar(DType dtype) { return Shape(dtype, {}); }
  static Shape tuple(std::vector<Shape> elements);
  static Shape token() { return Shape(DType::kToken, {}); }
  static Shape opaque() { return Shape(DType::kOpaque, {}); }
  static Shape buffer(Shape element);  // a reference to memory: b(f32[4])

  [[nodiscard]] DType dtype() const;
  [[nodiscard]] bool is_valid() const { return dtype() != DType::kInvalid; }
  [[nodiscard]] bool is_array() const { return is_array_element(dtype()); }
  [[nodiscard]] bool is_tuple() const { return dtype() == DType::kTuple; }
  [[nodiscard]] bool is_token() const { return dtype() == DType::kToken; }
  [[nodiscard]] bool is_scalar() const { return is_array() && rank() == 0; }
  [[nodiscard]] bool is_scalar(DType of) const { return dtype() == of && rank() == 0; }

  // Of an array. dimension(i) is the bound where the dimension is dynamic.
  [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(dimensions().size()); }
  [[nodiscard]] const std::vector<int64_t>& dimensions() const;
  [[nodiscard]] int64_t dimension(int64_t i) const { return dimensions()[static_cast<size_t>(i)]; }
  [[nodiscard]] bool has_dimension(int64_t i) const { return i >= 0 && i < rank(); }
  // The size of an axis, a negative one counted from the end. errors: std::out_of_range
  int64_t operator[](base::Int axis) const {
    return dimensions().at(static_cast<size_t>(axis < 0 ? axis + rank() : int64_t{axis}));
  }
  [[nodiscard]] int64_t element_count() const;  // of an array whose size was checked
  [[nodiscard]] int64_t byte_size() const;      // tuples: the sum over their leaves; tokens 0

  [[nodiscard]] bool is_dynamic() const { return dynamic_dimensions() != 0; }
  [[nodiscard]] bool is_dynamic_dimension(int64_t i) const {
    return (dynamic_dimensions() >> i) & 1;
  }
  void set_dynamic_dimension(int64_t i, bool dynamic);

  // Of a tuple.
  [[nodiscard]] const std::vector<Shape>& elements() const;
  [[nodiscard]] const Shape& element(int64_t i) const { return elements()[static_cast<size_t>(i)]; }
  [[nodiscard]] int64_t element_shapes() const { return static_cast<int64_t>(elements().size()); }

  // Null layout: row-major. set_layout takes a plain row-major layout for null, so that equal
  // layouts compare equal.
  [[nodiscard]] bool has_layout() const;
  [[nodiscard]] const Layout& layout() const;
  void set_layout(Layout layout);
  void clear_layout();  // of every leaf
  [[nodiscard]] std::vector<int64_t> minor_to_major() const;

  // Same with another element type, or without the layout.
  [[nodiscard]] Shape with_dtype(DType dtype) const;
  [[nodiscard]] Shape with_dimensions(std::vector<int64_t> dimensions) const {
    return {dtype(), std::move(dimensions)};
  }

  // Equal in all, layout included. See same_type() for the comparison that operands need.
  friend bool operator==(const Shape& a, const Shape& b) { return a.record_ == b.record_; }
  // Equal in types, sizes and dynamic flags; layouts are not looked at.
  friend bool same_type(const Shape& a, const Shape& b);
  // A hash of what same_type compares, the same in every process.
  friend void hash_value(base::Hasher& hasher, const Shape& shape);

 private:
  friend class ShapeTable;
  struct Record;
  struct Parts;
  explicit Shape(const Parts& parts);
  [[nodiscard]] Parts parts() const;
  [[nodiscard]] const Record& record() const;         // an invalid one where there is none
  [[nodiscard]] uint64_t dynamic_dimensions() const;  // bit i: dimension i is dynamic
  void retain() const;
  void release() const;
  void drop() const;

  const Record* record_ = nullptr;
};

// Returns f32[2,3], without layouts: the form of error messages.
std::string to_string(const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Shape& shape);  // to_string

// Equal dimensions, whatever the element types.
bool same_dimensions(const Shape& a, const Shape& b);

inline constexpr int kMaxTupleNesting = 64;

// Refuses negative sizes, rank above kMaxRank, layouts that are no permutation, nesting deeper than
// kMaxTupleNesting and byte sizes above 2^62.
Status check_shape(const Shape& shape);

// Row-major strides in elements.
std::vector<int64_t> row_major_strides(std::span<const int64_t> dimensions);

// What equal shapes share.
struct Shape::Record {
  DType dtype = DType::kInvalid;
  bool is_counted = false;  // else it is never freed
  uint64_t dynamic = 0;
  std::vector<int64_t> dimensions = {};
  std::vector<Shape> elements = {};
  base::Box<Layout> layout = {};
  Shape own_type = {};           // the same without layouts; of one that has them
  const Record* type = nullptr;  // that, or the record itself
  int64_t element_count = 1;
  int64_t byte_size = 0;
  base::Hash128 type_hash = {};
  uint64_t table_hash = 0;  // of this process
  mutable std::atomic<uint64_t> handles = 1;
  static const Record& invalid();
};

inline const Shape::Record& Shape::record() const {
  return record_ != nullptr ? *record_ : Record::invalid();
}
inline DType Shape::dtype() const { return record_ != nullptr ? record_->dtype : DType::kInvalid; }
inline const std::vector<int64_t>& Shape::dimensions() const { return record().dimensions; }
inline const std::vector<Shape>& Shape::elements() const { return record().elements; }
inline int64_t Shape::element_count() const { return record().element_count; }
inline int64_t Shape::byte_size() const { return record().byte_size; }
inline uint64_t Shape::dynamic_dimensions() const {
  return record_ != nullptr ? record_->dynamic : 0;
}
inline bool Shape::has_layout() const { return record_ != nullptr && record_->layout.has_value(); }
inline const Layout& Shape::layout() const { return record().layout.get(); }
inline void Shape::retain() const {
  if (record_ != nullptr && record_->is_counted)
    record_->handles.fetch_add(1, std::memory_order_relaxed);
}
inline void Shape::release() const {
  if (record_ != nullptr && record_->is_counted) drop();
}
inline bool same_type(const Shape& a, const Shape& b) {
  return a.record_ == b.record_ || a.record().type == b.record().type;
}

}  // namespace heddle
