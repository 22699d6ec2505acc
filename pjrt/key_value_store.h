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
#include <mutex>
#include <string>
#include <string_view>

#include "heddle/base/status.h"

namespace heddle::pjrt {

// Values by key, over TCP. Whoever reaches the port can read and write: keep it inside the cluster.
class KeyValueServer {
 public:
  // What others can make the server hold.
  struct Limits {
    int connections = 1024;            // at once, each with a thread; more wait until one ends
    int64_t bytes = int64_t{1} << 30;  // of keys and values
    std::chrono::milliseconds silence = std::chrono::seconds(60);  // of a connection, then it ends
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
  explicit KeyValueServer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// A process's way to the server. Safe from any thread; each call has a connection of its own, so
// that one that waits holds up no other.
class KeyValueStore {
 public:
  // Tries until the server is there. Later calls give it no longer than this, and 5 s at most, to
  // take or send the next bytes, beyond the time that a get() waits for its key.
  // errors   InvalidArgument for what is no IPv4 address; DeadlineExceeded
  [[nodiscard]] static StatusOr<std::shared_ptr<const KeyValueStore>> connect(
      const std::string& address, int port,
      std::chrono::milliseconds timeout = std::chrono::seconds(60));

  // errors   Unavailable without the server; DeadlineExceeded where it does not answer;
  //          AlreadyExists where the key has another value; ResourceExhausted where it has no room
  [[nodiscard]] Status put(std::string_view key, std::string_view value) const;
  // Waits until the key is there. errors   DeadlineExceeded; Unavailable without the server
  [[nodiscard]] StatusOr<std::string> get(std::string_view key,
                                          std::chrono::milliseconds timeout) const;
  // errors   NotFound; Unavailable without the server; DeadlineExceeded where it does not answer
  [[nodiscard]] StatusOr<std::string> try_get(std::string_view key) const;

 private:
  KeyValueStore(std::string address, int port, std::chrono::milliseconds patience)
      : address_(std::move(address)), port_(port), patience_(patience) {}
  [[nodiscard]] StatusOr<std::string> ask(char what, std::string_view key, std::string_view value,
                                          int64_t timeout_ms) const;

  std::string address_;
  int port_;
  std::chrono::milliseconds patience_;
};

}  // namespace heddle::pjrt
