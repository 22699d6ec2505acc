// XLA_FLAGS: what is refused, and that it is what real XLA ends the process over.
#include "heddle/pjrt/internal/xla_flags.h"

#include <fcntl.h>
#include <google/protobuf/descriptor.pb.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "heddle/pjrt/internal/environment.h"
#include "heddle/pjrt/xla_cpu_support_test.h"

namespace heddle::pjrt {
namespace {

using google::protobuf::FieldDescriptorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kFlags[] = "XLA_FLAGS";

std::string file_of(const std::string& name, const std::string& text) {
  std::string path = ::testing::TempDir() + "heddle_flags_" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// A library that has what XLA's have: the names of flags, and what its options are, between other
// bytes.
std::string library_of_xla() {
  google::protobuf::FileDescriptorProto described;
  described.set_name("xla/xla.proto");
  described.set_package("xla");
  described.add_dependency("google/protobuf/any.proto");
  described.add_message_type()->set_name("Another");
  auto& options = *described.add_message_type();
  options.set_name("DebugOptions");
  const auto add = [&](const char* name, FieldDescriptorProto::Type type,
                       FieldDescriptorProto::Label label = FieldDescriptorProto::LABEL_OPTIONAL) {
    FieldDescriptorProto& field = *options.add_field();
    field.set_name(name);
    field.set_type(type);
    field.set_label(label);
  };
  add("xla_truth", FieldDescriptorProto::TYPE_BOOL);
  add("xla_small", FieldDescriptorProto::TYPE_INT32);
  add("xla_great", FieldDescriptorProto::TYPE_INT64);
  add("xla_real", FieldDescriptorProto::TYPE_FLOAT);
  add("xla_word", FieldDescriptorProto::TYPE_ENUM);
  add("xla_text", FieldDescriptorProto::TYPE_STRING);
  add("xla_truths", FieldDescriptorProto::TYPE_BOOL, FieldDescriptorProto::LABEL_REPEATED);
  add("xla_backend_extra_options", FieldDescriptorProto::TYPE_MESSAGE,
      FieldDescriptorProto::LABEL_REPEATED);
  add("xla_no_flag", FieldDescriptorProto::TYPE_BOOL);
  described.set_syntax("proto3");
  std::string texts;
  for (const char* text :
       {"XLA_FLAGS", "xla_truth", "xla_small", "xla_great", "xla_real", "xla_word", "xla_text",
        "xla_truths", "xla_fuel", "xla_backend_extra_options", "unroll-count", "true", "help",
        "xla_cpu_small_while_loop_byte_threshold"}) {
    texts.append(text).push_back('\0');
  }
  return file_of("xla.so", base::cat("some bytes\n\rxla.proto", std::string(1, '\0'), texts,
                                     described.SerializeAsString(), std::string(9, '\0'),
                                     described.SerializeAsString()));
}

std::string refusal(const std::string& flags, const std::string& library) {
  EXPECT_EQ(setenv(kFlags, flags.c_str(), 1), 0);
  const Status status = check_xla_flags("p", library);
  EXPECT_EQ(unsetenv(kFlags), 0);
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kFailedPrecondition) << status;
  return base::message_of(status);
}

TEST(XlaFlags, WordsAreSplitAsXlaDoes) {
  EXPECT_THAT(flag_words("--xla_a=1 \t --xla_b\r\n--xla_c=x=y file --xla_d"),
              ElementsAre("--xla_a=1", "--xla_b", "--xla_c=x=y"));
  EXPECT_THAT(flag_words(R"(--a="x y"--b='x\' --c="x\"\y" --d=x"y z")"),
              ElementsAre("--a=x y", "--b=x\\", "--c=x\"y", "--d=x\"y"));
  EXPECT_THAT(flag_words(R"(--a="x y)"), ElementsAre("--a=x y"));
  EXPECT_THAT(flag_words("--a="), ElementsAre("--a="));
  EXPECT_THAT(flag_words("--a=\""), ElementsAre("--a="));
  EXPECT_THAT(flag_words(std::string("--a\0b --c", 9)), ElementsAre("--a", "--c"));
  EXPECT_THAT(flag_words(" \n"), ElementsAre());
  EXPECT_THAT(flag_words(""), ElementsAre());
}

TEST(XlaFlags, ConcernOnlyPluginsThatReadThem) {
  const std::string path = file_of("other.so", "no word of them");
  EXPECT_EQ(refusal("--xla_some_flag", path), "");
  EXPECT_EQ(refusal("/no/such/file", path), "");
  EXPECT_EQ(refusal("--xla_some_flag", "/no/such/library.so"), "");
  std::ofstream(path) << "reads XLA_FLAGS";
  EXPECT_THAT(refusal("--xla_some_flag", path), HasSubstr("--xla_some_flag"));
}

TEST(XlaFlags, ThoseThatThePluginDoesNotKnowAreRefused) {
  const std::string xla = library_of_xla();
  EXPECT_EQ(refusal("--xla_truth --xla_fuel=a", xla), "");
  EXPECT_EQ(refusal("--xla_truth --xla_nothing=1", xla),
            "plugin p: XLA_FLAGS has --xla_nothing, which the plugin does not know and would end "
            "the process over; take it out");
  for (const char* flags : {"--xla_no_flag", "--true", "-xla_truth", "--", "-", "--=1",
                            "--xla_trut", "--la_truth", "---xla_truth"}) {
    EXPECT_THAT(refusal(flags, xla), HasSubstr("does not know")) << flags;
  }
  EXPECT_EQ(refusal("--xla_cpu_small_while_loop_byte_threshold=5", xla),
            "plugin p: XLA_FLAGS has --xla_cpu_small_while_loop_byte_threshold, which the plugin "
            "does not know and would end the process over; write "
            "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=5");
}

TEST(XlaFlags, ValuesAreOfTheTypesThatTheLibraryTells) {
  const std::string xla = library_of_xla();
  EXPECT_EQ(refusal("--xla_truth --xla_truth=TRUE --xla_truth=0 --xla_small=-2147483648 "
                    "--xla_small=+07 --xla_small=\" 5 \" --xla_great=9223372036854775807 "
                    "--xla_real=1e3 --xla_real=-inf --xla_word=any --xla_text= --xla_truths=x,y "
                    "--xla_fuel=any",
                    xla),
            "");
  EXPECT_EQ(refusal("--xla_truth=maybe", xla),
            "plugin p: XLA_FLAGS has --xla_truth=maybe, which would end the process; the value "
            "must be true, false, 1 or 0");
  EXPECT_EQ(refusal("--xla_small=2147483648", xla),
            "plugin p: XLA_FLAGS has --xla_small=2147483648, which would end the process; the "
            "value must be an integer of 32 bits");
  EXPECT_EQ(refusal("--xla_word", xla),
            "plugin p: XLA_FLAGS has --xla_word without a value, which would end the process; "
            "write --xla_word=VALUE");
  for (const char* flags :
       {"--xla_truth=", "--xla_truth=yes", "--xla_truth=\" true\"", "--xla_truth=01",
        "--xla_small=", "--xla_small=x", "--xla_small=1.5", "--xla_small=0x10", "--xla_small=5,",
        "--xla_small=-2147483649", "--xla_great=9223372036854775808",
        "--xla_real=", "--xla_real=1.5f", "--xla_real=1,5"}) {
    EXPECT_THAT(refusal(flags, xla), HasSubstr("the value must be")) << flags;
  }
  for (const char* flags : {"--xla_small", "--xla_great", "--xla_real", "--xla_text",
                            "--xla_truths", "--xla_backend_extra_options"}) {
    EXPECT_THAT(refusal(flags, xla), HasSubstr("without a value")) << flags;
  }
}

TEST(XlaFlags, OptionsThatGoToLlvmAreItsOwn) {
  const std::string xla = library_of_xla();
  EXPECT_EQ(
      refusal("--xla_backend_extra_options=a=1", xla),
      "plugin p: XLA_FLAGS has --xla_backend_extra_options=a=1, of which XLA hands \"a=1\" to "
      "LLVM, which would end the process; options of XLA begin with xla_, those of LLVM that "
      "the plugin has with -");
  const auto extra = [&](const std::string& options) {
    return refusal("--xla_backend_extra_options=" + options, xla);
  };
  for (const char* taken : {"xla_any", "xla_any=1=2,xla_other", "-unroll-count=4",
                            "--unroll-count=4,xla_any", "\"xla_any b\""}) {
    EXPECT_EQ(extra(taken), "") << taken;
  }
  for (const char* refused :
       {"", ",", "xla_any,", "xla_any,,xla_other", "xla_any,b", "=1", "unroll-count=4",
        "---unroll-count", "-no-such", "-", "--", "-help", "-help-hidden", "-version", "XLA_any"}) {
    EXPECT_THAT(extra(refused), HasSubstr("to LLVM")) << refused;
  }
}

TEST(XlaFlags, AFileOfThemIsRead) {
  const std::string xla = library_of_xla();
  EXPECT_EQ(refusal(file_of("good", "\n--xla_truth\n--xla_text='a b'\n# note --xla_nothing"), xla),
            "");
  const std::string bad = file_of("bad", "--xla_truth\n--xla_nothing\n");
  EXPECT_EQ(refusal(bad, xla), base::cat("plugin p: the file ", bad,
                                         " that XLA_FLAGS names has --xla_nothing, which the "
                                         "plugin does not know and would end the process over; "
                                         "take it out"));
  EXPECT_EQ(refusal("no such file --xla_truth", xla),
            "plugin p: XLA_FLAGS is \"no such file --xla_truth\", a file that cannot be read, "
            "which would end the process; name another file, or begin it with a flag");
  EXPECT_THAT(refusal(" ", xla), HasSubstr("XLA_FLAGS is \" \", a file"));
  EXPECT_EQ(refusal("", xla), "");
  EXPECT_EQ(refusal(::testing::TempDir(), xla), "");  // XLA finds no flags in a folder
  EXPECT_EQ(refusal(file_of("empty", ""), xla), "");
}

// It can be read but once, which is XLA's to do.
TEST(XlaFlags, AFileThatIsNoneIsLeftToXla) {
  const std::string pipe = ::testing::TempDir() + "heddle_flags_pipe";
  (void)unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(pipe, library_of_xla()), "");
  EXPECT_EQ(setenv(kFlags, pipe.c_str(), 1), 0);
  add_xla_option("xla_cpu_option", 7);
  EXPECT_EQ(environment_variable(kFlags), pipe);
  EXPECT_EQ(unsetenv(kFlags), 0);
  EXPECT_EQ(unlink(pipe.c_str()), 0);
}

// ctest gives each test a process of its own.
TEST(XlaFlags, TheLoopSettingIsAddedToThem) {
  setenv(kFlags, "--xla_a=1 end", /*overwrite=*/1);
  add_xla_option("xla_cpu_option", 7);
  EXPECT_EQ(environment_variable(kFlags),
            "--xla_backend_extra_options=xla_cpu_option=7 --xla_a=1 end");
  add_xla_option("xla_cpu_option", 8);  // the user's own, or an earlier plugin's, counts
  EXPECT_EQ(environment_variable(kFlags),
            "--xla_backend_extra_options=xla_cpu_option=7 --xla_a=1 end");
  unsetenv(kFlags);
  add_xla_option("xla_cpu_option", 8);
  EXPECT_EQ(environment_variable(kFlags), "--xla_backend_extra_options=xla_cpu_option=8");
  setenv(kFlags, file_of("more", "--xla_a=1\n").c_str(), /*overwrite=*/1);
  add_xla_option("xla_cpu_option", 9);
  EXPECT_EQ(environment_variable(kFlags),
            "--xla_backend_extra_options=xla_cpu_option=9 --xla_a=1\n");
  unsetenv(kFlags);
}

// ---- Real XLA, each time in a process of its own.

constexpr char kGiven[] = "HEDDLE_TEST_XLA_FLAGS";
constexpr char kLibrary[] = "HEDDLE_TEST_XLA_LIBRARY";

class XlaCpuFlags : public ::testing::Test {
 protected:
  void SetUp() override {
    if (library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  }

  // In the other process as in this one, whatever the environment has come to.
  static std::string library() {
    const char* given = std::getenv(kLibrary);
    return given == nullptr ? xla_cpu_library() : given;
  }

  // Whether a process with the flags makes a client, compiles, and comes to its own end.
  static bool lives(const std::string& flags) {
    setenv(kGiven, flags.c_str(), 1);
    setenv(kLibrary, library().c_str(), 1);
    std::string program = "/proc/self/exe", filter = "--gtest_filter=XlaCpuFlags.OtherProcess";
    char* arguments[] = {program.data(), filter.data(), nullptr};
    posix_spawn_file_actions_t silent;
    posix_spawn_file_actions_init(&silent);
    posix_spawn_file_actions_addopen(&silent, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&silent, 2, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, program.c_str(), &silent, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&silent);
    unsetenv(kGiven);
    unsetenv(kLibrary);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 42;
  }
};

TEST_F(XlaCpuFlags, OtherProcess) {
  const char* flags = std::getenv(kGiven);
  if (flags == nullptr) GTEST_SKIP() << "is run by TheProcessEndsWhereTheyAreRefused";
  auto api = Api::load("xla-cpu", library()).value();
  setenv(kFlags, flags, 1);  // behind the check
  const auto client = Client::create(api, {}).value();
  const std::string options("\x1A\x04\x20\x01\x28\x01", 6);
  std::string code = hlo::to_proto(add_module());
  constexpr std::string_view kFormat = "hlo";
  abi::Program program{.head = {sizeof(program)},
                       .code = code.data(),
                       .code_size = code.size(),
                       .format = kFormat.data(),
                       .format_size = kFormat.size()};
  abi::ClientCompileArgs args{.client = client->handle(),
                              .program = &program,
                              .compile_options = options.data(),
                              .compile_options_size = options.size()};
  if (api->call(args).ok()) _exit(42);
}

TEST_F(XlaCpuFlags, TheProcessEndsWhereTheyAreRefused) {
  const std::string plugin = library();
  const std::string bad = file_of("bad_for_xla", "--xla_cpu_enable_fast_math\n--xla_nothing");
  for (const std::string& flags :
       std::initializer_list<std::string>{"--xla_nothing",
                                          "--xla_cpu_enable_fast_math=maybe",
                                          "--xla_cpu_enable_fast_math=",
                                          "--xla_force_host_platform_device_count=x",
                                          "--xla_force_host_platform_device_count",
                                          "--xla_force_host_platform_device_count=2147483648",
                                          "--xla_dump_to",
                                          "--xla_gpu_autotune_max_solutions=9223372036854775808",
                                          "--xla_gpu_autotune_gemm_rtol=1.5f",
                                          "--xla_cpu_small_while_loop_byte_threshold=5",
                                          "--xla_enable_dumping",
                                          "--xla_backend_extra_options=a=1",
                                          "--xla_backend_extra_options=",
                                          "--xla_backend_extra_options=xla_a,,xla_b",
                                          "--xla_backend_extra_options",
                                          "--xla_backend_extra_options=-no-such-option",
                                          "-xla_cpu_enable_fast_math",
                                          "--",
                                          "no_such_file",
                                          " ",
                                          bad}) {
    EXPECT_NE(refusal(flags, plugin), "") << flags;
    EXPECT_FALSE(lives(flags)) << flags;
  }
}

TEST_F(XlaCpuFlags, TheProcessLivesWhereTheyAreTaken) {
  const std::string plugin = library();
  const std::string good = file_of("good_for_xla", "--xla_cpu_enable_fast_math\n# a note");
  for (const std::string& flags : std::initializer_list<std::string>{
           "", "--xla_cpu_enable_fast_math --xla_cpu_enable_fast_math=FALSE",
           "--xla_force_host_platform_device_count=\" +4 \"", "--xla_gpu_autotune_gemm_rtol=1e3",
           "--xla_dump_hlo_module_re='a b' end --xla_nothing", "--xla_fuel=a=1",
           "--xla_detect_unstable_reductions=none", "--xla_cpu_use_thunk_runtime=true",
           "--xla_backend_extra_options=xla_any=1,xla_cpu_small_while_loop_byte_threshold=5",
           "--xla_backend_extra_options=-unroll-count=4", good}) {
    EXPECT_EQ(refusal(flags, plugin), "") << flags;
    EXPECT_TRUE(lives(flags)) << flags;
  }
}

}  // namespace
}  // namespace heddle::pjrt
