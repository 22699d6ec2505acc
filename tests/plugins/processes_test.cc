// Two processes of XLA's CPU plugin on one machine. The plugin asks its key-value store for
// nothing and joins no devices of other processes, so each process sums over devices of its own,
// and the store joins the two sums. Skipped where the plugin is not there: ./dev setup-plugin
// xla-cpu.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "heddle/heddle.h"
#include "heddle/pjrt/key_values/key_value_store.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle {
namespace {

constexpr const char* kPort = "HEDDLE_TEST_PROCESSES_PORT";

// rank + 1 on each of two devices, summed; then over processes.
double total(int rank, const std::shared_ptr<const pjrt::KeyValueStore>& store) {
  static std::unique_ptr<runtime::Backend>& backend = *new std::unique_ptr<runtime::Backend>;
  backend = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library(),
                                           .create_options = {{"cpu_device_count", int64_t{2}},
                                                              {"process_id", int64_t{rank}}},
                                           .key_values = store})
                .value();
  const Mesh mesh({{"i", 2}}, {backend->devices()[0].get(), backend->devices()[1].get()});
  const Tensor x =
      array(std::vector<float>(2, static_cast<float>(rank + 1)), {2}, Sharding(mesh, {"i"}));
  const auto sum = shard_map([](Tensor part) { return psum(part, "i"); }, mesh, {{"i"}}, {{}});
  const double own = sum(x).to_vector<float>()[0];
  if (!store->put(base::cat("sum/", rank), base::cat(own)).ok()) return -1;
  const auto other = store->get(base::cat("sum/", 1 - rank), std::chrono::seconds(60));
  return other.ok() ? own + std::stod(*other) : -1;
}

class Processes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  }
};

TEST_F(Processes, SecondOne) {
  const char* port = std::getenv(kPort);
  if (port == nullptr) GTEST_SKIP() << "is run by TwoOnTheLoopback";
  const auto store = pjrt::KeyValueStore::connect("127.0.0.1", std::atoi(port)).value();
  EXPECT_EQ(total(1, store), 6);
}

TEST_F(Processes, TwoOnTheLoopback) {
  const auto server = pjrt::KeyValueServer::start().value();
  setenv(kPort, base::cat(server->port()).c_str(), 1);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=Processes.SecondOne";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  unsetenv(kPort);
  EXPECT_EQ(total(0, pjrt::KeyValueStore::connect("127.0.0.1", server->port()).value()), 6);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace heddle
