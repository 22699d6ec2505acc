#include "heddle/pjrt/key_value_store.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

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
