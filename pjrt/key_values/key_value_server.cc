// One thread serves all connections: whoever is slow, or waits, holds up nobody.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/base/bytes.h"
#include "heddle/pjrt/key_values/internal/key_value_wire.h"
#include "heddle/pjrt/key_values/internal/socket.h"
#include "heddle/pjrt/key_values/key_value_store.h"

namespace heddle::pjrt {
namespace {

using std::chrono::milliseconds;
using Text = std::shared_ptr<const std::string>;  // answers share it with the store

constexpr milliseconds kPause(20);    // before what the system refused is tried again
constexpr int64_t kEntryBytes = 256;  // of the map, and of two texts beyond their sizes

// A part of the bytes that are left, which go back at its end.
class Share {
 public:
  explicit Share(int64_t& left) : left_(&left) {}
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() { give_back(); }

  [[nodiscard]] bool grow(int64_t bytes) {
    if (bytes > *left_) return false;
    *left_ -= bytes;
    held_ += bytes;
    return true;
  }
  void give_back() { *left_ += std::exchange(held_, 0); }
  void keep() { held_ = 0; }

 private:
  int64_t* left_;
  int64_t held_ = 0;
};

// A request as it comes, in four parts: what, timeout and the size of the key; the key; the size of
// the value; the value. Memory is asked for as the bytes come, whatever was announced.
class Request {
 public:
  explicit Request(int64_t& left) : share_(left) {}

  // Of the bytes that are to come, those of this part; 0 once all are there.
  [[nodiscard]] uint64_t wanted() const { return at_ < kEnd ? sizes_[at_] - taken_ : 0; }
  // A piece of this part. Returns how much longer the rest may take, or nothing where it is against
  // the rules.
  [[nodiscard]] std::optional<milliseconds> take(std::string_view piece);

  [[nodiscard]] char what() const { return parts_[kHead][0]; }
  [[nodiscard]] milliseconds timeout() const {
    return milliseconds(std::min<uint64_t>(timeout_, kLongestTime.count()));
  }
  [[nodiscard]] const std::string& key() const { return parts_[kKey]; }
  [[nodiscard]] const std::string& value() const { return parts_[kValue]; }
  // Without room it is read to its end and forgotten.
  [[nodiscard]] bool fits() const { return fits_; }
  // Key and value for the store, without what they have beyond their sizes.
  [[nodiscard]] std::pair<std::string, Text> entry();
  // The store has the entry: its bytes are the store's.
  void keep() { share_.keep(); }

 private:
  enum Part : uint8_t { kHead, kKey, kValueSize, kValue, kEnd };
  [[nodiscard]] std::optional<milliseconds> announced(Part part, std::string_view number,
                                                      uint64_t most);
  void charge(int64_t bytes);

  std::array<uint64_t, kEnd> sizes_ = {17, 0, 8, 0};
  std::array<std::string, kEnd> parts_;
  int at_ = kHead;
  uint64_t taken_ = 0;  // of this part
  uint64_t timeout_ = 0;
  bool fits_ = true;
  Share share_;
};

// What is put counts; what is asked for does not, so that a full store can still be read.
void Request::charge(int64_t bytes) {
  if (what() != wire::kPut || !fits_ || share_.grow(bytes)) return;
  fits_ = false;
  share_.give_back();
  parts_[kKey] = parts_[kValue] = std::string();
}

std::optional<milliseconds> Request::announced(Part part, std::string_view number, uint64_t most) {
  if (!base::read_number(number, sizes_[part]) || sizes_[part] > most) return std::nullopt;
  return wire::time_for(sizes_[part]);
}

std::optional<milliseconds> Request::take(std::string_view piece) {
  const bool is_text = at_ == kKey || at_ == kValue;
  if (is_text) charge(std::ssize(piece));
  if (!is_text || fits_) parts_[at_].append(piece);
  taken_ += piece.size();
  std::optional<milliseconds> more(0);
  while (at_ < kEnd && wanted() == 0 && more.has_value()) {
    std::string_view part = parts_[at_];
    if (at_ == kHead) {
      part.remove_prefix(1);
      if (!base::read_number(part, timeout_)) return std::nullopt;
      charge(kEntryBytes);
      more = announced(kKey, part, wire::kMostKeyBytes);
    } else if (at_ == kValueSize) {
      more = announced(kValue, part, what() == wire::kPut ? wire::kMostValueBytes : 0);
    }
    ++at_;
    taken_ = 0;
  }
  return more;
}

std::pair<std::string, Text> Request::entry() {
  for (std::string& part : parts_) part.shrink_to_fit();
  return {std::move(parts_[kKey]), std::make_shared<const std::string>(std::move(parts_[kValue]))};
}

// One request at a time: it is read, waits for its key where it has to, and is answered.
struct Connection {
  enum class Stage : uint8_t { kReads, kWaits, kAnswers };

  Connection(Socket from, Clock::time_point end, int64_t& left)
      : socket(std::move(from)), end(end), request(std::in_place, left) {}

  Socket socket;
  Clock::time_point end;  // of the stage
  std::optional<Request> request;
  Stage stage = Stage::kReads;
  std::string head;  // of the answer, before the value
  Text value;
  size_t sent = 0;  // of both

  // Who waits has nothing to say; that its other end has gone is news.
  [[nodiscard]] short events() const {
    switch (stage) {
      case Stage::kReads: return POLLIN;
      case Stage::kWaits: return POLLRDHUP;
      case Stage::kAnswers: return POLLOUT;
    }
    return 0;
  }
  [[nodiscard]] size_t size() const { return value == nullptr ? 0 : value->size(); }
  [[nodiscard]] bool is_answered() const { return sent == head.size() + size(); }
  // As much as goes at once; false where the connection is over.
  [[nodiscard]] bool send() {
    const bool in_head = sent < head.size();
    const std::string_view rest = in_head ? std::string_view(head).substr(sent)
                                          : std::string_view(*value).substr(sent - head.size());
    const auto done = socket.write_some(rest, in_head && size() > 0);
    sent += done.value_or(0);
    return done.has_value();
  }
};

}  // namespace

// The thread's alone from when it starts, except for `stopped` and what wakes it.
struct KeyValueServer::State {
  using Stage = Connection::Stage;

  Limits limits;
  Socket listening;
  Socket waking;  // an eventfd
  int port = 0;
  std::thread thread;
  std::atomic<bool> stopped = false;

  int64_t left = limits.bytes;
  std::map<std::string, Text, std::less<>> values;
  std::list<Connection> connections;  // the oldest first
  Clock::time_point accepts_after;
  std::vector<pollfd> watched;
  std::vector<char> piece = std::vector<char>(wire::kPiece);

  State(const Limits& most, Socket listens, Socket wakes, int its_port)
      : limits(most), listening(std::move(listens)), waking(std::move(wakes)), port(its_port) {}

  void run() {
    while (!stopped) {
      try {
        round();
      } catch (const std::exception&) {  // out of memory: others may end meanwhile
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  void round() {
    const bool accepts = Clock::now() >= accepts_after && has_place();
    watched = {{.fd = waking.fd(), .events = POLLIN, .revents = 0},
               {.fd = accepts ? listening.fd() : -1, .events = POLLIN, .revents = 0}};
    for (const Connection& connection : connections)
      watched.push_back(
          {.fd = connection.socket.fd(), .events = connection.events(), .revents = 0});
    if (::poll(watched.data(), watched.size(), poll_time(next_end(accepts))) < 0) {
      if (errno != EINTR) std::this_thread::sleep_for(kPause);
      return;
    }
    const Clock::time_point now = Clock::now();
    size_t at = 2;
    for (auto it = connections.begin(); it != connections.end(); ++at)
      it = goes_on(*it, watched[at].revents, now) ? std::next(it) : connections.erase(it);
    if (watched[1].revents != 0 && !stopped) accept();
  }

  [[nodiscard]] Clock::time_point next_end(bool accepts) const {
    Clock::time_point end = Clock::now() + kLongestTime;
    if (!accepts && has_place()) end = std::min(end, accepts_after);
    for (const Connection& connection : connections) end = std::min(end, connection.end);
    return end;
  }

  static bool waits(const Connection& connection) { return connection.stage == Stage::kWaits; }
  [[nodiscard]] bool is_full() const { return std::ssize(connections) >= limits.connections; }
  [[nodiscard]] bool has_place() const {
    return !is_full() || std::any_of(connections.begin(), connections.end(), waits);
  }

  void accept() {
    if (is_full()) end_a_wait();
    if (is_full()) return;
    Socket socket = listening.accept();
    if (socket.is_open()) {
      connections.emplace_back(std::move(socket), Clock::now() + limits.silence, left);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED && !end_a_wait()) {
      accepts_after = Clock::now() + kPause;  // without descriptors or memory: others may end
    }
  }

  // The oldest get that waits gives its place to a connection that may bring what it waits for, and
  // asks again. False where none waits.
  bool end_a_wait() {
    const auto oldest = std::find_if(connections.begin(), connections.end(), waits);
    if (oldest == connections.end()) return false;
    answer(*oldest, wire::kAskAgain);
    (void)oldest->send();
    connections.erase(oldest);
    return true;
  }

  // What poll() said of it, and the time, move it on; false at its end.
  bool goes_on(Connection& connection, short happened, Clock::time_point now) {
    try {
      switch (connection.stage) {
        case Stage::kReads:
          if (happened != 0 && !read(connection)) return false;
          return now < connection.end || connection.stage != Stage::kReads;
        case Stage::kWaits:
          if (happened == 0 && now >= connection.end) answer(connection, wire::kDeadline);
          return happened == 0;
        case Stage::kAnswers:
          if (happened != 0 && !send(connection)) return false;
          return now < connection.end;
      }
    } catch (const std::exception&) {  // out of memory: this connection ends, and no other
    }
    return false;
  }

  bool read(Connection& connection) {
    Request& request = *connection.request;
    const size_t most = std::min<uint64_t>(request.wanted(), piece.size());
    const auto size = connection.socket.read_some(piece.data(), most);
    if (!size.has_value()) return false;
    const auto more = request.take({piece.data(), *size});
    if (!more.has_value()) return false;
    connection.end += *more;
    if (request.wanted() == 0) serve(connection);
    return true;
  }

  void serve(Connection& connection) {
    Request& request = *connection.request;
    if (!request.fits()) return answer(connection, wire::kNoRoom);
    const auto found = values.find(request.key());
    if (request.what() == wire::kPut) {
      if (found == values.end()) return put(connection);
      return answer(connection, *found->second == request.value() ? wire::kOk : wire::kOtherValue);
    }
    if (found != values.end()) return answer(connection, wire::kOk, found->second);
    if (request.what() != wire::kGet) return answer(connection, wire::kNotThere);
    if (request.timeout().count() == 0) return answer(connection, wire::kDeadline);
    connection.stage = Stage::kWaits;
    connection.end = Clock::now() + request.timeout();
  }

  void put(Connection& connection) {
    const auto entry = values.insert(connection.request->entry()).first;
    connection.request->keep();
    for (Connection& other : connections)
      if (waits(other) && other.request->key() == entry->first)
        answer(other, wire::kOk, entry->second);
    answer(connection, wire::kOk);
  }

  // Goes out when poll() says that it can.
  void answer(Connection& connection, char code, Text value = nullptr) {
    connection.head.assign(1, code);
    base::append_number(value == nullptr ? 0 : value->size(), connection.head);
    connection.value = std::move(value);
    connection.sent = 0;
    connection.request.reset();
    connection.stage = Stage::kAnswers;
    connection.end = Clock::now() + limits.silence + wire::time_for(connection.size());
  }

  bool send(Connection& connection) {
    if (!connection.send()) return false;
    if (!connection.is_answered()) return true;
    connection.value.reset();
    connection.request.emplace(left);
    connection.stage = Stage::kReads;
    connection.end = Clock::now() + limits.silence;
    return true;
  }

  void stop() {
    stopped = true;
    const uint64_t one = 1;
    (void)!::write(waking.fd(), &one, sizeof(one));
    thread.join();
    // For the other ends, also where a process that was forked has the descriptors too.
    ::shutdown(listening.fd(), SHUT_RDWR);
    for (const Connection& connection : connections) ::shutdown(connection.socket.fd(), SHUT_RDWR);
  }
};

StatusOr<std::unique_ptr<KeyValueServer>> KeyValueServer::start(int port,
                                                                const std::string& address,
                                                                const Limits& limits) {
  HEDDLE_ASSIGN_OR_RETURN(sockaddr_in where, address_of(address, port));
  const auto failed = [&](const char* what, const std::string& why) {
    return base::make_error(StatusCode::kUnavailable, "key-value server: cannot ", what, " on ",
                            address, ":", port, ": ", why);
  };
  Socket listening = Socket::listening(where);
  if (!listening.is_open()) return failed("listen", system_error(errno));
  Socket waking(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waking.is_open()) return failed("serve", system_error(errno));
  auto state = std::make_unique<State>(limits, std::move(listening), std::move(waking),
                                       ntohs(where.sin_port));
  try {
    state->thread = std::thread([state = state.get()] { state->run(); });
  } catch (const std::system_error& error) {
    return failed("start a thread", error.code().message());
  }
  return std::unique_ptr<KeyValueServer>(new KeyValueServer(std::move(state)));
}

KeyValueServer::KeyValueServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

KeyValueServer::~KeyValueServer() { state_->stop(); }

int KeyValueServer::port() const { return state_->port; }

}  // namespace heddle::pjrt
