// What is left of a plugin's backend when that is gone, and where its client goes, on the mock.
#include <functional>
#include <utility>

#include "heddle/base/support_test.h"
#include "heddle/pjrt/interface_support_test.h"
#include "heddle/pjrt/internal/buffer.h"
#include "heddle/pjrt/serialized.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/dlpack.h"
#include "heddle/runtime/mesh.h"

namespace heddle::pjrt {
namespace {

Status gone(std::string_view op) {
  return base::failed_precondition(op,
                                   ": the backend of pjrt:mock:0 is gone; keep it as long as its "
                                   "arrays and programs are in use");
}

class Lifetimes : public MockTest {};

TEST_F(Lifetimes, ReadsUploadsAndRunsAfterTheBackendAreErrors) {
  start(with_evaluator());
  BufferPtr x = on_device({1, 2});
  BufferPtr sum = add(x, x).value();
  Literal view = runtime::view_on_host(*x).value();
  backend_.reset();
  const int runs = mock_plugin().seen().calls[size_t(abi::Slot::kLoadedExecutableExecute)];
  const int reads = mock_plugin().seen().calls[size_t(abi::Slot::kBufferToHostBuffer)];
  EXPECT_EQ(runtime::to_host(*sum).status(), gone("download"));
  EXPECT_EQ(runtime::start_to_host(*sum).status(), gone("download"));
  EXPECT_EQ(runtime::view_on_host(*sum).status(), gone("download"));
  EXPECT_EQ(runtime::to_dlpack(*sum).status(), gone("download"));
  EXPECT_EQ(runtime::to_device(x->device(), vector_of({1})).status(), gone("upload"));
  EXPECT_EQ(add(x, x).status(), gone("run add"));
  EXPECT_EQ(serialize(*add_).status(), gone("serialize add"));
  EXPECT_EQ(load("", add_module(), {}, x->device()).status(), gone("load program add"));
  EXPECT_EQ(mock_plugin().seen().calls[size_t(abi::Slot::kLoadedExecutableExecute)], runs);
  EXPECT_EQ(mock_plugin().seen().calls[size_t(abi::Slot::kBufferToHostBuffer)], reads);
  EXPECT_EQ(x->device().live_bytes(), 16);
  sum->release();
  EXPECT_EQ(x->device().live_bytes(), 8);
  // A view that was taken before is the host's.
  x.reset();
  sum.reset();
  add_.reset();
  EXPECT_EQ(mock_plugin().seen().clients, 1);
  EXPECT_EQ(view, vector_of({1, 2}));
}

TEST_F(Lifetimes, ADownloadThatWasStartedBeforeEnds) {
  start({.compile = evaluated, .asynchronous = true, .held = true});
  BufferPtr sum = add(on_device({1, 2}), on_device({3, 4})).value();
  runtime::Download download = runtime::start_to_host(*sum).value();
  sum.reset();
  add_.reset();
  backend_.reset();
  mock_plugin().open();
  EXPECT_THAT(download.await().value().values<float>(), ElementsAre(4, 6));
}

// The mock's thread ends with its client, as those of XLA's plugins do: there it would wait for
// itself.
TEST_F(Lifetimes, AClientIsNotDestroyedOnAThreadOfThePlugin) {
  start({.compile = evaluated, .asynchronous = true, .held = true});
  alignas(runtime::kLendAlignment) static const float kValues[2] = {1, 2};
  {
    // The loan's owner is all that holds the client, until the run has read what is lent.
    const auto owner = std::make_shared<Literal>(runtime::view_on_host(*on_device({5})).value());
    const BufferPtr lent =
        runtime::lend_to_device(device(), kValues, Shape(f32, {2}), owner).value();
    ASSERT_TRUE(add(lent, lent).ok());
    EXPECT_GT(owner.use_count(), 1);
  }
  add_.reset();
  backend_.reset();
  EXPECT_EQ(mock_plugin().seen().clients, 1);
  mock_plugin().open();
  until_clients_are_gone();
  EXPECT_EQ(mock_plugin().seen().clients, 0);
}

// A plugin's functions, but that destroying a buffer first does what the test says.
class LifetimesOfSharedBuffers : public InterfaceCalls<MockTest> {
 protected:
  void SetUp() override {
    table_ = *mock_plugin().table();
    void*& row = table_.rows[size_t(abi::Slot::kBufferDestroy)];
    static void* const plugins = row;
    row = reinterpret_cast<void*>(+[](abi::BufferDestroyArgs* args) -> abi::Error* {
      if (while_destroyed_) std::exchange(while_destroyed_, nullptr)();
      return reinterpret_cast<abi::Error* (*)(abi::BufferDestroyArgs*)>(plugins)(args);
    });
    api_ = Api::from_table("mock", &table_).value();
    client_ = Client::create(api_, {}).value();
  }

  static inline std::function<void()> while_destroyed_;
  static inline abi::Table table_;  // lives as long as the process
};

TEST_F(LifetimesOfSharedBuffers, TheLastPinHoldsTheClientUntilTheBufferIsDestroyed) {
  SharedBuffer* const handle = SharedBuffer::make(client_, uploaded(vector_of({1, 2})));
  const std::weak_ptr<const Client> client = std::exchange(client_, nullptr);
  ASSERT_EQ(handle->pin(SharedBuffer::Use::kCall), SharedBuffer::Pinned::kYes);
  handle->release();
  bool is_alive = false;
  while_destroyed_ = [&] {
    handle->let_go(/*is_released=*/true);
    is_alive = !client.expired();
  };
  handle->unpin(SharedBuffer::Use::kCall);
  EXPECT_TRUE(is_alive);
  EXPECT_TRUE(client.expired());
}

}  // namespace
}  // namespace heddle::pjrt
