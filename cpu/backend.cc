#include "heddle/cpu/backend.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stdexcept>

#include "heddle/base/located_status.h"
#include "heddle/base/strings.h"
#include "heddle/cpu/inspect.h"
#include "heddle/cpu/jit/jit.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/cpu/lower/complex.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/cpu/lower/random_bits.h"
#include "heddle/cpu/lower/region.h"
#include "heddle/cpu/lower/unroll.h"
#include "heddle/cpu/lower/widen.h"
#include "heddle/cpu/plan/cost.h"
#include "heddle/hlo/evaluate.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/host_backend.h"
#include "heddle/runtime/interpreter.h"
#include "heddle/transform/pass.h"

namespace heddle::cpu {
namespace {

using runtime::HostProgram;

std::atomic<int64_t> native_count{0};
std::atomic<int64_t> evaluated_count{0};

// Of runs that nobody stops.
const std::atomic<bool> kNever{false};

// What a run hands to kernels, and they hand back.
struct RunContext {
  const LoweredProgram* program;
  Status error;
};

int64_t call_kernel(void* context, int64_t number, void* const* pointers) {
  auto& run = *static_cast<RunContext*>(context);
  const auto which = static_cast<size_t>(number);
  const size_t count = run.program->plan.kernels[which].buffers.size();
  try {  // nothing may be thrown through machine code
    run.error = run.program->kernels[which]->run({pointers, count});
  } catch (const std::bad_alloc&) {
    run.error = base::resource_exhausted("run ", run.program->plan.name,
                                         ": a kernel needs more memory than there is");
  }
  return run.error.ok() ? 0 : 1;
}

void share_loop(LoopPart part, const void* frame, int64_t from, int64_t to, int64_t chunk) {
  if (thread_count() == 1) return part(frame, from, to);
  parallel((to - from + chunk - 1) / chunk, [&](int64_t number) {
    const int64_t first = from + number * chunk;
    part(frame, first, std::min(first + chunk, to));
  });
}

// A table of pointers, without an allocation where they are few.
class Pointers {
 public:
  explicit Pointers(size_t size) : many_(size > few_.size() ? size : 0) {}
  void** data() { return many_.empty() ? few_.data() : many_.data(); }

 private:
  std::array<void*, 16> few_;
  std::vector<void*> many_;
};

// Memory that runs leave for the next ones.
class ArenaPool {
 public:
  explicit ArenaPool(int64_t bytes) : shape_(DType::kU8, {bytes}) {}

  Literal take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Literal arena = std::move(free_.back());
        free_.pop_back();
        return arena;
      }
    }
    return Literal::uninitialised(shape_);
  }

  void give_back(Literal arena) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) free_.push_back(std::move(arena));
  }

 private:
  Shape shape_;
  std::mutex mutex_;
  std::vector<Literal> free_;
};

class NativeProgram final : public HostProgram {
 public:
  NativeProgram(LoweredProgram program, JitResult made, const hlo::Module& module)
      : program_(std::move(program)),
        code_(std::move(made.code)),
        entry_(code_->entry()),
        arena_bytes_(made.arena_bytes),
        arenas_(arena_bytes_) {
    runtime::append_leaves(module.entry_computation().result_shape(), result_shapes_);
    for (const Literal& literal : program_.constants) constants_.push_back(literal.bytes());
    cost_ = cost_of(program_.plan);
  }

  StatusOr<std::vector<Literal>> run(std::vector<Literal> leaves,
                                     const StopToken& stop) const override {
    try {
      return run_code(std::move(leaves), stop);
    } catch (const std::bad_alloc&) {
      return no_memory();
    } catch (const std::length_error&) {  // a std::vector that could never be that long
      return no_memory();
    }
  }

  std::optional<int64_t> scratch_bytes() const override { return arena_bytes_; }
  std::optional<double> flops() const override { return cost_.flops; }
  std::optional<double> bytes_accessed() const override { return cost_.bytes; }

 private:
  // Names the greatest thing that a run needs.
  [[nodiscard]] Status no_memory() const {
    const std::string what =
        base::cat("run ", program_.plan.name, " needs more memory than there is: ");
    const auto greatest = std::ranges::max_element(result_shapes_, {}, &Shape::byte_size);
    if (greatest == result_shapes_.end() || greatest->byte_size() < arena_bytes_) {
      return base::resource_exhausted(what, "what it computes on the way takes ", arena_bytes_,
                                      " bytes");
    }
    return base::resource_exhausted(what, *greatest, " alone takes ", greatest->byte_size(),
                                    " bytes");
  }

  [[nodiscard]] Status error_of(const Exit& exit, const RunContext& context) const {
    if (exit.reason == Exit::Reason::kKernelFailed) return context.error;
    const Plan& plan = program_.plan;
    const Node& node = plan.at(exit.node);
    const Origin& origin = plan.origins[node.origin];
    const Status status = exit.reason == Exit::Reason::kStopped
                              ? base::make_error(StatusCode::kCancelled, "run ", plan.name,
                                                 ": stopped in ", origin.name)
                              : base::internal_error("run ", plan.name, ": ", to_string(node.op),
                                                     " %", exit.node.value, " of ", origin.name,
                                                     " is outside of b", node.buffer.value);
    return origin.file.empty() ? status : with_location(status, place_of(origin));
  }

  StatusOr<std::vector<Literal>> run_code(std::vector<Literal> leaves,
                                          const StopToken& stop) const {
    Pointers arguments(leaves.size()), places(result_shapes_.size());
    for (size_t i = 0; i < leaves.size(); ++i)
      arguments.data()[i] = const_cast<std::byte*>(leaves[i].bytes());  // the code reads them alone
    std::vector<Literal> results(result_shapes_.size());
    for (const auto& [argument, result] : program_.taken) {
      Literal& leaf = leaves[static_cast<size_t>(argument)];
      if (leaf.is_unique()) results[static_cast<size_t>(result)] = std::move(leaf);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_valid()) results[i] = Literal::uninitialised(result_shapes_[i]);
      places.data()[i] = results[i].mutable_bytes();
    }
    RunContext context{&program_, {}};
    const auto call = [&](void* arena) {
      return entry_(&context, arena, arguments.data(), places.data(), constants_.data(),
                    stop.stop_possible() ? stop.flag() : &kNever);
    };
    int64_t code = 0;
    if (arena_bytes_ == 0) {
      code = call(nullptr);
    } else {
      Literal arena = arenas_.take();
      code = call(arena.mutable_bytes());
      arenas_.give_back(std::move(arena));
    }
    if (code != 0) return error_of(Exit::of(code), context);
    for (const auto& [argument, result] : program_.taken) {  // the memory may have another shape
      const auto i = static_cast<size_t>(result);
      if (!same_type(results[i].shape(), result_shapes_[i]))
        results[i] = std::move(results[i]).reshaped(result_shapes_[i]);
    }
    return results;
  }

  LoweredProgram program_;
  std::unique_ptr<Code> code_;
  Entry entry_;
  int64_t arena_bytes_;
  std::vector<Shape> result_shapes_;
  std::vector<const void*> constants_;
  PlanCost cost_;
  mutable ArenaPool arenas_;
};

// LAPACK's factors and solutions of small matrices, which loops do better than calls.
bool is_expanded(std::string_view target) {
  return target.ends_with("trsm_ffi") || target.ends_with("potrf_ffi") ||
         target.ends_with("getrf_ffi");
}

bool has_large_matrix(const hlo::Module& module) {
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& i : computation.instructions) {
      if (i.opcode != hlo::Opcode::kCustomCall || i.operands.empty()) continue;
      const Shape& shape = computation.at(i.operands[0]).shape;
      for (int64_t d = std::max<int64_t>(shape.rank() - 2, 0); d < shape.rank(); ++d) {
        if (shape.dimension(d) > kMaxFactorRows) return true;
      }
    }
  }
  return false;
}

// A module on its way: flat, and as a plan.
struct Lowered {
  hlo::Module flat;
  LoweredProgram program;
};

StatusOr<Lowered> lowered(const hlo::Module& module) {
  hlo::Module expanded;
  const bool expands = transform::has_lapack(module, is_expanded) && !has_large_matrix(module);
  if (expands) {
    HEDDLE_ASSIGN_OR_RETURN(expanded, transform::expand_lapack(module, is_expanded));
  }
  const std::span<const transform::Pass> flatten = transform::kFlattenPipeline;
  Lowered out;
  HEDDLE_ASSIGN_OR_RETURN(
      out.flat,
      transform::run_pipeline(widen(expand_random_bits(expands ? expanded : module)), flatten));
  if (has_complex(out.flat)) {
    HEDDLE_ASSIGN_OR_RETURN(out.flat, transform::run_pipeline(split_complex(out.flat), flatten));
  }
  if (auto unrolled = unroll_array_loops(out.flat)) {
    HEDDLE_ASSIGN_OR_RETURN(out.flat, transform::run_pipeline(*std::move(unrolled), flatten));
  }
  HEDDLE_ASSIGN_OR_RETURN(out.program, lower(out.flat, host_vector_bytes(), expands));
  return out;
}

std::string text_of(const hlo::Module& module) {
  return hlo::print(module, {.form = hlo::PrintOptions::Form::kShort,
                             .line_comments = true,
                             .max_constant_elements = 16});
}

StatusOr<std::shared_ptr<const HostProgram>> native(const hlo::Module& module,
                                                    const CpuOptions& options) {
  HEDDLE_ASSIGN_OR_RETURN(Lowered lower, lowered(module));
  HEDDLE_ASSIGN_OR_RETURN(JitResult result,
                          compile_plan({.plan = &lower.program.plan,
                                        .call_kernel = call_kernel,
                                        .share_loop = share_loop,
                                        .wants_text = !options.dump_folder.empty(),
                                        .wants_ranges = options.names_code,
                                        .checks_bounds = options.checks_bounds}));
  if (!options.dump_folder.empty()) {
    HEDDLE_RETURN_IF_ERROR(dump(options.dump_folder, module.name,
                                {{"before.hlo", text_of(module)},
                                 {"flat.hlo", text_of(lower.flat)},
                                 {"plan", to_text(lower.program.plan)},
                                 {"ll", result.ir},
                                 {"s", result.assembly}}));
  }
  if (options.names_code) HEDDLE_RETURN_IF_ERROR(name_for_perf(module.name, result.ranges));
  return std::make_shared<NativeProgram>(std::move(lower.program), std::move(result), module);
}

class CpuBackend final : public runtime::HostBackend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : HostBackend("cpu", "host processor",
                    {.asynchronous = options.asynchronous, .devices = options.devices}),
        options_(options),
        evaluator_(runtime::make_evaluator_programs()) {}

  std::string version() const override {
    if (const Status status = find_code_generator(); !status.ok())
      return base::cat("every program runs on the evaluator: ", base::message_of(status));
    return base::cat("machine code by LLVM, vectors of ", host_vector_bytes(), " bytes");
  }

 protected:
  StatusOr<std::shared_ptr<const HostProgram>> prepare(const hlo::Module& module) override {
    auto program = native(module, options_);
    if (program.ok()) {
      ++native_count;
      return program;
    }
    if (program.status().code() != StatusCode::kUnimplemented &&
        program.status().code() != StatusCode::kNotFound)
      return program.status();
    ++evaluated_count;
    if (!options_.dump_folder.empty()) {
      HEDDLE_RETURN_IF_ERROR(dump(
          options_.dump_folder, module.name,
          {{"before.hlo", text_of(module)}, {"why", base::message_of(program.status()) + "\n"}}));
    }
    return evaluator_(module);
  }

 private:
  CpuOptions options_;
  runtime::PrepareProgram evaluator_;
};

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

std::unique_ptr<runtime::Backend> make_cpu(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

StatusOr<Stages> stages_of(const hlo::Module& module) {
  HEDDLE_ASSIGN_OR_RETURN(const Lowered lower, lowered(module));
  Stages stages{.plan = to_text(lower.program.plan), .llvm = {}, .assembly = {}};
  HEDDLE_ASSIGN_OR_RETURN(
      JitResult result,
      compile_plan({.plan = &lower.program.plan,
                    .call_kernel = call_kernel,
                    .share_loop = share_loop,
                    .wants_text = true}));
  stages.llvm = std::move(result.ir);
  stages.assembly = std::move(result.assembly);
  return stages;
}

Statistics statistics() { return {native_count.load(), evaluated_count.load()}; }

StatusOr<std::unique_ptr<runtime::Backend>> make_known(std::string_view argument) {
  if (!argument.empty())
    return base::not_found("backend cpu: takes no argument, got \"", argument, "\"");
  CpuOptions options;
  if (const char* folder = std::getenv("HEDDLE_DUMP")) options.dump_folder = folder;
  options.names_code = is_set("HEDDLE_PERF");
  options.checks_bounds = is_set("HEDDLE_CPU_CHECKS");
  return make_cpu(options);
}

}  // namespace heddle::cpu
