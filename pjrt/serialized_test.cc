// Programs as bytes: what is refused before a plugin sees it.
#include "heddle/pjrt/serialized.h"

#include <filesystem>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/backend.h"
#include "heddle/pjrt/internal/backend.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

using abi::Slot;

class Serialized : public MockTest {
 protected:
  Serialized() { start(with_evaluator()); }

  std::string bytes() { return serialize(*compiled(add_module())).value(); }
  StatusOr<std::shared_ptr<Executable>> loaded(std::string_view bytes) {
    return load(bytes, add_module(), {}, device());
  }
  static int calls() {
    return mock_plugin().seen().calls[static_cast<size_t>(Slot::kExecutableDeserializeAndLoad)];
  }
};

TEST_F(Serialized, AProgramComesBack) {
  const std::string saved = bytes();
  std::shared_ptr<Executable> program;
  const Effects effects = effects_of([&] { program = loaded(saved).value(); });
  EXPECT_EQ(effects.compiles, 0);
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  EXPECT_THAT(*floats_of(*program->execute(std::vector{x, y}).value()[0]), ElementsAre(11, 22));
  // What it was compiled from is there for donations too, and for the next bytes.
  EXPECT_THAT(*floats_of(*program->execute(std::vector{x, y}, {.donate = {0}}).value()[0]),
              ElementsAre(11, 22));
  EXPECT_EQ(serialize(*program).value(), saved);
}

// The file that stands at the path later is another's.
TEST_F(Serialized, TheBuildIsThatOfTheLibraryThatWasLoaded) {
  const std::string path = ::testing::TempDir() + "replaced_plugin.so";
  const auto replace = [&](const char* target) {
    std::filesystem::remove(path);
    std::filesystem::create_symlink(target, path);
  };
  replace(HEDDLE_PJRT_MOCK);
  backend_ = make_backend("mock", {.library = path}).value();
  const std::string saved = bytes();
  replace("/no/such/file");
  EXPECT_EQ(bytes(), saved);
  EXPECT_TRUE(loaded(saved).ok());
  EXPECT_EQ(build_of(path), "");
}

TEST_F(Serialized, EveryCutIsRefusedBeforeThePluginSeesIt) {
  const std::string saved = bytes();
  for (size_t size = 0; size < saved.size(); ++size) {
    const Status status = loaded(std::string_view(saved).substr(0, size)).status();
    ASSERT_EQ(status.code(), StatusCode::kInvalidArgument) << size;
    ASSERT_THAT(base::message_of(status), StartsWith("load program: the bytes are "));
  }
  EXPECT_EQ(loaded(saved + "x").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(calls(), 0);
}

TEST_F(Serialized, EveryFlippedBitIsRefusedBeforeThePluginSeesIt) {
  std::string saved = bytes();
  for (size_t i = 0; i < saved.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      saved[i] = static_cast<char>(saved[i] ^ (1 << bit));
      ASSERT_EQ(loaded(saved).status().code(), StatusCode::kInvalidArgument) << i;
      saved[i] = static_cast<char>(saved[i] ^ (1 << bit));
    }
  }
  EXPECT_EQ(calls(), 0);
  EXPECT_TRUE(loaded(saved).ok());
}

TEST_F(Serialized, RandomBytesAreRefused) {
  std::mt19937 random(3);
  const std::string saved = bytes();
  for (int i = 0; i < 2000; ++i) {
    std::string text = i % 2 == 0 ? saved.substr(0, 17) : "";  // behind the mark, or all of it
    for (uint32_t n = random() % 300; n > 0; --n) text.push_back(static_cast<char>(random()));
    ASSERT_FALSE(loaded(text).ok());
  }
  EXPECT_EQ(calls(), 0);
}

TEST_F(Serialized, WhatIsOfAnotherProgramOptionOrDeviceIsRefusedByName) {
  const std::string saved = bytes();
  const auto refusal = [&](const hlo::Module& module, const runtime::CompileOptions& options,
                           runtime::Device& device) {
    const Status status = load(saved, module, options, device).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    return base::message_of(status);
  };
  hlo::Module other = module_of(R"(HloModule add
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT sum = f32[2] subtract(x, y)
})");
  EXPECT_THAT(refusal(other, {}, device()), StartsWith("load program add: its program is "));
  EXPECT_THAT(refusal(add_module(), {.backend_options = {{"xla_a", "b"}}}, device()),
              StartsWith("load program add: its program is "));
  EXPECT_EQ(refusal(add_module(), {}, device(1)),
            "load program add: its device is 10; here it is 11; compile the program, and "
            "serialise it anew");
  EXPECT_EQ(calls(), 0);
}

TEST_F(Serialized, APortableProgramBelongsToNoDevice) {
  const runtime::CompileOptions portable{{{"compile_portable_executable", "true"}}};
  const auto program = backend_->compile(add_module(), portable, device(0)).value();
  const std::string saved = serialize(*program).value();
  const auto there = load(saved, add_module(), portable, device(1));
  ASSERT_TRUE(there.ok()) << there.status();
  const BufferPtr x = runtime::to_device(device(1), vector_of({1, 2})).value();
  EXPECT_TRUE((*there)->execute(std::vector{x, x}).ok());
  EXPECT_NE(mock_plugin().seen().execute_device, nullptr);
  EXPECT_EQ(serialize(**there).value(), saved);
}

TEST_F(Serialized, WhatIsOfAnotherVersionIsRefused) {
  const std::string saved = bytes();
  start({.compile = evaluated, .minor = 81});
  EXPECT_EQ(base::message_of(loaded(saved).status()),
            "load program add: its PJRT version is 0.114; here it is 0.81; compile the program, "
            "and serialise it anew");
}

TEST_F(Serialized, WhatIsOfAnotherPlatformIsRefused) {
  const std::string saved = bytes();
  start({.compile = evaluated, .platform_version = "13.1"});
  EXPECT_EQ(base::message_of(loaded(saved).status()),
            "load program add: its platform is mock of unknown version; here it is mock 13.1; "
            "compile the program, and serialise it anew");
}

TEST_F(Serialized, OtherBackendsHaveNoneToGiveOrTake) {
  const auto interpreter = interpreter::make_backend();
  runtime::Device& there = *interpreter->devices()[0];
  const auto program = interpreter->compile(add_module(), {}, there).value();
  EXPECT_EQ(base::message_of(serialize(*program).status()),
            "serialize add: it was compiled for interpreter:0, which is no plugin's; serialise "
            "programs of plugins");
  EXPECT_EQ(base::message_of(load(bytes(), add_module(), {}, there).status()),
            "load program add: interpreter:0 is no plugin's device; compile it there");
}

TEST_F(Serialized, APluginThatCannotSaysSo) {
  start({.compile = evaluated, .absent = {Slot::kExecutableSerialize}});
  EXPECT_EQ(base::message_of(serialize(*compiled(add_module())).status()),
            "plugin mock (PJRT 0.114): ExecutableSerialize: the plugin has no such function");
}

TEST_F(Serialized, ThePluginsErrorsNameIt) {
  const std::string saved = bytes();
  mock_plugin().settings().failing = {{Slot::kExecutableDeserializeAndLoad, {.message = "broken"}}};
  EXPECT_THAT(base::message_of(loaded(saved).status()),
              HasSubstr("plugin mock (PJRT 0.114): ExecutableDeserializeAndLoad: broken"));
  mock_plugin().settings().failing.clear();
  mock_plugin().settings().empty_handed = {Slot::kExecutableDeserializeAndLoad};
  EXPECT_THAT(base::message_of(loaded(saved).status()), HasSubstr("succeeded without a program"));
}

}  // namespace
}  // namespace heddle::pjrt
