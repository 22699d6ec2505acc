#include "heddle/cpu/lower/lower.h"

#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/codegen/plan/cost.h"
#include "heddle/codegen/plan/passes/apart.h"
#include "heddle/codegen/plan/passes/columns.h"
#include "heddle/codegen/plan/passes/exchange.h"
#include "heddle/codegen/plan/passes/fuse.h"
#include "heddle/codegen/plan/passes/indices.h"
#include "heddle/codegen/plan/passes/interleave.h"
#include "heddle/codegen/plan/passes/lanes.h"
#include "heddle/codegen/plan/passes/share.h"
#include "heddle/codegen/plan/passes/stacks.h"
#include "heddle/cpu/lower/control/double_turns.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"
#include "heddle/interpreter/rendezvous.h"

namespace heddle::cpu {
namespace {

bool holds_arrays_alone(const Shape& shape) {
  if (shape.is_tuple()) return std::ranges::all_of(shape.elements(), holds_arrays_alone);
  return shape.is_array() && !shape.is_dynamic();
}

// Whether kernels of one instruction compute what the op says.
bool is_known_to_kernels(const hlo::Module& module, const Instruction& instruction) {
  if (interpreter::joins_devices(instruction))
    return module.extras->replica_count <= 1 && module.extras->num_partitions <= 1;
  switch (instruction.opcode) {
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kAllReduceDone:
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone: return true;
    default: return !has_trait(instruction.opcode, hlo::kSideEffect);
  }
}

// What a kernel of one instruction cannot know: the host, and other devices where the run is not
// one of several. Calls with an effect stay in their order (Region).
Status check(const hlo::Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      const bool has_effect = !is_known_to_kernels(module, instruction);
      const bool is_call =
          instruction.opcode == Opcode::kCall || instruction.opcode == Opcode::kScan;
      if (!has_effect && !is_call && holds_arrays_alone(instruction.shape)) continue;
      return base::unimplemented("cpu: ", to_string(instruction.opcode), " of ", module.name,
                                 " gives ", instruction.shape,
                                 "; the evaluator runs the whole program");
    }
  }
  return {};
}

}  // namespace

BufferId ProgramLowering::allocate(const Shape& shape) {
  const BufferId buffer = builder.buffer({.bytes = std::max<int64_t>(shape.byte_size(), 1)});
  state(buffer) = {.is_writable = true, .pending = 0};
  touch(buffer);
  return buffer;
}

uint32_t ProgramLowering::origin(const Instruction& instruction) {
  std::vector<Origin>& origins = program.plan.origins;
  const auto [found, is_new] =
      origins_.emplace(&instruction, static_cast<uint32_t>(origins.size()));
  if (!is_new) return found->second;
  Origin& origin = origins.emplace_back();
  origin.name =
      instruction.name.empty() ? std::string(to_string(instruction.opcode)) : instruction.name;
  const hlo::Metadata& metadata = instruction.extras->metadata;
  origin.file = instruction.at.known() ? instruction.at.file : metadata.source_file;
  origin.line = instruction.at.known() ? instruction.at.line : metadata.source_line;
  return found->second;
}

void ProgramLowering::touch(BufferId buffer) {
  BufferInfo& info = program.plan.buffers[buffer.value];
  if (info.born < 0) info.born = now_;
  info.last = std::max(info.last, now_);
  for (OpenLoop& loop : loops_) loop.touched.push_back(buffer);
}

void ProgramLowering::begin_loop() { loops_.push_back({now_, {}}); }

void ProgramLowering::end_loop() {
  const OpenLoop loop = std::move(loops_.back());
  loops_.pop_back();
  for (BufferId buffer : loop.touched) {
    BufferInfo& info = program.plan.buffers[buffer.value];
    if (info.born <= loop.began) info.last = std::max(info.last, now_);
  }
}

void ProgramLowering::copy_whole(BufferId to, BufferId from, int64_t bytes, int reads) {
  take_over(to, from, reads);
  builder.copy(to, from, bytes);
}

void ProgramLowering::take_over(BufferId to, BufferId from, int reads) {
  const BufferInfo& source = program.plan.buffers[from.value];
  const BufferInfo& target = program.plan.buffers[to.value];
  if (source.kind == BufferInfo::Kind::kArgument && target.kind == BufferInfo::Kind::kResult &&
      source.bytes == target.bytes && state(from).pending == reads && loops_.empty())
    program.taken.emplace_back(source.index, target.index);
}

BufferId ProgramLowering::constant(const Literal& literal) {
  const auto number = static_cast<int64_t>(program.constants.size());
  program.constants.push_back(literal);
  return builder.buffer(
      {.kind = BufferInfo::Kind::kConstant, .bytes = literal.byte_size(), .index = number});
}

Status ProgramLowering::add_kernel(KernelRecipe recipe) {
  HEDDLE_ASSIGN_OR_RETURN(auto kernel, make_kernel(recipe));
  program.kernels.push_back(std::move(kernel));
  program.recipes.push_back(std::move(recipe));
  return {};
}

Status ProgramLowering::run() {
  const Region region(module, module.entry_computation());
  std::vector<Value> arguments;
  for (size_t i = 0; i < region.parameters().size(); ++i) {
    const Shape& shape = *region.leaves()[region.parameters()[i].value].shape;
    const BufferId buffer = builder.buffer({.kind = BufferInfo::Kind::kArgument,
                                            .bytes = shape.byte_size(),
                                            .index = static_cast<int64_t>(i)});
    arguments.push_back(Value::of(buffer));
    if (shape.is_scalar() && scalar_of(shape.dtype()))
      arguments.back() = Value::of(builder.load(buffer, {scalar_type(shape), 1}, builder.index(0)));
  }
  RegionLowering lowering(*this, region, arguments);
  std::vector<BufferId> places;
  for (size_t i = 0; i < region.results().size(); ++i) {
    const Shape& shape = *region.leaves()[region.results()[i].value].shape;
    places.push_back(builder.buffer({.kind = BufferInfo::Kind::kResult,
                                     .bytes = shape.byte_size(),
                                     .index = static_cast<int64_t>(i)}));
    state(places.back()).is_writable = true;
  }
  lowering.want_results(places);
  HEDDLE_RETURN_IF_ERROR(lowering.run());
  std::vector<BufferId> from(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    if (const Value value = lowering.result(i); !value.is_node()) from[i] = value.buffer;
  }
  lowering.put_in_places(region.results(), places, std::move(from));
  for (size_t i = 0; i < places.size(); ++i) {
    if (const Value value = lowering.result(i); value.is_node())
      builder.store(places[i], builder.index(0), value.node);
  }
  if (!to_double.empty()) return {};  // the caller begins anew
  // What no memory could hold is refused where it is made.
  double all = 0;
  for (const BufferInfo& buffer : program.plan.buffers) all += static_cast<double>(buffer.bytes);
  if (all > 0x1p60)
    return base::unimplemented("cpu: the arrays of ", module.name, " take ", all, " bytes");
  remove_unread_stores(program.plan);
  join_stacks(program.plan);
  fuse_loops(program.plan, program.taken);
  exchange_loops(program.plan, program.taken);
  carry_columns(program.plan);
  part_vectors(program.plan);
  carry_lanes(program.plan);
  interleave_turns(program.plan);
  share_indices(program.plan);
  share_loops(program.plan);
  place_buffers(program.plan);
  mark_stops(program.plan);
  return {};
}

StatusOr<LoweredProgram> lower(const hlo::Module& module, int64_t vector_bytes, bool as_lapack) {
  HEDDLE_RETURN_IF_ERROR(check(module));
  LoweredProgram program;
  ProgramLowering lowering(module, vector_bytes, as_lapack, program);
  HEDDLE_RETURN_IF_ERROR(lowering.run());
  if (lowering.to_double.empty()) return program;
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module doubled,
                          with_doubled_turns(module, lowering.to_double));
  return lower(doubled, vector_bytes, as_lapack);
}

// One that is made for the instruction, else its rule.
StatusOr<std::unique_ptr<Kernel>> make_kernel(const KernelRecipe& recipe) {
  if (recipe.product.has_value()) return make_product_kernel(*recipe.product);
  const Computation& entry = recipe.instruction.entry_computation();
  const Instruction& instruction = entry.root_instruction();
  const auto operand = [&](size_t i) -> const Shape& {
    return entry.at(instruction.operands[i]).shape;
  };
  if (is_product_convolution(entry, instruction)) {
    return make_convolution_kernel(operand(0), operand(1), instruction.shape,
                                   instruction.attrs.get<hlo::ConvolutionAttrs>());
  }
  HEDDLE_ASSIGN_OR_RETURN(auto rule, make_rule_kernel(recipe.instruction));
  if (instruction.opcode == Opcode::kFft) {
    const auto& attrs = instruction.attrs.get<hlo::FftAttrs>();
    if (is_fast_fourier(operand(0), attrs))
      return make_fft_kernel(operand(0), instruction.shape, attrs, std::move(rule));
  }
  if (instruction.opcode == Opcode::kTopK)
    return make_topk_kernel(operand(0), instruction.attrs.get<hlo::TopKAttrs>(), std::move(rule));
  if (instruction.opcode == Opcode::kSort)
    return make_sort_kernel(recipe.instruction, std::move(rule));
  std::vector<const Shape*> operands;
  for (size_t i = 0; i < instruction.operands.size(); ++i) operands.push_back(&operand(i));
  if (operands.empty()) return rule;
  if (instruction.opcode == Opcode::kCustomCall) {
    rule = make_eigen_kernel(instruction, operand(0), std::move(rule));
    rule = make_svd_kernel(instruction, operand(0), std::move(rule));
    rule = make_spectrum_kernel(instruction, operand(0), std::move(rule));
    rule = make_tridiagonal_kernel(instruction, operands, std::move(rule));
  }
  return make_factor_kernel(instruction, operands, std::move(rule));
}

}  // namespace heddle::cpu
