#include "heddle/hlo/wire/internal/codec.h"

namespace heddle::hlo::wire {
namespace {

// Depth first, without recursion: a chain of uses may be as long as the module.
class Sorter {
 public:
  explicit Sorter(const std::vector<std::vector<uint32_t>>& uses)
      : uses_(uses), state_(uses.size()) {}

  Order run() {
    order_.items.reserve(uses_.size());
    for (uint32_t i = 0; i < uses_.size() && !order_.is_cyclic; ++i) visit(i);
    return std::move(order_);
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Frame {
    uint32_t item;
    size_t next;  // of its uses
  };

  void visit(uint32_t start) {
    if (state_[start] == State::kDone) return;
    open(start);
    while (!stack_.empty() && !order_.is_cyclic) {
      Frame& top = stack_.back();
      if (top.next == uses_[top.item].size()) {
        close();
      } else {
        follow(uses_[top.item][top.next++]);
      }
    }
  }

  void open(uint32_t item) {
    state_[item] = State::kOpen;
    stack_.push_back({item, 0});
  }

  void close() {
    state_[stack_.back().item] = State::kDone;
    order_.items.push_back(stack_.back().item);
    stack_.pop_back();
  }

  void follow(uint32_t use) {
    if (state_[use] == State::kNew) {
      open(use);
    } else if (state_[use] == State::kOpen) {
      order_.is_cyclic = true;
      order_.on_cycle = use;
    }
  }

  const std::vector<std::vector<uint32_t>>& uses_;
  std::vector<State> state_;
  std::vector<Frame> stack_;
  Order order_;
};

}  // namespace

Order dependency_order(const std::vector<std::vector<uint32_t>>& uses) {
  return Sorter(uses).run();
}

}  // namespace heddle::hlo::wire
