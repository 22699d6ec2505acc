#include "heddle/pjrt/key_values/key_value_store.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/base/bytes.h"
#include "heddle/pjrt/key_values/internal/key_value_wire.h"
#include "heddle/pjrt/key_values/internal/socket.h"

namespace heddle::pjrt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryPause(20);  // before what failed is tried again
constexpr milliseconds kMostPause(1000);
constexpr milliseconds kMostPatience(5000);

// Memory is asked for as the bytes come, whatever was announced.
bool read_text(const Socket& from, std::string& text, Clock::time_point end) {
  char number[8];
  std::string_view bytes(number, sizeof(number));
  uint64_t rest = 0;
  if (!from.read(number, sizeof(number), end) || !base::read_number(bytes, rest)) return false;
  if (rest > wire::kMostValueBytes) {
    errno = EPROTO;
    return false;
  }
  end += wire::time_for(rest);
  std::vector<char> piece(std::min<uint64_t>(rest, wire::kPiece));
  for (text.clear(); rest > 0; rest -= piece.size()) {
    piece.resize(std::min<uint64_t>(rest, wire::kPiece));
    if (!from.read(piece.data(), piece.size(), end)) return false;
    text.append(piece.data(), piece.size());
  }
  return true;
}

// `time`, or the nearest to it that can be waited for.
milliseconds waitable(milliseconds time) { return std::clamp(time, milliseconds(0), kLongestTime); }

milliseconds until(Clock::time_point end) {
  return waitable(std::chrono::ceil<milliseconds>(end - Clock::now()));
}

std::string request_of(char what, milliseconds wait, std::string_view key, std::string_view value) {
  std::string request(1, what);
  base::append_number(static_cast<uint64_t>(wait.count()), request);
  base::append_text(key, request);
  base::append_text(value, request);
  return request;
}

}  // namespace

StatusOr<std::shared_ptr<const KeyValueStore>> KeyValueStore::connect(const std::string& address,
                                                                      int port,
                                                                      milliseconds timeout) {
  HEDDLE_ASSIGN_OR_RETURN(const sockaddr_in where, address_of(address, port));
  const Clock::time_point end = Clock::now() + waitable(timeout);
  while (!Socket::connected(where, end).is_open()) {
    if (Clock::now() >= end) {
      return base::make_error(StatusCode::kDeadlineExceeded, "key-value store: nobody answers at ",
                              address, ":", port, " within ", timeout.count(),
                              " ms; start the server first");
    }
    std::this_thread::sleep_for(kRetryPause);
  }
  return std::shared_ptr<const KeyValueStore>(
      new KeyValueStore(address, port, std::clamp(timeout, milliseconds(1), kMostPatience)));
}

// One request and its answer, on a connection of their own. The code comes back, the value in
// `answer`.
StatusOr<char> KeyValueStore::exchange(const std::string& request, milliseconds wait,
                                       std::string& answer) const {
  HEDDLE_ASSIGN_OR_RETURN(const sockaddr_in where, address_of(address_, port_));
  const Clock::time_point end = Clock::now() + patience_;
  const Socket socket = Socket::connected(where, end);
  char code = 0;
  if (socket.is_open() && socket.write(request, end + wire::time_for(request.size()))) {
    const Clock::time_point answered = Clock::now() + wait + patience_;
    if (socket.read(&code, 1, answered) && read_text(socket, answer, answered)) return code;
  }
  if (errno == ETIMEDOUT) {
    return base::make_error(StatusCode::kDeadlineExceeded, "the server at ", address_, ":", port_,
                            " does not answer within ", (wait + patience_).count(), " ms");
  }
  return base::make_error(StatusCode::kUnavailable, "the server at ", address_, ":", port_,
                          " is gone");
}

StatusOr<std::string> KeyValueStore::ask(char what, std::string_view key, std::string_view value,
                                         milliseconds timeout) const {
  const std::string label = base::cat("key-value store: key ", key, ": ");
  if (key.size() > wire::kMostKeyBytes || value.size() > wire::kMostValueBytes) {
    return base::invalid_argument(label, "key and value have ", key.size(), " and ", value.size(),
                                  " bytes; they may have ", wire::kMostKeyBytes, " and ",
                                  wire::kMostValueBytes);
  }
  const Clock::time_point end = Clock::now() + waitable(timeout);
  std::string answer;
  StatusOr<char> code = wire::kAskAgain;
  for (milliseconds wait = waitable(timeout), pause = kRetryPause;;) {
    code = exchange(request_of(what, wait, key, value), wait, answer);
    if (!code.ok() || *code != wire::kAskAgain) break;
    std::this_thread::sleep_for(std::min(pause, until(end)));
    pause = std::min(2 * pause, kMostPause);  // others want the server too
    wait = until(end);
  }
  if (!code.ok()) return base::annotate(code.status(), label);
  switch (*code) {
    case wire::kOk: return answer;
    case wire::kNotThere: return base::not_found(label, "is not there");
    case wire::kDeadline:
      return base::make_error(StatusCode::kDeadlineExceeded, label, "is not there within ",
                              timeout.count(), " ms; is every process started?");
    case wire::kNoRoom:
      return base::resource_exhausted(label, "the server has no room for its ", value.size(),
                                      " bytes; raise KeyValueServer::Limits::bytes");
    default: return base::make_error(StatusCode::kAlreadyExists, label, "has another value");
  }
}

Status KeyValueStore::put(std::string_view key, std::string_view value) const {
  return ask(wire::kPut, key, value, milliseconds(0)).status();
}

StatusOr<std::string> KeyValueStore::get(std::string_view key, milliseconds timeout) const {
  return ask(wire::kGet, key, "", timeout);
}

StatusOr<std::string> KeyValueStore::try_get(std::string_view key) const {
  return ask(wire::kTryGet, key, "", milliseconds(0));
}

}  // namespace heddle::pjrt
