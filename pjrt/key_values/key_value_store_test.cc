#include "heddle/pjrt/key_values/key_value_store.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>

#include "heddle/base/bytes.h"
#include "heddle/base/support_test.h"
#include "heddle/pjrt/internal/key_values.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong(20000);

struct Served {
  explicit Served(const KeyValueServer::Limits& limits = {})
      : server(KeyValueServer::start(0, "127.0.0.1", limits).value()) {}
  std::unique_ptr<KeyValueServer> server;
  std::shared_ptr<const KeyValueStore> store =
      KeyValueStore::connect("127.0.0.1", server->port()).value();
};

TEST(KeyValues, ArePutAndRead) {
  const Served served;
  EXPECT_TRUE(served.store->put("a/0", std::string("x\0y", 3)).ok());
  EXPECT_EQ(served.store->get("a/0", kLong).value(), std::string("x\0y", 3));
  EXPECT_EQ(served.store->try_get("a/0").value().size(), 3u);
  EXPECT_TRUE(served.store->put("empty", "").ok());
  EXPECT_EQ(served.store->get("empty", kLong).value(), "");
  const std::string large(5 << 20, 'z');
  EXPECT_TRUE(served.store->put("large", large).ok());
  EXPECT_EQ(served.store->get("large", kLong).value(), large);
}

TEST(KeyValues, ThatAreNotThereAreWaitedFor) {
  const Served served;
  std::vector<std::thread> readers;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i)
    readers.emplace_back([&] { right += served.store->get("late", kLong).value_or("") == "now"; });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(served.store->put("late", "now").ok());  // while all of them wait
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(right, 8);
}

TEST(KeyValues, ErrorsSayWhatIsMissing) {
  Served served;
  const Status late = served.store->get("never", milliseconds(10)).status();
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(base::message_of(late),
            "key-value store: key never: is not there within 10 ms; is every process started?");
  EXPECT_EQ(served.store->try_get("never").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(served.store->put("once", "a").ok());
  EXPECT_TRUE(served.store->put("once", "a").ok());
  EXPECT_EQ(served.store->put("once", "b").code(), StatusCode::kAlreadyExists);
  std::thread waits([&] {
    EXPECT_EQ(served.store->get("never", kLong).status().code(), StatusCode::kUnavailable);
  });
  std::this_thread::sleep_for(milliseconds(20));
  const int port = served.server->port();
  served.server.reset();  // ends the wait
  waits.join();
  EXPECT_EQ(served.store->put("x", "y").code(), StatusCode::kUnavailable);
  EXPECT_THAT(
      base::message_of(KeyValueStore::connect("127.0.0.1", port, milliseconds(30)).status()),
      HasSubstr("nobody answers"));
  EXPECT_THAT(base::message_of(KeyValueServer::start(0, "localhost").status()),
              HasSubstr("localhost:0 is no IPv4 address and port"));
}

// ---- Servers and clients that do not keep to the rules.

// A connection of the test's own, with bytes that it says.
class Raw {
 public:
  // With a limit of descriptors that holds from before it is connected.
  Raw(int port, const std::string& bytes, const std::optional<rlimit>& limit = std::nullopt)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (limit.has_value()) {
      EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &*limit), 0);
    }
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<uint16_t>(port));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  ~Raw() { ::close(fd_); }
  // Says nothing more, as one that was closed, but can still hear.
  void shut() const { ::shutdown(fd_, SHUT_WR); }
  // Waits for the server's end of it.
  [[nodiscard]] bool is_ended() const {
    const timeval longest{.tv_sec = 10, .tv_usec = 0};
    EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest)), 0);
    char byte;
    const ssize_t done = ::recv(fd_, &byte, 1, 0);
    return done == 0 || (done < 0 && errno == ECONNRESET);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// A port of the test's own, where connections are made by the system, but nobody reads.
class Silent {
 public:
  Silent() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(where);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&where), size), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&where), &size), 0);
    port_ = ntohs(where.sin_port);
  }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
  ~Silent() { ::close(fd_); }
  // `waiting` and one more connect; for others there is no place.
  void listen(int waiting) const { EXPECT_EQ(::listen(fd_, waiting), 0); }
  [[nodiscard]] int accepted() const { return ::accept(fd_, nullptr, nullptr); }
  [[nodiscard]] int port() const { return port_; }

 private:
  int fd_, port_;
};

// Says a byte now and then, for 1.5 s at the least, and returns whether the other end went before.
bool drips(int fd) {
  for (int i = 0; i < 75; ++i) {
    if (::send(fd, "x", 1, MSG_NOSIGNAL) != 1) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

// A request of which the value does not come.
std::string announced(uint64_t size) {
  std::string bytes = "p";
  base::append_number(0, bytes);
  base::append_text("k", bytes);
  base::append_number(size, bytes);
  return bytes;
}

std::string asked(std::string_view key, uint64_t timeout_ms) {
  std::string bytes = "g";
  base::append_number(timeout_ms, bytes);
  base::append_text(key, bytes);
  base::append_text("", bytes);
  return bytes;
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(KeyValues, AnnouncedBytesTakeNoMemory) {
  const Served served;
  const int64_t before = resident_bytes();
  std::vector<std::unique_ptr<Raw>> greedy;
  for (int i = 0; i < 16; ++i)
    greedy.push_back(std::make_unique<Raw>(served.server->port(), announced(64 << 20)));
  EXPECT_TRUE(served.store->put("a", "b").ok());
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_LT(resident_bytes() - before, 64 << 20);  // of 1 GiB
  EXPECT_TRUE(Raw(served.server->port(), announced(uint64_t{1} << 60)).is_ended());
}

TEST(KeyValues, AServerHoldsNoMoreThanItsLimit) {
  const Served served({.bytes = 1600});
  const auto& store = served.store;
  EXPECT_TRUE(store->put("a", std::string(600, 'a')).ok());
  const Status full = store->put("b", std::string(600, 'b'));
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(base::message_of(full),
            "key-value store: key b: the server has no room for its 600 bytes; raise "
            "KeyValueServer::Limits::bytes");
  EXPECT_TRUE(store->put("b", std::string(300, 'b')).ok());  // what was refused is given back
  EXPECT_EQ(store->get("a", kLong).value(), std::string(600, 'a'));
  EXPECT_EQ(store->put("c", std::string((64 << 20) + 1, 'c')).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store->try_get(std::string((256 << 10) + 1, 'c')).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(KeyValues, WhatAServerHoldsBesideTheBytesCounts) {
  const Served served({.bytes = 10000});
  int keys = 0;
  while (keys < 100 && served.store->put(base::cat(keys), "").ok()) ++keys;
  EXPECT_GT(keys, 10);
  EXPECT_LT(keys, 50);
}

TEST(KeyValues, AFullServerCanBeAsked) {
  const Served served({.bytes = 1000});
  const std::string other(500, 'b');
  ASSERT_TRUE(served.store->put("a", std::string(700, 'a')).ok());
  EXPECT_EQ(served.store->put(other, "").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(served.store->try_get(other).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(served.store->get(other, milliseconds(1)).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(served.store->get("a", kLong).value_or("").size(), 700u);
}

TEST(KeyValues, ConnectionsBeyondTheLimitWaitAndSilentOnesEnd) {
  const Served served({.connections = 2, .silence = milliseconds(200)});
  const int port = served.server->port();
  const Raw first(port, announced(8)), second(port, announced(8));
  EXPECT_TRUE(served.store->put("a", "b").ok());  // after the silence of those two
  EXPECT_TRUE(first.is_ended());
}

TEST(KeyValues, GetsThatWaitGiveWayToWhatTheyWaitFor) {
  const Served served({.connections = 2});
  std::vector<std::thread> readers;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] { right += served.store->get("late", kLong).value_or("") == "now"; });
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(served.store->put("late", "now").ok());
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(right, 4);
}

TEST(KeyValues, GetsThatGiveWayEndInTime) {
  const Served served({.connections = 1});
  const auto get = [&] {
    EXPECT_EQ(base::message_of(served.store->get("never", milliseconds(200)).status()),
              "key-value store: key never: is not there within 200 ms; is every process started?");
  };
  std::thread other(get);
  get();
  other.join();
}

TEST(KeyValues, AGetWhoseClientHasGoneEnds) {
  const Served served;
  const Raw gone(served.server->port(), asked("never", uint64_t{1} << 40));
  std::this_thread::sleep_for(milliseconds(20));  // it waits
  gone.shut();
  EXPECT_TRUE(gone.is_ended());
}

TEST(KeyValues, AConnectionThatIsSlowForEverEnds) {
  const Served served({.silence = milliseconds(100)});
  EXPECT_TRUE(drips(Raw(served.server->port(), announced(1000)).fd()));
}

TEST(KeyValues, AServerThatIsSlowForEverIsToldInTime) {
  const Silent server;
  server.listen(8);
  std::thread drip([&] {
    ::close(server.accepted());  // connect()'s own
    const int fd = server.accepted();
    std::string head = "k";
    base::append_number(1000, head);
    EXPECT_EQ(::send(fd, head.data(), head.size(), MSG_NOSIGNAL), std::ssize(head));
    EXPECT_TRUE(drips(fd));
    ::close(fd);
  });
  const auto store = KeyValueStore::connect("127.0.0.1", server.port(), milliseconds(100)).value();
  EXPECT_EQ(store->get("a", milliseconds(50)).status().code(), StatusCode::kDeadlineExceeded);
  drip.join();
}

TEST(KeyValues, SignalsDoNotEndACall) {
  const Silent server;
  server.listen(0);  // connect() takes its only place, which stays taken
  const auto store = KeyValueStore::connect("127.0.0.1", server.port(), milliseconds(200)).value();
  struct sigaction nothing {
  }, before{};
  nothing.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &nothing, &before), 0);
  std::atomic<bool> done{false};
  std::thread signals([&, caller = ::pthread_self()] {
    for (; !done; std::this_thread::sleep_for(milliseconds(10))) ::pthread_kill(caller, SIGUSR1);
  });
  EXPECT_EQ(store->put("a", "b").code(), StatusCode::kDeadlineExceeded);
  done = true;
  signals.join();
  EXPECT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST(KeyValues, AnyTimeCanBeWaited) {
  const Silent server;
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(50));
    server.listen(8);
  });
  EXPECT_EQ(KeyValueStore::connect("127.0.0.1", server.port(), milliseconds::min()).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(KeyValueStore::connect("127.0.0.1", server.port(), milliseconds::max()).ok());
  late.join();
  const Served served;
  EXPECT_TRUE(served.store->put("a", "b").ok());
  EXPECT_EQ(served.store->get("a", milliseconds::max()).value_or(""), "b");
  EXPECT_EQ(served.store->get("b", milliseconds::min()).status().code(),
            StatusCode::kDeadlineExceeded);
}

// While it lives, no thread starts: their stacks would be larger than what can be addressed.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t none;
    EXPECT_EQ(::pthread_getattr_default_np(&before_), 0);
    EXPECT_EQ(::pthread_attr_init(&none), 0);
    EXPECT_EQ(::pthread_attr_setstacksize(&none, size_t{1} << 47), 0);
    EXPECT_EQ(::pthread_setattr_default_np(&none), 0);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() { EXPECT_EQ(::pthread_setattr_default_np(&before_), 0); }

 private:
  pthread_attr_t before_{};
};

TEST(KeyValues, AServerWithoutAThreadIsAnError) {
  const NoThreads none;
  const Status status = KeyValueServer::start().status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(base::message_of(status),
              HasSubstr("key-value server: cannot start a thread on 127.0.0.1:0: "));
}

TEST(KeyValues, AServerWithoutDescriptorsServesAgainWhenThereAreSome) {
  const Served served;
  ASSERT_TRUE(served.store->put("a", "b").ok());
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  const clock_t before = std::clock();
  const Raw waiting(served.server->port(), "", none);
  std::this_thread::sleep_for(milliseconds(300));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 10);  // it paused
  EXPECT_EQ(served.store->get("a", kLong).value(), "b");
}

TEST(KeyValues, AServerThatDoesNotAnswerIsToldInTime) {
  const Silent server;
  server.listen(8);
  const auto store = KeyValueStore::connect("127.0.0.1", server.port(), milliseconds(100)).value();
  const auto begin = std::chrono::steady_clock::now();
  const Status status = store->get("a", milliseconds(50)).status();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(base::message_of(status), base::cat("key-value store: key a: the server at 127.0.0.1:",
                                                server.port(), " does not answer within 150 ms"));
}

// What a plugin is given.
struct Callbacks {
  Callbacks() { set_key_values(*served.store, client); }
  Served served;
  abi::ClientCreateArgs client;
  static inline std::string error;
  abi::CallbackError fail = [](int code, const char* message, size_t size) {
    error = base::cat(code, " ", std::string_view(message, size));
    return reinterpret_cast<abi::Error*>(&error);
  };
};

TEST(KeyValues, CallbacksAreTheStores) {
  Callbacks of;
  abi::KeyValuePutArgs put{.key = "k",
                           .key_size = 1,
                           .value = "12",
                           .value_size = 2,
                           .callback_error = &of.fail,
                           .user_arg = of.client.kv_put_user_arg};
  EXPECT_EQ(of.client.kv_put_callback(&put), nullptr);
  abi::KeyValueGetArgs get{.key = "k",
                           .key_size = 1,
                           .timeout_in_ms = 1000,
                           .callback_error = &of.fail,
                           .user_arg = of.client.kv_get_user_arg};
  ASSERT_EQ(of.client.kv_get_callback(&get), nullptr);
  EXPECT_EQ(std::string(get.value, get.value_size), "12");
  get.value_deleter(get.value);
  abi::KeyValueTryGetArgs other{.key = "n",
                                .key_size = 1,
                                .callback_error = &of.fail,
                                .user_arg = of.client.kv_try_get_user_arg};
  EXPECT_NE(of.client.kv_try_get_callback(&other), nullptr);
  EXPECT_THAT(of.error, HasSubstr("5 key-value store: key n: is not there"));
}

// The plugin's code is C: an exception in it would end the process.
TEST(KeyValues, NoExceptionLeavesACallback) {
  Callbacks of;
  abi::KeyValueTryGetArgs args{.key = "k",
                               .key_size = size_t{1} << 62,  // cannot be copied
                               .callback_error = &of.fail,
                               .user_arg = of.client.kv_try_get_user_arg};
  EXPECT_NE(of.client.kv_try_get_callback(&args), nullptr);
  EXPECT_EQ(of.error, "8 key-value store: the key needs more memory than there is");
}

class KeyValuesOfAPlugin : public MockTest {};

TEST_F(KeyValuesOfAPlugin, AreThoseOfItsRecord) {
  const Served served;
  const DevicePlugin plugin{.library = HEDDLE_PJRT_MOCK, .key_values = served.store};
  const Status alone = make_backend("mock", plugin).status();
  EXPECT_EQ(alone.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(base::message_of(alone),
              HasSubstr("plugin mock (PJRT 0.114): ClientCreate: key-value "
                        "store: key mock/go: is not there within 200 ms"));
  EXPECT_TRUE(served.store->put("mock/go", "").ok());
  const auto backend = make_backend("mock", plugin);
  EXPECT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ(served.store->try_get("mock/devices").value_or(""), "2");
}

// The first is made only when the second says so.
TEST_F(KeyValuesOfAPlugin, MayBeMetByTheNextClientOfTheProcess) {
  const Served served;
  std::thread first([&] {
    const auto backend =
        make_backend("mock", {.library = HEDDLE_PJRT_MOCK, .key_values = served.store});
    EXPECT_TRUE(backend.ok()) << backend.status();
  });
  EXPECT_TRUE(served.store->get("mock/devices", kLong).ok());  // it is being made
  const auto second = make_backend("mock", {.library = HEDDLE_PJRT_MOCK});
  EXPECT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(served.store->put("mock/go", "").ok());
  first.join();
}

// One of two processes: tells the other its number, and reads the other's.
constexpr const char* kPort = "HEDDLE_TEST_KEY_VALUE_PORT";
TEST(KeyValues, OtherProcess) {
  const char* port = std::getenv(kPort);
  if (port == nullptr) GTEST_SKIP() << "is run by TwoProcessesMeet";
  const auto store = KeyValueStore::connect("127.0.0.1", std::atoi(port)).value();
  EXPECT_TRUE(store->put("process/1", base::cat(getpid())).ok());
  EXPECT_EQ(store->get("process/0", kLong).value(), base::cat(getppid()));
}

TEST(KeyValues, TwoProcessesMeet) {
  const Served served;
  setenv(kPort, base::cat(served.server->port()).c_str(), 1);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=KeyValues.OtherProcess";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  unsetenv(kPort);
  EXPECT_TRUE(served.store->put("process/0", base::cat(getpid())).ok());
  EXPECT_EQ(served.store->get("process/1", kLong).value(), base::cat(child));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace heddle::pjrt
