#include "heddle/pjrt/internal/types.h"

#include "heddle/base/text/strings.h"
#include "heddle/runtime/backend.h"

namespace heddle::pjrt {
namespace {

struct Row {
  DType dtype;
  abi::BufferType type;
  int since;  // minor version
};

constexpr Row kTypeRows[] = {
    {pred, abi::BufferType::kPred, 0},
    {s8, abi::BufferType::kS8, 0},
    {s16, abi::BufferType::kS16, 0},
    {s32, abi::BufferType::kS32, 0},
    {s64, abi::BufferType::kS64, 0},
    {u8, abi::BufferType::kU8, 0},
    {u16, abi::BufferType::kU16, 0},
    {u32, abi::BufferType::kU32, 0},
    {u64, abi::BufferType::kU64, 0},
    {f16, abi::BufferType::kF16, 0},
    {f32, abi::BufferType::kF32, 0},
    {f64, abi::BufferType::kF64, 0},
    {bf16, abi::BufferType::kBF16, 0},
    {c64, abi::BufferType::kC64, 0},
    {c128, abi::BufferType::kC128, 0},
    {f8e5m2, abi::BufferType::kF8E5M2, 0},
    {f8e4m3fn, abi::BufferType::kF8E4M3FN, 0},
    {f8e4m3b11fnuz, abi::BufferType::kF8E4M3B11FNUZ, 0},
    {f8e5m2fnuz, abi::BufferType::kF8E5M2FNUZ, 0},
    {f8e4m3fnuz, abi::BufferType::kF8E4M3FNUZ, 0},
    {s4, abi::BufferType::kS4, 0},
    {u4, abi::BufferType::kU4, 0},
    {s2, abi::BufferType::kS2, 0},
    {u2, abi::BufferType::kU2, 0},
    {f8e4m3, abi::BufferType::kF8E4M3, 55},
    {f8e3m4, abi::BufferType::kF8E3M4, 55},
    {f8e8m0fnu, abi::BufferType::kF8E8M0FNU, 63},
    {f4e2m1fn, abi::BufferType::kF4E2M1FN, 63},
    {s1, abi::BufferType::kS1, 94},
    {u1, abi::BufferType::kU1, 94},
};

const Row* row_of(DType dtype) {
  for (const Row& row : kTypeRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

}  // namespace

abi::BufferType element_type(DType dtype) {
  const Row* row = row_of(dtype);
  return row == nullptr ? abi::BufferType::kInvalid : row->type;
}

DType dtype_of(abi::BufferType type) {
  for (const Row& row : kTypeRows) {
    if (row.type == type) return row.dtype;
  }
  return DType::kInvalid;
}

Status check_transferable(const Shape& shape, int plugin_minor) {
  const Row* row = row_of(shape.dtype());
  if (row == nullptr) return base::unimplemented(shape, " is no array that a plugin can hold");
  if (row->since > plugin_minor) {
    return base::unimplemented("arrays of ", shape.dtype(), " came with PJRT 0.", row->since,
                               "; convert to another type, or use a newer plugin");
  }
  if (shape.is_dynamic())
    return base::unimplemented(shape, " has dynamic dimensions; only static arrays go to plugins");
  return {};
}

bool is_packed(DType dtype) { return dtype != pred && bit_width(dtype) < 8; }

void extend_small_integers(DType dtype, std::span<std::byte> bytes) {
  if (!is_packed(dtype)) return;
  const int spare = 8 - static_cast<int>(bit_width(dtype));
  for (std::byte& byte : bytes) {
    const auto moved = static_cast<uint8_t>(static_cast<uint8_t>(byte) << spare);
    const int value = is_signed(dtype) ? static_cast<int8_t>(moved) >> spare : moved >> spare;
    byte = static_cast<std::byte>(value);
  }
}

RowMajorLayout::RowMajorLayout(int64_t rank) {
  for (int64_t i = 0; i < rank; ++i) minor_to_major_[i] = rank - 1 - i;
  layout_.head.struct_size = sizeof(abi::MemoryLayout);
  abi::TiledLayout& tiled = layout_.layout.tiled;
  tiled.head.struct_size = sizeof(abi::TiledLayout);
  tiled.minor_to_major = minor_to_major_;
  tiled.minor_to_major_size = static_cast<size_t>(rank);
}

Status check_arrays(const hlo::Module& module, const std::function<Status(const Shape&)>& check) {
  std::vector<Shape> leaves;
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      leaves.clear();
      runtime::append_leaves(instruction.shape, leaves);
      for (const Shape& leaf : leaves) {
        const Status status = leaf.is_array() ? check(leaf) : Status();
        if (status.ok()) continue;
        return base::unimplemented(
            "compile ", module.name, ": ", hlo::to_string(instruction.opcode), " ",
            instruction.name, ": ", base::message_of(status),
            instruction.at.known() ? base::cat(" [", instruction.at, "]") : "");
      }
    }
  }
  return {};
}

}  // namespace heddle::pjrt
