// The attributes of every opcode: plain structs. From the field lists follow printing, parsing,
// protos, equality and hashing.
//
// A field's name is its key in HLO text. Enumerators carry XLA's proto numbers; EnumText gives
// their names, by number.
// Structs for ops that serve one device stand first, the rest follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/containers/box.h"
#include "heddle/base/containers/fields.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/random_algorithm.h"
#include "heddle/hlo/shape.h"
#include "heddle/hlo/sharding/sharding.h"

namespace heddle::hlo {

using Dims = std::vector<int64_t>;

// Names of an enum's values, indexed by their number; empty entries are not values.
template <class Enum>
struct EnumText;

#define HEDDLE_ENUM_TEXT(Enum, ...)                             \
  template <>                                                   \
  struct EnumText<Enum> {                                       \
    static constexpr std::string_view kNames[] = {__VA_ARGS__}; \
  };

template <class Enum>
constexpr std::string_view enum_text(Enum value) {
  return EnumText<Enum>::kNames[static_cast<size_t>(value)];
}

// Defaulted equality and the field list of a struct of attributes.
#define HEDDLE_ATTRS(Struct, ...)                                \
  static constexpr auto kFields = ::heddle::fields(__VA_ARGS__); \
  friend bool operator==(const Struct&, const Struct&) = default
#define HEDDLE_FIELD(Struct, name) ::heddle::field(#name, &Struct::name)

struct NoAttrs {
  HEDDLE_ATTRS(NoAttrs);
};

struct ParameterAttrs {
  int64_t number = 0;  // text: parameter(2)
  HEDDLE_ATTRS(ParameterAttrs, HEDDLE_FIELD(ParameterAttrs, number));
};

struct ConstantAttrs {
  Literal literal;  // text: constant({1, 2})
  HEDDLE_ATTRS(ConstantAttrs, HEDDLE_FIELD(ConstantAttrs, literal));
};

struct IotaAttrs {
  int64_t iota_dimension = 0;
  HEDDLE_ATTRS(IotaAttrs, HEDDLE_FIELD(IotaAttrs, iota_dimension));
};

// broadcast, transpose, reverse, concatenate, reduce, map, get-dimension-size, ...
struct DimensionsAttrs {
  Dims dimensions;
  HEDDLE_ATTRS(DimensionsAttrs, HEDDLE_FIELD(DimensionsAttrs, dimensions));
};

struct ReshapeAttrs {
  int64_t inferred_dimension = -1;  // -1: none
  HEDDLE_ATTRS(ReshapeAttrs, HEDDLE_FIELD(ReshapeAttrs, inferred_dimension));
};

struct TupleIndexAttrs {
  int64_t index = 0;
  HEDDLE_ATTRS(TupleIndexAttrs, HEDDLE_FIELD(TupleIndexAttrs, index));
};

enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
HEDDLE_ENUM_TEXT(ComparisonDirection, "EQ", "NE", "GE", "GT", "LE", "LT")
enum class ComparisonType : uint8_t { kDefault, kFloat, kTotalOrder, kSigned, kUnsigned };
HEDDLE_ENUM_TEXT(ComparisonType, "", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")

struct CompareAttrs {
  ComparisonDirection direction = ComparisonDirection::kEq;
  ComparisonType type = ComparisonType::kDefault;  // kDefault: what the operands' dtype says
  HEDDLE_ATTRS(CompareAttrs, HEDDLE_FIELD(CompareAttrs, direction),
               HEDDLE_FIELD(CompareAttrs, type));
};

struct SliceDimension {
  int64_t start = 0;
  int64_t limit = 0;
  int64_t stride = 1;
  HEDDLE_ATTRS(SliceDimension, HEDDLE_FIELD(SliceDimension, start),
               HEDDLE_FIELD(SliceDimension, limit), HEDDLE_FIELD(SliceDimension, stride));
};

struct SliceAttrs {
  std::vector<SliceDimension> slice;  // one a dimension
  HEDDLE_ATTRS(SliceAttrs, HEDDLE_FIELD(SliceAttrs, slice));
};

struct DynamicSliceAttrs {
  Dims dynamic_slice_sizes;
  HEDDLE_ATTRS(DynamicSliceAttrs, HEDDLE_FIELD(DynamicSliceAttrs, dynamic_slice_sizes));
};

struct PadDimension {
  int64_t low = 0;       // may be negative: crops
  int64_t high = 0;      // may be negative: crops
  int64_t interior = 0;  // >= 0
  HEDDLE_ATTRS(PadDimension, HEDDLE_FIELD(PadDimension, low), HEDDLE_FIELD(PadDimension, high),
               HEDDLE_FIELD(PadDimension, interior));
};

struct PadAttrs {
  std::vector<PadDimension> padding;  // one a dimension
  HEDDLE_ATTRS(PadAttrs, HEDDLE_FIELD(PadAttrs, padding));
};

struct GatherAttrs {
  Dims offset_dims;
  Dims collapsed_slice_dims;
  Dims start_index_map;
  Dims operand_batching_dims;
  Dims start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
  bool indices_are_sorted = false;
  HEDDLE_ATTRS(GatherAttrs, HEDDLE_FIELD(GatherAttrs, offset_dims),
               HEDDLE_FIELD(GatherAttrs, collapsed_slice_dims),
               HEDDLE_FIELD(GatherAttrs, start_index_map),
               HEDDLE_FIELD(GatherAttrs, operand_batching_dims),
               HEDDLE_FIELD(GatherAttrs, start_indices_batching_dims),
               HEDDLE_FIELD(GatherAttrs, index_vector_dim), HEDDLE_FIELD(GatherAttrs, slice_sizes),
               HEDDLE_FIELD(GatherAttrs, indices_are_sorted));
};

struct ScatterAttrs {
  Dims update_window_dims;
  Dims inserted_window_dims;
  Dims scatter_dims_to_operand_dims;
  Dims input_batching_dims;
  Dims scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  HEDDLE_ATTRS(ScatterAttrs, HEDDLE_FIELD(ScatterAttrs, update_window_dims),
               HEDDLE_FIELD(ScatterAttrs, inserted_window_dims),
               HEDDLE_FIELD(ScatterAttrs, scatter_dims_to_operand_dims),
               HEDDLE_FIELD(ScatterAttrs, input_batching_dims),
               HEDDLE_FIELD(ScatterAttrs, scatter_indices_batching_dims),
               HEDDLE_FIELD(ScatterAttrs, index_vector_dim),
               HEDDLE_FIELD(ScatterAttrs, indices_are_sorted),
               HEDDLE_FIELD(ScatterAttrs, unique_indices));
};

struct SortAttrs {
  Dims dimensions;  // exactly one
  bool is_stable = false;
  HEDDLE_ATTRS(SortAttrs, HEDDLE_FIELD(SortAttrs, dimensions), HEDDLE_FIELD(SortAttrs, is_stable));
};

struct TopKAttrs {
  int64_t k = 0;
  bool largest = true;
  HEDDLE_ATTRS(TopKAttrs, HEDDLE_FIELD(TopKAttrs, k), HEDDLE_FIELD(TopKAttrs, largest));
};

enum class TriState : uint8_t { kUnset, kTrue, kFalse };
HEDDLE_ENUM_TEXT(TriState, "", "true", "false")

// scan(inputs.., carries..): the body maps (slices.., carries..) to (outputs.., carries..); the
// result is (stacked outputs.., carries..).
struct ScanAttrs {
  Dims dimensions;  // exactly one: the scanned dimension of every input and output
  int64_t num_carries = 0;
  bool is_reverse = false;
  TriState is_associative = TriState::kUnset;
  HEDDLE_ATTRS(ScanAttrs, HEDDLE_FIELD(ScanAttrs, dimensions), HEDDLE_FIELD(ScanAttrs, num_carries),
               HEDDLE_FIELD(ScanAttrs, is_reverse), HEDDLE_FIELD(ScanAttrs, is_associative));
};

enum class Precision : uint8_t { kDefault, kHigh, kHighest };
HEDDLE_ENUM_TEXT(Precision, "default", "high", "highest")

enum class DotAlgorithm : uint8_t {
  kUnset,
  kAnyF8AnyF8F32,
  kAnyF8AnyF8F32FastAccum,
  kF16F16F16,
  kF16F16F32,
  kBF16BF16BF16,
  kBF16BF16F32,
  kBF16BF16F32X3,
  kBF16BF16F32X6,
  kTF32TF32F32,
  kTF32TF32F32X3,
  kF32F32F32,
  kF64F64F64,
  kBF16BF16F32X9
};
HEDDLE_ENUM_TEXT(DotAlgorithm, "dot_unset", "dot_any_f8_any_f8_f32",
                 "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16", "dot_f16_f16_f32",
                 "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3",
                 "dot_bf16_bf16_f32_x6", "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3",
                 "dot_f32_f32_f32", "dot_f64_f64_f64", "dot_bf16_bf16_f32_x9")

// The result dimensions are: batch, what is left of lhs, what is left of rhs.
struct DotAttrs {
  Dims lhs_batch_dims;
  Dims lhs_contracting_dims;
  Dims rhs_batch_dims;
  Dims rhs_contracting_dims;
  std::vector<Precision> operand_precision;  // empty, here and below, where all are kDefault
  DotAlgorithm algorithm = DotAlgorithm::kUnset;
  HEDDLE_ATTRS(DotAttrs, HEDDLE_FIELD(DotAttrs, lhs_batch_dims),
               HEDDLE_FIELD(DotAttrs, lhs_contracting_dims), HEDDLE_FIELD(DotAttrs, rhs_batch_dims),
               HEDDLE_FIELD(DotAttrs, rhs_contracting_dims),
               HEDDLE_FIELD(DotAttrs, operand_precision), HEDDLE_FIELD(DotAttrs, algorithm));
};

struct RaggedDotAttrs {
  Dims lhs_batch_dims;
  Dims lhs_contracting_dims;
  Dims rhs_batch_dims;
  Dims rhs_contracting_dims;
  Dims lhs_ragged_dims;
  Dims rhs_group_dims;
  std::vector<Precision> operand_precision;
  HEDDLE_ATTRS(RaggedDotAttrs, HEDDLE_FIELD(RaggedDotAttrs, lhs_batch_dims),
               HEDDLE_FIELD(RaggedDotAttrs, lhs_contracting_dims),
               HEDDLE_FIELD(RaggedDotAttrs, rhs_batch_dims),
               HEDDLE_FIELD(RaggedDotAttrs, rhs_contracting_dims),
               HEDDLE_FIELD(RaggedDotAttrs, lhs_ragged_dims),
               HEDDLE_FIELD(RaggedDotAttrs, rhs_group_dims),
               HEDDLE_FIELD(RaggedDotAttrs, operand_precision));
};

struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t window_dilation = 1;
  int64_t base_dilation = 1;
  bool window_reversal = false;
  HEDDLE_ATTRS(WindowDimension, HEDDLE_FIELD(WindowDimension, size),
               HEDDLE_FIELD(WindowDimension, stride), HEDDLE_FIELD(WindowDimension, padding_low),
               HEDDLE_FIELD(WindowDimension, padding_high),
               HEDDLE_FIELD(WindowDimension, window_dilation),
               HEDDLE_FIELD(WindowDimension, base_dilation),
               HEDDLE_FIELD(WindowDimension, window_reversal));
};

// Text: window={size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=2x2 rhs_dilate=1x2 rhs_reversal=1x1}
struct Window {
  std::vector<WindowDimension> dimensions;
  HEDDLE_ATTRS(Window, HEDDLE_FIELD(Window, dimensions));
};

struct WindowAttrs {
  Window window;
  HEDDLE_ATTRS(WindowAttrs, HEDDLE_FIELD(WindowAttrs, window));
};

// Text: dim_labels=b01f_01io->b01f
struct ConvolutionDims {
  int64_t input_batch = 0;
  int64_t input_feature = 0;
  Dims input_spatial;
  int64_t kernel_input_feature = 0;
  int64_t kernel_output_feature = 0;
  Dims kernel_spatial;
  int64_t output_batch = 0;
  int64_t output_feature = 0;
  Dims output_spatial;
  HEDDLE_ATTRS(ConvolutionDims, HEDDLE_FIELD(ConvolutionDims, input_batch),
               HEDDLE_FIELD(ConvolutionDims, input_feature),
               HEDDLE_FIELD(ConvolutionDims, input_spatial),
               HEDDLE_FIELD(ConvolutionDims, kernel_input_feature),
               HEDDLE_FIELD(ConvolutionDims, kernel_output_feature),
               HEDDLE_FIELD(ConvolutionDims, kernel_spatial),
               HEDDLE_FIELD(ConvolutionDims, output_batch),
               HEDDLE_FIELD(ConvolutionDims, output_feature),
               HEDDLE_FIELD(ConvolutionDims, output_spatial));
};

enum class ConvolutionKind : uint8_t { kUnset, kFprop, kDgrad, kWgrad };
HEDDLE_ENUM_TEXT(ConvolutionKind, "unset", "fprop", "dgrad", "wgrad")

struct ConvolutionAttrs {
  Window window;
  ConvolutionDims dim_labels;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  std::vector<Precision> operand_precision;
  ConvolutionKind convolution_kind = ConvolutionKind::kUnset;
  HEDDLE_ATTRS(ConvolutionAttrs, HEDDLE_FIELD(ConvolutionAttrs, window),
               HEDDLE_FIELD(ConvolutionAttrs, dim_labels),
               HEDDLE_FIELD(ConvolutionAttrs, feature_group_count),
               HEDDLE_FIELD(ConvolutionAttrs, batch_group_count),
               HEDDLE_FIELD(ConvolutionAttrs, operand_precision),
               HEDDLE_FIELD(ConvolutionAttrs, convolution_kind));
};

enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };
HEDDLE_ENUM_TEXT(FftType, "FFT", "IFFT", "RFFT", "IRFFT")

struct FftAttrs {
  FftType fft_type = FftType::kFft;
  Dims fft_length;
  HEDDLE_ATTRS(FftAttrs, HEDDLE_FIELD(FftAttrs, fft_type), HEDDLE_FIELD(FftAttrs, fft_length));
};

enum class TransposeA : uint8_t { kInvalid, kNoTranspose, kTranspose, kAdjoint };
HEDDLE_ENUM_TEXT(TransposeA, "", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")

struct TriangularSolveAttrs {
  bool left_side = false;
  bool lower = false;
  bool unit_diagonal = false;
  TransposeA transpose_a = TransposeA::kNoTranspose;
  HEDDLE_ATTRS(TriangularSolveAttrs, HEDDLE_FIELD(TriangularSolveAttrs, left_side),
               HEDDLE_FIELD(TriangularSolveAttrs, lower),
               HEDDLE_FIELD(TriangularSolveAttrs, unit_diagonal),
               HEDDLE_FIELD(TriangularSolveAttrs, transpose_a));
};

struct CholeskyAttrs {
  bool lower = false;
  HEDDLE_ATTRS(CholeskyAttrs, HEDDLE_FIELD(CholeskyAttrs, lower));
};

struct BatchNormAttrs {
  float epsilon = 0;
  int64_t feature_index = 0;
  HEDDLE_ATTRS(BatchNormAttrs, HEDDLE_FIELD(BatchNormAttrs, epsilon),
               HEDDLE_FIELD(BatchNormAttrs, feature_index));
};

struct ReducePrecisionAttrs {
  int64_t exponent_bits = 0;
  int64_t mantissa_bits = 0;
  HEDDLE_ATTRS(ReducePrecisionAttrs, HEDDLE_FIELD(ReducePrecisionAttrs, exponent_bits),
               HEDDLE_FIELD(ReducePrecisionAttrs, mantissa_bits));
};

enum class RandomDistribution : uint8_t { kInvalid, kUniform, kNormal };
HEDDLE_ENUM_TEXT(RandomDistribution, "rng_invalid", "rng_uniform", "rng_normal")
HEDDLE_ENUM_TEXT(RandomAlgorithm, "rng_default", "rng_three_fry", "rng_philox")

struct RngAttrs {
  RandomDistribution distribution = RandomDistribution::kInvalid;
  HEDDLE_ATTRS(RngAttrs, HEDDLE_FIELD(RngAttrs, distribution));
};

struct RngBitGeneratorAttrs {
  RandomAlgorithm algorithm = RandomAlgorithm::kDefault;
  HEDDLE_ATTRS(RngBitGeneratorAttrs, HEDDLE_FIELD(RngBitGeneratorAttrs, algorithm));
};

struct RngDeltaAttrs {
  int64_t delta = 0;
  HEDDLE_ATTRS(RngDeltaAttrs, HEDDLE_FIELD(RngDeltaAttrs, delta));
};

struct CallAttrs {
  bool is_composite = false;
  HEDDLE_ATTRS(CallAttrs, HEDDLE_FIELD(CallAttrs, is_composite));
};

// Text: {0}: (1, {}) : output {0} shares the buffer of operand 1 at {}.
struct OperandAlias {
  Dims output_index;
  int64_t operand = 0;
  Dims operand_index;
  HEDDLE_ATTRS(OperandAlias, HEDDLE_FIELD(OperandAlias, output_index),
               HEDDLE_FIELD(OperandAlias, operand), HEDDLE_FIELD(OperandAlias, operand_index));
};

struct FusionAttrs {
  std::string kind = "kLoop";  // kLoop kInput kOutput kCustom
  std::vector<OperandAlias> output_to_operand_aliasing;
  HEDDLE_ATTRS(FusionAttrs, HEDDLE_FIELD(FusionAttrs, kind),
               HEDDLE_FIELD(FusionAttrs, output_to_operand_aliasing));
};

enum class PaddingType : uint8_t { kInvalid, kValid, kSame };
HEDDLE_ENUM_TEXT(PaddingType, "PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")
enum class CustomCallSchedule : uint8_t { kNone, kLatest, kEarliest };
HEDDLE_ENUM_TEXT(CustomCallSchedule, "SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")
enum class ApiVersion : uint8_t {
  kUnspecified,
  kOriginal,
  kStatusReturning,
  kStatusReturningUnified,
  kTypedFfi
};
HEDDLE_ENUM_TEXT(ApiVersion, "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                 "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
                 "API_VERSION_TYPED_FFI")

struct CustomCallAttrs {
  base::Box<Window> window;
  base::Box<ConvolutionDims> dim_labels;
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  std::vector<Precision> operand_precision;
  PaddingType padding_type = PaddingType::kInvalid;
  std::string custom_call_target;
  bool constrain_layout = false;  // text: operand_layout_constraints is present
  std::vector<Shape> operand_layout_constraints;
  bool custom_call_has_side_effect = false;
  base::Box<Literal> literal;
  std::vector<OperandAlias> output_to_operand_aliasing;
  CustomCallSchedule schedule = CustomCallSchedule::kNone;
  ApiVersion api_version = ApiVersion::kOriginal;  // what text means that does not say
  HEDDLE_ATTRS(CustomCallAttrs, HEDDLE_FIELD(CustomCallAttrs, window),
               HEDDLE_FIELD(CustomCallAttrs, dim_labels),
               HEDDLE_FIELD(CustomCallAttrs, feature_group_count),
               HEDDLE_FIELD(CustomCallAttrs, batch_group_count),
               HEDDLE_FIELD(CustomCallAttrs, operand_precision),
               HEDDLE_FIELD(CustomCallAttrs, padding_type),
               HEDDLE_FIELD(CustomCallAttrs, custom_call_target),
               HEDDLE_FIELD(CustomCallAttrs, constrain_layout),
               HEDDLE_FIELD(CustomCallAttrs, operand_layout_constraints),
               HEDDLE_FIELD(CustomCallAttrs, custom_call_has_side_effect),
               HEDDLE_FIELD(CustomCallAttrs, literal),
               HEDDLE_FIELD(CustomCallAttrs, output_to_operand_aliasing),
               HEDDLE_FIELD(CustomCallAttrs, schedule), HEDDLE_FIELD(CustomCallAttrs, api_version));
};

// Which devices take part together. One form of three: a list of groups, an iota form, or the
// newest form kept as it was read.
struct ReplicaGroups {
  std::vector<Dims> groups;     // {{0,1},{2,3}}
  Dims iota_tile;               // [2,10]<=[20] : {2, 10}; empty: not this form
  Dims iota_reshape;            //                {20}
  Dims iota_transpose;          // T(1,0); empty: none
  std::string mesh_axes;        // mesh and axes as text ...
  std::string mesh_axes_proto;  // ... or as a serialised MeshAxesReplicaGroupListProto
  HEDDLE_ATTRS(ReplicaGroups, HEDDLE_FIELD(ReplicaGroups, groups),
               HEDDLE_FIELD(ReplicaGroups, iota_tile), HEDDLE_FIELD(ReplicaGroups, iota_reshape),
               HEDDLE_FIELD(ReplicaGroups, iota_transpose), HEDDLE_FIELD(ReplicaGroups, mesh_axes),
               HEDDLE_FIELD(ReplicaGroups, mesh_axes_proto));
};

struct CollectiveAttrs {
  int64_t channel_id = 0;  // 0: none
  ReplicaGroups replica_groups;
  bool constrain_layout = false;
  bool use_global_device_ids = false;
  Dims dimensions;
  HEDDLE_ATTRS(CollectiveAttrs, HEDDLE_FIELD(CollectiveAttrs, channel_id),
               HEDDLE_FIELD(CollectiveAttrs, replica_groups),
               HEDDLE_FIELD(CollectiveAttrs, constrain_layout),
               HEDDLE_FIELD(CollectiveAttrs, use_global_device_ids),
               HEDDLE_FIELD(CollectiveAttrs, dimensions));
};

struct SourceTarget {
  int64_t source = 0;
  int64_t target = 0;
  HEDDLE_ATTRS(SourceTarget, HEDDLE_FIELD(SourceTarget, source),
               HEDDLE_FIELD(SourceTarget, target));
};

struct CollectivePermuteAttrs {
  int64_t channel_id = 0;
  std::vector<SourceTarget> source_target_pairs;
  std::vector<Dims> slice_sizes;
  HEDDLE_ATTRS(CollectivePermuteAttrs, HEDDLE_FIELD(CollectivePermuteAttrs, channel_id),
               HEDDLE_FIELD(CollectivePermuteAttrs, source_target_pairs),
               HEDDLE_FIELD(CollectivePermuteAttrs, slice_sizes));
};

struct HostTransferAttrs {
  int64_t channel_id = 0;
  bool is_host_transfer = false;
  HEDDLE_ATTRS(HostTransferAttrs, HEDDLE_FIELD(HostTransferAttrs, channel_id),
               HEDDLE_FIELD(HostTransferAttrs, is_host_transfer));
};

struct InfeedAttrs {
  std::string infeed_config;
  HEDDLE_ATTRS(InfeedAttrs, HEDDLE_FIELD(InfeedAttrs, infeed_config));
};

struct OutfeedAttrs {
  Shape outfeed_shape;
  std::string outfeed_config;
  HEDDLE_ATTRS(OutfeedAttrs, HEDDLE_FIELD(OutfeedAttrs, outfeed_shape),
               HEDDLE_FIELD(OutfeedAttrs, outfeed_config));
};

struct AsyncAttrs {
  std::string async_execution_thread;
  std::vector<OperandAlias> output_to_operand_aliasing;
  HEDDLE_ATTRS(AsyncAttrs, HEDDLE_FIELD(AsyncAttrs, async_execution_thread),
               HEDDLE_FIELD(AsyncAttrs, output_to_operand_aliasing));
};

struct CopyStartAttrs {
  int64_t cross_program_prefetch_index = -1;  // -1: none
  HEDDLE_ATTRS(CopyStartAttrs, HEDDLE_FIELD(CopyStartAttrs, cross_program_prefetch_index));
};

struct DomainAttrs {
  std::string kind;
  Sharding entry;
  Sharding exit;
  HEDDLE_ATTRS(DomainAttrs, HEDDLE_FIELD(DomainAttrs, kind), HEDDLE_FIELD(DomainAttrs, entry),
               HEDDLE_FIELD(DomainAttrs, exit));
};

}  // namespace heddle::hlo
