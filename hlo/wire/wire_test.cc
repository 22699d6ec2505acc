#include "heddle/hlo/wire.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>

#include <set>

#include "heddle/base/support_test.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"
#include "heddle/hlo/wire/support_test.h"

namespace heddle::hlo {
namespace {

// The module, or the message of the error.
std::string error_of(const proto::HloModuleProto& message) {
  StatusOr<Module> module = from_proto(message.SerializeAsString());
  return module.ok() ? "" : base::message_of(module.status());
}

// Adds the order of a computation's instructions.
void schedule(proto::HloModuleProto& message, int64_t computation, std::vector<int64_t> ids) {
  proto::HloScheduleProto::Entry& entry = *message.mutable_schedule()->add_sequences();
  entry.set_key(computation);
  entry.mutable_value()->mutable_instruction_ids()->Assign(ids.begin(), ids.end());
}

// Counts a s32 up to 10: while(condition: x < 10, body: x + 1).
Module loop() {
  Module module;
  module.name = "loop";
  ComputationBuilder body(module, "body");
  auto x = body.parameter(Shape::scalar(s32), "x");
  auto next = *body.add(Opcode::kAdd, {x, body.constant(Literal::scalar(s32, int64_t{1}))});
  ComputationId body_id = module.add(std::move(body).finish(next));
  ComputationBuilder condition(module, "condition");
  auto y = condition.parameter(Shape::scalar(s32), "x");
  auto limit = condition.constant(Literal::scalar(s32, int64_t{10}));
  auto less = *condition.add(Opcode::kCompare, {y, limit},
                             CompareAttrs{.direction = ComparisonDirection::kLt});
  ComputationId condition_id = module.add(std::move(condition).finish(less));
  ComputationBuilder main(module, "main");
  auto start = main.parameter(Shape::scalar(s32));
  auto result = *main.add(Opcode::kWhile, {start}, {}, {body_id, condition_id});
  module.entry = module.add(std::move(main).finish(result));
  return module;
}

// ---- what is written

TEST(Wire, ModuleIsEqualAfterARoundTrip) {
  const Module module = loop();
  StatusOr<Module> back = from_proto(to_proto(module));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(equal(module, *back));
  EXPECT_EQ(back->name, "loop");
  EXPECT_EQ(back->entry_computation().name, "main");
}

TEST(Wire, EqualModulesGiveEqualBytes) { EXPECT_EQ(to_proto(loop()), to_proto(loop())); }

TEST(Wire, InstructionIdsAreUniqueInTheModuleAndOperandsComeFirst) {
  std::set<int64_t> seen;
  const auto message = message_of_module(loop());
  for (const auto& computation : message.computations()) {
    for (const auto& instruction : computation.instructions()) {
      EXPECT_LT(instruction.id(), int64_t{1} << 31);
      for (int64_t id : instruction.operand_ids()) EXPECT_TRUE(seen.contains(id));
      EXPECT_TRUE(seen.insert(instruction.id()).second);
    }
    EXPECT_TRUE(seen.contains(computation.root_id()));
  }
}

TEST(Wire, CalleesComeBeforeTheirCallers) {
  std::set<int64_t> seen;
  const auto message = message_of_module(loop());
  for (const auto& computation : message.computations()) {
    for (const auto& instruction : computation.instructions()) {
      for (int64_t id : instruction.called_computation_ids()) EXPECT_TRUE(seen.contains(id));
    }
    seen.insert(computation.id());
  }
  EXPECT_EQ(message.entry_computation_id(), message.computations(2).id());
  EXPECT_EQ(message.entry_computation_name(), "main");
}

TEST(Wire, WhileCallsBodyThenCondition) {
  const auto message = message_of_module(loop());
  const auto& called = message.computations(2).instructions(1).called_computation_ids();
  ASSERT_EQ(called.size(), 2);
  EXPECT_EQ(called[0], message.computations(0).id());
  EXPECT_EQ(message.computations(0).name(), "body");
  EXPECT_EQ(called[1], message.computations(1).id());
}

TEST(Wire, NamesAreUniqueInTheModuleAndNotEmpty) {
  std::set<std::string> seen;
  const auto message = message_of_module(loop());
  for (const auto& computation : message.computations()) {
    for (const auto& instruction : computation.instructions()) {
      EXPECT_FALSE(instruction.name().empty());
      EXPECT_TRUE(seen.insert(instruction.name()).second) << instruction.name();
    }
  }
  EXPECT_TRUE(seen.contains("x") && seen.contains("x.1"));
}

TEST(Wire, HostProgramShapeIsThatOfTheEntry) {
  const auto program = message_of_module(sum()).host_program_shape();
  ASSERT_EQ(program.parameters_size(), 2);
  EXPECT_EQ(program.parameters(1).element_type(), proto::F32);
  EXPECT_THAT(program.result().dimensions(), ElementsAre(2));
  EXPECT_THAT(program.parameter_names(), ElementsAre("x", "y"));
}

TEST(Wire, RowMajorLayoutsAreSpelledOut) {
  Module module;
  ComputationBuilder builder(module, "main");
  auto x = builder.parameter(Shape(f32, {2, 3}), "x");
  module.entry = module.add(std::move(builder).finish(x));
  const auto shape = message_of_module(module).computations(0).instructions(0).shape();
  EXPECT_THAT(shape.layout().minor_to_major(), ElementsAre(1, 0));
  EXPECT_EQ(shape.layout().tail_padding_alignment_in_elements(), 1);
  EXPECT_THAT(shape.is_dynamic_dimension(), ElementsAre(false, false));
}

TEST(Wire, TracedLineIsWrittenAsMetadata) {
  Module module = sum();
  module.computations[0].instructions[2].at = {"train.cc", 41};
  const auto metadata = message_of_module(module).computations(0).instructions(2).metadata();
  EXPECT_EQ(metadata.source_file(), "train.cc");
  EXPECT_EQ(metadata.source_line(), 41);
}

TEST(Wire, NamesThatAreNoUtf8AreWrittenAsUtf8) {
  Module module = sum();
  module.computations[0].instructions[2].name =
      "a\xff"
      "b";
  EXPECT_EQ(message_of_module(module).computations(0).instructions(2).name(), "a?b");
}

// ---- what is read

TEST(Wire, IdsArePackedWithTheComputationAboveBit32) {
  auto message = message_of_module(loop());
  for (auto& computation : *message.mutable_computations()) {
    const int64_t high = computation.id() << 32;
    for (auto& instruction : *computation.mutable_instructions()) {
      instruction.set_id(instruction.id() | high);
      for (auto& id : *instruction.mutable_operand_ids()) id |= high;
    }
    computation.set_root_id(computation.root_id() | high);
  }
  EXPECT_TRUE(equal(read(message), loop()));
}

TEST(Wire, InstructionsInAnyOrderAreSorted) {
  auto message = message_of_module(sum());
  auto& instructions = *message.mutable_computations(0)->mutable_instructions();
  instructions.SwapElements(0, 2);  // z, y, x
  const Module module = read(message);
  EXPECT_TRUE(equal(module, sum()));
  EXPECT_EQ(module.entry_computation().instructions[0].name, "x");
}

TEST(Wire, ComputationsInAnyOrderAreSorted) {
  auto message = message_of_module(loop());
  message.mutable_computations()->SwapElements(0, 2);
  const Module module = read(message);
  ASSERT_EQ(module.computations.size(), 3u);
  EXPECT_EQ(module.entry, ComputationId(2));
  EXPECT_EQ(module.at(module.entry_computation().instructions[1].called[0]).name, "body");
}

TEST(Wire, RetiredComparisonIsUpgraded) {
  auto message = message_of_module(sum());
  auto& add = *message.mutable_computations(0)->mutable_instructions(2);
  add.set_opcode("less-than");
  add.mutable_shape()->set_element_type(proto::PRED);
  message.mutable_host_program_shape()->mutable_result()->set_element_type(proto::PRED);
  const Instruction root = read(message).entry_computation().root_instruction();
  EXPECT_EQ(root.opcode, Opcode::kCompare);
  EXPECT_EQ(root.attrs.get<CompareAttrs>().direction, ComparisonDirection::kLt);
}

TEST(Wire, ComparisonTypeThatSaysWhatTheOperandsSayIsNotKept) {
  auto message = message_of_module(loop());
  message.mutable_computations(1)->mutable_instructions(2)->set_comparison_type("SIGNED");
  EXPECT_TRUE(equal(read(message), loop()));
}

TEST(Wire, ScheduleBecomesTheOrderAndIsWrittenAgain) {
  auto message = message_of_module(sum());
  schedule(message, message.computations(0).id(), {2, 1, 3});
  const Module module = read(message);
  EXPECT_TRUE(module.extras->is_scheduled);
  EXPECT_EQ(module.entry_computation().instructions[0].name, "y");
  const auto again = message_of_module(module);
  ASSERT_EQ(again.schedule().sequences_size(), 1);
  EXPECT_EQ(again.schedule().sequences(0).key(), again.entry_computation_id());
  EXPECT_THAT(again.schedule().sequences(0).value().instruction_ids(), ElementsAre(1, 2, 3));
}

TEST(Wire, AliasesDonorsAndAttributesOfTheModuleSurvive) {
  Module module = sum();
  ModuleExtras& extras = module.extras.mutate();
  extras.input_output_alias = {
      {.output_index = {}, .parameter = 1, .kind = InputOutputAlias::Kind::kMust}};
  extras.buffer_donors = {{.parameter = 0}};
  extras.frontend_attributes = {{"a", "1"}, {"b", "2"}};
  extras.is_dynamic = true;
  const StatusOr<Module> back = from_proto(to_proto(module));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back->extras, extras);
}

// As XLA writes them: the text's parent_frame_id is one more than the proto's.
constexpr std::string_view kFrames =
    "FileNames\n1 \"a.py\"\n2 \"b \\\"c\\\".py\"\n\nFunctionNames\n1 \"<module>\"\n2 "
    "\"f\"\n\nFileLocations\n"
    "1 {file_name_id=1 function_name_id=1 line=8 end_line=9 column=4 end_column=33}\n"
    "2 {file_name_id=2 function_name_id=2 line=7 end_line=7 column=11 "
    "end_column=17}\n\nStackFrames\n"
    "1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=2 parent_frame_id=2}";

TEST(WireFrames, OfATextAreWritten) {
  Module module = sum();
  module.extras.mutate().frames = kFrames;
  const proto::StackFrameIndexProto frames = message_of_module(module).stack_frame_index();
  EXPECT_THAT(frames.file_names(), ElementsAre("a.py", "b \"c\".py"));
  EXPECT_THAT(frames.function_names(), ElementsAre("<module>", "f"));
  ASSERT_EQ(frames.file_locations_size(), 2);
  EXPECT_EQ(frames.file_locations(0).file_name_id(), 1);
  EXPECT_EQ(frames.file_locations(1).function_name_id(), 2);
  EXPECT_EQ(frames.file_locations(0).line(), 8);
  EXPECT_EQ(frames.file_locations(0).end_line(), 9);
  EXPECT_EQ(frames.file_locations(0).column(), 4);
  EXPECT_EQ(frames.file_locations(0).end_column(), 33);
  ASSERT_EQ(frames.stack_frames_size(), 2);
  EXPECT_EQ(frames.stack_frames(0).parent_frame_id(), 0);
  EXPECT_EQ(frames.stack_frames(1).file_location_id(), 2);
  EXPECT_EQ(frames.stack_frames(1).parent_frame_id(), 1);
}

TEST(WireFrames, AndTheirNumberSurviveTextAndProtoBothWays) {
  Module module = sum();
  module.extras.mutate().frames = kFrames;
  module.computations[0].instructions[2].extras.mutate().metadata.stack_frame_id = 2;
  const std::string text = print(module);
  EXPECT_THAT(text, HasSubstr(kFrames));
  EXPECT_THAT(text, HasSubstr("metadata={stack_frame_id=2}"));
  const Module from_wire = read(message_of_module(*parse_text(text)));
  EXPECT_EQ(from_wire.extras->frames, kFrames);
  EXPECT_EQ(print(from_wire), text);
  EXPECT_EQ(to_proto(*parse_text(text)), to_proto(from_wire));
}

TEST(WireFrames, WithNumbersThatHaveNoTextAreKeptAsBytes) {
  proto::HloModuleProto message = message_of_module(sum());
  message.mutable_stack_frame_index()->add_stack_frames()->set_parent_frame_id(-5);
  const Module module = read(message);
  EXPECT_EQ(module.extras->frames, "");
  EXPECT_EQ(message_of_module(module).stack_frame_index().stack_frames(0).parent_frame_id(), -5);
}

TEST(Wire, EntryLayoutsThatDifferFromTheParametersAreKept) {
  Module module = sum();
  ModuleExtras& extras = module.extras.mutate();
  extras.entry_parameter_layouts = {Shape(f32, {2}), Shape(f32, {2})};
  Layout layout{.minor_to_major = {0}, .memory_space = 1};
  extras.entry_parameter_layouts[0].set_layout(layout);
  extras.entry_result_layout = Shape(f32, {2});
  const StatusOr<Module> back = from_proto(to_proto(module));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->extras->entry_parameter_layouts, extras.entry_parameter_layouts);
}

TEST(Wire, ExtrasOfAnInstructionSurvive) {
  Module module = sum();
  InstructionExtras& extras = module.computations[0].instructions[2].extras.mutate();
  extras.metadata = {
      .op_type = "add", .op_name = "jit(f)/add", .source_file = "f.py", .source_line = 3};
  extras.sharding = base::Box(
      Sharding{.type = Sharding::Type::kOther, .tile_dimensions = {2}, .iota_reshape = {2}});
  extras.frontend_attributes = {{"k", "v"}};
  extras.backend_config = "{\"a\":1}";
  extras.control_predecessors = {InstructionId(0)};
  extras.statistics = "{visualizing_index=1,stat-1=33,stat-2=44.5}";
  extras.result_accuracy = "{tolerance={atol=0.5,rtol=0.25,ulps=2}}";
  const StatusOr<Module> back = from_proto(to_proto(module));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back->computations[0].instructions[2].extras, extras);
}

// ---- what is newer than this code

TEST(Wire, FieldsThatTheOpDoesNotUseSurvive) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(2)->set_all_reduce_id(5);
  message.mutable_spmd_output_sharding()->set_type(proto::OpSharding::MANUAL);
  const auto again = message_of_module(read(message));
  EXPECT_EQ(again.computations(0).instructions(2).all_reduce_id(), 5);
  EXPECT_EQ(again.spmd_output_sharding().type(), proto::OpSharding::MANUAL);
}

TEST(Wire, EmptyPartsLeaveNoTrace) {
  auto message = message_of_module(sum());
  auto& add = *message.mutable_computations(0)->mutable_instructions(2);
  add.mutable_metadata();
  add.mutable_frontend_attributes();
  add.mutable_statistics_viz();
  EXPECT_FALSE(read(message).computations[0].instructions[2].extras.has_value());
}

// ---- what is refused

TEST(WireErrors, UnknownOpcodeIsNamed) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(2)->set_opcode("frobnicate");
  EXPECT_EQ(error_of(message),
            "module sum: computation main: instruction z: opcode \"frobnicate\" is not known");
}

TEST(WireErrors, OperandThatIsNotThere) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(2)->set_operand_ids(1, 99);
  EXPECT_EQ(error_of(message),
            "module sum: computation main: instruction z: operand id 99 is not in the computation");
}

TEST(WireErrors, CycleOfInstructions) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(2)->set_operand_ids(0, 3);
  EXPECT_EQ(error_of(message), "module sum: computation main: instruction z: depends on itself");
}

TEST(WireErrors, ComputationThatCallsItself) {
  auto message = message_of_module(loop());
  message.mutable_computations(2)->mutable_instructions(1)->set_called_computation_ids(0, 3);
  EXPECT_EQ(error_of(message), "module loop: computation main: calls itself");
}

TEST(WireErrors, CalleeThatIsNotThere) {
  auto message = message_of_module(loop());
  message.mutable_computations(2)->mutable_instructions(1)->set_called_computation_ids(0, 44);
  EXPECT_THAT(error_of(message), HasSubstr("calls computation 44, which is not in the module"));
}

TEST(WireErrors, IdsThatRepeat) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(1)->set_id(1);
  EXPECT_EQ(
      error_of(message),
      "module sum: computation main: instruction y: shares id 1 with another in its computation");
}

TEST(WireErrors, NamesThatRepeat) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(1)->set_name("x");
  EXPECT_THAT(error_of(message),
              HasSubstr("instruction x: shares its name with another one of the module"));
}

TEST(WireErrors, ComputationNamesThatRepeat) {
  auto message = message_of_module(loop());
  message.mutable_computations(1)->set_name("body");
  EXPECT_EQ(error_of(message),
            "module loop: computation body: shares its name with another one of the module");
}

TEST(Wire, ComputationMayHaveTheNameOfAnInstruction) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->set_name("x");
  EXPECT_EQ(read(message).computations[0].name, "x");
}

TEST(WireErrors, NegativeId) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(1)->set_id(-1);
  EXPECT_THAT(error_of(message), HasSubstr("instruction y: has id -1; ids are 0 or more"));
}

TEST(WireErrors, RootThatIsNotThere) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->set_root_id(9);
  EXPECT_EQ(error_of(message), "module sum: computation main: root id 9 is not in the computation");
}

TEST(WireErrors, ParameterNumbersWithAGap) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(1)->set_parameter_number(2);
  EXPECT_THAT(error_of(message),
              HasSubstr("instruction y: parameter number 2 stands twice or is out of range"));
}

TEST(WireErrors, NoShape) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(2)->clear_shape();
  EXPECT_EQ(error_of(message), "module sum: computation main: instruction z: has no shape");
}

TEST(WireErrors, LayoutThatIsNoPermutation) {
  auto message = message_of_module(sum());
  auto& shape = *message.mutable_computations(0)->mutable_instructions(2)->mutable_shape();
  shape.mutable_layout()->set_minor_to_major(0, 1);
  EXPECT_THAT(error_of(message), HasSubstr("instruction z: shape: layout {1} is no permutation"));
}

TEST(WireErrors, EntryThatIsNotThere) {
  auto message = message_of_module(sum());
  message.set_entry_computation_id(7);
  EXPECT_EQ(error_of(message), "module sum: entry computation 7 is not in the module");
}

TEST(WireErrors, HostProgramShapeThatIsNotTheEntrys) {
  auto message = message_of_module(sum());
  message.mutable_host_program_shape()->mutable_parameters(1)->set_element_type(proto::F64);
  EXPECT_EQ(error_of(message),
            "module sum: host_program_shape: parameter 1 is f64[2]; the entry has f32[2]");
}

TEST(Wire, OfTwoOrdersOfAComputationTheLastCounts) {
  auto message = message_of_module(sum());
  schedule(message, message.computations(0).id(), {1});
  schedule(message, message.computations(0).id(), {2, 1, 3});
  EXPECT_EQ(read(message).entry_computation().instructions[0].name, "y");
}

bool is_free_of_maps(const google::protobuf::Descriptor& type) {
  for (int i = 0; i < type.nested_type_count(); ++i) {
    if (!is_free_of_maps(*type.nested_type(i))) return false;
  }
  return !type.options().map_entry();
}

// The thread sanitizer changes the members of a map field, and Debian's protobuf is built without.
TEST(Wire, NoMessageHasAMapField) {
  const google::protobuf::FileDescriptor& file = *proto::HloModuleProto::descriptor()->file();
  for (int i = 0; i < file.message_type_count(); ++i)
    EXPECT_TRUE(is_free_of_maps(*file.message_type(i))) << file.message_type(i)->name();
}

bool is_registered(const char* file) {
  google::protobuf::FileDescriptorProto found;
  return google::protobuf::DescriptorPool::internal_generated_database()->FindFileByName(file,
                                                                                         &found);
}
constexpr char kMessages[] = "heddle/hlo/wire/proto/heddle_hlo.proto";
const bool are_messages_known_at_start = is_registered(kMessages);

// A program that writes no module pays nothing for their descriptors.
TEST(Wire, DescriptorsAreMadeAtTheirFirstUse) {
  EXPECT_FALSE(are_messages_known_at_start);
  EXPECT_NE(proto::HloModuleProto::descriptor(), nullptr);
  EXPECT_TRUE(is_registered(kMessages));
}

// A sharding without tiles is right where the axes of a named mesh say how the array lies.
TEST(Wire, NamedShardingsNeedNoTiles) {
  proto::HloModuleProto message = message_of_module(loop());
  proto::OpSharding& sharding =
      *message.mutable_computations(0)->mutable_instructions(0)->mutable_sharding();
  sharding.set_type(proto::OpSharding::OTHER);
  EXPECT_THAT(error_of(message), HasSubstr("must list one for each tile"));
  sharding.mutable_named_sharding();
  const StatusOr<Module> module = from_proto(message.SerializeAsString());
  ASSERT_TRUE(module.ok()) << module.status();
  const auto again = message_of_module(*module);
  EXPECT_TRUE(again.computations(0).instructions(0).sharding().has_named_sharding());
}

TEST(WireErrors, ScheduleThatMissesAnInstruction) {
  auto message = message_of_module(sum());
  schedule(message, 1, {1});
  EXPECT_EQ(error_of(message), "module sum: computation main: schedule: has 1 of 3 instructions");
}

TEST(WireErrors, ScheduleThatIsNoDependencyOrder) {
  auto message = message_of_module(sum());
  schedule(message, 1, {3, 1, 2});
  EXPECT_THAT(error_of(message), HasSubstr("is not defined before its use"));
}

TEST(WireErrors, TypeThatTheOperandsDoNotGive) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(2)->mutable_shape()->set_dimensions(0, 3);
  message.mutable_host_program_shape()->mutable_result()->set_dimensions(0, 3);
  EXPECT_THAT(error_of(message), HasSubstr("z: add: "));
}

TEST(WireErrors, MessageThatAnOpNeeds) {
  auto message = message_of_module(sum());
  message.mutable_computations(0)->mutable_instructions(2)->set_opcode("dot");
  EXPECT_THAT(error_of(message), HasSubstr("instruction z: has no dot_dimension_numbers"));
}

}  // namespace
}  // namespace heddle::hlo
