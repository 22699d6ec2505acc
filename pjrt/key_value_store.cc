// On the wire: a request is what ('p' put, 'g' get, 't' try-get), the timeout in milliseconds, key
// and value; an answer is a code ('k' ok, 'n' not there, 'd' deadline, 'x' another value, 'f' full)
// and a value. Numbers and texts as in bytes.h.
#include "heddle/pjrt/key_value_store.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/pjrt/internal/bytes.h"

namespace heddle::pjrt {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // of a key or a value
constexpr size_t kPiece = size_t{64} << 10;          // read at once
constexpr milliseconds kPause(20);                   // before what failed is tried again
constexpr milliseconds kMostPatience(5000);
constexpr char kPut = 'p', kGet = 'g', kTryGet = 't';
constexpr char kOk = 'k', kNotThere = 'n', kDeadline = 'd', kOtherValue = 'x', kNoRoom = 'f';

// The system's words for what went wrong last.
std::string system_error() { return std::generic_category().message(errno); }

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  Socket& operator=(Socket&& from) noexcept {
    std::swap(fd_, from.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

  // The longest that a call waits for the next bytes to come, or to go.
  void set_patience(milliseconds receiving, milliseconds sending) const {
    for (const auto& [option, time] :
         {std::pair(SO_RCVTIMEO, receiving), std::pair(SO_SNDTIMEO, sending)}) {
      const auto count = std::max<int64_t>(time.count(), 1);  // 0 is for ever
      const timeval value{.tv_sec = count / 1000, .tv_usec = count % 1000 * 1000};
      (void)::setsockopt(fd_, SOL_SOCKET, option, &value, sizeof(value));
    }
  }

  [[nodiscard]] bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t done = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      text.remove_prefix(static_cast<size_t>(done));
    }
    return true;
  }
  [[nodiscard]] bool read(char* at, size_t size) const {
    while (size > 0) {
      const ssize_t done = ::recv(fd_, at, size, 0);
      if (done < 0 && errno == EINTR) continue;
      if (done == 0) errno = ECONNRESET;
      if (done <= 0) return false;
      at += done;
      size -= static_cast<size_t>(done);
    }
    return true;
  }
  [[nodiscard]] bool read_integer(uint64_t& value) const {
    char bytes[8];
    std::string_view text(bytes, sizeof(bytes));
    return read(bytes, sizeof(bytes)) && read_number(text, value);
  }
  // Memory is asked for as the bytes come, whatever was announced, by may_hold(bytes). Where it says
  // no, the text is read to its end and forgotten, and `fits` is false.
  template <class MayHold>
  [[nodiscard]] bool read_text(std::string& text, bool& fits, const MayHold& may_hold) const {
    uint64_t rest = 0;
    if (!read_integer(rest) || rest > kMostBytes) return false;
    std::vector<char> piece(std::min<uint64_t>(rest, kPiece));
    for (text.clear(); rest > 0; rest -= piece.size()) {
      piece.resize(std::min<uint64_t>(rest, kPiece));
      if (!read(piece.data(), piece.size())) return false;
      fits = fits && may_hold(piece.size());
      if (fits) text.append(piece.data(), piece.size());
    }
    return true;
  }

 private:
  int fd_ = -1;
};

StatusOr<sockaddr_in> address_of(const std::string& address, int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<uint16_t>(port));
  if (port >= 0 && port <= 65535 && ::inet_pton(AF_INET, address.c_str(), &out.sin_addr) == 1)
    return out;
  return invalid_argument("key-value store: ", address, ":", port,
                          " is no IPv4 address and port, such as 127.0.0.1:4000");
}

}  // namespace

// Shared with the threads of the connections.
struct KeyValueServer::State {
  using Text = std::shared_ptr<const std::string>;  // answers share it with `values`

  Limits limits;
  Socket listening;
  int port = 0;
  std::thread accepting;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Text, std::less<>> values;
  int64_t bytes = 0;          // of `values`, and of requests that are being read
  std::set<int> connections;  // descriptors, to be shut down at the end
  int serving = 0;
  bool stopped = false;

  struct Request {
    char what = 0;
    uint64_t timeout = 0;
    std::string key, value;
    bool fits = true;
    int64_t held = 0;  // of `bytes`
  };

  void accept_all(const std::shared_ptr<State>& self) {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stopped || serving < limits.connections; });
      if (stopped) return;
      lock.unlock();
      Socket connection(::accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      lock.lock();
      // Without descriptors, memory or threads: others may end meanwhile.
      if (stopped || !connection.is_open() || !start_serving(self, std::move(connection)))
        changed.wait_for(lock, kPause, [&] { return stopped; });
    }
  }

  // With the mutex held.
  bool start_serving(const std::shared_ptr<State>& self, Socket connection) {
    const int fd = connection.fd();
    try {
      connections.insert(fd);
      std::thread([self, connection = std::move(connection)] { self->serve(connection); }).detach();
    } catch (const std::exception&) {
      connections.erase(fd);
      return false;
    }
    ++serving;
    return true;
  }

  void serve(const Socket& connection) {
    connection.set_patience(limits.silence, limits.silence);
    while (true) {
      Request request;
      bool goes_on = false;
      try {
        goes_on = read_request(connection, request) && answer(connection, request);
      } catch (const std::exception&) {  // out of memory: this connection ends, and no other
      }
      const std::scoped_lock lock(mutex);
      bytes -= request.held;
      if (goes_on) continue;
      connections.erase(connection.fd());
      --serving;
      changed.notify_all();
      return;
    }
  }

  bool read_request(const Socket& connection, Request& request) {
    const auto may_hold = [&](size_t more) {
      const std::scoped_lock lock(mutex);
      const auto count = static_cast<int64_t>(more);
      if (count > limits.bytes - bytes) return false;
      bytes += count;
      request.held += count;
      return true;
    };
    return connection.read(&request.what, 1) && connection.read_integer(request.timeout) &&
           connection.read_text(request.key, request.fits, may_hold) &&
           connection.read_text(request.value, request.fits, may_hold);
  }

  bool answer(const Socket& connection, Request& request) {
    Text value = nullptr;
    std::string head(1, request.fits ? look_up(request, value) : kNoRoom);
    append_number(value == nullptr ? 0 : value->size(), head);
    return connection.write(head) && (value == nullptr || connection.write(*value));
  }

  // Puts a value that is asked for into `value`.
  char look_up(Request& request, Text& value) {
    std::unique_lock lock(mutex);
    if (request.what == kPut) return put(request);
    const auto is_there = [&] { return values.contains(request.key); };
    if (request.what == kGet) {
      const auto longest = std::chrono::hours(24 * 365);  // of what the clock can add
      const uint64_t wanted = std::min<uint64_t>(request.timeout, milliseconds(longest).count());
      changed.wait_for(lock, milliseconds(wanted), [&] { return stopped || is_there(); });
    }
    if (!is_there()) return request.what == kGet ? kDeadline : kNotThere;
    value = values.find(request.key)->second;
    return kOk;
  }

  // With the mutex held.
  char put(Request& request) {
    if (const auto found = values.find(request.key); found != values.end())
      return *found->second == request.value ? kOk : kOtherValue;
    values.emplace(std::move(request.key),
                   std::make_shared<const std::string>(std::move(request.value)));
    request.held = 0;  // the map's from here on
    changed.notify_all();
    return kOk;
  }
};

StatusOr<std::unique_ptr<KeyValueServer>> KeyValueServer::start(int port,
                                                                const std::string& address,
                                                                const Limits& limits) {
  HEDDLE_ASSIGN_OR_RETURN(sockaddr_in where, address_of(address, port));
  auto state = std::make_shared<State>();
  state->limits = limits;
  state->listening = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  socklen_t size = sizeof(where);
  const int fd = state->listening.fd();
  const bool listens =
      fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
      ::bind(fd, reinterpret_cast<const sockaddr*>(&where), size) == 0 && ::listen(fd, 128) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size) == 0;
  if (!listens) {
    return make_error(absl::StatusCode::kUnavailable, "key-value server: cannot listen on ",
                      address, ":", port, ": ", system_error());
  }
  state->port = ntohs(where.sin_port);
  state->accepting = std::thread([state] { state->accept_all(state); });
  return std::unique_ptr<KeyValueServer>(new KeyValueServer(std::move(state)));
}

KeyValueServer::~KeyValueServer() {
  std::unique_lock lock(state_->mutex);
  state_->stopped = true;
  ::shutdown(state_->listening.fd(), SHUT_RDWR);
  for (int connection : state_->connections) ::shutdown(connection, SHUT_RDWR);
  state_->changed.notify_all();
  state_->changed.wait(lock, [&] { return state_->serving == 0; });
  lock.unlock();
  state_->accepting.join();
}

int KeyValueServer::port() const { return state_->port; }

namespace {

// A connection that was made before `end`; not open, with errno, where there is none.
Socket connected(const sockaddr_in& where, Clock::time_point end) {
  Socket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.is_open()) return {};
  if (::connect(out.fd(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0) {
    if (errno != EINPROGRESS) return {};
    pollfd waiting{.fd = out.fd(), .events = POLLOUT, .revents = 0};
    const auto rest = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    const int happened =
        ::poll(&waiting, 1, static_cast<int>(std::clamp<int64_t>(rest, 0, 1 << 30)));
    int error = happened == 0 ? ETIMEDOUT : errno;
    socklen_t size = sizeof(error);
    if (happened > 0) (void)::getsockopt(out.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    if (happened <= 0 || error != 0) return {};
  }
  const int flags = ::fcntl(out.fd(), F_GETFL);
  (void)::fcntl(out.fd(), F_SETFL, flags & ~O_NONBLOCK);
  const int yes = 1;
  (void)::setsockopt(out.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return out;
}

bool is_timeout(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == ETIMEDOUT; }

}  // namespace

StatusOr<std::shared_ptr<const KeyValueStore>> KeyValueStore::connect(const std::string& address,
                                                                      int port,
                                                                      milliseconds timeout) {
  HEDDLE_ASSIGN_OR_RETURN(const sockaddr_in where, address_of(address, port));
  const Clock::time_point end = Clock::now() + timeout;
  while (!connected(where, end).is_open()) {
    if (Clock::now() >= end) {
      return make_error(absl::StatusCode::kDeadlineExceeded, "key-value store: nobody answers at ",
                        address, ":", port, " within ", timeout.count(),
                        " ms; start the server first");
    }
    std::this_thread::sleep_for(kPause);
  }
  return std::shared_ptr<const KeyValueStore>(
      new KeyValueStore(address, port, std::min(timeout, kMostPatience)));
}

StatusOr<std::string> KeyValueStore::ask(char what, std::string_view key, std::string_view value,
                                         int64_t timeout_ms) const {
  HEDDLE_ASSIGN_OR_RETURN(const sockaddr_in where, address_of(address_, port_));
  const std::string label = cat("key-value store: key ", key, ": ");
  if (std::max(key.size(), value.size()) > kMostBytes) {
    return invalid_argument(label, "key and value have ", key.size(), " and ", value.size(),
                            " bytes; each may have ", kMostBytes);
  }
  const milliseconds wait(std::clamp<int64_t>(timeout_ms, 0, int64_t{1} << 40));
  std::string request(1, what);
  append_number(static_cast<uint64_t>(wait.count()), request);
  append_text(key, request);
  append_text(value, request);
  errno = 0;
  const Socket socket = connected(where, Clock::now() + patience_);
  if (socket.is_open()) socket.set_patience(wait + patience_, patience_);
  char code = 0;
  std::string answer;
  bool fits = true;
  const bool answered = socket.is_open() && socket.write(request) && socket.read(&code, 1) &&
                        socket.read_text(answer, fits, [](size_t) { return true; });
  if (!answered && is_timeout(errno)) {
    return make_error(absl::StatusCode::kDeadlineExceeded, label, "the server at ", address_, ":",
                      port_, " does not answer within ", (wait + patience_).count(), " ms");
  }
  if (!answered) {
    return make_error(absl::StatusCode::kUnavailable, label, "the server at ", address_, ":", port_,
                      " is gone");
  }
  switch (code) {
    case kOk: return answer;
    case kNotThere: return not_found(label, "is not there");
    case kDeadline:
      return make_error(absl::StatusCode::kDeadlineExceeded, label, "is not there within ",
                        timeout_ms, " ms; is every process started?");
    case kNoRoom:
      return resource_exhausted(label, "the server has no room for its ", value.size(),
                                " bytes; raise KeyValueServer::Limits::bytes");
    default: return make_error(absl::StatusCode::kAlreadyExists, label, "has another value");
  }
}

Status KeyValueStore::put(std::string_view key, std::string_view value) const {
  return ask(kPut, key, value, 0).status();
}

StatusOr<std::string> KeyValueStore::get(std::string_view key, milliseconds timeout) const {
  return ask(kGet, key, "", timeout.count());
}

StatusOr<std::string> KeyValueStore::try_get(std::string_view key) const {
  return ask(kTryGet, key, "", 0);
}

}  // namespace heddle::pjrt
