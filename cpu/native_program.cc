#include "heddle/cpu/native_program.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

#include "heddle/base/located_status.h"
#include "heddle/base/system/memory.h"
#include "heddle/base/text/strings.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/interpreter/rendezvous.h"
#include "heddle/interpreter/run_context.h"

namespace heddle::cpu {
namespace {

using runtime::HostProgram;

// Of runs that nobody stops.
const std::atomic<bool> kNever{false};

std::string machine_has() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return {};
  return base::cat(", the machine has ", static_cast<int64_t>(pages) * page);
}

// What a run hands to kernels, and they hand back.
struct RunContext {
  const NativeParts* parts;
  // Of a device of several: which one, and the seed that all of them have.
  const interpreter::Seat* seat = nullptr;
  std::optional<uint64_t> seed = {};
  interpreter::RunContext rules = {};
  Status error = {};

  interpreter::RunContext& for_rules(bool draws) {
    rules.seat = seat;
    if (draws) {
      if (!seed) seed = parts->next_seed->fetch_add(1, std::memory_order_relaxed);
      rules.seed = *seed;
    }
    return rules;
  }
};

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

  // `runs`: how many go on at once, as those of the devices of a mesh do.
  void give_back(Literal arena, int64_t runs) {
    const std::lock_guard lock(mutex_);
    if (std::ssize(free_) < runs) free_.push_back(std::move(arena));
  }

 private:
  Shape shape_;
  std::mutex mutex_;
  std::vector<Literal> free_;
};

}  // namespace

int64_t call_kernel(void* context, int64_t number, void* const* pointers) {
  auto& run = *static_cast<RunContext*>(context);
  const auto which = static_cast<size_t>(number);
  const size_t count = run.parts->kernel_buffers[which];
  // Nothing may be thrown through machine code.
  run.error = base::within_memory(
      [&] {
        const Kernel& kernel = *run.parts->kernels[which];
        return kernel.run_within(run.for_rules(kernel.draws()), {pointers, count});
      },
      "run ", run.parts->name, ": a kernel");
  return run.error.ok() ? 0 : 1;
}

void share_loop(LoopPart part, const void* frame, int64_t from, int64_t to, int64_t chunk) {
  if (thread_count() == 1) return part(frame, from, to);
  parallel((to - from + chunk - 1) / chunk, [&](int64_t number) {
    const int64_t first = from + number * chunk;
    part(frame, first, std::min(first + chunk, to));
  });
}

namespace {

class MachineCode final : public NativeProgram {
 public:
  MachineCode(NativeParts parts, const hlo::Module& module)
      : parts_(std::move(parts)), entry_(parts_.code->entry()), arenas_(parts_.arena_bytes) {
    runtime::append_leaves(module.entry_computation().result_shape(), result_shapes_);
    for (const Literal& literal : parts_.constants) constants_.push_back(literal.bytes());
  }

  StatusOr<std::vector<Literal>> run(std::vector<Literal> leaves,
                                     const StopToken& stop) const override {
    return guarded([&] { return run_code(std::move(leaves), {&parts_}, stop); });
  }

  StatusOr<std::vector<Literal>> run_as(const interpreter::Seat& seat, uint64_t seed,
                                        std::vector<Literal> leaves) const override {
    const WithoutHelp alone(seat.rendezvous->threads() >= thread_count());
    return guarded([&] { return run_code(std::move(leaves), {&parts_, &seat, seed}, {}); });
  }

  bool runs_in_place() const override { return true; }

  Status run_in_place(std::span<const void* const> arguments, std::span<void* const> results,
                      const StopToken& stop) const override {
    return guarded([&] { return call(arguments.data(), results.data(), {&parts_}, stop); });
  }

  std::optional<int64_t> scratch_bytes() const override { return parts_.arena_bytes; }
  std::optional<double> flops() const override { return parts_.cost.flops; }
  std::optional<double> bytes_accessed() const override { return parts_.cost.bytes; }
  bool is_from_disk() const override { return parts_.is_from_disk; }

 private:
  // As base::within_memory(), with an error that takes time to make.
  template <class Work>
  auto guarded(const Work& work) const -> decltype(work()) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return no_memory();
    } catch (const std::length_error&) {
      return no_memory();
    }
  }

  // Names the greatest thing that a run needs.
  [[nodiscard]] Status no_memory() const {
    const std::string what = base::cat("run ", parts_.name, " needs more memory than there is: ");
    const auto greatest = std::ranges::max_element(result_shapes_, {}, &Shape::byte_size);
    if (greatest == result_shapes_.end() || greatest->byte_size() < parts_.arena_bytes) {
      return base::resource_exhausted(
          what, "what it computes on the way takes ", parts_.arena_bytes, " bytes", machine_has(),
          "; make it in parts, or let a scan under a derivative keep less with .checkpoint = "
          "sqrt_steps()");
    }
    return base::resource_exhausted(what, *greatest, " alone takes ", greatest->byte_size(),
                                    " bytes", machine_has(),
                                    "; make it in parts, or reduce it in the loop that gives it");
  }

  [[nodiscard]] Status error_of(const Exit& exit, const RunContext& context) const {
    if (exit.reason == Exit::Reason::kKernelFailed) return context.error;
    HEDDLE_ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> made, parts_.plan());
    const Plan& plan = *made;
    if (exit.node.value >= plan.nodes.size())
      return base::internal_error("run ", plan.name, ": ended at no instruction of it");
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

  // The code only reads the arguments.
  Status call(const void* const* arguments, void* const* results, RunContext context,
              const StopToken& stop) const {
    const auto enter = [&](void* arena) {
      return entry_(&context, arena, const_cast<void* const*>(arguments), results,
                    constants_.data(), stop.stop_possible() ? stop.flag() : &kNever);
    };
    int64_t code = 0;
    if (parts_.arena_bytes == 0) {
      code = enter(nullptr);
    } else {
      Literal arena = arenas_.take();
      code = enter(arena.mutable_bytes());
      arenas_.give_back(std::move(arena),
                        context.seat == nullptr ? 1 : context.seat->rendezvous->threads());
    }
    return code == 0 ? Status() : error_of(Exit::of(code), context);
  }

  StatusOr<std::vector<Literal>> run_code(std::vector<Literal> leaves, RunContext context,
                                          const StopToken& stop) const {
    Pointers arguments(leaves.size()), places(result_shapes_.size());
    for (size_t i = 0; i < leaves.size(); ++i)
      arguments.data()[i] = const_cast<std::byte*>(leaves[i].bytes());  // the code reads them alone
    std::vector<Literal> results(result_shapes_.size());
    for (const auto& [argument, result] : parts_.taken) {
      Literal& leaf = leaves[static_cast<size_t>(argument)];
      if (leaf.is_unique()) results[static_cast<size_t>(result)] = std::move(leaf);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_valid()) results[i] = Literal::uninitialised(result_shapes_[i]);
      places.data()[i] = results[i].mutable_bytes();
    }
    HEDDLE_RETURN_IF_ERROR(call(arguments.data(), places.data(), std::move(context), stop));
    for (const auto& [argument, result] : parts_.taken) {  // the memory may have another shape
      const auto i = static_cast<size_t>(result);
      if (!same_type(results[i].shape(), result_shapes_[i]))
        results[i] = std::move(results[i]).reshaped(result_shapes_[i]);
    }
    return results;
  }

  NativeParts parts_;
  Entry entry_;
  std::vector<Shape> result_shapes_;
  std::vector<const void*> constants_;
  mutable ArenaPool arenas_;
};

}  // namespace

std::shared_ptr<const NativeProgram> make_native(NativeParts parts, const hlo::Module& module) {
  return std::make_shared<MachineCode>(std::move(parts), module);
}

}  // namespace heddle::cpu
