// Shape: what a value is. An array (dtype and dimensions), a tuple of shapes, a token or an opaque
// handle.
//
// Written as XLA writes it: f32[2,3]{1,0}, s32[], (f32[4], pred[]), token[]. Row-major layout is
// the default and takes no space.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/box.h"
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

class Shape {
 public:
  static constexpr int64_t kMaxRank = 64;
  static constexpr int64_t kUnbounded = INT64_MIN;  // the size of a `?` dimension

  Shape() = default;  // invalid: no type yet
  Shape(DType dtype, std::vector<int64_t> dimensions)
      : dtype_(dtype), dimensions_(std::move(dimensions)) {}

  static Shape scalar(DType dtype) { return Shape(dtype, {}); }
  static Shape tuple(std::vector<Shape> elements);
  static Shape token() { return Shape(DType::kToken, {}); }
  static Shape opaque() { return Shape(DType::kOpaque, {}); }
  static Shape buffer(Shape element);  // a reference to memory: b(f32[4])

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] bool is_valid() const { return dtype_ != DType::kInvalid; }
  [[nodiscard]] bool is_array() const { return is_array_element(dtype_); }
  [[nodiscard]] bool is_tuple() const { return dtype_ == DType::kTuple; }
  [[nodiscard]] bool is_token() const { return dtype_ == DType::kToken; }
  [[nodiscard]] bool is_scalar() const { return is_array() && dimensions_.empty(); }
  [[nodiscard]] bool is_scalar(DType dtype) const { return dtype_ == dtype && dimensions_.empty(); }

  // Of an array. dimension(i) is the bound where the dimension is dynamic.
  [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(dimensions_.size()); }
  [[nodiscard]] const std::vector<int64_t>& dimensions() const { return dimensions_; }
  [[nodiscard]] int64_t dimension(int64_t i) const { return dimensions_[static_cast<size_t>(i)]; }
  [[nodiscard]] bool has_dimension(int64_t i) const { return i >= 0 && i < rank(); }
  // The size of an axis, a negative one counted from the end. errors: std::out_of_range
  int64_t operator[](base::Int axis) const {
    return dimensions_.at(static_cast<size_t>(axis < 0 ? axis + rank() : int64_t{axis}));
  }
  [[nodiscard]] int64_t element_count() const;  // of an array whose size was checked
  [[nodiscard]] int64_t byte_size() const;      // tuples: the sum over their leaves; tokens 0

  [[nodiscard]] bool is_dynamic() const { return dynamic_ != 0; }
  [[nodiscard]] bool is_dynamic_dimension(int64_t i) const { return (dynamic_ >> i) & 1; }
  void set_dynamic_dimension(int64_t i, bool dynamic);

  // Of a tuple.
  [[nodiscard]] const std::vector<Shape>& elements() const { return elements_; }
  [[nodiscard]] const Shape& element(int64_t i) const { return elements_[static_cast<size_t>(i)]; }
  [[nodiscard]] int64_t element_shapes() const { return static_cast<int64_t>(elements_.size()); }

  // Null layout: row-major. set_layout keeps a plain row-major layout as null, so that equal
  // layouts compare equal.
  [[nodiscard]] bool has_layout() const { return layout_.has_value(); }
  [[nodiscard]] const Layout& layout() const { return layout_.get(); }
  void set_layout(Layout layout);
  void clear_layout();  // of every leaf
  [[nodiscard]] std::vector<int64_t> minor_to_major() const;

  // Same with another element type, or without the layout.
  [[nodiscard]] Shape with_dtype(DType dtype) const;
  [[nodiscard]] Shape with_dimensions(std::vector<int64_t> dimensions) const {
    return {dtype_, std::move(dimensions)};
  }

  // Equal in all, layout included. See same_type() for the comparison that operands need.
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  DType dtype_ = DType::kInvalid;
  uint64_t dynamic_ = 0;  // bit i: dimension i is dynamic
  std::vector<int64_t> dimensions_;
  std::vector<Shape> elements_;
  base::Box<Layout> layout_;
};

// Returns f32[2,3], without layouts: the form of error messages.
std::string to_string(const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Shape& shape);  // to_string

// Equal in types, sizes and dynamic flags; layouts are not looked at.
bool same_type(const Shape& a, const Shape& b);

// Equal dimensions, whatever the element types.
bool same_dimensions(const Shape& a, const Shape& b);

// Refuses negative sizes, rank above kMaxRank, layouts that are no permutation, nesting deeper than
// 64 and byte sizes above 2^62.
Status check_shape(const Shape& shape);

// Layouts count not: a hash of what same_type compares.
void hash_value(base::Hasher& hasher, const Shape& shape);

// Row-major strides in elements.
std::vector<int64_t> row_major_strides(std::span<const int64_t> dimensions);

}  // namespace heddle
