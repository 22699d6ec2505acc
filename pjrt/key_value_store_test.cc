#include "heddle/pjrt/key_value_store.h"

#include <arpa/inet.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>

#include "heddle/pjrt/internal/bytes.h"
#include "heddle/pjrt/internal/key_values.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kLong(20000);

struct Served {
  std::unique_ptr<KeyValueServer> server = KeyValueServer::start().value();
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
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(message_of(late),
            "key-value store: key never: is not there within 10 ms; is every process started?");
  EXPECT_EQ(served.store->try_get("never").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(served.store->put("once", "a").ok());
  EXPECT_TRUE(served.store->put("once", "a").ok());
  EXPECT_EQ(served.store->put("once", "b").code(), absl::StatusCode::kAlreadyExists);
  std::thread waits([&] {
    EXPECT_EQ(served.store->get("never", kLong).status().code(), absl::StatusCode::kUnavailable);
  });
  std::this_thread::sleep_for(milliseconds(20));
  const int port = served.server->port();
  served.server.reset();  // ends the wait
  waits.join();
  EXPECT_EQ(served.store->put("x", "y").code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(message_of(KeyValueStore::connect("127.0.0.1", port, milliseconds(30)).status()),
              HasSubstr("nobody answers"));
  EXPECT_THAT(message_of(KeyValueServer::start(0, "localhost").status()),
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
  // Waits for the server's end of it.
  [[nodiscard]] bool is_ended() const {
    char byte;
    return ::recv(fd_, &byte, 1, 0) <= 0;
  }

 private:
  int fd_;
};

// The first 17 bytes of a request, and the size of a key that does not come.
std::string announced(uint64_t size) {
  std::string bytes = "p";
  append_number(0, bytes);
  append_number(size, bytes);
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
  Served served;
  served.server = KeyValueServer::start(0, "127.0.0.1", {.bytes = 1000}).value();
  const auto store = KeyValueStore::connect("127.0.0.1", served.server->port()).value();
  EXPECT_TRUE(store->put("a", std::string(600, 'a')).ok());
  const Status full = store->put("b", std::string(600, 'b'));
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(message_of(full),
            "key-value store: key b: the server has no room for its 600 bytes; raise "
            "KeyValueServer::Limits::bytes");
  EXPECT_TRUE(store->put("b", std::string(300, 'b')).ok());  // what was refused is given back
  EXPECT_EQ(store->get("a", kLong).value(), std::string(600, 'a'));
  EXPECT_EQ(store->put("c", std::string((64 << 20) + 1, 'c')).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(KeyValues, ConnectionsBeyondTheLimitWaitAndSilentOnesEnd) {
  Served served;
  served.server =
      KeyValueServer::start(0, "127.0.0.1", {.connections = 2, .silence = milliseconds(200)})
          .value();
  const int port = served.server->port();
  const auto store = KeyValueStore::connect("127.0.0.1", port).value();
  const Raw first(port, announced(8)), second(port, announced(8));
  EXPECT_TRUE(store->put("a", "b").ok());  // after the silence of those two
  EXPECT_TRUE(first.is_ended());
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

// Connections are made by the system, but nobody reads.
TEST(KeyValues, AServerThatDoesNotAnswerIsToldInTime) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(where);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&where), size), 0);
  ASSERT_EQ(::listen(fd, 8), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size), 0);
  const int port = ntohs(where.sin_port);
  const auto store = KeyValueStore::connect("127.0.0.1", port, milliseconds(100)).value();
  const auto begin = std::chrono::steady_clock::now();
  const Status status = store->get("a", milliseconds(50)).status();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(message_of(status), cat("key-value store: key a: the server at 127.0.0.1:", port,
                                    " does not answer within 150 ms"));
  ::close(fd);
}

// What a plugin does with the callbacks.
TEST(KeyValues, CallbacksAreTheStores) {
  const Served served;
  abi::ClientCreateArgs client;
  set_key_values(*served.store, client);
  static std::string error;
  abi::CallbackError fail = [](int code, const char* message, size_t size) {
    error = cat(code, " ", std::string_view(message, size));
    return reinterpret_cast<abi::Error*>(&error);
  };
  abi::KeyValuePutArgs put{.key = "k",
                           .key_size = 1,
                           .value = "12",
                           .value_size = 2,
                           .callback_error = &fail,
                           .user_arg = client.kv_put_user_arg};
  EXPECT_EQ(client.kv_put_callback(&put), nullptr);
  abi::KeyValueGetArgs get{.key = "k",
                           .key_size = 1,
                           .timeout_in_ms = 1000,
                           .callback_error = &fail,
                           .user_arg = client.kv_get_user_arg};
  ASSERT_EQ(client.kv_get_callback(&get), nullptr);
  EXPECT_EQ(std::string(get.value, get.value_size), "12");
  get.value_deleter(get.value);
  abi::KeyValueTryGetArgs other{
      .key = "n", .key_size = 1, .callback_error = &fail, .user_arg = client.kv_try_get_user_arg};
  EXPECT_NE(client.kv_try_get_callback(&other), nullptr);
  EXPECT_THAT(error, HasSubstr("5 key-value store: key n: is not there"));
}

// The plugin's code is C: an exception in it would end the process.
TEST(KeyValues, NoExceptionLeavesACallback) {
  const Served served;
  abi::ClientCreateArgs client;
  set_key_values(*served.store, client);
  static std::string error;
  abi::CallbackError fail = [](int code, const char* message, size_t size) {
    error = cat(code, " ", std::string_view(message, size));
    return reinterpret_cast<abi::Error*>(&error);
  };
  abi::KeyValueTryGetArgs args{.key = "k",
                               .key_size = size_t{1} << 62,  // cannot be copied
                               .callback_error = &fail,
                               .user_arg = client.kv_try_get_user_arg};
  EXPECT_NE(client.kv_try_get_callback(&args), nullptr);
  EXPECT_EQ(error, "8 key-value store: the key needs more memory than there is");
}

class KeyValuesOfAPlugin : public MockTest {};

TEST_F(KeyValuesOfAPlugin, AreThoseOfItsRecord) {
  const Served served;
  const DevicePlugin plugin{.library = HEDDLE_PJRT_MOCK, .key_values = served.store};
  const Status alone = make_backend("mock", plugin).status();
  EXPECT_EQ(alone.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(message_of(alone), HasSubstr("plugin mock (PJRT 0.114): ClientCreate: key-value "
                                           "store: key mock/go: is not there within 200 ms"));
  EXPECT_TRUE(served.store->put("mock/go", "").ok());
  const auto backend = make_backend("mock", plugin);
  EXPECT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ(served.store->try_get("mock/devices").value_or(""), "2");
}

// One of two processes: tells the other its number, and reads the other's.
constexpr const char* kPort = "HEDDLE_TEST_KEY_VALUE_PORT";
TEST(KeyValues, OtherProcess) {
  const char* port = std::getenv(kPort);
  if (port == nullptr) GTEST_SKIP() << "is run by TwoProcessesMeet";
  const auto store = KeyValueStore::connect("127.0.0.1", std::atoi(port)).value();
  EXPECT_TRUE(store->put("process/1", cat(getpid())).ok());
  EXPECT_EQ(store->get("process/0", kLong).value(), cat(getppid()));
}

TEST(KeyValues, TwoProcessesMeet) {
  const Served served;
  setenv(kPort, cat(served.server->port()).c_str(), 1);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=KeyValues.OtherProcess";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  unsetenv(kPort);
  EXPECT_TRUE(served.store->put("process/0", cat(getpid())).ok());
  EXPECT_EQ(served.store->get("process/1", kLong).value(), cat(child));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace heddle::pjrt
