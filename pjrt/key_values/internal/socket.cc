#include "heddle/pjrt/key_values/internal/socket.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace heddle::pjrt {
namespace {

using std::chrono::milliseconds;

bool is_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

std::optional<size_t> moved(ssize_t done) {
  if (done >= 0) return static_cast<size_t>(done);
  if (is_later(errno)) return 0;
  return std::nullopt;
}

bool is_past(Clock::time_point end) {
  if (Clock::now() < end) return false;
  errno = ETIMEDOUT;
  return true;
}

// What is small goes at once, and does not wait for what was sent before it.
void send_at_once(int fd) {
  const int yes = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket Socket::connected(const sockaddr_in& where, Clock::time_point end) {
  Socket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.is_open()) return {};
  send_at_once(out.fd());
  if (::connect(out.fd(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0)
    return out;
  if (errno != EINPROGRESS || !out.wait_for(POLLOUT, end)) return {};
  int error = 0;
  socklen_t size = sizeof(error);
  (void)::getsockopt(out.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0 ? std::move(out) : Socket();
}

Socket Socket::listening(sockaddr_in& where) {
  Socket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  socklen_t size = sizeof(where);
  const bool listens = out.is_open() &&
                       ::setsockopt(out.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
                       ::bind(out.fd(), reinterpret_cast<const sockaddr*>(&where), size) == 0 &&
                       ::listen(out.fd(), SOMAXCONN) == 0 &&
                       ::getsockname(out.fd(), reinterpret_cast<sockaddr*>(&where), &size) == 0;
  return listens ? std::move(out) : Socket();
}

Socket Socket::accept() const {
  Socket out(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (out.is_open()) send_at_once(out.fd());
  return out;
}

bool Socket::wait_for(short events, Clock::time_point end) const {
  pollfd waiting{.fd = fd_, .events = events, .revents = 0};
  while (true) {
    const int happened = ::poll(&waiting, 1, poll_time(end));
    if (happened > 0) return true;
    if (happened < 0 && errno != EINTR) return false;
    if (is_past(end)) return false;
  }
}

// What is ready at the end is taken once more: this process may have slept.
bool Socket::write(std::string_view text, Clock::time_point end) const {
  while (!text.empty()) {
    if (!wait_for(POLLOUT, end)) return false;
    const auto done = write_some(text, /*more_follows=*/false);
    if (!done.has_value()) return false;
    text.remove_prefix(*done);
    if (!text.empty() && is_past(end)) return false;
  }
  return true;
}

bool Socket::read(char* at, size_t size, Clock::time_point end) const {
  while (size > 0) {
    if (!wait_for(POLLIN, end)) return false;
    const auto done = read_some(at, size);
    if (!done.has_value()) return false;
    at += *done;
    size -= *done;
    if (size > 0 && is_past(end)) return false;
  }
  return true;
}

std::optional<size_t> Socket::write_some(std::string_view text, bool more_follows) const {
  return moved(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL | (more_follows ? MSG_MORE : 0)));
}

std::optional<size_t> Socket::read_some(char* at, size_t size) const {
  const ssize_t done = ::recv(fd_, at, size, 0);
  if (done != 0) return moved(done);
  errno = ECONNRESET;  // its other end was closed
  return std::nullopt;
}

StatusOr<sockaddr_in> address_of(const std::string& address, int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<uint16_t>(port));
  if (port >= 0 && port <= 65535 && ::inet_pton(AF_INET, address.c_str(), &out.sin_addr) == 1)
    return out;
  return base::invalid_argument("key-value store: ", address, ":", port,
                                " is no IPv4 address and port, such as 127.0.0.1:4000");
}

int poll_time(Clock::time_point end) {
  const auto rest = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(rest, 0, 1 << 30));
}

std::string system_error(int error) { return std::generic_category().message(error); }

}  // namespace heddle::pjrt
