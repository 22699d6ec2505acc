// The attributes of each opcode and their fields in HloInstructionProto. A new attribute needs at
// most one line here.
#include <array>

#include "heddle/hlo/wire/internal/fields.h"

namespace heddle::hlo::wire {

#define HEDDLE_PLACES(Struct, ...) \
  template <>                      \
  inline constexpr auto kPlaces<Struct> = std::to_array<Place>({__VA_ARGS__})

HEDDLE_PLACES(ParameterAttrs, {"number", "parameter_number"});
HEDDLE_PLACES(IotaAttrs, {"iota_dimension", "dimensions"});
HEDDLE_PLACES(ReshapeAttrs, {"inferred_dimension", "dimensions"});
HEDDLE_PLACES(TupleIndexAttrs, {"index", "tuple_index"});
HEDDLE_PLACES(CompareAttrs, {"direction", "comparison_direction"}, {"type", "comparison_type"});
HEDDLE_PLACES(SliceAttrs, {"slice", "slice_dimensions"});
HEDDLE_PLACES(PadDimension, {"low", "edge_padding_low"}, {"high", "edge_padding_high"},
              {"interior", "interior_padding"});
HEDDLE_PLACES(PadAttrs, {"padding", "padding_config.dimensions"});
HEDDLE_PLACES(GatherAttrs, {"offset_dims", "gather_dimension_numbers.offset_dims"},
              {"collapsed_slice_dims", "gather_dimension_numbers.collapsed_slice_dims"},
              {"start_index_map", "gather_dimension_numbers.start_index_map"},
              {"operand_batching_dims", "gather_dimension_numbers.operand_batching_dims"},
              {"start_indices_batching_dims",
               "gather_dimension_numbers.start_indices_batching_dims"},
              {"index_vector_dim", "gather_dimension_numbers.index_vector_dim"},
              {"slice_sizes", "gather_slice_sizes"});
HEDDLE_PLACES(ScatterAttrs, {"update_window_dims", "scatter_dimension_numbers.update_window_dims"},
              {"inserted_window_dims", "scatter_dimension_numbers.inserted_window_dims"},
              {"scatter_dims_to_operand_dims",
               "scatter_dimension_numbers.scatter_dims_to_operand_dims"},
              {"input_batching_dims", "scatter_dimension_numbers.input_batching_dims"},
              {"scatter_indices_batching_dims",
               "scatter_dimension_numbers.scatter_indices_batching_dims"},
              {"index_vector_dim", "scatter_dimension_numbers.index_vector_dim"});
HEDDLE_PLACES(DotAttrs, {"lhs_batch_dims", "dot_dimension_numbers.lhs_batch_dimensions"},
              {"lhs_contracting_dims", "dot_dimension_numbers.lhs_contracting_dimensions"},
              {"rhs_batch_dims", "dot_dimension_numbers.rhs_batch_dimensions"},
              {"rhs_contracting_dims", "dot_dimension_numbers.rhs_contracting_dimensions"},
              {"operand_precision", "precision_config.operand_precision"},
              {"algorithm", "precision_config.algorithm"});
HEDDLE_PLACES(RaggedDotAttrs,
              {"lhs_batch_dims",
               "ragged_dot_dimension_numbers.dot_dimension_numbers.lhs_batch_dimensions"},
              {"lhs_contracting_dims",
               "ragged_dot_dimension_numbers.dot_dimension_numbers.lhs_contracting_dimensions"},
              {"rhs_batch_dims",
               "ragged_dot_dimension_numbers.dot_dimension_numbers.rhs_batch_dimensions"},
              {"rhs_contracting_dims",
               "ragged_dot_dimension_numbers.dot_dimension_numbers.rhs_contracting_dimensions"},
              {"lhs_ragged_dims", "ragged_dot_dimension_numbers.lhs_ragged_dimensions"},
              {"rhs_group_dims", "ragged_dot_dimension_numbers.rhs_group_dimensions"},
              {"operand_precision", "precision_config.operand_precision"});
HEDDLE_PLACES(ConvolutionDims, {"input_batch", "input_batch_dimension"},
              {"input_feature", "input_feature_dimension"},
              {"input_spatial", "input_spatial_dimensions"},
              {"kernel_input_feature", "kernel_input_feature_dimension"},
              {"kernel_output_feature", "kernel_output_feature_dimension"},
              {"kernel_spatial", "kernel_spatial_dimensions"},
              {"output_batch", "output_batch_dimension"},
              {"output_feature", "output_feature_dimension"},
              {"output_spatial", "output_spatial_dimensions"});
HEDDLE_PLACES(ConvolutionAttrs, {"dim_labels", "convolution_dimension_numbers"},
              {"operand_precision", "precision_config.operand_precision"},
              {"convolution_kind", "conv_kind"});
HEDDLE_PLACES(TriangularSolveAttrs, {"left_side", "triangular_solve_options.left_side"},
              {"lower", "triangular_solve_options.lower"},
              {"unit_diagonal", "triangular_solve_options.unit_diagonal"},
              {"transpose_a", "triangular_solve_options.transpose_a"});
HEDDLE_PLACES(CholeskyAttrs, {"lower", "cholesky_options.lower"});
HEDDLE_PLACES(RngBitGeneratorAttrs, {"algorithm", "rng_algorithm"});
HEDDLE_PLACES(OperandAlias, {"output_index", "output_shape_index"}, {"operand", "operand_index"},
              {"operand_index", "operand_shape_index"});
HEDDLE_PLACES(FusionAttrs, {"kind", "fusion_kind"},
              {"output_to_operand_aliasing", "output_operand_aliasing"});
HEDDLE_PLACES(AsyncAttrs, {"output_to_operand_aliasing", "output_operand_aliasing"});
HEDDLE_PLACES(CustomCallAttrs, {"dim_labels", "convolution_dimension_numbers"},
              {"operand_precision", "precision_config.operand_precision"},
              {"operand_layout_constraints", "operand_shapes_with_layout"},
              {"output_to_operand_aliasing", "output_operand_aliasing"},
              {"schedule", "custom_call_schedule"}, {"api_version", "custom_call_api_version"});
HEDDLE_PLACES(CollectivePermuteAttrs, {"slice_sizes", "dynamic_slice_sizes"});
HEDDLE_PLACES(DomainAttrs, {"kind", ""}, {"entry", "domain_entry_sharding"},
              {"exit", "domain_exit_sharding"});

namespace {

struct Required {
  Opcode opcode;
  const char* field;
};

// Fields without which the attributes of an op would all read as 0.
constexpr Required kRequired[] = {
    {Opcode::kDot, "dot_dimension_numbers"},
    {Opcode::kScaledDot, "dot_dimension_numbers"},
    {Opcode::kRaggedDot, "ragged_dot_dimension_numbers"},
    {Opcode::kConvolution, "convolution_dimension_numbers"},
    {Opcode::kConvolution, "window"},
    {Opcode::kPad, "padding_config"},
    {Opcode::kGather, "gather_dimension_numbers"},
    {Opcode::kScatter, "scatter_dimension_numbers"},
    {Opcode::kFusion, "fusion_kind"},
    {Opcode::kCompare, "comparison_direction"},
};

Status check_required(Opcode opcode, const proto::HloInstructionProto& from) {
  for (const Required& required : kRequired) {
    if (required.opcode != opcode) continue;
    const FieldDescriptor* field = from.GetDescriptor()->FindFieldByName(required.field);
    if (field == nullptr) no_such_field(*from.GetDescriptor(), required.field);
    if (!from.GetReflection()->HasField(from, field))
      return base::invalid_argument("has no ", required.field);
  }
  return {};
}

// What XLA's reader takes an absent number for.
void fill_defaults(Opcode opcode, proto::HloInstructionProto& from) {
  if (opcode == Opcode::kConvolution || opcode == Opcode::kCustomCall) {
    from.set_feature_group_count(std::max<int64_t>(1, from.feature_group_count()));
    from.set_batch_group_count(std::max<int64_t>(1, from.batch_group_count()));
  }
  if (opcode == Opcode::kScan && !from.has_num_carries())
    from.set_num_carries(from.operand_ids_size() / 2);
  if (from.channel_id() < 0) from.clear_channel_id();
}

// XLA writes one precision an operand, also where all are the default.
void fill_precision(Opcode opcode, size_t operands, proto::HloInstructionProto& to) {
  bool has = opcode == Opcode::kDot || opcode == Opcode::kScaledDot ||
             opcode == Opcode::kRaggedDot || opcode == Opcode::kConvolution;
  if (!has || to.precision_config().operand_precision_size() > 0) return;
  for (size_t i = 0; i < operands; ++i) to.mutable_precision_config()->add_operand_precision({});
}

void write_constant(const Literal& literal, const Shape& shape, proto::HloInstructionProto& to) {
  if (literal.is_elided()) return;  // a constant without a literal: XLA's own form for it
  write_literal(literal, same_type(literal.shape(), shape) ? shape : literal.shape(),
                *to.mutable_literal());
}

StatusOr<Attrs> take_constant(const Shape& shape, proto::HloInstructionProto& from) {
  if (!from.has_literal()) return Attrs(ConstantAttrs{Literal::elided(shape)});
  HEDDLE_ASSIGN_OR_RETURN(Literal literal, read_literal(from.literal()));
  from.clear_literal();
  if (!same_type(literal.shape(), shape)) {
    return base::invalid_argument("constant: literal is ", to_string(literal.shape()),
                                  "; the instruction's type is ", to_string(shape));
  }
  return Attrs(ConstantAttrs{std::move(literal).reshaped(shape)});
}

}  // namespace

void write_attrs(const Instruction& instruction, proto::HloInstructionProto& to) {
  if (instruction.opcode == Opcode::kConstant) {
    return write_constant(instruction.attrs.get<ConstantAttrs>().literal, instruction.shape, to);
  }
  visit_attrs(instruction.opcode, instruction.attrs,
              [&](const auto& attrs) { write_fields(attrs, to); });
  fill_precision(instruction.opcode, instruction.operands.size(), to);
}

StatusOr<Attrs> take_attrs(Opcode opcode, const Shape& shape, proto::HloInstructionProto& from) {
  if (opcode == Opcode::kConstant) return take_constant(shape, from);
  HEDDLE_RETURN_IF_ERROR(check_required(opcode, from));
  fill_defaults(opcode, from);
  return visit_struct(opcode, [&]<class Struct>(std::type_identity<Struct>) -> StatusOr<Attrs> {
    Struct attrs;
    HEDDLE_RETURN_IF_ERROR(take_fields(from, attrs));
    if constexpr (std::is_same_v<Struct, DomainAttrs>) attrs.kind = "sharding";
    return Attrs(std::move(attrs));
  });
}

Attrs cut_slice_sizes(std::span<const Shape* const> operands, const Attrs& attrs) {
  const auto& lists = attrs.get<CollectivePermuteAttrs>().slice_sizes;
  if (lists.size() != 1 || operands.empty()) return attrs;
  const Shape& first = operands[0]->is_tuple() && operands[0]->element_shapes() > 0
                           ? operands[0]->element(0)
                           : *operands[0];
  const size_t rank = first.dimensions().size();
  if (rank == 0 || lists[0].size() % rank != 0) return attrs;
  CollectivePermuteAttrs out = attrs.get<CollectivePermuteAttrs>();
  out.slice_sizes.clear();
  for (auto at = lists[0].begin(); at != lists[0].end(); at += static_cast<ptrdiff_t>(rank)) {
    out.slice_sizes.emplace_back(at, at + static_cast<ptrdiff_t>(rank));
  }
  return out;
}

}  // namespace heddle::hlo::wire
