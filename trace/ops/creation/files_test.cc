// Tensors and trees in files: what comes back, what is counted, and what is refused in words.
// Numpy's own files are read in tests/numpy.
#include "heddle/trace/ops/creation/files.h"

#include <filesystem>
#include <fstream>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/runtime/transfer_guard.h"
#include "heddle/trace/nested_model_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

struct Node {
  std::vector<Node> children;
  std::optional<Tensor> value;
  static constexpr auto kFields =
      fields(field("children", &Node::children), field("value", &Node::value));
};

class Files : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  const std::string folder_ = testing::TempDir() + "heddle_files_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Files, ArraysComeBackAndAreCounted) {
  const Tensor x = array({{1.5f, 2.0f}, {-3.0f, 0.0f}});
  Counters before = counters();
  save_npy(path("x.npy"), x);
  EXPECT_EQ((counters() - before).downloads, 1);
  EXPECT_EQ((counters() - before).download_bytes, 16);
  before = counters();
  const Tensor y = load_npy(path("x.npy"));
  EXPECT_EQ((counters() - before).uploads, 1);
  EXPECT_EQ((counters() - before).upload_bytes, 16);
  EXPECT_EQ(y.to_literal(), x.to_literal());
}

TEST_F(Files, EveryDtypeComesBack) {
  for (const DType dtype : {pred, s8, s16, s32, s64, u8, u16, u32, u64, f16, f32, f64, c64, c128,
                            bf16, f8e4m3fn, f8e5m2, s4, u4}) {
    const Tensor x = array({1, 0, 1}).astype(dtype);
    save_npy(path("x.npy"), x);
    EXPECT_EQ(load_npy(path("x.npy"), dtype).to_literal(), x.to_literal()) << to_string(dtype);
  }
}

TEST_F(Files, TreesComeBackByTheirPaths) {
  save_npz(path("m.npz"), nested_model({2, 2}, f32, 2));
  const Model m = load_npz<Model>(path("m.npz"));
  EXPECT_EQ(tree_spec(m), tree_spec(nested_model({2, 2}, f32, 2)));
  EXPECT_EQ(m.layers[2].b.to_vector<float>()[0], -3);
  EXPECT_EQ(m.heads.at("right").w.to_vector<float>()[3], 5);
  EXPECT_FALSE(m.bias.has_value());
  std::vector<std::string> names;
  for (const auto& [name, tensor] : load_npz(path("m.npz"))) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("heads.left.b", "heads.left.w", "heads.right.b", "heads.right.w",
                                 "layers[0].b", "layers[0].w", "layers[1].b", "layers[1].w",
                                 "layers[2].b", "layers[2].w", "scale"));
}

TEST_F(Files, TuplesAndLoneTensorsHaveNumpysNames) {
  save_npz(path("t.npz"), std::tuple(scalar(1.0f), std::vector{scalar(2.0f), scalar(3.0f)}));
  const auto all = load_npz(path("t.npz"));
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(all.at("arr_1[1]").item<float>(), 3);
  save_npz(path("x.npz"), scalar(7.0f), {.compress = true});
  EXPECT_EQ(load_npz<Tensor>(path("x.npz")).item<float>(), 7);
  EXPECT_EQ(load_npz<std::vector<Tensor>>(path("x.npz")).size(), 1u);
  save_npz(path("none.npz"), None{});
  EXPECT_TRUE(load_npz(path("none.npz")).empty());
}

TEST_F(Files, MapsKeepAnyKey) {
  const std::map<std::string, Tensor> map = {
      {"a/b.c", scalar(1.0f)}, {"", scalar(2.0f)}, {"['x']", scalar(3.0f)}};
  save_npz(path("m.npz"), map);
  const auto again = load_npz(path("m.npz"));
  EXPECT_EQ(again.size(), 3u);
  EXPECT_EQ(again.at("a/b.c").item<float>(), 1);
  EXPECT_EQ(again.at("").item<float>(), 2);
  const std::map<std::string, std::map<std::string, Tensor>> nested = {{"a", {{"b.c", scalar(1)}}}};
  save_npz(path("n.npz"), nested);
  EXPECT_EQ((load_npz<std::map<std::string, std::map<std::string, Tensor>>>(path("n.npz"))
                 .at("a")
                 .at("b.c")
                 .item<int>()),
            1);
}

TEST_F(Files, LikeSaysWhatMustBeThere) {
  save_npz(path("l.npz"), Layer{ones({2, 2}), zeros({2})});
  const Layer like{placeholder({2, 2}, f32), placeholder({2}, f32)};
  EXPECT_EQ(load_npz(path("l.npz"), like).w.to_vector<float>()[0], 1);
  EXPECT_EQ(load_npz(path("l.npz"), Layer{}).b.shape(), Shape(f32, {2}));
  EXPECT_THAT(error_of([&] {
                (void)load_npz(path("l.npz"), Layer{like.w, placeholder({3}, f32)});
              }),
              HasSubstr("l.npz: b is f32[2]; it must be f32[3] as in the tree given; give a tree "
                        "of that shape [files_test"));
  EXPECT_THAT(error_of([&] {
                (void)load_npz(path("l.npz"), Layer{like.w, placeholder({2}, f64)});
              }),
              HasSubstr("b: npy: is f32[2]; it must have the dtype f64"));
  EXPECT_THAT(
      error_of([&] { (void)load_npz<std::vector<Tensor>>(path("l.npz")); }),
      HasSubstr("has the array 'w', for which the tree has no place; it has no arrays; load "
                "a tree that has a place for it, or all arrays as a map with "
                "load_npz(path) ["));
  EXPECT_THAT(error_of([&] { (void)load_npz<Model>(path("l.npz")); }),
              HasSubstr("has no array 'scale'; it has 'w', 'b'"));
  EXPECT_THAT(error_of([&] {
                (void)load_npz(path("l.npz"), std::map<std::string, Tensor>{{"w", Tensor()}});
              }),
              HasSubstr("has the array 'b', for which the tree has no place; it has 'w'"));
}

TEST_F(Files, SmallFloatsComeBackWithALike) {
  const std::vector<Tensor> x = {ones(3, f8e5m2), ones(3, bf16)};
  save_npz(path("s.npz"), x);
  EXPECT_EQ(load_npz(path("s.npz"), x)[0].to_literal(), x[0].to_literal());
  EXPECT_THAT(error_of([&] { (void)load_npz(path("s.npz")); }),
              HasSubstr("arr_0: npy: the elements are raw bytes ('V1')"));
}

TEST_F(Files, WhatCannotBeSavedLeavesTheFileAlone) {
  save_npy(path("x.npy"), scalar(1.0f));
  const Tensor p = placeholder({2}, f32);
  EXPECT_THAT(error_of([&] { save_npy(path("x.npy"), p); }), HasSubstr("save_npy: x is"));
  EXPECT_THAT(error_of([&] { save_npy(path("x.npy"), Tensor()); }),
              HasSubstr("save_npy: x has no value"));
  EXPECT_THAT(error_of([&] {
                save_npz(path("x.npy"), Layer{ones(2), p});
              }),
              HasSubstr("save_npz: x.b is"));
  EXPECT_THAT(error_of([&] {
                trace(
                    [&](Tensor t) {
                      save_npy(path("x.npy"), t);
                      return t;
                    },
                    ones(2));
              }),
              HasSubstr("save_npy: x is a traced f32[2]"));
  {
    TransferGuard guard(TransferGuard::Policy::kForbid);
    EXPECT_THAT(error_of([&] { save_npy(path("x.npy"), p.is_valid() ? ones(2) : p); }),
                ContainsRegex("asked for by save_npy, and a TransferGuard at .* forbids it"));
    EXPECT_THAT(error_of([&] { (void)load_npy(path("x.npy")); }),
                ContainsRegex("asked for by load_npy, and a TransferGuard at .* forbids it"));
  }
  EXPECT_EQ(load_npy(path("x.npy")).item<float>(), 1);
  using Nested = std::map<std::string, std::map<std::string, Tensor>>;
  using Twice = std::tuple<Nested>;
  const Twice same = {{{"a.b", {{"c", scalar(1)}}}, {"a", {{"b.c", scalar(2)}}}}};
  EXPECT_THAT(error_of([&] { save_npz(path("x.npz"), same); }),
              HasSubstr("has the name 'arr_0.a.b.c' in the file, as another has; rename a key"));
}

TEST_F(Files, PathsThatAreNoFilesAreErrors) {
  EXPECT_EQ(error_of([&] { (void)load_npy("no_such.npy"); }),
            base::cat("load_npy: no_such.npy: there is no such file ", here()));
  EXPECT_EQ(error_of([&] { save_npy("", scalar(1.0f)); }),
            base::cat("save_npy: the path is empty; give the file a name ", here()));
  EXPECT_THAT(error_of([&] { (void)load_npz(""); }), HasSubstr("load_npz: the path is empty"));
  EXPECT_THAT(error_of([&] { (void)load_npz(folder_); }), HasSubstr("is no regular file"));
  EXPECT_THAT(error_of([&] { save_npy("no_such_folder/x.npy", scalar(1.0f)); }),
              HasSubstr("no_such_folder/x.npy: cannot be written: No such file or directory"));
  EXPECT_THAT(error_of([&] { save_npz("no_such_folder/x.npz", scalar(1.0f)); }),
              HasSubstr("no_such_folder/x.npz: cannot be written: No such file or directory"));
  save_npz(path("x.npz"), scalar(1.0f));
  EXPECT_THAT(error_of([&] { (void)load_npy(path("x.npz")); }),
              HasSubstr("is a .npz archive; load it with load_npz"));
  save_npy(path("x.npy"), scalar(1.0f));
  EXPECT_THAT(error_of([&] { (void)load_npz(path("x.npy")); }),
              HasSubstr("is one array and no archive; read it with load_npy"));
  std::ofstream(path("empty.npy"));
  EXPECT_THAT(error_of([&] { (void)load_npy(path("empty.npy")); }), HasSubstr("does not begin"));
}

struct WithHeads {
  Tensor w;
  int heads = 8;
  static constexpr auto kFields =
      fields(field("w", &WithHeads::w), static_field("heads", &WithHeads::heads));
};

TEST_F(Files, HaveNoStaticFields) {
  save_npz(path("x.npz"), WithHeads{ones(2), 4});
  EXPECT_THAT(error_of([&] { (void)load_npz<WithHeads>(path("x.npz")); }),
              HasSubstr("load_npz: the tree's heads is a static field, which no file has; say what "
                        "it is with load_npz(path, like)"));
  const WithHeads back = load_npz(path("x.npz"), WithHeads{placeholder({2}, f32), 4});
  EXPECT_EQ(back.heads, 4);
  EXPECT_EQ(back.w.to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST_F(Files, NamesHaveNoControlCharacters) {
  const std::map<std::string, Tensor> tree{{"a\n\x1b[2J", scalar(1)}};
  EXPECT_THAT(error_of([&] { save_npz(path("x.npz"), tree); }),
              HasSubstr("the name of an array has control characters"));
}

TEST_F(Files, ANameOfManyPartsIsAnError) {
  std::string name;
  for (int i = 0; i < 3000; ++i) name += name.empty() ? "children[0]" : ".children[0]";
  save_npz(path("deep.npz"), std::map<std::string, Tensor>{{name + ".value", scalar(1)}});
  EXPECT_THAT(error_of([&] { (void)load_npz<Node>(path("deep.npz")); }),
              HasSubstr("a name in the file has more than 100 parts"));
}

TEST_F(Files, InATraceTheyAreConstants) {
  save_npy(path("x.npy"), array({1.0f, 2.0f}));
  const Program p = trace([&](Tensor t) { return t + load_npy(path("x.npy")); }, ones(2));
  EXPECT_THAT(p.hlo_text(), HasSubstr("constant({1, 2})"));
}

// Keys of maps of tensors may be anything; those of maps of trees would come back as others.
TEST_F(Files, KeysComeBackOrAreRefused) {
  const Tensor x = ones({2});
  using Flat = std::map<std::string, Tensor>;
  for (const char* key : {"", "a/b", "../x", "a[0]", "a.b", "a.npy", ".", "[", "\u00fc"}) {
    save_npz(path("keys.npz"), Flat{{key, x}, {"z", x}});
    const Flat back = load_npz<Flat>(path("keys.npz"));
    EXPECT_EQ(back.size(), 2u) << key;
    EXPECT_TRUE(back.contains(key)) << key;
  }
  using Trees = std::map<std::string, Flat>;
  for (const char* key : {"", "a/b", "/", "\u00fc"}) {
    save_npz(path("keys.npz"), Trees{{key, {{"w.1", x}}}});
    const Trees back = load_npz<Trees>(path("keys.npz"));
    ASSERT_TRUE(back.contains(key)) << key;
    EXPECT_TRUE(back.at(key).contains("w.1")) << key;
  }
  for (const std::string key : {"a.b", "a[0]", "..", "."}) {
    EXPECT_THAT(error_of([&] {
                  save_npz(path("keys.npz"), Trees{{key, {{"c", x}}}});
                }),
                HasSubstr("save_npz: x['" + key +
                          "'] has a key with a '.' or '[', which a file has "
                          "between the parts of a path; rename it"));
    EXPECT_THAT(error_of([&] {
                  save_safetensors(path("keys.st"), Trees{{key, {{"c", x}}}});
                }),
                HasSubstr("save_safetensors: x['" + key + "'] has a key with"));
  }
}

}  // namespace
}  // namespace heddle
