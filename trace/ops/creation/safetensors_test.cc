// Trees in safetensors files: what comes back and on which memory, what is refused in words. Files
// that others wrote are read in tests/numpy.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "heddle/base/bytes.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/runtime/transfer_guard.h"
#include "heddle/trace/nested_model_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/creation/files.h"
#include "heddle/trace/run/compiled_program.h"
#include "heddle/trace/run/exchange.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using testing::Pair;

struct WithHeads {
  Tensor w;
  int heads = 8;
  static constexpr auto kFields =
      fields(field("w", &WithHeads::w), static_field("heads", &WithHeads::heads));
};
using Arrays = std::map<std::string, Tensor>;

class Safetensors : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // A file of this header and data.
  std::string file(std::string_view json, std::string_view data) const {
    std::string bytes;
    base::append_text(json, bytes);
    std::ofstream(path("by_hand")) << bytes << data;
    return path("by_hand");
  }
  [[nodiscard]] std::vector<std::string> names(const LoadOptions& options = {}) const {
    std::vector<std::string> out;
    for (const auto& [name, tensor] : load_safetensors(path("m"), options)) out.push_back(name);
    return out;
  }
  const std::string folder_ = testing::TempDir() + "heddle_safetensors_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Safetensors, TreesComeBackByTheirPaths) {
  save_safetensors(path("m"), nested_model({4, 8}, bf16, 3));
  const Model m = load_safetensors<Model>(path("m"));
  EXPECT_EQ(tree_spec(m), tree_spec(nested_model({4, 8}, bf16, 3)));
  EXPECT_EQ(m.layers[2].w.to_literal(), nested_model({4, 8}, bf16, 3).layers[2].w.to_literal());
  EXPECT_EQ(m.heads.at("right").b.to_vector<float>()[2], -5);
  EXPECT_EQ(m.scale.item<double>(), 2);
  EXPECT_FALSE(m.bias.has_value());
  EXPECT_THAT(names(), ElementsAre("heads.left.b", "heads.left.w", "heads.right.b", "heads.right.w",
                                   "layers[0].b", "layers[0].w", "layers[1].b", "layers[1].w",
                                   "layers[2].b", "layers[2].w", "scale"));
}

TEST_F(Safetensors, NamesMayBeThoseOfPyTorch) {
  save_safetensors(path("m"), nested_model({4, 8}, bf16, 3), {.dotted = true});
  EXPECT_THAT(names(), ElementsAre("heads.left.b", "heads.left.w", "heads.right.b", "heads.right.w",
                                   "layers.0.b", "layers.0.w", "layers.1.b", "layers.1.w",
                                   "layers.2.b", "layers.2.w", "scale"));
  const Model m = load_safetensors<Model>(path("m"), {.dotted = true});
  EXPECT_EQ(tree_spec(m), tree_spec(nested_model({4, 8}, bf16, 3)));
  EXPECT_EQ(m.layers[1].b.to_vector<float>()[0], -2);
  const std::string repair = "; load names of PyTorch's with {.dotted = true} [";
  EXPECT_THAT(error_of([&] { (void)load_safetensors<Model>(path("m")); }), HasSubstr(repair));
  EXPECT_THAT(error_of([&] {
                (void)load_safetensors(path("m"), nested_model({4, 8}, bf16, 3));
              }),
              HasSubstr(repair));
  save_safetensors(path("m"), std::pair(scalar(1.0f), scalar(2.0f)), {.dotted = true});
  EXPECT_THAT(names(), ElementsAre("0", "1"));
}

TEST_F(Safetensors, EveryDtypeOfTheFormatComesBack) {
  for (const DType dtype : {pred, s8, s16, s32, s64, u8, u16, u32, u64, f16, f32, f64, c64, bf16,
                            f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0fnu}) {
    for (const base::Ints& sizes :
         {base::Ints{3}, base::Ints{}, base::Ints{0, 2}, base::Ints{64}}) {
      const Tensor x = ones(sizes, dtype);
      save_safetensors(path("x"), x);
      const Tensor y = load_safetensors<Tensor>(path("x"));
      EXPECT_EQ(y.to_literal(), x.to_literal()) << to_string(x.shape());
    }
  }
}

// A device that computes in host memory uses the pages of the file.
TEST_F(Safetensors, PagesAreLentAndCounted) {
  save_safetensors(
      path("m"),
      Arrays{{"w", ones({4, 16})}, {"b", ones({3})}, {"c", ones({3})}, {"v", zeros({32})}});
  const Counters before = counters();
  const Arrays arrays = load_safetensors(path("m"));
  EXPECT_EQ((counters() - before).aliased_bytes, 4 * 16 * 4 + 32 * 4 + 12);
  EXPECT_EQ((counters() - before).uploads, 1);  // c, 12 bytes behind a multiple of 64
  EXPECT_EQ((counters() - before).upload_bytes, 12);
  save_safetensors(path("m"), Arrays{{"w", zeros({4, 16})}});  // another file of this name
  std::filesystem::remove(path("m"));
  EXPECT_EQ(arrays.at("w").to_vector<float>(), std::vector<float>(64, 1));
  EXPECT_EQ((arrays.at("w") + 1).to_vector<float>()[63], 2);
  EXPECT_EQ(host_view(arrays.at("w")).to_double(63), 1);
}

TEST_F(Safetensors, UnmappedTheyAreCopies) {
  save_safetensors(path("m"), Arrays{{"w", ones({4, 16})}, {"b", ones({3})}});
  const Counters before = counters();
  const Arrays arrays = load_safetensors(path("m"), {.mapped = false});
  EXPECT_EQ((counters() - before).aliased_bytes, 0);
  EXPECT_EQ((counters() - before).uploads, 2);
  EXPECT_EQ((counters() - before).upload_bytes, 4 * 16 * 4 + 12);
  std::filesystem::resize_file(path("m"), 10);  // nobody looks at it any more
  EXPECT_EQ(arrays.at("w").to_vector<float>(), std::vector<float>(64, 1));
}

// Programs never write to what is lent, also where it is donated.
TEST_F(Safetensors, DonatedPagesStayAsTheyAre) {
  save_safetensors(path("m"), Arrays{{"w", ones({64})}});
  const auto twice = trace([](Tensor x) { return x + x; }, ones({64})).compile();
  Tensor w = load_safetensors(path("m")).at("w");
  EXPECT_EQ(twice.with({.donate = {0}})(w).to_vector<float>()[0], 2);
  EXPECT_EQ(load_safetensors(path("m")).at("w").to_vector<float>()[0], 1);
}

// A file of 6 GB that takes no room: only what is looked at is read.
TEST_F(Safetensors, OffsetsPass32Bits) {
  const int64_t large = int64_t{6} << 30;
  const std::string at =
      file(base::cat(R"({"w":{"dtype":"U8","shape":[)", large, R"(],"data_offsets":[0,)", large,
                     R"(]},"b":{"dtype":"I32","shape":[1],"data_offsets":[)", large, ",", large + 4,
                     "]}}"),
           "");
  const auto header = static_cast<int64_t>(std::filesystem::file_size(at));
  std::filesystem::resize_file(at, static_cast<uintmax_t>(header + large + 4));
  std::fstream(at, std::ios::in | std::ios::out | std::ios::binary).seekp(header + large).put(7);
  const Tensor b =
      load_safetensors(at, Arrays{{"b", placeholder({1}, s32)}}, {.strict = false}).at("b");
  EXPECT_EQ(b.item<int>(), 7);
}

TEST_F(Safetensors, WordsStandBesideTheArrays) {
  save_safetensors(path("m"), scalar(1.0f), {.metadata = {{"step", "9"}, {"é", "\"\n"}}});
  EXPECT_THAT(load_safetensors_metadata(path("m")),
              ElementsAre(Pair("step", "9"), Pair("é", "\"\n")));
  save_safetensors(path("m"), scalar(1.0f));
  EXPECT_TRUE(load_safetensors_metadata(path("m")).empty());
  EXPECT_THAT(error_of([&] { (void)load_safetensors_metadata("no_such"); }),
              AllOf(HasSubstr("load_safetensors_metadata: no_such: there is no such file"),
                    EndsWith(here())));
}

TEST_F(Safetensors, LikeSaysWhatMustBeThere) {
  save_safetensors(path("l"), Layer{ones({2, 2}), zeros({2})});
  const Layer like{placeholder({2, 2}, f32), placeholder({2}, f32)};
  EXPECT_EQ(load_safetensors(path("l"), like).w.to_vector<float>()[0], 1);
  EXPECT_EQ(load_safetensors(path("l"), Layer{}).b.shape(), Shape(f32, {2}));
  EXPECT_THAT(error_of([&] {
                (void)load_safetensors(path("l"), Layer{like.w, placeholder({3}, f32)});
              }),
              AllOf(HasSubstr("load_safetensors: "),
                    HasSubstr("l: b is f32[2]; it must be f32[3] as in the tree given; give a tree "
                              "of that shape"),
                    EndsWith(here())));
  EXPECT_THAT(error_of([&] {
                (void)load_safetensors(path("l"), Layer{like.w, placeholder({2}, f64)});
              }),
              HasSubstr("b is f32[2]; it must be f64[2] as in the tree given; load it with "
                        "load_safetensors(path) and cast it with astype(f64)"));
  EXPECT_THAT(
      error_of([&] { (void)load_safetensors<Model>(path("l")); }),
      HasSubstr("has no array 'scale'; it has 'w', 'b'; save it too, or load a tree without it ["));
  EXPECT_THAT(error_of([&] {
                (void)load_safetensors(path("l"), Arrays{{"w", like.w}});
              }),
              HasSubstr("has the array 'b', for which the tree has no place; it has 'w'; load with "
                        "{.strict = false} to leave it, or all arrays as a map with "
                        "load_safetensors(path) ["));
  EXPECT_THAT(
      error_of([&] {
        (void)load_safetensors(path("l"), Arrays{{"w", like.w}, {"b", like.b}, {"c", zeros({2})}});
      }),
      HasSubstr("has no array 'c'; it has 'w', 'b', and must have f32[2]; load with "
                "{.strict = false} to keep the tree's own ["));
}

// What 405 billion parameters are, without a byte of them.
TEST_F(Safetensors, LikeMayBeOfTensorsThatFitInNoMemory) {
  const Arrays like = {{"w", placeholder({126, 16384, 53248}, bf16)}};
  save_safetensors(path("m"), Arrays{{"w", ones({2})}});
  EXPECT_THAT(error_of([&] { (void)load_safetensors(path("m"), like); }),
              HasSubstr("w is f32[2]; it must be bf16[126,16384,53248] as in the tree given"));
}

TEST_F(Safetensors, NotStrictTheTreeKeepsItsOwn) {
  save_safetensors(path("m"), Arrays{{"w", ones({2})}, {"left", ones({2})}});
  const Arrays like = {{"w", zeros({2})}, {"b", full({3}, 7.0f)}};
  const Arrays some = load_safetensors(path("m"), like, {.strict = false});
  EXPECT_EQ(some.size(), 2u);
  EXPECT_EQ(some.at("w").to_vector<float>()[0], 1);
  EXPECT_EQ(some.at("b").to_vector<float>()[0], 7);
  EXPECT_THAT(error_of([&] {
                (void)load_safetensors(path("m"), Arrays{{"w", zeros({3})}}, {.strict = false});
              }),
              HasSubstr("w is f32[2]; it must be f32[3]"));
}

TEST_F(Safetensors, ATreeMayStandInSeveralFiles) {
  save_safetensors(path("1"), Arrays{{"layers[0].w", ones({2})}, {"layers[0].b", ones({1})}});
  save_safetensors(path("2"), Arrays{{"layers[1].w", zeros({2})}, {"layers[1].b", zeros({1})}});
  const Layer layer{placeholder({2}, f32), placeholder({1}, f32)};
  Model like{.layers = {layer, layer}};
  like = load_safetensors(path("1"), like, {.strict = false});
  EXPECT_TRUE(like.layers[1].w.is_placeholder());
  like = load_safetensors(path("2"), like, {.strict = false});
  EXPECT_EQ(like.layers[0].w.to_vector<float>()[1], 1);
  EXPECT_EQ(like.layers[1].w.to_vector<float>()[1], 0);
  EXPECT_FALSE(like.scale.is_valid());
}

TEST_F(Safetensors, StaticFieldsAreThoseOfTheLike) {
  save_safetensors(path("x"), WithHeads{ones({2}), 4});
  EXPECT_THAT(error_of([&] { (void)load_safetensors<WithHeads>(path("x")); }),
              HasSubstr("load_safetensors: the tree's heads is a static field, which no file has; "
                        "say what it is with load_safetensors(path, like)"));
  EXPECT_EQ(load_safetensors(path("x"), WithHeads{placeholder({2}, f32), 4}).heads, 4);
}

TEST_F(Safetensors, WhatCannotBeSavedLeavesTheFileAlone) {
  save_safetensors(path("x"), scalar(1.0f));
  const Tensor p = placeholder({2}, f32);
  EXPECT_THAT(error_of([&] {
                save_safetensors(path("x"), Layer{ones({2}), p});
              }),
              AllOf(HasSubstr("save_safetensors: x.b is"), EndsWith(here())));
  EXPECT_THAT(error_of([&] { save_safetensors(path("x"), Tensor()); }),
              HasSubstr("save_safetensors: x has no value"));
  EXPECT_THAT(error_of([&] {
                trace(
                    [&](Tensor t) {
                      save_safetensors(path("x"), t);
                      return t;
                    },
                    ones({2}));
              }),
              HasSubstr("x is a traced f32[2]"));
  EXPECT_THAT(error_of([&] {
                save_safetensors(path("x"), Layer{ones({2}), ones({2}).astype(c128)});
              }),
              HasSubstr("save_safetensors: safetensors: b is c128[2], and the format has no "
                        "elements of c128; cast it, or save it with save_npz"));
  EXPECT_THAT(error_of([&] {
                save_safetensors(path("x"), Arrays{{"a\n", ones({2})}});
              }),
              HasSubstr("not UTF-8, or has control characters; rename a key"));
  {
    TransferGuard guard(TransferGuard::Policy::kForbid);
    EXPECT_THAT(error_of([&] {
                  save_safetensors(path("x"), Layer{p, p});
                }),
                HasSubstr("placeholder"));
    EXPECT_THAT(error_of([&] { (void)load_safetensors(path("x")); }),
                HasSubstr("asked for by load_safetensors of arr_0, and a TransferGuard at "));
  }
  EXPECT_EQ(load_safetensors<Tensor>(path("x")).item<float>(), 1);
  const Tensor ready = ones({2});
  {
    TransferGuard guard(TransferGuard::Policy::kForbid);
    EXPECT_THAT(error_of([&] { save_safetensors(path("x"), ready); }),
                HasSubstr("asked for by save_safetensors of x, and a TransferGuard at "));
  }
  EXPECT_EQ(load_safetensors<Tensor>(path("x")).item<float>(), 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Safetensors, DamagedFilesAreErrors) {
  EXPECT_THAT(error_of([&] { (void)load_safetensors(file("{", "")); }),
              AllOf(HasSubstr("by_hand: safetensors: the header has something else where text has "
                              "to be, at its byte 1"),
                    EndsWith(here())));
  EXPECT_THAT(error_of([&] {
                (void)load_safetensors(
                    file(R"({"w":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", "ab"));
              }),
              HasSubstr("array 'w' is of F4, several to a byte, which Heddle has not"));
  std::ofstream(path("empty"));
  EXPECT_THAT(error_of([&] { (void)load_safetensors(path("empty")); }),
              HasSubstr("empty: safetensors: is too short for such a file"));
  save_npz(path("z"), scalar(1.0f));
  EXPECT_THAT(error_of([&] { (void)load_safetensors(path("z")); }),
              HasSubstr("numpy's is loaded with load_npz"));
}

TEST_F(Safetensors, InATraceTheyAreConstants) {
  save_safetensors(path("x"), array({1.0f, 2.0f}));
  const Program p =
      trace([&](Tensor t) { return t + load_safetensors<Tensor>(path("x")); }, ones({2}));
  EXPECT_THAT(p.hlo_text(), HasSubstr("constant({1, 2})"));
}

TEST_F(Safetensors, TruthsOfOthersAreZeroOrOne) {
  const Tensor x =
      load_safetensors(file(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})",
                            std::string_view("\x00\x05", 2)))
          .at("x");
  EXPECT_THAT(x.to_vector<int>(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace heddle
