#include "heddle/hlo/sharding/device_lists.h"

#include <chrono>

#include "heddle/base/support_test.h"
#include "heddle/hlo/internal/mesh_axes.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"

namespace heddle::hlo {
namespace {

std::string program(const std::string& groups, const std::string& sharding = "{replicated}") {
  return base::cat(
      "HloModule m\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) "
      "}\n"
      "ENTRY main { p = f32[8] parameter(0), sharding=",
      sharding, "\n ROOT r = f32[8] all-reduce(p), channel_id=1, replica_groups=", groups,
      ", use_global_device_ids=true, to_apply=add }");
}

std::vector<Dims> groups(const std::string& text) {
  const auto module = parse_text(program(text));
  if (!module.ok()) throw std::runtime_error(base::message_of(module.status()));
  const Instruction& root = module->entry_computation().root_instruction();
  const ReplicaGroups& form = root.attrs.get<CollectiveAttrs>().replica_groups;
  std::vector<Dims> out;  // by their first device
  for (int64_t device = 0; device < 8; ++device) {
    Dims group = group_of(form, device).value();
    if (std::ranges::find(out, group) == out.end() && !group.empty())
      out.push_back(std::move(group));
  }
  EXPECT_EQ(largest_group(form).value(), static_cast<int64_t>(out.empty() ? 1 : out[0].size()));
  return out;
}

// The message without the line of the program that it shows.
std::string error(const std::string& groups, const std::string& sharding = "{replicated}") {
  const std::string text = base::message_of(parse_text(program(groups, sharding)).status());
  return text.substr(0, text.find('\n'));
}

TEST(DeviceLists, GroupsOfEveryForm) {
  EXPECT_THAT(groups("{{0,2},{1,3}}"), ElementsAre(Dims{0, 2}, Dims{1, 3}));
  EXPECT_THAT(groups("[2,2]<=[4]"), ElementsAre(Dims{0, 1}, Dims{2, 3}));
  EXPECT_THAT(groups("[2,2]<=[2,2]T(1,0)"), ElementsAre(Dims{0, 2}, Dims{1, 3}));
  EXPECT_THAT(groups("mesh['a'=2,'b'=2] {'a'}"), ElementsAre(Dims{0, 2}, Dims{1, 3}));
  EXPECT_THAT(groups("mesh[a=2,b=2] {b}"), ElementsAre(Dims{0, 1}, Dims{2, 3}));
  EXPECT_THAT(groups("mesh['a'=2,'b'=2] {'b','a'}"), ElementsAre(Dims{0, 2, 1, 3}));
}

TEST(DeviceLists, MeshesHavePartsOfAxesAndAnOrderOfTheirOwn) {
  EXPECT_THAT(groups("mesh['a'=8] {'a':(2)2}"),
              ElementsAre(Dims{0, 2}, Dims{1, 3}, Dims{4, 6}, Dims{5, 7}));
  EXPECT_THAT(groups("mesh['a'=8] {'a':(4)2,'a':(1)2}"),
              ElementsAre(Dims{0, 4, 1, 5}, Dims{2, 6, 3, 7}));
  EXPECT_THAT(groups("mesh['a'=2,'b'=2], device_ids=(0,2,1,3) {'a'}"),
              ElementsAre(Dims{0, 1}, Dims{2, 3}));
  EXPECT_THAT(groups("mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'a'}"),
              ElementsAre(Dims{0, 1}, Dims{2, 3}));
}

TEST(DeviceLists, FormsThatAreNoneAreErrors) {
  EXPECT_THAT(error("[2,0]<=[4]T(7,9)"), HasSubstr("[2,0]<=[4]: sizes must be 1 or more"));
  EXPECT_THAT(error("[2,2]<=[4]T(7)"), HasSubstr("T(7): must name each of 1 dimensions once"));
  EXPECT_THAT(error("[2,2]<=[2,2]T(0,0)"), HasSubstr("must name each of 2 dimensions once"));
  EXPECT_THAT(error("[1,1099511627776]<=[1099511627776]"), HasSubstr("at most 4194304"));
  EXPECT_THAT(error("[4294967297,2,3]<=[4294967298]"), HasSubstr("on both sides"));
  EXPECT_THAT(error("[2,2,1]<=[4]"), HasSubstr("must be of two sizes"));
  EXPECT_THAT(error("[]<=[]"), HasSubstr("replica_groups: [] has no sizes"));
  EXPECT_THAT(error("mesh_axes_proto=\"\""), HasSubstr("mesh_axes_proto has no bytes"));
  EXPECT_THAT(error("mesh['a'=0] {'a'}"), HasSubstr("must be 1 or more"));
  EXPECT_THAT(error("mesh['a'=2,'a'=2] {'a'}"), HasSubstr("has two axes a"));
  EXPECT_THAT(error("mesh['a'=2] {'b'}"), HasSubstr("the mesh has no axis b"));
  EXPECT_THAT(error("mesh['a'=2] {'a','a'}"), HasSubstr("parts of axis a overlap"));
  EXPECT_THAT(error("mesh['a'=12] {'a':(2)2,'a':(3)2}"), HasSubstr("parts of axis a overlap"));
  EXPECT_THAT(error("mesh['a'=6] {'a':(2)2}"), HasSubstr("must divide that"));
  EXPECT_THAT(error("mesh['a'=2], device_ids=(0,0) {'a'}"), HasSubstr("each of 2 devices once"));
  EXPECT_THAT(error("mesh['a'=2], device_ids=([0]T(3)) {'a'}"),
              HasSubstr("device_ids: [0]: sizes must be 1 or more"));
  EXPECT_THAT(error("mesh['a'=2], device_ids=([2]T(3)) {'a'}"),
              HasSubstr("device_ids: T(3): must name each of 1 dimensions once"));
  EXPECT_THAT(error("mess['a'=2] {'a'}"), HasSubstr("replica groups"));
}

std::string times(int count, std::string_view item) {
  std::string out;
  for (int i = 0; i < count; ++i) base::append(out, i > 0 ? "," : "", item);
  return out;
}

// Each of these took more than ten seconds or gigabytes where lists were made of all that is said.
TEST(DeviceLists, LongListsAreRefusedBeforeAnyWork) {
  const auto start = std::chrono::steady_clock::now();
  const std::string ones = times(20000, "1");
  EXPECT_THAT(error(base::cat("[1,4194304]<=[4194304,", ones, "]")),
              HasSubstr("a list has 20001 sizes; must have at most 128"));
  EXPECT_THAT(error(base::cat("mesh[a=4194304], device_ids=([4194304,", ones, "]) {}")),
              HasSubstr("device_ids: a list has 20001 sizes"));
  EXPECT_THAT(error("{}", base::cat("{devices=[", ones, ",4194304]<=[4194304]}")),
              HasSubstr("sharding: a list has 20001 sizes"));
  std::string axes;
  for (int i = 0; i < 50000; ++i) base::append(axes, i > 0 ? "," : "", "a", i, "=1");
  EXPECT_THAT(error(base::cat("mesh[", axes, "] {", times(50000, "a49999"), "}")),
              HasSubstr("has 50000 axes"));
  EXPECT_THAT(error(base::cat("mesh[a=1] {", times(50000, "a:(1)1"), "}")),
              HasSubstr("groups along 50000"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(DeviceLists, OtherGroupsAreNotListed) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    for (const char* text : {"mesh[a=4194304] {}", "[4194304,1]<=[2048,2048]T(1,0)"}) {
      const auto module = parse_text(program(text));
      const auto& groups = module->entry_computation()
                               .root_instruction()
                               .attrs.get<CollectiveAttrs>()
                               .replica_groups;
      EXPECT_EQ(group_of(groups, 7).value(), (Dims{7}));
      EXPECT_EQ(largest_group(groups).value(), 1);
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(DeviceLists, ShardingsThatAreNoneAreErrors) {
  EXPECT_THAT(error("{}", "{devices=[-2,-2]<=[4]}"), HasSubstr("sizes must be 1 or more"));
  EXPECT_THAT(error("{}", "{devices=[2]<=[2]T(1)}"),
              HasSubstr("sharding: T(1): must name each of 1 dimensions once"));
  EXPECT_THAT(error("{}", "{devices=[2]0,1,2}"), HasSubstr("lists 3 devices"));
  EXPECT_THAT(error("{}", "{devices=[]<=[] metadata={op_name=\"z\"}}"),
              HasSubstr("sharding: devices=[] lists 0 devices"));
  EXPECT_THAT(error("{}", "{{devices=[0]<=[0]}}"), HasSubstr("sizes must be 1 or more"));
  EXPECT_THAT(error("{}", "{devices=[3037000500,3037000500]<=[3037000500,3037000500]}"),
              HasSubstr("at most"));
}

// What no text can say, a module that is made may have.
TEST(DeviceLists, VerifyChecksThemToo) {
  const auto module = parse_text(program("[2,2]<=[4]", "{devices=[4]<=[4]}"));
  Module broken = module.value();
  Instruction& root = broken.computations[1].instructions[1];
  CollectiveAttrs attrs = root.attrs.get<CollectiveAttrs>();
  attrs.replica_groups.iota_transpose = {3};
  root.attrs = attrs;
  EXPECT_THAT(base::message_of(verify(broken)), HasSubstr("all-reduce: replica_groups: T(3)"));
  EXPECT_FALSE(from_proto(to_proto(broken)).ok());
  broken = module.value();
  broken.computations[1].instructions[0].extras.mutate().sharding.mutate().tile_dimensions = {-4};
  EXPECT_THAT(base::message_of(verify(broken)), HasSubstr("sharding: [-4]<=[4]"));
  EXPECT_FALSE(from_proto(to_proto(broken)).ok());
}

std::string to_proto_and_back(const std::string& text) {
  const auto module = parse_text(text);
  if (!module.ok()) return base::message_of(module.status());
  const auto back = from_proto(to_proto(*module));
  if (!back.ok()) return base::message_of(back.status());
  EXPECT_EQ(to_proto(*back), to_proto(*module));
  return print(*back);
}

TEST(DeviceLists, MeshAxesStayOnTheWayThroughTheWire) {
  for (const char* groups :
       {"mesh['a'=2,'b'=2] {'a'}", "mesh['a'=8,'b'=8,'c'=16] {'a':(2)4,'b':(2)4}",
        "mesh['a'=2,'b'=2], device_ids=(0,2,1,3) {'b','a'}"}) {
    EXPECT_THAT(to_proto_and_back(program(groups)),
                HasSubstr(base::cat("replica_groups=", groups)));
  }
  EXPECT_THAT(to_proto_and_back(program("mesh[a=2,b=2] {a}")),
              HasSubstr("replica_groups=mesh['a'=2,'b'=2] {'a'}"));
}

// Bytes of a form that is newer than this reader.
TEST(DeviceLists, UnknownGroupsStayUnknown) {
  const std::string groups = "mesh_axes_proto=\"\\372\\001\\002hi\"";
  EXPECT_THAT(to_proto_and_back(program(groups)), HasSubstr(base::cat("replica_groups=", groups)));
}

// Text may have any bytes in quotes; a proto string, which a name is, only UTF-8.
TEST(DeviceLists, NamesOfAxesAreTextInAProto) {
  const auto module = parse_text(program("mesh['\xff'=2] {'\xff'}"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(to_proto(*module).find('\xff'), std::string::npos);
}

TEST(DeviceLists, MetadataOfShardingsStaysOnTheWayThroughTheWire) {
  for (const char* sharding :
       {"{devices=[2,2,2]<=[2,2,2]T(2,0,1) last_tile_dim_replicate metadata={op_name=\"z\"}}",
        "{maximal device=3 metadata={op_name=\"z\" source_line=3}}",
        "{{replicated metadata={op_name=\"a\"}}, {replicated}}",
        "{replicated metadata={{op_name=\"a\"}, {op_name=\"b\"}}}"}) {
    EXPECT_THAT(to_proto_and_back(program("{}", sharding)),
                HasSubstr(base::cat("sharding=", sharding)));
  }
}

TEST(DeviceLists, MetadataOfShardingsIsAFieldThatErrorsLeaveOut) {
  const auto module = parse_text(program("{}", "{replicated metadata={op_name=\"z\"}}"));
  ASSERT_TRUE(module.ok()) << module.status();
  for (const Module& each : {*module, *from_proto(to_proto(*module))}) {
    const Sharding& sharding = *each.entry_computation().instructions[0].extras->sharding;
    ASSERT_EQ(sharding.metadata.size(), 1u);
    EXPECT_EQ(sharding.metadata[0].op_name, "z");
    EXPECT_EQ(sharding.unknown_proto, "");
    EXPECT_EQ(to_string(sharding), "{replicated}");
  }
}

TEST(DeviceLists, OriginsStayOnTheWayThroughTheWire) {
  for (const char* origin : {"{{\"param\"}}", "{({\"a\"}, {\"b\" {1}}, {}, ({\"c\" {0,2}}))}",
                             "{[synthetic_call]}", "{{}}"}) {
    EXPECT_THAT(to_proto_and_back(program(base::cat("{}, origin=", origin))),
                HasSubstr(base::cat("origin=", origin)));
  }
}

TEST(DeviceLists, ElidedTuplesAreRead) {
  const auto module =
      parse_text("HloModule m\nENTRY main { ROOT t = (f32[2], (s32[])) constant({...}) }");
  ASSERT_EQ(module.status(), Status());
  const Literal& literal =
      module->entry_computation().root_instruction().attrs.get<ConstantAttrs>().literal;
  EXPECT_TRUE(literal.element(0).is_elided());
  EXPECT_TRUE(literal.element(1).element(0).is_elided());
  EXPECT_TRUE(parse_text(print(*module)).ok()) << print(*module);
}

}  // namespace
}  // namespace heddle::hlo
