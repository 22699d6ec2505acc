#include "heddle/runtime/dlpack.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "heddle/runtime/transfer.h"

namespace heddle::runtime {
namespace {

using dlpack::DataType;
using dlpack::ManagedTensor;
using dlpack::TypeCode;

struct Row {
  DType dtype;
  TypeCode code;
};

constexpr Row kTypes[] = {
    {pred, TypeCode::kBool},   {s8, TypeCode::kInt},      {s16, TypeCode::kInt},
    {s32, TypeCode::kInt},     {s64, TypeCode::kInt},     {u8, TypeCode::kUint},
    {u16, TypeCode::kUint},    {u32, TypeCode::kUint},    {u64, TypeCode::kUint},
    {f16, TypeCode::kFloat},   {f32, TypeCode::kFloat},   {f64, TypeCode::kFloat},
    {bf16, TypeCode::kBfloat}, {c64, TypeCode::kComplex}, {c128, TypeCode::kComplex},
};

int bits_of(DType dtype) { return static_cast<int>(storage_bytes(dtype)) * 8; }

StatusOr<DType> dtype_of(const DataType& type) {
  for (const Row& row : kTypes) {
    if (row.code == type.code && bits_of(row.dtype) == type.bits && type.lanes == 1)
      return row.dtype;
  }
  return base::unimplemented("from_dlpack: elements of code ", static_cast<int>(type.code), ", ",
                             static_cast<int>(type.bits), " bits and ", type.lanes,
                             " lanes; convert them to a type of Heddle's first");
}

// What a tensor that was handed out keeps.
struct HandedOut {
  Literal view;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  ManagedTensor tensor;
};

// The shape of a tensor of another library: nothing of it is trusted.
StatusOr<Shape> shape_of(const dlpack::Tensor& tensor) {
  HEDDLE_ASSIGN_OR_RETURN(const DType dtype, dtype_of(tensor.dtype));
  if (tensor.rank < 0 || tensor.rank > Shape::kMaxRank ||
      (tensor.rank > 0 && tensor.shape == nullptr)) {
    return base::invalid_argument("from_dlpack: the tensor has rank ", tensor.rank,
                                  tensor.shape == nullptr ? " and no shape" : "",
                                  "; it must be from 0 to ", Shape::kMaxRank, " with one");
  }
  Shape shape(dtype, {tensor.shape, tensor.shape + tensor.rank});
  HEDDLE_RETURN_IF_ERROR(base::annotate(check_shape(shape), "from_dlpack: "));
  return shape;
}

// Steps along a dimension of one element, or in an array without any, mean nothing.
bool is_row_major(const dlpack::Tensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr || shape.byte_size() == 0) return true;
  const std::vector<int64_t> dense = row_major_strides(shape.dimensions());
  for (size_t i = 0; i < dense.size(); ++i) {
    if (shape.dimensions()[i] > 1 && tensor.strides[i] != dense[i]) return false;
  }
  return true;
}

}  // namespace

StatusOr<ManagedTensor*> to_dlpack(Buffer& buffer, std::string_view what) {
  const DType dtype = buffer.shape().dtype();
  const auto* row = std::ranges::find(kTypes, dtype, &Row::dtype);
  if (row == std::end(kTypes)) {
    return base::unimplemented("to_dlpack: DLPack has no elements of ", dtype,
                               "; convert to another type first");
  }
  HEDDLE_ASSIGN_OR_RETURN(Literal view, view_on_host(buffer, what));
  auto out = std::make_unique<HandedOut>();
  out->shape = view.shape().dimensions();
  out->strides = row_major_strides(out->shape);
  out->tensor = {
      .tensor = {.data = const_cast<std::byte*>(view.bytes()),
                 .device = {},
                 .rank = static_cast<int32_t>(out->shape.size()),
                 .dtype = {.code = row->code,
                           .bits = static_cast<uint8_t>(bits_of(dtype)),
                           .lanes = 1},
                 .shape = out->shape.data(),
                 .strides = out->strides.data(),
                 .byte_offset = 0},
      .context = out.get(),
      .deleter = [](ManagedTensor* self) { delete static_cast<HandedOut*>(self->context); }};
  out->view = std::move(view);
  return &out.release()->tensor;
}

StatusOr<BufferPtr> from_dlpack(Device& device, ManagedTensor* tensor, std::string_view what) {
  if (tensor == nullptr) return base::invalid_argument("from_dlpack: there is no tensor");
  const dlpack::Tensor& array = tensor->tensor;
  if (array.device.type != dlpack::DeviceType::kCpu &&
      array.device.type != dlpack::DeviceType::kCudaHost) {
    return base::unimplemented("from_dlpack: memory of device type ",
                               static_cast<int>(array.device.type),
                               ", which the host cannot read; copy it to the host first");
  }
  HEDDLE_ASSIGN_OR_RETURN(const Shape shape, shape_of(array));
  const auto* begin = static_cast<const std::byte*>(array.data);
  const void* data = begin == nullptr ? nullptr : begin + array.byte_offset;
  // Not to be deleted where this fails.
  const auto owned = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<const void> owner(tensor, [owned](ManagedTensor* gone) {
    if (*owned && gone->deleter != nullptr) gone->deleter(gone);
  });
  StatusOr<BufferPtr> buffer;
  if (is_row_major(array, shape)) {
    buffer = lend_to_device(device, data, shape, owner, what);
  } else {
    StridedArray strided{.data = data, .shape = shape, .byte_strides = {}};
    for (int64_t i = 0; i < shape.rank(); ++i) {
      int64_t& stride = strided.byte_strides.emplace_back();
      if (!__builtin_mul_overflow(array.strides[i], storage_bytes(shape.dtype()), &stride))
        continue;
      return base::invalid_argument("from_dlpack: stride ", i, " of the tensor is ",
                                    array.strides[i],
                                    " elements; it must lead to another of its own");
    }
    buffer = to_device(device, strided, what);
  }
  *owned = buffer.ok();
  return buffer;
}

}  // namespace heddle::runtime
