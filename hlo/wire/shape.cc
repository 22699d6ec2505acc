#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

const google::protobuf::UnknownFieldSet& unknown_fields(const proto::LayoutProto& message) {
  return message.GetReflection()->GetUnknownFields(message);
}

bool is_descending(const google::protobuf::RepeatedField<int64_t>& order) {
  for (int i = 0; i < order.size(); ++i) {
    if (order[i] != order.size() - 1 - i) return false;
  }
  return true;
}

// Says nothing but row-major; most layouts are so, and take no space in a Shape.
bool is_plain(const proto::LayoutProto& from, int rank) {
  return from.minor_to_major_size() == rank && is_descending(from.minor_to_major()) &&
         from.tiles_size() == 0 && from.element_size_in_bits() == 0 && from.memory_space() == 0 &&
         from.dim_level_types_size() == 0 && !from.has_physical_shape() &&
         from.index_primitive_type() == 0 && from.pointer_primitive_type() == 0 &&
         from.dim_unique_size() == 0 && from.dim_ordered_size() == 0 &&
         from.split_configs_size() == 0 && from.dynamic_shape_metadata_prefix_bytes() == 0 &&
         from.tail_padding_alignment_in_elements() <= 1 && unknown_fields(from).empty();
}

StatusOr<DType> read_dtype(int number) {
  DType dtype = number >= 0 && number <= 255 ? static_cast<DType>(number) : DType::kInvalid;
  bool known = is_array_element(dtype) || dtype == DType::kTuple || dtype == DType::kToken ||
               dtype == DType::kOpaque || dtype == DType::kBuffer;
  if (!known) return base::invalid_argument("shape: element type number ", number, " is not known");
  return dtype;
}

// Types of indices in sparse layouts; 0 is none.
StatusOr<DType> read_index_type(int number) {
  if (number == 0) return DType::kInvalid;
  return read_dtype(number);
}

void read_lists(const proto::LayoutProto& from, Layout& to) {
  to.minor_to_major.assign(from.minor_to_major().begin(), from.minor_to_major().end());
  to.dim_level_types.assign(from.dim_level_types().begin(), from.dim_level_types().end());
  for (const auto& tile : from.tiles())
    to.tiles.emplace_back(tile.dimensions().begin(), tile.dimensions().end());
  for (const auto& split : from.split_configs()) {
    to.split_configs.push_back(
        {split.dimension(), {split.split_indices().begin(), split.split_indices().end()}});
  }
}

std::string unknown_parts(const proto::LayoutProto& from) {
  proto::LayoutProto rest;
  if (from.has_physical_shape()) *rest.mutable_physical_shape() = from.physical_shape();
  *rest.mutable_dim_unique() = from.dim_unique();
  *rest.mutable_dim_ordered() = from.dim_ordered();
  rest.GetReflection()->MutableUnknownFields(&rest)->MergeFrom(unknown_fields(from));
  return bytes_of(rest);
}

StatusOr<Layout> read_layout(const proto::LayoutProto& from) {
  Layout to;
  read_lists(from, to);
  to.element_size_in_bits = from.element_size_in_bits();
  to.memory_space = from.memory_space();
  to.metadata_prefix_bytes = from.dynamic_shape_metadata_prefix_bytes();
  if (from.tail_padding_alignment_in_elements() != 0) {
    to.tail_padding_alignment = from.tail_padding_alignment_in_elements();
  }
  HEDDLE_ASSIGN_OR_RETURN(to.index_type, read_index_type(from.index_primitive_type()));
  HEDDLE_ASSIGN_OR_RETURN(to.pointer_type, read_index_type(from.pointer_primitive_type()));
  to.unknown_proto = unknown_parts(from);
  return to;
}

void write_layout(const Layout& from, proto::LayoutProto& to) {
  merge(from.unknown_proto, to);
  to.mutable_minor_to_major()->Add(from.minor_to_major.begin(), from.minor_to_major.end());
  for (const auto& tile : from.tiles)
    to.add_tiles()->mutable_dimensions()->Add(tile.begin(), tile.end());
  for (int64_t type : from.dim_level_types)
    to.add_dim_level_types(static_cast<proto::DimLevelType>(type));
  for (const Layout::SplitConfig& split : from.split_configs) {
    proto::SplitConfigProto& config = *to.add_split_configs();
    config.set_dimension(split.dimension);
    config.mutable_split_indices()->Add(split.split_indices.begin(), split.split_indices.end());
  }
  to.set_element_size_in_bits(from.element_size_in_bits);
  to.set_memory_space(from.memory_space);
  to.set_dynamic_shape_metadata_prefix_bytes(from.metadata_prefix_bytes);
  to.set_tail_padding_alignment_in_elements(from.tail_padding_alignment);
  to.set_index_primitive_type(static_cast<proto::PrimitiveType>(from.index_type));
  to.set_pointer_primitive_type(static_cast<proto::PrimitiveType>(from.pointer_type));
}

void write_array(const Shape& shape, proto::ShapeProto& to) {
  to.mutable_dimensions()->Add(shape.dimensions().begin(), shape.dimensions().end());
  for (int64_t i = 0; i < shape.rank(); ++i)
    to.add_is_dynamic_dimension(shape.is_dynamic_dimension(i));
  if (shape.has_layout()) return write_layout(shape.layout(), *to.mutable_layout());
  for (int64_t i = shape.rank(); i-- > 0;) to.mutable_layout()->add_minor_to_major(i);
  to.mutable_layout()->set_tail_padding_alignment_in_elements(1);
}

StatusOr<Shape> read_array(DType dtype, const proto::ShapeProto& from) {
  const int rank = from.dimensions_size();
  if (rank > Shape::kMaxRank)
    return base::invalid_argument("shape: has rank ", rank, "; at most ", Shape::kMaxRank);
  if (from.is_dynamic_dimension_size() > rank) {
    return base::invalid_argument("shape: has ", from.is_dynamic_dimension_size(),
                                  " dynamic flags for rank ", rank);
  }
  Shape shape(dtype, {from.dimensions().begin(), from.dimensions().end()});
  for (int i = 0; i < from.is_dynamic_dimension_size(); ++i) {
    if (from.is_dynamic_dimension(i)) shape.set_dynamic_dimension(i, true);
  }
  if (from.has_layout() && !is_plain(from.layout(), rank)) {
    HEDDLE_ASSIGN_OR_RETURN(Layout layout, read_layout(from.layout()));
    shape.set_layout(std::move(layout));
  }
  return shape;
}

StatusOr<Shape> read_nested(const proto::ShapeProto& from, int depth) {
  if (depth > kMaxTupleNesting)
    return base::resource_exhausted("shape: tuples nest deeper than ", kMaxTupleNesting);
  HEDDLE_ASSIGN_OR_RETURN(DType dtype, read_dtype(from.element_type()));
  if (is_array_element(dtype)) return read_array(dtype, from);
  std::vector<Shape> elements;
  elements.reserve(static_cast<size_t>(from.tuple_shapes_size()));
  for (const proto::ShapeProto& element : from.tuple_shapes()) {
    HEDDLE_ASSIGN_OR_RETURN(elements.emplace_back(), read_nested(element, depth + 1));
  }
  return Shape::tuple(std::move(elements)).with_dtype(dtype);
}

}  // namespace

void write_shape(const Shape& shape, proto::ShapeProto& to) {
  to.set_element_type(static_cast<proto::PrimitiveType>(shape.dtype()));
  if (shape.is_array()) write_array(shape, to);
  for (const Shape& element : shape.elements()) write_shape(element, *to.add_tuple_shapes());
}

StatusOr<Shape> read_shape(const proto::ShapeProto& from) {
  HEDDLE_ASSIGN_OR_RETURN(Shape shape, read_nested(from, 0));
  HEDDLE_RETURN_IF_ERROR(check_shape(shape));
  return shape;
}

}  // namespace heddle::hlo::wire
