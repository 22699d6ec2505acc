// What is recorded of typical programs, as HLO text: as traced, with scans structured, and lowered.
// The trace is part of the interface: it is what users read, what other tools are handed, and what
// caches hang on. UPDATE_GOLDEN=1 writes the files anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/tests/golden/golden_file.h"

namespace heddle::golden {
namespace {

constexpr char kFolder[] = "tests/golden/trace";

Tensor vector(int64_t size, DType dtype = f32) { return placeholder({size}, dtype); }
Tensor matrix(int64_t rows, int64_t columns) { return placeholder({rows, columns}, f32); }

struct Moments {
  Tensor count;  // s32[]
  Tensor sum;    // f32[]
  static constexpr auto kFields =
      fields(field("count", &Moments::count), field("sum", &Moments::sum));
};

Program scan_with_a_struct_as_carry() {
  auto step = [](Moments m, Tensor x) {
    m.count = m.count + 1;
    m.sum = m.sum + x;
    return std::pair(m, m.sum / m.count.astype(f32));
  };
  return trace([&](Moments start, Tensor xs) { return scan(step, start, xs); },
               Moments{placeholder({}, s32), placeholder({}, f32)}, vector(8));
}

Program scan_in_reverse_without_outputs() {
  auto step = [](Tensor h, Tensor x) { return std::pair(tanh(h + x), None{}); };
  return trace([&](Tensor h, Tensor xs) { return scan(step, h, xs, {.reverse = true}).first; },
               vector(4), matrix(5, 4));
}

Program least_squares_by_qr() {
  return trace(
      [](Tensor a, Tensor b) {
        auto [q, r] = linalg::qr(a);
        return linalg::triangular_solve(r, matmul(transpose(q), b), {.left_side = true});
      },
      matrix(5, 2), vector(5));
}

Program scan_in_a_scan() {
  auto inner = [](Tensor sum, Tensor x) { return std::pair(sum + x, None{}); };
  auto outer = [&](Tensor sum, Tensor row) {
    sum = scan(inner, sum, row).first;
    return std::pair(sum, sum);
  };
  return trace([&](Tensor xs) { return scan(outer, zeros({}), xs).second; }, matrix(3, 4));
}

Program scan_with_captures() {
  return trace(
      [](Tensor xs, Tensor w) {
        Tensor twice = w * 2;
        auto step = [&](Tensor h, Tensor x) { return std::pair(h * twice + x, h); };
        return scan(step, zeros_like(w), xs);
      },
      matrix(6, 4), vector(4));
}

Program scan_unrolled_in_part() {
  auto step = [](Tensor c, Tensor x) { return std::pair(c * x, None{}); };
  return trace([&](Tensor xs) { return scan(step, ones({}), xs, {.unroll = 2}).first; }, vector(4));
}

Program map_over_rows() {
  return trace([](Tensor xs) { return map([](Tensor row) { return softmax(row); }, xs); },
               matrix(3, 4));
}

struct Layer {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &Layer::w), field("b", &Layer::b));
};

Program scan_layers_of_a_net() {
  auto layer = [](Layer l, Tensor h) { return tanh(matmul(h, l.w) + l.b); };
  return trace([&](Layer layers, Tensor x) { return scan_layers(layer, layers, x); },
               Layer{placeholder({3, 4, 4}, f32), matrix(3, 4)}, vector(4));
}

Program while_loop_of_newton() {
  return trace(
      [](Tensor a) {
        auto far = [&](Tensor x) { return abs(x * x - a) > 1e-6; };
        auto closer = [&](Tensor x) { return 0.5 * (x + a / x); };
        return while_loop(far, closer, a);
      },
      placeholder({}, f32));
}

Program fori_loop_of_powers() {
  return trace(
      [](Tensor x) {
        return fori_loop(
            0, 5, [&](Tensor, Tensor y) { return y * x; }, x);
      },
      vector(3));
}

Program cond_with_a_capture() {
  return trace(
      [](Tensor x, Tensor scale) {
        return cond(
            sum(x) > 0, [&](Tensor v) { return v * scale; }, [](Tensor v) { return -v; }, x);
      },
      vector(3), placeholder({}, f32));
}

Program switch_case_of_three() {
  auto branches = std::tuple([](Tensor x) { return x; }, [](Tensor x) { return x * x; },
                             [](Tensor x) { return exp(x); });
  return trace([&](Tensor which, Tensor x) { return switch_case(which, branches, x); },
               placeholder({}, s32), vector(3));
}

Program associative_scan_of_products() {
  return trace(
      [](Tensor xs) { return associative_scan([](Tensor a, Tensor b) { return a * b; }, xs); },
      vector(5));
}

Program einsum_of_attention() {
  return trace(
      [](Tensor q, Tensor k, Tensor v) {
        Tensor weights = softmax(einsum("qhd,khd->hqk", q, k), -1);
        return einsum("hqk,khd->qhd", weights, v);
      },
      placeholder({5, 2, 4}, f32), placeholder({7, 2, 4}, f32), placeholder({7, 2, 4}, f32));
}

Program softmax_over_the_last_axis() {
  return trace([](Tensor x) { return softmax(x); }, matrix(3, 4));
}

Program indexing_reads_and_writes() {
  return trace(
      [](Tensor x, Tensor i, Tensor rows) {
        Tensor part = x[{Slice{1, 4}, i}];
        Tensor taken = x[rows];
        return std::tuple(part, taken, x.at({rows}).add(1), x.at({0, 1}).set(5));
      },
      matrix(5, 3), placeholder({}, s32), vector(2, s32));
}

Program indexing_by_several_tensors() {
  return trace(
      [](Tensor x, Tensor rows, Tensor columns) {
        Tensor picked = x[{rows, Slice{}, columns}];
        return x.at({rows, Slice{}, columns}).add(picked * 2);
      },
      placeholder({4, 2, 5}, f32), vector(3, s32), vector(3, s32));
}

Program cumsum_in_reverse() {
  return trace([](Tensor x) { return cumsum(x, 1, true); }, matrix(2, 5));
}

Program mixed_types() {
  return trace(
      [](Tensor x, Tensor n) { return mean(x * n.astype(bf16)).astype(f32) + var(x.astype(f32)); },
      vector(4, bf16), placeholder({}, s32));
}

const std::map<std::string, Program (*)()>& programs() {
  static const auto* const kPrograms = new std::map<std::string, Program (*)()>{
      {"scan-with-a-struct-as-carry", scan_with_a_struct_as_carry},
      {"scan-in-reverse-without-outputs", scan_in_reverse_without_outputs},
      {"scan-in-a-scan", scan_in_a_scan},
      {"scan-with-captures", scan_with_captures},
      {"scan-unrolled-in-part", scan_unrolled_in_part},
      {"map-over-rows", map_over_rows},
      {"scan-layers-of-a-net", scan_layers_of_a_net},
      {"while-loop-of-newton", while_loop_of_newton},
      {"fori-loop-of-powers", fori_loop_of_powers},
      {"cond-with-a-capture", cond_with_a_capture},
      {"switch-case-of-three", switch_case_of_three},
      {"associative-scan-of-products", associative_scan_of_products},
      {"einsum-of-attention", einsum_of_attention},
      {"softmax-over-the-last-axis", softmax_over_the_last_axis},
      {"indexing-reads-and-writes", indexing_reads_and_writes},
      {"indexing-by-several-tensors", indexing_by_several_tensors},
      {"cumsum-in-reverse", cumsum_in_reverse},
      {"mixed-types", mixed_types},
      {"least-squares-by-qr", least_squares_by_qr},
  };
  return *kPrograms;
}

// The program as traced and the program lowered.
std::string written(const Program& program) {
  return base::cat("// traced\n", print_golden(program.module()), "// ----- lowered\n",
                   print_golden(program.lowered().module()));
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class GoldenTrace : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTrace, IsWhatTheProgramRecords) {
  const Program program = programs().at(GetParam())();
  const std::string path = base::cat(kFolder, "/", GetParam(), ".hlo");
  const std::string got = written(program);
  if (updating()) std::ofstream(path, std::ios::binary) << got;
  EXPECT_EQ(got, read_file(path)) << path << "; UPDATE_GOLDEN=1 writes the file anew";
  EXPECT_EQ(written(programs().at(GetParam())()), got) << "a second trace records something else";
  EXPECT_TRUE(hlo::verify(program.lowered().module(), hlo::Stage::kHlo).ok());
}

TEST(GoldenTraceFiles, AreOfProgramsThatThereAre) {
  for (const std::string& path : golden_paths(kFolder)) {
    EXPECT_TRUE(programs().contains(std::filesystem::path(path).stem().string())) << path;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, program] : programs()) out.push_back(name);
  return out;
}
std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(File, GoldenTrace, ::testing::ValuesIn(names()), name_of);

}  // namespace
}  // namespace heddle::golden
