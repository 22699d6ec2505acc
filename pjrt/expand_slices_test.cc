// Slices and updates that XLA's CPU puts together wrongly are written so that it does not.
#include <algorithm>

#include "heddle/hlo/verify.h"
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

int64_t count(const hlo::Module& module, hlo::Opcode opcode) {
  int64_t out = 0;
  for (const hlo::Computation& computation : module.computations) {
    out += std::ranges::count_if(computation.instructions, [&](const hlo::Instruction& each) {
      return each.opcode == opcode;
    });
  }
  return out;
}

hlo::Module prepared(const std::string& text) {
  const hlo::Module out = prepare(module_of(text), 114).value();
  EXPECT_EQ(hlo::verify(out, hlo::Stage::kHlo), Status()) << hlo::print(out);
  return out;
}

Literal s32_scalar(int64_t value) { return Literal::scalar(s32, value); }

// For all starts, inside and outside, the value of the program as it was.
void expect_values_of(const std::string& text, const hlo::Module& now) {
  for (int64_t i = -3; i < 7; ++i) {
    for (int64_t j = -3; j < 7; ++j) {
      const std::vector<Literal> at = {s32_scalar(i), s32_scalar(j)};
      EXPECT_EQ(interpreter::evaluate(now, at).value(),
                interpreter::evaluate(module_of(text), at).value())
          << i << " " << j << "\n"
          << hlo::print(now);
    }
  }
}

// Two starts are clamped, and the values stay. Returns what the program becomes.
hlo::Module expect_two_clamps(const std::string& text) {
  hlo::Module now = prepared(text);
  EXPECT_EQ(count(now, hlo::Opcode::kClamp), 2) << hlo::print(now);
  expect_values_of(text, now);
  return now;
}

constexpr char kTwoStarts[] =
    "ENTRY main { x = s32[5] iota(), iota_dimension=0 i = s32[] parameter(0) "
    "j = s32[] parameter(1) ";

TEST(NestedSlices, HaveClampedStarts) {
  const std::string text =
      base::cat(kTwoStarts,
                "a = s32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} "
                "r = s32[1,3] reshape(a) z = s32[] constant(0) ROOT b = "
                "s32[1,2] dynamic-slice(r, z, j), dynamic_slice_sizes={1,2} }");
  const hlo::Module now = expect_two_clamps(text);  // none for the start 0
  EXPECT_EQ(hlo::print(prepare(now, 114).value()), hlo::print(now));
}

TEST(NestedSlices, OfCalledComputationsHaveClampedStarts) {
  const std::string text = base::cat(
      "part { a = s32[3] parameter(0) j = s32[] parameter(1) ROOT b = s32[2] dynamic-slice(a, j), "
      "dynamic_slice_sizes={2} } ",
      kTwoStarts,
      "a = s32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} ROOT c = s32[2] call(a, j), "
      "to_apply=part }");
  expect_two_clamps(text);
}

TEST(NestedSlices, OfALoopAndABranchHaveClampedStarts) {
  const std::string text = base::cat(
      "more { s = (s32[], s32[], s32[3], s32[2]) parameter(0) n = s32[] get-tuple-element(s), "
      "index=0 one = s32[] constant(1) ROOT c = pred[] compare(n, one), direction=LT } "
      "step { s = (s32[], s32[], s32[3], s32[2]) parameter(0) n = s32[] get-tuple-element(s), "
      "index=0 j = s32[] get-tuple-element(s), index=1 a = s32[3] get-tuple-element(s), index=2 "
      "one = s32[] constant(1) m = s32[] add(n, one) "
      "b = s32[2] dynamic-slice(a, j), dynamic_slice_sizes={2} "
      "ROOT t = (s32[], s32[], s32[3], s32[2]) tuple(m, j, a, b) } "
      "left { y = s32[5] parameter(0) three = s32[] constant(3) ROOT a = s32[3] dynamic-slice(y, "
      "three), dynamic_slice_sizes={3} } "
      "right { y = s32[5] parameter(0) ROOT a = s32[3] slice(y), slice={[1:4]} } ",
      kTwoStarts,
      "zero = s32[] constant(0) p = pred[] compare(i, j), direction=LT "
      "a = s32[3] conditional(p, x, x), true_computation=left, false_computation=right "
      "none = s32[2] broadcast(zero), dimensions={} "
      "s = (s32[], s32[], s32[3], s32[2]) tuple(zero, j, a, none) "
      "w = (s32[], s32[], s32[3], s32[2]) while(s), condition=more, body=step "
      "ROOT b = s32[2] get-tuple-element(w), index=3 }");
  expect_two_clamps(text);  // the 3 is outside as well
}

// Of small integer types whose numbers are all below the last start.
TEST(NestedSlices, ClampStartsInTheirOwnType) {
  const std::string text =
      "ENTRY main { x = s32[200] iota(), iota_dimension=0 i = s8[] parameter(0) j = u8[] "
      "parameter(1) a = s32[150] dynamic-slice(x, i), dynamic_slice_sizes={150} "
      "ROOT b = s32[2] dynamic-slice(a, j), dynamic_slice_sizes={2} }";
  const hlo::Module now = prepared(text);
  for (const int64_t i : {-128, -1, 0, 49, 60, 127}) {
    for (const int64_t j : {0, 127, 148, 255}) {
      const std::vector<Literal> at = {Literal::scalar(s8, i), Literal::scalar(u8, j)};
      EXPECT_EQ(interpreter::evaluate(now, at).value(),
                interpreter::evaluate(module_of(text), at).value());
    }
  }
}

// Gathers of one index are slices to XLA, alone and with dynamic-slices, inside and outside.
TEST(NestedSlices, AreGathersOfOneIndexToo) {
  const auto gather_of = [](const char* array, const char* start, int64_t size) {
    return base::cat("gather(", array, ", ", start,
                     "), offset_dims={0}, collapsed_slice_dims={}, start_index_map={0}, "
                     "index_vector_dim=0, slice_sizes={",
                     size, "} ");
  };
  const auto slice_of = [](const char* array, const char* start, int64_t size) {
    return base::cat("dynamic-slice(", array, ", ", start, "), dynamic_slice_sizes={", size, "} ");
  };
  const std::string starts =
      base::cat(kTwoStarts, "is = s32[1] reshape(i) js = s32[1] reshape(j) ");
  for (const std::string& inner : {gather_of("x", "is", 3), slice_of("x", "i", 3)}) {
    for (const std::string& outer : {gather_of("a", "js", 2), slice_of("a", "j", 2)}) {
      const std::string text =
          base::cat(starts, "a = s32[3] ", inner, "ROOT b = s32[2] ", outer, "}");
      const hlo::Module now = expect_two_clamps(text);
      EXPECT_EQ(hlo::print(prepare(now, 114).value()), hlo::print(now));
    }
  }
}

// The starts of a row and of a part of it, in the order that the gather maps them, and the index
// beside an axis of size 1.
TEST(NestedSlices, OfGathersHaveTheLastStartOfEachAxis) {
  const std::string text =
      base::cat(kTwoStarts,
                "t = s32[5,3] broadcast(x), dimensions={0} k = s32[5,3] iota(), iota_dimension=1 "
                "ten = s32[] constant(10) tens = s32[5,3] broadcast(ten), dimensions={} "
                "m = s32[5,3] multiply(t, tens) y = s32[5,3] add(m, k) "
                "i1 = s32[1,1] reshape(i) j1 = s32[1,1] reshape(j) "
                "ji = s32[1,2] concatenate(j1, i1), dimensions={1} "
                "a = s32[1,2,2] gather(y, ji), offset_dims={1,2}, collapsed_slice_dims={}, "
                "start_index_map={1,0}, index_vector_dim=1, slice_sizes={2,2} "
                "r = s32[2,2] reshape(a) one = s32[1] reshape(i) "
                "ROOT b = s32[1,2] gather(r, one), offset_dims={1}, collapsed_slice_dims={0}, "
                "start_index_map={0}, index_vector_dim=1, slice_sizes={1,2} }");
  expect_two_clamps(text);
}

TEST(NestedSlices, AreNoGathersOfSeveralIndices) {
  const hlo::Module module = module_of(base::cat(
      kTwoStarts,
      "a = s32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} i1 = s32[1] reshape(i) j1 = s32[1] "
      "reshape(j) ij = s32[2] concatenate(i1, j1), dimensions={0} "
      "ROOT b = s32[2] gather(a, ij), offset_dims={}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1} }"));
  EXPECT_EQ(hlo::print(prepare(module, 114).value()), hlo::print(module));
}

TEST(NestedSlices, ThatAreNotNestedStay) {
  const hlo::Module module = module_of(base::cat(
      kTwoStarts,
      "a = s32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} "
      "b = s32[3] dynamic-slice(x, j), dynamic_slice_sizes={3} ROOT c = s32[3] add(a, b) }"));
  EXPECT_EQ(hlo::print(prepare(module, 114).value()), hlo::print(module));
}

// An update, and how many of its programs' updates are kept apart from what computes them.
struct Update {
  const char* what;
  const char* text;
  int64_t kept_apart;
};

constexpr Update kUpdates[] = {
    {"a part of the array from elsewhere",
     "d = s32[3] dynamic-slice(x, j), dynamic_slice_sizes={3} "
     "ROOT u = s32[5] dynamic-update-slice(x, d, i)",
     1},
    {"a static part",
     "d = s32[3] slice(x), slice={[0:3]} ROOT u = s32[5] dynamic-update-slice(x, d, i)", 1},
    {"the same part, changed",
     "d = s32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} n = s32[3] negate(d) "
     "ROOT u = s32[5] dynamic-update-slice(x, n, i)",
     0},
    {"the same part, turned around",
     "d = s32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} n = s32[3] reverse(d), "
     "dimensions={0} ROOT u = s32[5] dynamic-update-slice(x, n, i)",
     1},
    {"a part of what the array was made of",
     "n = s32[5] negate(x) d = s32[3] dynamic-slice(x, j), dynamic_slice_sizes={3} "
     "ROOT u = s32[5] dynamic-update-slice(n, d, i)",
     1},
    {"another array",
     "d = s32[3] constant({7, 8, 9}) ROOT u = s32[5] dynamic-update-slice(x, d, i)", 0},
    {"a number of the program",
     "d = s32[3] broadcast(j), dimensions={} ROOT u = s32[5] dynamic-update-slice(x, d, i)", 0},
    {"what an earlier update wrote",
     "c = s32[3] constant({7, 8, 9}) u0 = s32[5] dynamic-update-slice(x, c, j) "
     "n = s32[3] reverse(c), dimensions={0} ROOT u = s32[5] dynamic-update-slice(u0, n, i)",
     0},
};

TEST(SelfUpdates, AreKeptApartFromWhatReadsTheArray) {
  for (const Update& update : kUpdates) {
    const std::string text = base::cat(kTwoStarts, update.text, " }");
    const hlo::Module now = prepared(text);
    EXPECT_EQ(count(now, hlo::Opcode::kAddDependency), update.kept_apart) << update.what << "\n"
                                                                          << hlo::print(now);
    expect_values_of(text, now);
    EXPECT_EQ(
        interpreter::evaluate(prepare(now, 114).value(), {s32_scalar(0), s32_scalar(1)}).value(),
        interpreter::evaluate(now, {s32_scalar(0), s32_scalar(1)}).value());
  }
}

// Likewise the updates of a scatter, of which XLA writes those of one index in place.
constexpr Update kScatters[] = {
    {"a static part",
     "d = s32[3] slice(x), slice={[0:3]} ROOT u = s32[5] scatter(x, is, d), "
     "update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=0, to_apply=set",
     1},
    {"a static part, added to what is there",
     "d = s32[1,3] slice(r), slice={[0:1],[1:4]} ROOT u = s32[5] scatter(x, js, d), "
     "update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=sum",
     1},
    {"another array",
     "d = s32[3] constant({7, 8, 9}) ROOT u = s32[5] scatter(x, is, d), update_window_dims={0}, "
     "inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, "
     "to_apply=set",
     0},
    {"what an earlier scatter wrote",
     "d = s32[3] constant({7, 8, 9}) w = s32[5] scatter(x, is, d), update_window_dims={0}, "
     "inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, "
     "to_apply=set n = s32[3] reverse(d), dimensions={0} "
     "ROOT u = s32[5] dynamic-update-slice(w, n, j)",
     0},
    {"a part of the array before an earlier scatter",
     "c = s32[2] constant({7, 8}) w = s32[5] scatter(x, is, c), update_window_dims={0}, "
     "inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, "
     "to_apply=set d = s32[3] slice(x), slice={[0:3]} "
     "ROOT u = s32[5] dynamic-update-slice(w, d, j)",
     1},
    {"two indices",
     "d = s32[2] slice(x), slice={[0:2]} ij = s32[2] concatenate(is, j1), dimensions={0} "
     "ROOT u = s32[5] scatter(x, ij, d), update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     0},
    {"two arrays, each by a part of the other",
     "y = s32[5] negate(x) d = s32[3] slice(y), slice={[0:3]} e = s32[3] slice(x), slice={[1:4]} "
     "w = (s32[5], s32[5]) scatter(x, y, is, d, e), update_window_dims={0}, "
     "inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, "
     "to_apply=both ROOT u = s32[5] get-tuple-element(w), index=1",
     2},
};

TEST(SelfUpdates, OfScattersOfOneIndexAreKeptApart) {
  const std::string functions =
      "set { a = s32[] parameter(0) ROOT b = s32[] parameter(1) } "
      "sum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) } "
      "both { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] "
      "parameter(3) ROOT t = (s32[], s32[]) tuple(d, c) } ";
  for (const Update& scatter : kScatters) {
    const std::string text = base::cat(
        functions, kTwoStarts,
        "is = s32[1] reshape(i) j1 = s32[1] reshape(j) js = s32[1,1] reshape(j) r = s32[1,5] "
        "reshape(x) ",
        scatter.text, " }");
    const hlo::Module now = prepared(text);
    EXPECT_EQ(count(now, hlo::Opcode::kAddDependency), scatter.kept_apart) << scatter.what << "\n"
                                                                           << hlo::print(now);
    expect_values_of(text, now);
    EXPECT_EQ(
        interpreter::evaluate(prepare(now, 114).value(), {s32_scalar(0), s32_scalar(1)}).value(),
        interpreter::evaluate(now, {s32_scalar(0), s32_scalar(1)}).value());
  }
}

// A call that reads the whole state of a loop reads the array in it.
TEST(SelfUpdates, ByACallOfAWholeTupleAreKeptApart) {
  const hlo::Module now =
      prepare(module_of(base::cat("more { s = (s32[], s32[5]) parameter(0) n = s32[] "
                                  "get-tuple-element(s), index=0 two = s32[] constant(2) "
                                  "ROOT c = pred[] compare(n, two), direction=LT } "
                                  "step { s = (s32[], s32[5]) parameter(0) n = s32[] "
                                  "get-tuple-element(s), index=0 x = s32[5] "
                                  "get-tuple-element(s), index=1 one = s32[] constant(1) m = "
                                  "s32[] add(n, one) y = s32[5] negate(x) ROOT t = (s32[], "
                                  "s32[5]) tuple(m, y) } ",
                                  kTwoStarts,
                                  "s = (s32[], s32[5]) tuple(i, x) w = (s32[], s32[5]) "
                                  "while(s), condition=more, body=step, "
                                  "backend_config={\"known_trip_count\":{\"n\":\"2\"}} "
                                  "y = s32[5] get-tuple-element(w), index=1 d = s32[3] "
                                  "custom-call(w), custom_call_target=\"part\" "
                                  "ROOT u = s32[5] dynamic-update-slice(y, d, i) }")),
              114)
          .value();
  EXPECT_EQ(count(now, hlo::Opcode::kAddDependency), 1) << hlo::print(now);
}

TEST(SelfUpdates, ByACalledComputationAreKeptApart) {
  const std::string text = base::cat(
      "part { y = s32[5] parameter(0) j = s32[] parameter(1) ROOT d = s32[3] dynamic-slice(y, j), "
      "dynamic_slice_sizes={3} } ",
      kTwoStarts,
      "d = s32[3] call(x, j), to_apply=part ROOT u = s32[5] dynamic-update-slice(x, d, i) }");
  const hlo::Module now = prepared(text);
  EXPECT_EQ(count(now, hlo::Opcode::kAddDependency), 1) << hlo::print(now);
  expect_values_of(text, now);
}

// The state of a loop: another element of it is another array where the loop has several trips.
std::string loop_with_update(const std::string& read, const std::string& config) {
  return base::cat(
      "more { s = (s32[], s32[5], s32[5]) parameter(0) n = s32[] get-tuple-element(s), index=0 "
      "one = s32[] constant(1) ROOT c = pred[] compare(n, one), direction=LT } "
      "step { s = (s32[], s32[5], s32[5]) parameter(0) n = s32[] get-tuple-element(s), index=0 "
      "x = s32[5] get-tuple-element(s), index=1 y = s32[5] get-tuple-element(s), index=2 "
      "one = s32[] constant(1) m = s32[] add(n, one) d = s32[3] slice(",
      read,
      "), slice={[0:3]} u = s32[5] dynamic-update-slice(x, d, one) "
      "ROOT t = (s32[], s32[5], s32[5]) tuple(m, u, y) } ",
      kTwoStarts,
      "zero = s32[] constant(0) s = (s32[], s32[5], s32[5]) tuple(zero, x, x) w = (s32[], s32[5], "
      "s32[5]) while(s), condition=more, body=step",
      config, " ROOT b = s32[5] get-tuple-element(w), index=1 }");
}

TEST(SelfUpdates, InLoopsAreKeptApart) {
  const std::string once = ", backend_config={\"known_trip_count\":{\"n\":\"1\"}}";
  const std::string twice = ", backend_config={\"known_trip_count\":{\"n\":\"2\"}}";
  const auto kept_apart = [&](const std::string& read, const std::string& config) {
    return count(prepared(loop_with_update(read, config)), hlo::Opcode::kAddDependency);
  };
  EXPECT_EQ(kept_apart("x", ""), 1);
  EXPECT_EQ(kept_apart("y", ""), 1);  // XLA finds that it has one trip
  EXPECT_EQ(kept_apart("y", once), 1);
  EXPECT_EQ(kept_apart("y", twice), 0);
  expect_values_of(loop_with_update("x", ""), prepared(loop_with_update("x", "")));
}

// A loop's rows go straight into the array of all of them.
TEST(SelfUpdates, RowsOfAScanAreNotKeptApart) {
  const hlo::Module now = prepared(
      "step { x = f32[3] parameter(0) c = f32[3] parameter(1) n = f32[3] add(c, x) m = f32[3] "
      "reverse(n), dimensions={0} ROOT t = (f32[3], f32[3]) tuple(n, m) } "
      "ENTRY main { xs = f32[6,3] parameter(0) c = f32[3] parameter(1) "
      "ROOT r = (f32[6,3], f32[3]) scan(xs, c), dimensions={0}, num_carries=1, to_apply=step }");
  EXPECT_GT(count(now, hlo::Opcode::kDynamicUpdateSlice), 0) << hlo::print(now);
  EXPECT_EQ(count(now, hlo::Opcode::kAddDependency), 0) << hlo::print(now);
}

}  // namespace
}  // namespace heddle::pjrt
