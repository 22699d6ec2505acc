// Law: scan = unrolled = lowered while, for lengths 0, 1, 2, 5 and 7, forward and reverse, for
// every kind of carry, input and output, nested and not. The evaluator's own scan is what all forms
// are compared with.
#include <gtest/gtest.h>

#include <map>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/transform/pass.h"

namespace heddle {
namespace {

// Programs by name. $n is the length, $o the scan's options, $u its frontend attributes.
const std::map<std::string, std::string>& programs() {
  static const auto* const kPrograms = new std::map<std::string, std::string>{
      {"carry_and_output", R"(
f {
  x = f32[4] parameter(0)
  h = f32[4] parameter(1)
  m = f32[4] multiply(h, x)
  n = f32[4] add(m, x)
  y = f32[4] sine(n)
  ROOT t = (f32[4], f32[4]) tuple(y, n)
}
ENTRY main {
  xs = f32[$n,4] parameter(0)
  h = f32[4] parameter(1)
  ROOT s = (f32[$n,4], f32[4]) scan(xs, h), dimensions={0}, num_carries=1$o, to_apply=f$u
})"},
      {"what_needs_no_loop", R"(
f {
  x = f32[4] parameter(0)
  z = f32[] parameter(1)
  w = f32[4] parameter(2)
  h = f32[4] parameter(3)
  m = f32[4] multiply(w, x)
  n = f32[4] subtract(m, h)
  ROOT t = (f32[], f32[4], f32[4], f32[4], f32[4], f32[4]) tuple(z, n, w, n, w, n)
}
ENTRY main {
  xs = f32[$n,4] parameter(0)
  zs = f32[$n] parameter(1)
  w = f32[4] parameter(2)
  h = f32[4] parameter(3)
  ROOT s = (f32[$n], f32[$n,4], f32[$n,4], f32[$n,4], f32[4], f32[4]) scan(xs, zs, w, h), dimensions={0}, num_carries=2$o, to_apply=f$u
})"},
      {"swapped_carries", R"(
f {
  x = f32[] parameter(0)
  a = f32[] parameter(1)
  b = f32[] parameter(2)
  c = f32[] parameter(3)
  d = f32[] add(c, x)
  ROOT t = (f32[], f32[], f32[], f32[]) tuple(a, b, d, a)
}
ENTRY main {
  xs = f32[$n] parameter(0)
  a = f32[] parameter(1)
  b = f32[] parameter(2)
  c = f32[] parameter(3)
  ROOT s = (f32[$n], f32[], f32[], f32[]) scan(xs, a, b, c), dimensions={0}, num_carries=3$o, to_apply=f$u
})"},
      {"unused_parts", R"(
f {
  x = f32[3] parameter(0)
  unread = f32[2] parameter(1)
  h = f32[3] parameter(2)
  dead = f32[3] parameter(3)
  n = f32[3] subtract(x, h)
  d = f32[3] multiply(dead, n)
  ROOT t = (f32[3], f32[3], f32[3], f32[3]) tuple(d, n, n, d)
}
ENTRY main {
  xs = f32[$n,3] parameter(0)
  us = f32[$n,2] parameter(1)
  h = f32[3] parameter(2)
  s = (f32[$n,3], f32[$n,3], f32[3], f32[3]) scan(xs, us, h, h), dimensions={0}, num_carries=2$o, to_apply=f$u
  ys = f32[$n,3] get-tuple-element(s), index=1
  n = f32[3] get-tuple-element(s), index=2
  ROOT r = (f32[3], f32[$n,3]) tuple(n, ys)
})"},
      {"dtypes", R"(
f {
  p = pred[2] parameter(0)
  i = s32[] parameter(1)
  z = c64[] parameter(2)
  b = bf16[2] parameter(3)
  q = pred[2] xor(p, p)
  r = pred[2] not(q)
  j = s32[] multiply(i, i)
  w = c64[] multiply(z, z)
  c = bf16[2] convert(p)
  d = bf16[2] add(b, c)
  ROOT t = (pred[2], bf16[2], s32[], c64[], bf16[2]) tuple(r, d, j, w, d)
}
ENTRY main {
  ps = pred[$n,2] parameter(0)
  i = s32[] parameter(1)
  z = c64[] parameter(2)
  b = bf16[2] parameter(3)
  ROOT s = (pred[$n,2], bf16[$n,2], s32[], c64[], bf16[2]) scan(ps, i, z, b), dimensions={0}, num_carries=3$o, to_apply=f$u
})"},
      {"inner_dimension", R"(
f {
  x = f32[2,3] parameter(0)
  h = f32[3] parameter(1)
  k = f32[2,3] broadcast(h), dimensions={1}
  y = f32[2,3] subtract(k, x)
  row = f32[1,3] slice(y), slice={[0:1], [0:3]}
  n = f32[3] reshape(row)
  ROOT t = (f32[2,3], f32[3], f32[3]) tuple(y, n, n)
}
ENTRY main {
  xs = f32[2,$n,3] parameter(0)
  h = f32[3] parameter(1)
  ROOT s = (f32[2,$n,3], f32[3,$n], f32[3]) scan(xs, h), dimensions={1}, num_carries=1$o, to_apply=f$u
})"},
      {"counter_only", R"(
f {
  i = s32[] parameter(0)
  h = f32[] parameter(1)
  n = f32[] cosine(h)
  ROOT t = (s32[], f32[]) tuple(i, n)
}
ENTRY main {
  is = s32[$n] iota(), iota_dimension=0
  h = f32[] parameter(0)
  ROOT s = (s32[$n], f32[]) scan(is, h), dimensions={0}, num_carries=1$o, to_apply=f$u
})"},
      {"bare_output", R"(
f {
  x = f32[4] parameter(0)
  ROOT y = f32[4] negate(x)
}
ENTRY main {
  xs = f32[$n,4] parameter(0)
  ROOT s = f32[$n,4] scan(xs), dimensions={0}, num_carries=0$o, to_apply=f$u
})"},
      {"bare_carry", R"(
f {
  x = f32[4] parameter(0)
  h = f32[4] parameter(1)
  ROOT n = f32[4] subtract(x, h)
}
ENTRY main {
  xs = f32[$n,4] parameter(0)
  h = f32[4] parameter(1)
  ROOT s = f32[4] scan(xs, h), dimensions={0}, num_carries=1$o, to_apply=f$u
})"},
      {"three_deep", R"(
innermost {
  x = f32[] parameter(0)
  w = f32[] parameter(1)
  h = f32[] parameter(2)
  m = f32[] multiply(w, x)
  n = f32[] subtract(m, h)
  ROOT t = (f32[], f32[], f32[]) tuple(n, w, n)
}
middle {
  xs = f32[3] parameter(0)
  w = f32[] parameter(1)
  h = f32[] parameter(2)
  s = (f32[3], f32[], f32[]) scan(xs, w, h), dimensions={0}, num_carries=2, to_apply=innermost
  ys = f32[3] get-tuple-element(s), index=0
  n = f32[] get-tuple-element(s), index=2
  ROOT t = (f32[3], f32[], f32[]) tuple(ys, w, n)
}
outer {
  xs = f32[2,3] parameter(0)
  w = f32[] parameter(1)
  h = f32[] parameter(2)
  s = (f32[2,3], f32[], f32[]) scan(xs, w, h), dimensions={0}, num_carries=2, is_reverse=true, to_apply=middle
  ys = f32[2,3] get-tuple-element(s), index=0
  v = f32[] get-tuple-element(s), index=1
  n = f32[] get-tuple-element(s), index=2
  ROOT t = (f32[2,3], f32[], f32[]) tuple(ys, v, n)
}
ENTRY main {
  xs = f32[$n,2,3] parameter(0)
  w = f32[] parameter(1)
  h = f32[] parameter(2)
  ROOT s = (f32[$n,2,3], f32[], f32[]) scan(xs, w, h), dimensions={0}, num_carries=2$o, to_apply=outer$u
})"},
      {"two_scans_of_one_body", R"(
f {
  x = f32[] parameter(0)
  h = f32[] parameter(1)
  dead = f32[] parameter(2)
  n = f32[] subtract(x, h)
  d = f32[] sine(dead)
  ROOT t = (f32[], f32[], f32[]) tuple(n, n, d)
}
ENTRY main {
  xs = f32[$n] parameter(0)
  us = f32[3] parameter(1)
  h = f32[] parameter(2)
  a = (f32[$n], f32[], f32[]) scan(xs, h, h), dimensions={0}, num_carries=2$o, to_apply=f$u
  n = f32[] get-tuple-element(a), index=1
  ys = f32[$n] get-tuple-element(a), index=0
  b = (f32[3], f32[], f32[]) scan(us, n, h), dimensions={0}, num_carries=2, to_apply=f
  m = f32[] get-tuple-element(b), index=2
  ROOT r = (f32[$n], f32[], f32[]) tuple(ys, n, m)
})"},
  };
  return *kPrograms;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

hlo::Module program(const std::string& name, int64_t length, bool reverse,
                    const std::string& unroll) {
  std::string text = programs().at(name);
  replace_all(text, "$n", base::cat(length));
  replace_all(text, "$o", reverse ? ", is_reverse=true" : "");
  replace_all(
      text, "$u",
      unroll.empty() ? "" : base::cat(", frontend_attributes={heddle.unroll=\"", unroll, "\"}"));
  auto module = hlo::parse_text(text);
  if (!module.ok()) ADD_FAILURE() << module.status() << "\n" << text;
  return *std::move(module);
}

// Values on which the bodies round and that differ from step to step, converted to the parameter's
// type.
Literal ramp(const Shape& shape, double offset) {
  Literal numbers = Literal::uninitialised(shape.with_dtype(f64));
  for (int64_t i = 0; i < numbers.element_count(); ++i) {
    bool whole = is_integer(shape.dtype()) || shape.dtype() == pred;
    double value =
        whole ? static_cast<double>((i * 7 + 2) % 3) : 0.1 * static_cast<double>((i * 7 + 3) % 11);
    numbers.mutable_values<double>()[static_cast<size_t>(i)] = value + offset;
  }
  hlo::Module module;
  hlo::ComputationBuilder to(module);
  auto converted = to.add(hlo::Opcode::kConvert, {to.constant(std::move(numbers))}, {}, {}, &shape);
  module.entry = module.add(std::move(to).finish(*converted));
  return *interpreter::evaluate(module, {});
}

std::vector<Literal> arguments_of(const hlo::Module& module) {
  std::vector<Literal> arguments;
  const hlo::Computation& entry = module.entry_computation();
  for (size_t p = 0; p < entry.parameter_count(); ++p) {
    arguments.push_back(ramp(entry.parameter_shape(p), static_cast<double>(p)));
  }
  return arguments;
}

class ScanLowering
    : public ::testing::TestWithParam<std::tuple<std::string, int64_t, bool, std::string>> {};

TEST_P(ScanLowering, GivesTheScansBits) {
  const auto& [name, length, reverse, unroll] = GetParam();
  hlo::Module scan = program(name, length, reverse, unroll);
  std::vector<Literal> arguments = arguments_of(scan);
  auto want = interpreter::evaluate(scan, arguments);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const char* passes : {"lower-scan", "lower-scan,inline", "lower", "flatten"}) {
    auto pipeline = transform::parse_pipeline(passes);
    auto lowered = transform::run_pipeline(scan, *pipeline, {.verify_each = true});
    ASSERT_TRUE(lowered.ok()) << passes << ": " << lowered.status();
    auto got = interpreter::evaluate(*lowered, arguments);
    ASSERT_TRUE(got.ok()) << passes << ": " << got.status();
    EXPECT_TRUE(*got == *want) << passes << " gives " << hlo::print_literal(*got) << ", scan "
                               << hlo::print_literal(*want) << "\n"
                               << hlo::print(*lowered);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, text] : programs()) out.push_back(name);
  return out;
}
std::string name_of(const ::testing::TestParamInfo<ScanLowering::ParamType>& info) {
  const auto& [name, length, reverse, unroll] = info.param;
  return base::cat(name, "_", length, reverse ? "_reverse" : "_forward",
                   unroll.empty() ? "" : "_unroll_", unroll);
}
INSTANTIATE_TEST_SUITE_P(Programs, ScanLowering,
                         ::testing::Combine(::testing::ValuesIn(names()),
                                            ::testing::Values(0, 1, 2, 5, 7), ::testing::Bool(),
                                            ::testing::Values("", "2", "3", "0")),
                         name_of);

}  // namespace
}  // namespace heddle
