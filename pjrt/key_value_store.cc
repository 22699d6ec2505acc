// On the wire: a request is what ('p' put, 'g' get, 't' try-get), the timeout in milliseconds, key
// and value; an answer is a code ('k' ok, 'n' not there, 'd' deadline, 'x' another value) and a
// value. Integers are 8 bytes, the lowest first; texts have their length before them.
#include "heddle/pjrt/key_value_store.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::pjrt {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // of a key or a value
constexpr char kPut = 'p', kGet = 'g', kTryGet = 't';
constexpr char kOk = 'k', kNotThere = 'n', kDeadline = 'd', kOtherValue = 'x';

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

  [[nodiscard]] bool write(const void* data, size_t size) const {
    const auto* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t done = ::send(fd_, at, size, MSG_NOSIGNAL);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      at += done;
      size -= static_cast<size_t>(done);
    }
    return true;
  }
  [[nodiscard]] bool read(void* data, size_t size) const {
    auto* at = static_cast<char*>(data);
    while (size > 0) {
      const ssize_t done = ::recv(fd_, at, size, 0);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      at += done;
      size -= static_cast<size_t>(done);
    }
    return true;
  }
  [[nodiscard]] bool read_integer(uint64_t& value) const {
    unsigned char bytes[8];
    if (!read(bytes, sizeof(bytes))) return false;
    value = 0;
    for (int i = 7; i >= 0; --i) value = value << 8 | bytes[i];
    return true;
  }
  [[nodiscard]] bool read_text(std::string& text) const {
    uint64_t size = 0;
    if (!read_integer(size) || size > kMostBytes) return false;
    text.resize(size);
    return read(text.data(), size);
  }

 private:
  int fd_ = -1;
};

void append_integer(std::string& out, uint64_t value) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

void append_text(std::string& out, std::string_view text) {
  append_integer(out, text.size());
  out.append(text);
}

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
  Socket listening;
  int port = 0;
  std::thread accepting;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string, std::less<>> values;
  std::set<int> connections;  // descriptors, to be shut down at the end
  int serving = 0;
  bool stopped = false;

  void accept_all(const std::shared_ptr<State>& self) {
    while (true) {
      Socket connection(::accept(listening.fd(), nullptr, nullptr));
      const std::scoped_lock lock(mutex);
      if (stopped) return;
      if (!connection.is_open()) continue;
      connections.insert(connection.fd());
      ++serving;
      std::thread([self, connection = std::move(connection)] { self->serve(connection); }).detach();
    }
  }

  void serve(const Socket& connection) {
    char what = 0;
    uint64_t timeout = 0;
    std::string key, value;
    while (connection.read(&what, 1) && connection.read_integer(timeout) &&
           connection.read_text(key) && connection.read_text(value)) {
      std::string answer(1, answer_to(what, timeout, key, value));
      append_text(answer, value);
      if (!connection.write(answer.data(), answer.size())) break;
    }
    const std::scoped_lock lock(mutex);
    connections.erase(connection.fd());
    --serving;
    changed.notify_all();
  }

  // Puts a value that is asked for into `value`.
  char answer_to(char what, uint64_t timeout, const std::string& key, std::string& value) {
    std::unique_lock lock(mutex);
    if (what == kPut) {
      const auto [found, is_new] = values.try_emplace(key, value);
      const bool same = found->second == value;
      value.clear();
      changed.notify_all();
      return is_new || same ? kOk : kOtherValue;
    }
    const auto is_there = [&] { return values.contains(key); };
    if (what == kGet) {
      const auto longest = std::chrono::hours(24 * 365);  // of what the clock can add
      changed.wait_for(lock, std::min<milliseconds>(milliseconds(timeout), longest),
                       [&] { return stopped || is_there(); });
    }
    value.clear();
    if (!is_there()) return what == kGet ? kDeadline : kNotThere;
    value = values.find(key)->second;
    return kOk;
  }
};

StatusOr<std::unique_ptr<KeyValueServer>> KeyValueServer::start(int port,
                                                                const std::string& address) {
  HEDDLE_ASSIGN_OR_RETURN(sockaddr_in where, address_of(address, port));
  auto state = std::make_shared<State>();
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

Socket connected(const sockaddr_in& where) {
  Socket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out.is_open() ||
      ::connect(out.fd(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0)
    return {};
  const int yes = 1;
  (void)::setsockopt(out.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return out;
}

}  // namespace

StatusOr<std::shared_ptr<const KeyValueStore>> KeyValueStore::connect(const std::string& address,
                                                                      int port,
                                                                      milliseconds timeout) {
  HEDDLE_ASSIGN_OR_RETURN(const sockaddr_in where, address_of(address, port));
  const Clock::time_point end = Clock::now() + timeout;
  while (!connected(where).is_open()) {
    if (Clock::now() >= end) {
      return make_error(absl::StatusCode::kDeadlineExceeded, "key-value store: nobody answers at ",
                        address, ":", port, " within ", timeout.count(),
                        " ms; start the server first");
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  return std::shared_ptr<const KeyValueStore>(new KeyValueStore(address, port));
}

StatusOr<std::string> KeyValueStore::ask(char what, std::string_view key, std::string_view value,
                                         int64_t timeout_ms) const {
  HEDDLE_ASSIGN_OR_RETURN(const sockaddr_in where, address_of(address_, port_));
  const Socket socket = connected(where);
  std::string request(1, what);
  append_integer(request, static_cast<uint64_t>(std::max<int64_t>(timeout_ms, 0)));
  append_text(request, key);
  append_text(request, value);
  char code = 0;
  std::string answer;
  const bool answered = socket.is_open() && socket.write(request.data(), request.size()) &&
                        socket.read(&code, 1) && socket.read_text(answer);
  const std::string label = cat("key-value store: key ", key, ": ");
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
