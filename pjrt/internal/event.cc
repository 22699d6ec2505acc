#include "heddle/pjrt/internal/event.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "heddle/base/system/pool.h"
#include "heddle/pjrt/internal/reaper.h"

namespace heddle::pjrt {
namespace {

// What a callback needs. It owns itself: the plugin calls once, whenever that is.
struct Callback {
  const Api* api;
  std::function<void(Status)> then;

  static void run(abi::Error* error, void* self) {
    const InPluginsCall here;
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(self));
    callback->then(callback->api->take(error, name_of(abi::Slot::kEventOnReady)));
  }
};

}  // namespace

StatusOr<bool> Event::is_ready() const {
  if (is_null()) return true;
  abi::EventIsReadyArgs args{.event = event_};
  HEDDLE_RETURN_IF_ERROR(api_->call(args));
  return args.is_ready;
}

Status Event::on_ready(std::function<void(Status)> then) const {
  if (is_null()) {
    then(Status());
    return {};
  }
  std::unique_ptr<Callback> callback(
      new Callback{api_, std::move(then)});  // clang 14 has no make_unique of aggregates
  abi::EventOnReadyArgs args{
      .event = event_, .callback = &Callback::run, .user_arg = callback.get()};
  Status status = api_->call(args);
  if (status.ok()) (void)callback.release();
  return status;
}

namespace {

// As long as the plugin can tell.
void ask_until_ready(const Event& event) {
  constexpr int kMostErrors = 3;
  for (int errors = 0; errors < kMostErrors;) {
    const StatusOr<bool> ready = event.is_ready();
    if (ready.ok() && *ready) return;
    if (!ready.ok()) ++errors;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

// Some plugins can only wait, some can only call back. An error may be of the call alone, while
// what is waited for goes on, and uses memory that its owner would free now.
Status Event::await() const {
  if (is_null()) return {};
  abi::EventAwaitArgs args{.event = event_};
  Status status = api_->call(args);
  const bool cannot_wait =
      !status.ok() &&
      (!api_->has(abi::Slot::kEventAwait) ||
       (status.code() == StatusCode::kUnimplemented && api_->has(abi::Slot::kEventOnReady)));
  if (cannot_wait) status = await_by_callback();
  if (!status.ok()) ask_until_ready(*this);
  return status;
}

Status Event::await_by_callback() const {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    Status result;
  };
  const auto state = std::make_shared<State>();
  HEDDLE_RETURN_IF_ERROR(on_ready([state](Status result) {
    std::scoped_lock lock(state->mutex);
    state->result = std::move(result);
    state->done = true;
    state->changed.notify_all();
  }));
  std::unique_lock lock(state->mutex);
  state->changed.wait(lock, [&] { return state->done; });
  return state->result;
}

std::shared_ptr<Held> make_held(Event event) {
  return base::make_pooled<Held>(Held{std::move(event)});
}

namespace {

// Of what was held, or of its readers: the error is asked for again by whom it concerns.
void happened(abi::Error* error, void* argument) {
  const InPluginsCall here;
  std::shared_ptr<const void> owner;  // goes last: it may hold the client
  const std::shared_ptr<Held> held = std::move(static_cast<Held*>(argument)->self);
  (void)held->event.api().take(error, name_of(abi::Slot::kEventOnReady));
  held->ticket = {};
  owner.swap(held->owner);
}

}  // namespace

Status let_go_later(const std::shared_ptr<Held>& held) {
  held->self = held;
  abi::EventOnReadyArgs args{
      .event = held->event.get(), .callback = &happened, .user_arg = held.get()};
  Status status = held->event.api().call(args);
  if (!status.ok()) held->self = nullptr;
  return status;
}

void keep_room(const std::shared_ptr<Held>& held, runtime::Throttle::Ticket ticket) {
  if (held->event.is_ready().value_or(false)) return;
  ticket.outlive_device();
  held->ticket = std::move(ticket);
  if (let_go_later(held).ok()) return;
  (void)held->event.await();
  held->ticket = {};
}

}  // namespace heddle::pjrt
