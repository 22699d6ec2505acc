// TCP over IPv4, with a time by which each message is through.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/base/status.h"

namespace heddle::pjrt {

using Clock = std::chrono::steady_clock;

// The longest time that can be added to now: the clock counts nanoseconds in 64 bits.
constexpr std::chrono::milliseconds kLongestTime(int64_t{1} << 40);

// A descriptor, and calls that never wait, or until `end`. With errno where they say no: ETIMEDOUT
// at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  Socket& operator=(Socket&& from) noexcept {
    std::swap(fd_, from.fd_);
    return *this;
  }
  ~Socket();
  // A connection that was made before `end`; not open where there is none.
  [[nodiscard]] static Socket connected(const sockaddr_in& where, Clock::time_point end);
  // Not open, with errno, where the system says no.
  [[nodiscard]] static Socket listening(sockaddr_in& where);
  // The next that has connected to this one.
  [[nodiscard]] Socket accept() const;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

  [[nodiscard]] bool write(std::string_view text, Clock::time_point end) const;
  [[nodiscard]] bool read(char* at, size_t size, Clock::time_point end) const;

  // As many bytes as come or go at once: 0 where that is none. Nothing where the connection is
  // over.
  [[nodiscard]] std::optional<size_t> write_some(std::string_view text, bool more_follows) const;
  [[nodiscard]] std::optional<size_t> read_some(char* at, size_t size) const;

 private:
  [[nodiscard]] bool wait_for(short events, Clock::time_point end) const;
  int fd_ = -1;
};

// errors   InvalidArgument
[[nodiscard]] StatusOr<sockaddr_in> address_of(const std::string& address, int port);

// What poll() takes, so that it returns no earlier than `end`, or long before where that is far.
[[nodiscard]] int poll_time(Clock::time_point end);

// The system's words for `error`.
[[nodiscard]] std::string system_error(int error);

}  // namespace heddle::pjrt
