// What the server of keys and values and its clients say to each other. A request is what is asked
// for, the timeout in milliseconds, key and value; an answer is a code and a value. Numbers and
// texts as in bytes.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace heddle::pjrt::wire {

constexpr char kPut = 'p', kGet = 'g', kTryGet = 't';
constexpr char kOk = 'k', kNotThere = 'n', kDeadline = 'd', kOtherValue = 'x', kNoRoom = 'f';
constexpr char kAskAgain = 'a';  // to a get whose place others need

constexpr uint64_t kMostKeyBytes = uint64_t{256} << 10;  // those that are asked for are not counted
constexpr uint64_t kMostValueBytes = uint64_t{64} << 20;
constexpr size_t kPiece = size_t{64} << 10;  // read at once

// How much longer a message may take for its size: at a MiB each second it is still alive.
constexpr std::chrono::milliseconds time_for(uint64_t bytes) {
  return std::chrono::milliseconds(bytes >> 10);
}

}  // namespace heddle::pjrt::wire
