#include "heddle/cpu/backend.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <span>

#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/settings.h"
#include "heddle/base/text/strings.h"
#include "heddle/codegen/jit/build_digest.h"
#include "heddle/codegen/jit/jit.h"
#include "heddle/codegen/plan/cost.h"
#include "heddle/cpu/inspect.h"
#include "heddle/cpu/kernels/direct/direct.h"
#include "heddle/cpu/kernels/isa.h"
#include "heddle/cpu/loop_clock.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/cpu/native_program.h"
#include "heddle/cpu/rewrites/folds/first_places.h"
#include "heddle/cpu/rewrites/folds/holes.h"
#include "heddle/cpu/rewrites/folds/pooled_folds.h"
#include "heddle/cpu/rewrites/folds/repeated_values.h"
#include "heddle/cpu/rewrites/folds/short_folds.h"
#include "heddle/cpu/rewrites/folds/spread_windows.h"
#include "heddle/cpu/rewrites/indexing/chosen_updates.h"
#include "heddle/cpu/rewrites/indexing/column_windows.h"
#include "heddle/cpu/rewrites/indexing/converted_tables.h"
#include "heddle/cpu/rewrites/indexing/fixed_scatters.h"
#include "heddle/cpu/rewrites/indexing/flat_gathers.h"
#include "heddle/cpu/rewrites/indexing/joined_tables.h"
#include "heddle/cpu/rewrites/indexing/own_tiles.h"
#include "heddle/cpu/rewrites/indexing/picked_views.h"
#include "heddle/cpu/rewrites/indexing/sliced_gathers.h"
#include "heddle/cpu/rewrites/indexing/sparse_sums.h"
#include "heddle/cpu/rewrites/indexing/stack_choices.h"
#include "heddle/cpu/rewrites/indexing/strided_scatters.h"
#include "heddle/cpu/rewrites/indexing/window_gathers.h"
#include "heddle/cpu/rewrites/loops/loop_distribution.h"
#include "heddle/cpu/rewrites/loops/own_conditions.h"
#include "heddle/cpu/rewrites/loops/parted_products.h"
#include "heddle/cpu/rewrites/loops/transposed_states.h"
#include "heddle/cpu/rewrites/loops/unroll.h"
#include "heddle/cpu/rewrites/numbers/complex.h"
#include "heddle/cpu/rewrites/numbers/complex_moves.h"
#include "heddle/cpu/rewrites/numbers/complex_views.h"
#include "heddle/cpu/rewrites/numbers/random_bits.h"
#include "heddle/cpu/rewrites/numbers/short_integers.h"
#include "heddle/cpu/rewrites/numbers/widen.h"
#include "heddle/cpu/rewrites/pads/interleaved_pads.h"
#include "heddle/cpu/rewrites/pads/joined_pads.h"
#include "heddle/cpu/rewrites/pads/padded_columns.h"
#include "heddle/cpu/rewrites/pads/sliced_pads.h"
#include "heddle/cpu/rewrites/products/channels_last.h"
#include "heddle/cpu/rewrites/products/few_features.h"
#include "heddle/cpu/rewrites/products/integer_products.h"
#include "heddle/cpu/rewrites/products/lane_batches.h"
#include "heddle/cpu/rewrites/products/ordered_products.h"
#include "heddle/cpu/rewrites/products/outer_products.h"
#include "heddle/cpu/rewrites/products/phased_convolutions.h"
#include "heddle/cpu/rewrites/products/swapped_convolutions.h"
#include "heddle/cpu/rewrites/products/values_alone.h"
#include "heddle/cpu/rewrites/shapes/early_reshapes.h"
#include "heddle/cpu/rewrites/shapes/late_repeats.h"
#include "heddle/cpu/rewrites/shapes/late_transposes.h"
#include "heddle/cpu/rewrites/shapes/split_columns.h"
#include "heddle/cpu/rewrites/sorts/keyed_sorts.h"
#include "heddle/cpu/rewrites/sorts/ranked_sorts.h"
#include "heddle/cpu/rewrites/sorts/small_sorts.h"
#include "heddle/cpu/stored.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/host_programs.h"
#include "heddle/runtime/cache/disk_cache.h"
#include "heddle/runtime/host/host_backend.h"
#include "heddle/transform/dump.h"
#include "heddle/transform/pass.h"
#include "heddle/transform/state_thread.h"

namespace heddle::cpu {
namespace {

using interpreter::Seeds;
using runtime::HostProgram;

constexpr std::string_view kProfileLoops = "profile_loops", kYes = "true";

std::atomic<int64_t> native_count{0};
std::atomic<int64_t> evaluated_count{0};
std::atomic<int64_t> foreign_count{0};

// LAPACK's factors and solutions of small matrices, which loops do better than calls.
bool is_factor(std::string_view target) { return target.ends_with("getrf_ffi"); }
bool is_solution(std::string_view target) {
  return target.ends_with("trsm_ffi") || target.ends_with("potrf_ffi");
}
bool is_factor_or_solution(std::string_view target) {
  return is_factor(target) || is_solution(target);
}

// The most rows or columns of a matrix that a custom call takes first, of targets that are wanted.
int64_t most_rows(const hlo::Module& module, const transform::CallFilter& wants) {
  int64_t most = 0;
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& i : computation.instructions) {
      if (i.opcode != hlo::Opcode::kCustomCall || i.operands.empty() ||
          !wants(i.attrs.get<hlo::CustomCallAttrs>().custom_call_target))
        continue;
      const Shape& shape = computation.at(i.operands[0]).shape;
      for (int64_t d = std::max<int64_t>(shape.rank() - 2, 0); d < shape.rank(); ++d)
        most = std::max(most, shape.dimension(d));
    }
  }
  return most;
}

using Rewriting = StatusOr<hlo::Module> (*)(const hlo::Module&);
using Search = StatusOr<std::optional<hlo::Module>> (*)(const hlo::Module&);

// What writes some ops as others, where a module has them.
struct OpRewriting {
  std::array<hlo::Opcode, 2> opcodes;
  Rewriting write;
};
constexpr OpRewriting kOpRewritings[] = {
    {{hlo::Opcode::kSort, hlo::Opcode::kTopK}, sort_in_rows},
    {{hlo::Opcode::kSort, hlo::Opcode::kSort}, expand_small_sorts},
    {{hlo::Opcode::kSort, hlo::Opcode::kSort}, rank_sorts},
    {{hlo::Opcode::kSort, hlo::Opcode::kSort}, key_sorts},
    {{hlo::Opcode::kGather, hlo::Opcode::kGather}, slice_gathers},
    {{hlo::Opcode::kGather, hlo::Opcode::kGather}, gather_windows},
    {{hlo::Opcode::kGather, hlo::Opcode::kGather}, choose_from_stacks},
    {{hlo::Opcode::kGather, hlo::Opcode::kGather}, flatten_gathers},
    {{hlo::Opcode::kConvolution, hlo::Opcode::kDot}, expand_integer_products},
    {{hlo::Opcode::kConvolution, hlo::Opcode::kConvolution}, swap_convolutions},
    {{hlo::Opcode::kConvolution, hlo::Opcode::kConvolution}, join_phases},
    {{hlo::Opcode::kConvolution, hlo::Opcode::kConvolution}, multiply_taps},
    {{hlo::Opcode::kConvolution, hlo::Opcode::kConvolution}, put_channels_last},
};

bool has_any(const hlo::Module& module, std::span<const hlo::Opcode> opcodes) {
  return std::ranges::any_of(module.computations, [&](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [&](const hlo::Instruction& i) {
      return std::ranges::find(opcodes, i.opcode) != opcodes.end();
    });
  });
}

constexpr int kMostSplitDimensions = 3;  // a batch of small matrices has two
constexpr int kMostNestedTables = 6;     // of which elements are picked

// A module on its way: flat, and as a plan.
struct Lowered {
  hlo::Module flat;
  LoweredProgram program;
};

// Modules that were printed without their large constants are read, and do not run.
Status require_constants(const hlo::Module& module) {
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& constant : computation.instructions) {
      if (constant.opcode != hlo::Opcode::kConstant ||
          !constant.attrs.get<hlo::ConstantAttrs>().literal.is_elided())
        continue;
      return base::failed_precondition(
          "constant: ", constant.name, " of ", computation.name,
          " is elided, {...}, so its value is not known; print the module with all its constants");
    }
  }
  return {};
}

StatusOr<hlo::Module> flattened(const hlo::Module& module) {
  return transform::run_pipeline(module, transform::kFlattenPipeline);
}

Status rewrite(hlo::Module& module, std::initializer_list<Rewriting> rewritings) {
  for (const Rewriting write : rewritings) {
    HEDDLE_ASSIGN_OR_RETURN(module, write(module));
  }
  return {};
}

// Up to so many times, until nothing is found. The module is flat again after each find.
Status search(hlo::Module& flat, Search find, int times = 1) {
  for (; times > 0; --times) {
    HEDDLE_ASSIGN_OR_RETURN(const auto found, find(flat));
    if (!found) break;
    HEDDLE_ASSIGN_OR_RETURN(flat, flattened(*found));
  }
  return {};
}

// As `kSearch`, which rewrites loops' states, of loops that share no conditions.
template <Search kSearch>
StatusOr<std::optional<hlo::Module>> of_own_conditions(const hlo::Module& module) {
  HEDDLE_ASSIGN_OR_RETURN(const auto own, copy_shared_conditions(module));
  return kSearch(own ? *own : module);
}

// LAPACK's factors and solutions of small matrices become loops. Whether there are such.
StatusOr<bool> expand_factors(hlo::Module& module) {
  if (!transform::has_lapack(module, is_factor_or_solution) ||
      most_rows(module, is_factor_or_solution) > kMaxFactorRows)
    return false;
  const bool factors = most_rows(module, is_factor) <= transform::kMostUnrolledRows;
  HEDDLE_ASSIGN_OR_RETURN(
      module, transform::expand_lapack(module, factors ? is_factor_or_solution : is_solution,
                                       /*unrolls=*/true));
  return true;
}

// Ops as others that loops suit; then the module is flat.
Status rewrite_ops(hlo::Module& module) {
  HEDDLE_RETURN_IF_ERROR(rewrite(module, {expand_random_bits}));
  for (const OpRewriting& rewriting : kOpRewritings) {
    if (has_any(module, rewriting.opcodes))
      HEDDLE_RETURN_IF_ERROR(rewrite(module, {rewriting.write}));
  }
  return rewrite(module, {spread_windows, widen, pool_blocks, flattened});
}

StatusOr<std::optional<hlo::Module>> pick_places(const hlo::Module& module) {
  HEDDLE_ASSIGN_OR_RETURN(std::optional<hlo::Module> of_arrays, pick_from_views(module));
  return of_arrays ? std::move(of_arrays) : pick_from_parts(module);
}

Status rewrite_flat(hlo::Module& flat) {
  for (const Search find : {unroll_short_loops, part_products, compute_after_loops,
                            compute_before_loops, find_values_alone, fold_repeated, choose_updates,
                            join_interleaved_pads, join_padded_columns, unroll_short_folds,
                            transpose_late, reshape_early, repeat_late, slice_pads})
    HEDDLE_RETURN_IF_ERROR(search(flat, find));
  HEDDLE_RETURN_IF_ERROR(rewrite(
      flat, {expand_outer_products, update_fixed_scatters, update_strided_scatters,
             convert_what_is_taken, update_sparse_sums, find_first_places, shorten_integers}));
  HEDDLE_RETURN_IF_ERROR(search(flat, pick_places, kMostNestedTables));
  const bool splits = has_complex(flat);
  if (splits) {
    HEDDLE_ASSIGN_OR_RETURN(auto moved, move_whole_complex(flat));
    if (moved) flat = *std::move(moved);
    HEDDLE_RETURN_IF_ERROR(rewrite(flat, {split_complex, flattened}));
  }
  HEDDLE_RETURN_IF_ERROR(search(flat, of_own_conditions<split_into_columns>, kMostSplitDimensions));
  HEDDLE_RETURN_IF_ERROR(search(flat, unroll_short_loops));
  HEDDLE_RETURN_IF_ERROR(search(flat, of_own_conditions<transpose_states>));
  if (splits) HEDDLE_RETURN_IF_ERROR(rewrite(flat, {view_complex_inputs}));
  HEDDLE_RETURN_IF_ERROR(search(flat, put_batches_in_lanes));
  HEDDLE_RETURN_IF_ERROR(search(flat, join_padded_rows));
  HEDDLE_ASSIGN_OR_RETURN(auto turned, turn_column_windows(flat));
  if (turned) flat = *std::move(turned);
  return rewrite(flat, {pad_windows, order_products});
}

// The pipeline, from the module as it was traced.
StatusOr<Lowered> lowered(const hlo::Module& traced) {
  const base::Span span(base::Activity::kLower, traced.name);
  HEDDLE_RETURN_IF_ERROR(require_constants(traced));
  Lowered out;
  HEDDLE_ASSIGN_OR_RETURN(out.flat, transform::run_pipeline(traced, transform::kLoopPipeline));
  if (hlo::has_debug_calls(out.flat)) {
    HEDDLE_ASSIGN_OR_RETURN(out.flat, transform::with_debug_calls_in_order(out.flat));
  }
  HEDDLE_ASSIGN_OR_RETURN(const bool has_factors, expand_factors(out.flat));
  HEDDLE_RETURN_IF_ERROR(rewrite_ops(out.flat));
  HEDDLE_RETURN_IF_ERROR(rewrite_flat(out.flat));
  HEDDLE_ASSIGN_OR_RETURN(out.program, lower(out.flat, host_vector_bytes(), has_factors));
  return out;
}

// Programs that people look into are made anew.
bool may_be_stored(const CpuOptions& options) {
  return options.dump_folder.empty() && !options.names_code && !options.checks_bounds &&
         !options.profiles_loops;
}

StatusOr<std::shared_ptr<const Plan>> plan_of(const hlo::Module& module) {
  HEDDLE_ASSIGN_OR_RETURN(Lowered lower, lowered(module));
  return std::make_shared<const Plan>(std::move(lower.program.plan));
}

StatusOr<std::shared_ptr<const NativeProgram>> native(const hlo::Module& module,
                                                      const CpuOptions& options, Seeds seeds,
                                                      StoredProgram& stored) {
  count(&Counters::lowerings);
  HEDDLE_ASSIGN_OR_RETURN(Lowered lower, lowered(module));
  if (options.profiles_loops) add_loop_clocks(lower.program.plan, lower.program.kernels);
  HEDDLE_ASSIGN_OR_RETURN(JitResult result,
                          compile_plan({.plan = &lower.program.plan,
                                        .call_kernel = call_kernel,
                                        .share_loop = share_loop,
                                        .wants_text = !options.dump_folder.empty(),
                                        .wants_ranges = options.names_code,
                                        .checks_bounds = options.checks_bounds}));
  if (!options.dump_folder.empty()) {
    HEDDLE_RETURN_IF_ERROR(transform::dump(options.dump_folder, module.name,
                                           {{"before.hlo", transform::text_of_dump(module)},
                                            {"flat.hlo", transform::text_of_dump(lower.flat)},
                                            {"plan", to_text(lower.program.plan)},
                                            {"ll", result.ir},
                                            {"s", result.assembly}}));
  }
  if (options.names_code) HEDDLE_RETURN_IF_ERROR(name_for_perf(module.name, result.ranges));
  NativeParts parts{.name = lower.program.plan.name,
                    .code = std::move(result.code),
                    .arena_bytes = result.arena_bytes,
                    .constants = std::move(lower.program.constants),
                    .kernels = std::move(lower.program.kernels),
                    .taken = std::move(lower.program.taken),
                    .cost = cost_of(lower.program.plan)};
  for (const KernelUse& use : lower.program.plan.kernels)
    parts.kernel_buffers.push_back(use.buffers.size());
  parts.next_seed = std::move(seeds);
  if (!result.image.has_value()) ++foreign_count;
  if (result.build == kBuildDigest)  // else the key would be another library's
    stored.store(parts, result.image, lower.program.recipes);
  parts.plan = [plan = std::make_shared<const Plan>(std::move(lower.program.plan))]()
      -> StatusOr<std::shared_ptr<const Plan>> { return plan; };
  return make_native(std::move(parts), module);
}

// Once, on standard error: everything runs, but much slower than people expect of this backend.
void tell_of_missing_generator() {
  static std::once_flag once;
  const Status status = find_code_generator();
  if (status.ok()) return;
  std::call_once(once, [&] {
    std::fprintf(stderr, "heddle: programs run on the evaluator, which is slow: %s\n",
                 base::message_of(status).c_str());
  });
}

class CpuBackend final : public runtime::HostBackend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : HostBackend("cpu", "host processor",
                    {.asynchronous = options.asynchronous,
                     .devices = options.devices,
                     .flushes_subnormals = options.flushes_subnormals}),
        options_(options),
        evaluator_(interpreter::make_programs(seeds_)) {
    if (may_be_stored(options)) use_direct_kernels(direct_kernels());
  }

  std::string version() const override {
    if (const Status status = find_code_generator(); !status.ok())
      return base::cat("every program runs on the evaluator: ", base::message_of(status));
    return base::cat("machine code by LLVM, vectors of ", host_vector_bytes(), " bytes");
  }

 protected:
  StatusOr<std::shared_ptr<const HostProgram>> prepare(
      const runtime::ModulePtr& traced, const runtime::CompileOptions& compile_options) override {
    CpuOptions options = options_;
    for (const auto& [name, value] : compile_options.backend_options)
      options.profiles_loops |= value == kYes;
    HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const HostProgram> program,
                            as_machine_code(traced, options));
    return program != nullptr ? std::move(program) : evaluator_(traced);
  }

  StatusOr<runtime::GridProgram> prepare_for_grid(const hlo::Module& module,
                                                  const runtime::DeviceGrid& grid) override {
    HEDDLE_ASSIGN_OR_RETURN(const auto sliced, slice_own_tiles(module, grid.partitions));
    auto own = std::make_shared<hlo::Module>(sliced ? *sliced : module);
    if (own->extras.has_value()) {  // what is one device's runs on one
      own->extras.mutate().replica_count = 1;
      own->extras.mutate().num_partitions = 1;
    }
    HEDDLE_ASSIGN_OR_RETURN(const auto program, as_machine_code(own, options_));
    if (program == nullptr) return interpreter::prepare_for_grid(module, grid, seeds_);
    return interpreter::make_grid_program(
        module, grid, seeds_,
        [program](const interpreter::Seat& seat, std::vector<Literal> arguments,
                  uint64_t seed) -> StatusOr<Literal> {
          HEDDLE_ASSIGN_OR_RETURN(std::vector<Literal> results,
                                  program->run_as(seat, seed, std::move(arguments)));
          return Literal::tuple(std::move(results));
        });
  }

  Status check_options(const hlo::Module& module,
                       const runtime::CompileOptions& options) const override {
    for (const auto& [name, value] : options.backend_options) {
      if (name == kProfileLoops && (value == kYes || value == "false")) continue;
      return base::invalid_argument(
          "compile ", module.name, ": option \"", name, "\" = \"", value,
          "\" is not known to backend cpu, which has profile_loops, true or false");
    }
    return {};
  }

 private:
  // Null where the evaluator has to run it.
  StatusOr<std::shared_ptr<const NativeProgram>> as_machine_code(const runtime::ModulePtr& traced,
                                                                 const CpuOptions& options) const {
    const hlo::Module& module = *traced;
    StoredProgram stored(module, may_be_stored(options) ? runtime::disk_cache() : nullptr);
    if (std::optional<NativeParts> parts = stored.find()) {
      parts->name = module.name;
      parts->plan = [traced] { return plan_of(*traced); };
      parts->next_seed = seeds_;
      ++native_count;
      return make_native(*std::move(parts), module);
    }
    auto program = native(module, options, seeds_, stored);
    if (program.ok()) {
      ++native_count;
      return program;
    }
    if (program.status().code() != StatusCode::kUnimplemented &&
        program.status().code() != StatusCode::kNotFound)
      return program.status();
    ++evaluated_count;
    tell_of_missing_generator();
    if (!options_.dump_folder.empty()) {
      HEDDLE_RETURN_IF_ERROR(transform::dump(options_.dump_folder, module.name,
                                             {{"before.hlo", transform::text_of_dump(module)},
                                              {"why", base::message_of(program.status()) + "\n"}}));
    }
    return std::shared_ptr<const NativeProgram>();
  }

  CpuOptions options_;
  Seeds seeds_ = interpreter::seeds_from(0);
  interpreter::PrepareProgram evaluator_;
};

}  // namespace

std::unique_ptr<runtime::Backend> make_cpu(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

StatusOr<Stages> stages_of(const hlo::Module& module) {
  HEDDLE_ASSIGN_OR_RETURN(const Lowered lower, lowered(module));
  Stages stages{.plan = to_text(lower.program.plan), .llvm = {}, .assembly = {}};
  HEDDLE_ASSIGN_OR_RETURN(JitResult result, compile_plan({.plan = &lower.program.plan,
                                                          .call_kernel = call_kernel,
                                                          .share_loop = share_loop,
                                                          .wants_text = true}));
  stages.llvm = std::move(result.ir);
  stages.assembly = std::move(result.assembly);
  return stages;
}

Statistics statistics() {
  return {native_count.load(), evaluated_count.load(), foreign_count.load()};
}

StatusOr<std::unique_ptr<runtime::Backend>> make_known(std::string_view argument) {
  if (!argument.empty())
    return base::not_found("backend cpu: takes no argument, got \"", argument, "\"");
  CpuOptions options;
  options.flushes_subnormals = setting<Setting::kFlushSubnormals>();
  options.dump_folder = setting<Setting::kDump>();
  options.names_code = setting<Setting::kPerf>();
  options.checks_bounds = setting<Setting::kCpuChecks>();
  options.profiles_loops = setting<Setting::kProfileLoops>();
  return make_cpu(options);
}

}  // namespace heddle::cpu
