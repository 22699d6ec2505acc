#include <algorithm>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/ops/device/joint_collectives.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_constant(EvalArgs& in) {
  const Literal& literal = in.attrs<ConstantAttrs>().literal;
  if (!literal.is_elided()) return literal;
  return base::failed_precondition(
      "constant: its value was elided as {...} when it was printed; print it in full");
}

// 0, 1, 2, .. as the element type.
Literal count_up(DType dtype, int64_t count) {
  constexpr int64_t kBlock = 1024;
  int64_t block[kBlock];
  Literal out = Literal::uninitialised(Shape(dtype, {count}));
  std::byte* to = out.mutable_bytes();
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    for (int64_t i = 0; i < n; ++i) block[i] = begin + i;
    store(dtype, block, n, to + begin * storage_bytes(dtype));
  }
  return out;
}

// Complex numbers from real ones.
Literal with_zero_imaginary(const Literal& real, DType dtype) {
  Literal out(Shape(dtype, real.shape().dimensions()));
  const int64_t width = storage_bytes(real.shape().dtype());
  const int64_t to[] = {2};
  const int64_t from[] = {1};
  copy_strided(out.mutable_bytes(), to, real.bytes(), from, real.shape().dimensions(), width);
  return out;
}

StatusOr<Literal> evaluate_iota(EvalArgs& in) {
  const Shape& result = in.result();
  const int64_t along = in.attrs<IotaAttrs>().iota_dimension;
  if (result.element_count() == 0) return Literal(result);
  const DType real = real_part(result.dtype());
  Literal numbers = count_up(real, result.dimension(along));
  if (real != result.dtype()) numbers = with_zero_imaginary(numbers, result.dtype());
  if (numbers.element_count() == result.element_count()) return std::move(numbers).reshaped(result);
  int64_t from[Shape::kMaxRank];
  std::fill_n(from, result.rank(), 0);
  from[along] = 1;
  Literal out = Literal::uninitialised(result);
  copy_strided(out.mutable_bytes(), Strides(result), numbers.bytes(), from, result.dimensions(),
               storage_bytes(result.dtype()));
  return out;
}

// One device alone is number 0.
StatusOr<Literal> evaluate_id(EvalArgs& in) {
  const Seat* seat = seat_of(in);
  if (seat == nullptr) return Literal(in.result());
  const bool is_replica = in.instruction.opcode == Opcode::kReplicaId;
  return Literal::scalar(u32, is_replica ? seat->replica() : seat->partition());
}

}  // namespace

const Evaluation kParameterEvaluation = {
    .evaluate = No{"a parameter's value is an argument of its computation"}};
const Evaluation kConstantEvaluation = {.evaluate = evaluate_constant};
const Evaluation kIotaEvaluation = {.evaluate = evaluate_iota};
const Evaluation kPartitionIdEvaluation = {.evaluate = evaluate_id};
const Evaluation kReplicaIdEvaluation = {.evaluate = evaluate_id};

}  // namespace heddle::interpreter
