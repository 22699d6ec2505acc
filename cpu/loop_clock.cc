#include "heddle/cpu/loop_clock.h"

#include <algorithm>
#include <string>
#include <utility>

#include "heddle/base/containers/span.h"
#include "heddle/base/text/strings.h"

namespace heddle::cpu {
namespace {

class LoopEnd;

// The time of a loop inside of another, of all turns of that.
struct Sum {
  const LoopEnd* loop;
  int64_t count = 0;
  int64_t ns = 0;
};

// A loop that a thread is in.
struct Begun {
  const LoopEnd* loop;
  int64_t start_ns;
  std::vector<Sum> inner;
};

// A kernel may run other programs, and a loop that is stopped has no end.
thread_local std::vector<Begun> begun;

class LoopEnd final : public Kernel {
 public:
  // `outer`: the loop around it; null: none.
  LoopEnd(const Origin& origin, const LoopEnd* outer)
      : name_(origin.name), place_(place_of(origin)), outer_(outer) {}

  void begin() const {
    // Of a run that was stopped, and of what it called.
    const auto stale = std::ranges::find(begun, this, &Begun::loop);
    begun.erase(stale, begun.end());
    begun.push_back({this, base::now_ns(), {}});
  }

  Status run(std::span<void* const> /*pointers*/) const override {
    const int64_t end_ns = base::now_ns();
    while (!begun.empty() && begun.back().loop != this) begun.pop_back();
    if (begun.empty()) return {};
    const Begun done = std::move(begun.back());
    begun.pop_back();
    if (outer_ == nullptr)
      tell(done, end_ns);
    else if (!begun.empty() && begun.back().loop == outer_)
      add(begun.back().inner, end_ns - done.start_ns);
    return {};
  }

 private:
  void add(std::vector<Sum>& sums, int64_t ns) const {
    auto sum = std::ranges::find(sums, this, &Sum::loop);
    if (sum == sums.end()) sum = sums.insert(sum, {.loop = this});
    ++sum->count;
    sum->ns += ns;
  }

  // The sums of the loops inside stand beside each other from its beginning on.
  void tell(const Begun& done, int64_t end_ns) const {
    if (!base::is_observed()) return;
    base::add_span(base::Activity::kLoop, name_, place_, done.start_ns, end_ns);
    int64_t at = done.start_ns;
    for (const Sum& sum : done.inner) {
      base::add_span(base::Activity::kLoop, base::cat(sum.loop->name_, " x", sum.count),
                     sum.loop->place_, at, at + sum.ns, base::Counts::kNo);
      at += sum.ns;
    }
  }

  const std::string name_, place_;
  const LoopEnd* const outer_;
};

class LoopBegin final : public Kernel {
 public:
  explicit LoopBegin(const LoopEnd& end) : end_(end) {}
  Status run(std::span<void* const> /*pointers*/) const override {
    end_.begin();
    return {};
  }

 private:
  const LoopEnd& end_;  // a kernel of the same program
};

bool is_timed(Op op) {
  return op == Op::kFor || op == Op::kForEach || op == Op::kParts || op == Op::kWhile ||
         op == Op::kSwitch || op == Op::kCopy || op == Op::kKernel;
}

class Clocks {
 public:
  Clocks(Plan& plan, std::vector<std::unique_ptr<Kernel>>& kernels)
      : plan_(plan), kernels_(kernels) {}

  void add(BlockId block, const LoopEnd* outer) {
    const std::vector<NodeId> before = plan_.at(block).nodes;
    std::vector<NodeId> nodes;
    for (size_t i = 0; i < before.size(); ++i) {
      const Node node = plan_.at(before[i]);
      if (!is_timed(node.op)) {
        nodes.push_back(before[i]);
        continue;
      }
      auto end = std::make_unique<LoopEnd>(plan_.origins[node.origin], outer);
      if (outer == nullptr && goes_on_inside(node)) {
        const auto blocks = plan_.blocks_of(node);
        for (BlockId inner : std::vector(blocks.begin(), blocks.end())) add(inner, end.get());
      }
      nodes.push_back(call(std::make_unique<LoopBegin>(*end)));
      nodes.push_back(before[i]);
      // A control node stands beside its results.
      while (i + 1 < before.size() && plan_.at(before[i + 1]).op == Op::kResult)
        nodes.push_back(before[++i]);
      nodes.push_back(call(std::move(end)));
    }
    plan_.blocks[block.value].nodes = std::move(nodes);
  }

 private:
  // A loop around several loops, such as a scan; not one that is part of a nest.
  [[nodiscard]] bool goes_on_inside(const Node& node) const {
    if (node.op == Op::kForEach || node.op == Op::kParts) return false;  // threads may share it
    int64_t inside = 0;
    for (BlockId block : plan_.blocks_of(node)) {
      inside += std::ranges::count_if(plan_.at(block).nodes,
                                      [&](NodeId id) { return is_timed(plan_.at(id).op); });
    }
    return inside > 1;
  }

  NodeId call(std::unique_ptr<Kernel> kernel) {
    kernels_.push_back(std::move(kernel));
    plan_.kernels.push_back({.buffers = {}, .what = "the clock", .flops = 0});
    plan_.nodes.push_back(
        {.op = Op::kKernel, .imm = static_cast<int64_t>(plan_.kernels.size() - 1)});
    return NodeId(plan_.nodes.size() - 1);
  }

  Plan& plan_;
  std::vector<std::unique_ptr<Kernel>>& kernels_;
};

}  // namespace

void add_loop_clocks(Plan& plan, std::vector<std::unique_ptr<Kernel>>& kernels) {
  Clocks(plan, kernels).add(plan.entry, nullptr);
}

}  // namespace heddle::cpu
