// Event: something that a plugin will have done.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "heddle/base/status.h"
#include "heddle/pjrt/internal/api.h"
#include "heddle/runtime/throttle.h"

namespace heddle::pjrt {

// Owns the plugin's event, which may go before it happened. Null: happened long ago.
class Event {
 public:
  Event() = default;
  // The functions of a plugin stay, as its library does.
  Event(const std::shared_ptr<const Api>& api, abi::Event* event)
      : api_(api.get()), event_(event) {}
  Event(Event&& from) noexcept : api_(from.api_), event_(std::exchange(from.event_, nullptr)) {}
  Event& operator=(Event&& from) noexcept {
    std::swap(api_, from.api_);
    std::swap(event_, from.event_);
    return *this;
  }
  ~Event() {
    if (event_ != nullptr) api_->destroy(abi::EventDestroyArgs{.event = event_});
  }

  [[nodiscard]] bool is_null() const { return event_ == nullptr; }
  // An error says that the plugin cannot tell.
  [[nodiscard]] StatusOr<bool> is_ready() const;
  // Waits for it. errors: what went wrong with what was waited for. From several threads at once.
  [[nodiscard]] Status await() const;
  // Calls `then` once, with the error or OK: at once on this thread where it has happened, else on
  // a thread of the plugin's. `then` may not wait for the plugin. errors: where the plugin takes
  // no callbacks; `then` is not called
  [[nodiscard]] Status on_ready(std::function<void(Status)> then) const;

  [[nodiscard]] const Api& api() const { return *api_; }
  [[nodiscard]] abi::Event* get() const { return event_; }

 private:
  [[nodiscard]] Status await_by_callback() const;

  const Api* api_ = nullptr;
  abi::Event* event_ = nullptr;
};

// What is held until an event happened: host memory that is lent, room on a device. The event lives
// here, and this in the event's callback.
struct Held {
  Event event;
  std::shared_ptr<const void> owner = nullptr;
  runtime::Throttle::Ticket ticket = {};
  std::shared_ptr<Held> self = nullptr;  // while the callback is to come
};

// Made anew for each buffer, so its memory is used again.
[[nodiscard]] std::shared_ptr<Held> make_held(Event event);

// Lets go of `held` when its event happened: at once where it has, else on a thread of the
// plugin's.
// errors   where the plugin takes no callbacks: it is held as long as its owners wish
[[nodiscard]] Status let_go_later(const std::shared_ptr<Held>& held);

// Keeps room on a device until the event happened. A plugin that takes no callbacks is waited for.
void keep_room(const std::shared_ptr<Held>& held, runtime::Throttle::Ticket ticket);

}  // namespace heddle::pjrt
