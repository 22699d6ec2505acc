// Where the processes of one program tell each other what they are: plugins for several hosts ask
// for a store of keys and values when their client is made (addresses, topologies, ids of
// communicators). One process serves, all connect.
//
//   auto server = KeyValueServer::start(port, "10.0.0.1");           // in process 0, its address
//   auto store = KeyValueStore::connect("10.0.0.1", port);           // in every process
//   register_plugin("cuda", {.library = .., .create_options = {{"node_id", int64_t{rank}},
//                                                              {"num_nodes", int64_t{2}}},
//                            .key_values = *store});
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/base/status.h"

namespace heddle::pjrt {

// Values by key, over TCP, by one thread. Whoever reaches the port can read and write: keep it
// inside the cluster.
class KeyValueServer {
 public:
  // What others can make the server hold.
  struct Limits {
    // At once, each with a descriptor. For one more the get that has waited longest gives way, and
    // asks again later; where none waits, it is served when another ends.
    int connections = 1024;
    // Of keys and values, and 256 for each. What is asked for does not count: a get has its key of
    // 256 KiB at most.
    int64_t bytes = int64_t{1} << 30;
    // For a connection to say all of its request, or to take all of its answer, and 1 s more for
    // each MiB; then it ends.
    std::chrono::milliseconds silence = std::chrono::seconds(60);
  };

  // Listens on `port` (0: any that is free) of `address`: this computer's own in the network where
  // the other processes are, or "0.0.0.0" for all of them.
  // errors   what the system says, with address and port
  [[nodiscard]] static StatusOr<std::unique_ptr<KeyValueServer>> start(int port,
                                                                       const std::string& address,
                                                                       const Limits& limits);
  [[nodiscard]] static StatusOr<std::unique_ptr<KeyValueServer>> start(
      int port = 0, const std::string& address = "127.0.0.1") {
    return start(port, address, Limits());
  }
  // Ends the connections; those who wait for a key get an error.
  ~KeyValueServer();
  KeyValueServer(const KeyValueServer&) = delete;
  KeyValueServer& operator=(const KeyValueServer&) = delete;

  [[nodiscard]] int port() const;

 private:
  struct State;
  explicit KeyValueServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A process's way to the server. Safe from any thread; each call has a connection of its own, so
// that one that waits holds up no other.
class KeyValueStore {
 public:
  // Tries until the server is there. Later calls give it no longer than this, and 5 s at most, to
  // take all of what they say, and as long to answer all, beyond the time that a get() waits for
  // its key and 1 s for each MiB.
  // errors   InvalidArgument for what is no IPv4 address; DeadlineExceeded
  [[nodiscard]] static StatusOr<std::shared_ptr<const KeyValueStore>> connect(
      const std::string& address, int port,
      std::chrono::milliseconds timeout = std::chrono::seconds(60));

  // errors   InvalidArgument for a key of more than 256 KiB or a value of more than 64 MiB;
  //          Unavailable without the server; DeadlineExceeded where it does not answer;
  //          AlreadyExists where the key has another value; ResourceExhausted where it has no room
  [[nodiscard]] Status put(std::string_view key, std::string_view value) const;
  // Waits until the key is there.
  // errors   InvalidArgument as in put(); DeadlineExceeded; Unavailable without the server
  [[nodiscard]] StatusOr<std::string> get(std::string_view key,
                                          std::chrono::milliseconds timeout) const;
  // errors   NotFound; InvalidArgument as in put(); Unavailable without the server;
  //          DeadlineExceeded where it does not answer
  [[nodiscard]] StatusOr<std::string> try_get(std::string_view key) const;

 private:
  KeyValueStore(std::string address, int port, std::chrono::milliseconds patience)
      : address_(std::move(address)), port_(port), patience_(patience) {}
  [[nodiscard]] StatusOr<std::string> ask(char what, std::string_view key, std::string_view value,
                                          std::chrono::milliseconds timeout) const;
  [[nodiscard]] StatusOr<char> exchange(const std::string& request, std::chrono::milliseconds wait,
                                        std::string& answer) const;

  std::string address_;
  int port_;
  std::chrono::milliseconds patience_;
};

}  // namespace heddle::pjrt
