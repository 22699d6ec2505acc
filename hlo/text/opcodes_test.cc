// Every opcode with every attribute: the line comes back as it was, in a module that parses back
// equal.
#include <algorithm>
#include <set>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

// An instruction in XLA's long form, without `ROOT %r = `, and the types of its operands %p0, %p1,
// ..
struct Sample {
  std::string_view line;
  std::vector<std::string_view> operands;
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.line; }

constexpr std::string_view kComputations = R"(HloModule samples

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %r = f32[] add(%a, %b)
}

%first (a: f32[], b: f32[]) -> pred[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %r = pred[] compare(%a, %b), direction=GE
}

%step (a: f32[3], b: f32[3]) -> (f32[3], f32[3]) {
  %a = f32[3]{0} parameter(0)
  %b = f32[3]{0} parameter(1)
  %s = f32[3]{0} add(%a, %b)
  ROOT %r = (f32[3]{0}, f32[3]{0}) tuple(%s, %s)
}

%same (a: f32[4]) -> f32[4] {
  ROOT %a = f32[4]{0} parameter(0)
}

%again (a: f32[4]) -> pred[] {
  %a = f32[4]{0} parameter(0)
  ROOT %r = pred[] constant(false)
}

)";

std::string module_of(const Sample& sample) {
  std::string text(kComputations);
  text.append("ENTRY %main {\n");
  for (size_t i = 0; i < sample.operands.size(); ++i) {
    base::append(text, "  %p", i, " = ", sample.operands[i], " parameter(", i, ")\n");
  }
  base::append(text, "  ROOT %r = ", sample.line, "\n}\n");
  return text;
}

const Sample kSamples[] = {
    {"f32[4]{0} abs(%p0)", {"f32[4]"}},
    {"f32[4]{0} acos(%p0)", {"f32[4]"}},
    {"f32[4]{0} acosh(%p0)", {"f32[4]"}},
    {"f32[4]{0} asin(%p0)", {"f32[4]"}},
    {"f32[4]{0} asinh(%p0)", {"f32[4]"}},
    {"f32[4]{0} atan(%p0)", {"f32[4]"}},
    {"f32[4]{0} atanh(%p0)", {"f32[4]"}},
    {"f32[4]{0} cbrt(%p0)", {"f32[4]"}},
    {"f32[4]{0} ceil(%p0)", {"f32[4]"}},
    {"s32[4]{0} count-leading-zeros(%p0)", {"s32[4]"}},
    {"f32[4]{0} cosine(%p0)", {"f32[4]"}},
    {"f32[4]{0} cosh(%p0)", {"f32[4]"}},
    {"f32[4]{0} erf(%p0)", {"f32[4]"}},
    {"f32[4]{0} exponential(%p0), result_accuracy={tolerance={atol=0,rtol=1,ulps=2}}", {"f32[4]"}},
    {"f32[4]{0} exponential-minus-one(%p0), result_accuracy={mode=highest}", {"f32[4]"}},
    {"f32[4]{0} floor(%p0)", {"f32[4]"}},
    {"f32[4]{0} imag(%p0)", {"c64[4]"}},
    {"pred[4]{0} is-finite(%p0)", {"f32[4]"}},
    {"f32[4]{0} log(%p0)", {"f32[4]"}},
    {"f32[4]{0} log-plus-one(%p0)", {"f32[4]"}},
    {"f32[4]{0} logistic(%p0)", {"f32[4]"}},
    {"f32[4]{0} negate(%p0)", {"f32[4]"}},
    {"pred[4]{0} not(%p0)", {"pred[4]"}},
    {"u8[4]{0} popcnt(%p0)", {"u8[4]"}},
    {"f64[4]{0} real(%p0)", {"c128[4]"}},
    {"f32[4]{0} round-nearest-afz(%p0)", {"f32[4]"}},
    {"f32[4]{0} round-nearest-even(%p0)", {"f32[4]"}},
    {"f32[4]{0} rsqrt(%p0)", {"f32[4]"}},
    {"f32[4]{0} sign(%p0)", {"f32[4]"}},
    {"f32[4]{0} sine(%p0)", {"f32[4]"}},
    {"f32[4]{0} sinh(%p0)", {"f32[4]"}},
    {"f32[4]{0} sqrt(%p0)", {"f32[4]"}},
    {"f32[4]{0} tan(%p0)", {"f32[4]"}},
    {"f32[4]{0} tanh(%p0)", {"f32[4]"}},
    {"bf16[4]{0} convert(%p0)", {"f32[4]"}},
    {"f32[4]{0} reduce-precision(%p0), exponent_bits=5, mantissa_bits=10", {"f32[4]"}},
    {"f32[2,3]{0,1} copy(%p0)", {"f32[2,3]"}},

    {"f32[4]{0} add(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"s32[4]{0} and(%p0, %p1)", {"s32[4]", "s32[4]"}},
    {"f32[4]{0} atan2(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"c64[4]{0} complex(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"f32[4]{0} divide(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"f32[4]{0} maximum(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"f32[4]{0} minimum(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"u32[4]{0} mulhi(%p0, %p1)", {"u32[4]", "u32[4]"}},
    {"f32[4]{0} multiply(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"s32[4]{0} or(%p0, %p1)", {"s32[4]", "s32[4]"}},
    {"f32[4]{0} power(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"f32[4]{0} remainder(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"s32[4]{0} shift-left(%p0, %p1)", {"s32[4]", "s32[4]"}},
    {"s32[4]{0} shift-right-arithmetic(%p0, %p1)", {"s32[4]", "s32[4]"}},
    {"s32[4]{0} shift-right-logical(%p0, %p1)", {"s32[4]", "s32[4]"}},
    {"f32[4]{0} subtract(%p0, %p1)", {"f32[4]", "f32[4]"}},
    {"s32[4]{0} xor(%p0, %p1)", {"s32[4]", "s32[4]"}},
    {"pred[4]{0} compare(%p0, %p1), direction=LT, type=TOTALORDER", {"f32[4]", "f32[4]"}},
    {"pred[4]{0} compare(%p0, %p1), direction=NE", {"u8[4]", "u8[4]"}},
    {"bf16[4]{0} stochastic-convert(%p0, %p1)", {"f32[4]", "u32[4]"}},
    {"f32[4]{0} clamp(%p0, %p1, %p2)", {"f32[]", "f32[4]", "f32[]"}},
    {"f32[4]{0} select(%p0, %p1, %p2)", {"pred[4]", "f32[4]", "f32[4]"}},

    {"f32[4]{0} parameter(0), parameter_replication={true}", {}},
    {"f32[2,2]{1,0} constant({ { 1, 2 }, { 3, 4.5 } })", {}},
    {"s32[2,3]{1,0} iota(), iota_dimension=1", {}},
    {"u32[] partition-id()", {}},
    {"u32[] replica-id()", {}},

    {"s32[4]{0} bitcast(%p0)", {"s32[2,2]"}},
    {"s32[4]{0} bitcast-convert(%p0)", {"f32[4]"}},
    {"f32[2,4]{1,0} broadcast(%p0), dimensions={1}", {"f32[4]"}},
    {"f32[2]{0} broadcast(%p0), dimensions={}", {"f32[]"}},
    {"f32[2,2]{1,0} reshape(%p0)", {"f32[4]"}},
    {"f32[2,2]{1,0} reshape(%p0), inferred_dimension=0", {"f32[4]"}},
    {"f32[<=4]{0} dynamic-reshape(%p0, %p1)", {"f32[4]", "s32[]"}},
    {"f32[3,2]{1,0} transpose(%p0), dimensions={1,0}", {"f32[2,3]"}},
    {"f32[2,3]{1,0} reverse(%p0), dimensions={0,1}", {"f32[2,3]"}},
    {"f32[6]{0} concatenate(%p0, %p1), dimensions={0}", {"f32[2]", "f32[4]"}},
    {"f32[2,2]{1,0} slice(%p0), slice={[0:2:1], [1:4:2]}", {"f32[2,4]"}},
    {"f32[1]{0} slice(%p0), slice={[3:4]}", {"f32[4]"}},
    {"f32[1,2]{1,0} dynamic-slice(%p0, %p1, %p2), dynamic_slice_sizes={1,2}",
     {"f32[3,3]", "s32[]", "s32[]"}},
    {"f32[4]{0} dynamic-update-slice(%p0, %p1, %p2)", {"f32[4]", "f32[2]", "s32[]"}},
    {"f32[5,3]{1,0} pad(%p0, %p1), padding=1_1_1x-1_2_0", {"f32[2,2]", "f32[]"}},
    {"f32[] pad(%p0, %p1), padding=", {"f32[]", "f32[]"}},
    {"f32[3,2]{1,0} gather(%p0, %p1), offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,2}, indices_are_sorted=true",
     {"f32[4,2]", "s32[3]"}},
    {"f32[3,2]{1,0} gather(%p0, %p1), offset_dims={1}, collapsed_slice_dims={}, "
     "start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, "
     "slice_sizes={1,2}",
     {"f32[3,4]", "s32[3,1]"}},
    {"f32[4,2]{1,0} scatter(%p0, %p1, %p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, indices_are_sorted=true, "
     "unique_indices=true, to_apply=%sum",
     {"f32[4,2]", "s32[3]", "f32[3,2]"}},
    {"f32[3,4]{1,0} scatter(%p0, %p1, %p2), update_window_dims={1}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={0}, index_vector_dim=1, "
     "to_apply=%sum",
     {"f32[3,4]", "s32[3,1]", "f32[3,2]"}},
    {"f32[4]{0} sort(%p0), dimensions={0}, is_stable=true, to_apply=%first", {"f32[4]"}},
    {"(f32[2]{0}, s32[2]{0}) topk(%p0), k=2, largest=false", {"f32[4]"}},
    {"s32[] get-dimension-size(%p0), dimensions={1}", {"f32[2,3]"}},
    {"f32[2,<=3]{1,0} set-dimension-size(%p0, %p1), dimensions={1}", {"f32[2,3]", "s32[]"}},

    {"f32[3]{0} reduce(%p0, %p1), dimensions={0}, to_apply=%sum", {"f32[2,3]", "f32[]"}},
    {"f32[3,3]{1,0} reduce-window(%p0, %p1), window={size=2x3 stride=1x2 pad=0_0x1_1 "
     "lhs_dilate=1x2 rhs_dilate=1x2}, to_apply=%sum",
     {"f32[4,4]", "f32[]"}},
    {"f32[] reduce-window(%p0, %p1), to_apply=%sum", {"f32[]", "f32[]"}},
    {"f32[4]{0} select-and-scatter(%p0, %p1, %p2), window={size=2 stride=2}, select=%first, "
     "scatter=%sum",
     {"f32[4]", "f32[2]", "f32[]"}},
    {"f32[4]{0} map(%p0, %p1), dimensions={0}, to_apply=%sum", {"f32[4]", "f32[4]"}},
    {"f32[5,2,4]{2,1,0} dot(%p0, %p1), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_batch_dims={0}, "
     "rhs_contracting_dims={1}, operand_precision={high,highest}, algorithm=dot_bf16_bf16_f32_x3",
     {"f32[5,2,3]", "f32[5,3,4]"}},
    {"f32[2,4]{1,0} dot(%p0, %p1), lhs_contracting_dims={}, rhs_contracting_dims={}",
     {"f32[2]", "f32[4]"}},
    {"f32[4,2]{1,0} ragged-dot(%p0, %p1, %p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, "
     "rhs_group_dims={0}",
     {"f32[4,3]", "f32[2,3,2]", "s32[2]"}},
    {"f32[2,4]{1,0} scaled-dot(%p0, %p1, %p2, %p3), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}",
     {"f8e4m3fn[2,32]", "f8e4m3fn[32,4]", "f8e8m0fnu[2,1]", "f8e8m0fnu[1,4]"}},
    {"f32[1,3,4,2]{3,2,1,0} convolution(%p0, %p1), window={size=3x3 stride=2x2 pad=-1_2x1_2 "
     "lhs_dilate=2x2 "
     "rhs_reversal=1x0}, dim_labels=b01f_01io->b01f, feature_group_count=2, "
     "operand_precision={default,high}",
     {"f32[1,4,4,4]", "f32[3,3,2,2]"}},
    {"f32[2,3]{1,0} convolution(%p0, %p1), dim_labels=bf_io->bf, convolution_kind=wgrad",
     {"f32[2,4]", "f32[4,3]"}},
    {"c64[8]{0} fft(%p0), fft_type=IFFT, fft_length={8}", {"c64[8]"}},
    {"f32[3,2]{1,0} triangular-solve(%p0, %p1), left_side=true, lower=true, unit_diagonal=true, "
     "transpose_a=ADJOINT",
     {"f32[3,3]", "f32[3,2]"}},
    {"f32[3,3]{1,0} cholesky(%p0), lower=true", {"f32[3,3]"}},
    {"(f32[2,3]{1,0}, f32[3]{0}, f32[3]{0}) batch-norm-training(%p0, %p1, %p2), epsilon=0.001, "
     "feature_index=1",
     {"f32[2,3]", "f32[3]", "f32[3]"}},
    {"f32[2,3]{1,0} batch-norm-inference(%p0, %p1, %p2, %p3, %p4), epsilon=1.00000012, "
     "feature_index=1",
     {"f32[2,3]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"}},
    {"(f32[2,3]{1,0}, f32[3]{0}, f32[3]{0}) batch-norm-grad(%p0, %p1, %p2, %p3, %p4), epsilon=0, "
     "feature_index=1",
     {"f32[2,3]", "f32[3]", "f32[3]", "f32[3]", "f32[2,3]"}},

    {"f32[4]{0} rng(%p0, %p1), distribution=rng_uniform", {"f32[]", "f32[]"}},
    {"(u64[2]{0}, u32[4]{0}) rng-bit-generator(%p0), algorithm=rng_default", {"u64[2]"}},
    {"(u64[2]{0}, u32[4]{0}) rng-bit-generator(%p0), algorithm=rng_three_fry", {"u64[2]"}},
    {"u64[2]{0} rng-get-and-update-state(), delta=4096", {}},

    {"(f32[4]{0}, (s32[]), ()) tuple(%p0, %p1, %p2)", {"f32[4]", "(s32[])", "()"}},
    {"(s32[], s32[], s32[], s32[], s32[], /*index=5*/s32[]) tuple(%p0, %p0, %p0, %p0, %p0, "
     "/*index=5*/%p0)",
     {"s32[]"}},
    {"s32[] get-tuple-element(%p0), index=1", {"(f32[4], s32[])"}},
    {"(f32[4]{0}, s32[]) opt-barrier(%p0)", {"(f32[4], s32[])"}},
    {"token[] after-all(%p0, %p1)", {"token[]", "token[]"}},
    {"f32[4]{0} add-dependency(%p0, %p1)", {"f32[4]", "token[]"}},

    {"f32[4]{0} call(%p0), to_apply=%same, is_composite=true, "
     "frontend_attributes={composite.name=\"my.op\"}",
     {"f32[4]"}},
    {"f32[4]{0} while(%p0), condition=%again, body=%same, "
     "backend_config={\"known_trip_count\":{\"n\":\"5\"}}",
     {"f32[4]"}},
    {"f32[4]{0} conditional(%p0, %p1, %p2), true_computation=%same, false_computation=%same",
     {"pred[]", "f32[4]", "f32[4]"}},
    {"f32[4]{0} conditional(%p0, %p1, %p1, %p1), branch_computations={%same, %same, %same}",
     {"s32[]", "f32[4]"}},
    {"(f32[2,3]{1,0}, f32[3]{0}) scan(%p0, %p1), dimensions={0}, num_carries=1, is_reverse=true, "
     "is_associative=true, to_apply=%step",
     {"f32[2,3]", "f32[3]"}},
    {"f32[4]{0} fusion(%p0), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=%same",
     {"f32[4]"}},
    {"(f32[4]{0}, f32[]) custom-call(%p0, %p1), window={size=2}, dim_labels=b0f_0io->b0f, "
     "feature_group_count=2, "
     "batch_group_count=3, operand_precision={high,high}, padding_type=PADDING_SAME, "
     "custom_call_target=\"f\\n\\\"g\\\"\", "
     "operand_layout_constraints={f32[4]{0}, f32[]}, custom_call_has_side_effect=true, "
     "literal=s32[2]{0} {1, -2}, "
     "output_to_operand_aliasing={{0}: (0, {}), {1}: (1, {})}, schedule=SCHEDULE_EARLIEST, "
     "api_version=API_VERSION_TYPED_FFI, "
     "called_computations={%sum, %first}, backend_config=\"opaque {\"",
     {"f32[4]", "f32[]"}},
    {"f32[4]{0} custom-call(), custom_call_target=\"g\", operand_layout_constraints={}", {}},

    {"f32[4]{0} all-reduce(%p0), channel_id=1, replica_groups={{0,1},{2,3}}, "
     "constrain_layout=true, use_global_device_ids=true, "
     "to_apply=%sum",
     {"f32[4]"}},
    {"f32[4]{0} all-reduce-start(%p0), replica_groups={}, to_apply=%sum", {"f32[4]"}},
    {"f32[4]{0} all-reduce-done(%p0)", {"f32[4]"}},
    {"f32[2]{0} reduce-scatter(%p0), replica_groups={{0,1}}, dimensions={0}, to_apply=%sum",
     {"f32[4]"}},
    {"f32[8]{0} all-gather(%p0), channel_id=3, replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}",
     {"f32[4]"}},
    {"(f32[4]{0}, f32[8]{0}) all-gather-start(%p0), replica_groups=[1,2]<=[2], dimensions={0}",
     {"f32[4]"}},
    {"f32[8]{0} all-gather-done(%p0)", {"(f32[4], f32[8])"}},
    {"f32[4]{0} all-to-all(%p0), replica_groups={{0,1}}, dimensions={0}", {"f32[4]"}},
    {"f32[4]{0} ragged-all-to-all(%p0, %p1, %p2, %p2, %p2, /*index=5*/%p2), replica_groups={{0,1}}",
     {"f32[4]", "f32[4]", "s32[2]"}},
    {"f32[4]{0} collective-broadcast(%p0), replica_groups={{0,1}}", {"f32[4]"}},
    {"f32[4]{0} collective-reduce(%p0), replica_groups=mesh['a'=2,'b'=2] {'a'}, to_apply=%sum",
     {"f32[4]"}},
    {"f32[4]{0} collective-permute(%p0), channel_id=2, source_target_pairs={{0,1},{1,0}}",
     {"f32[4]"}},
    {"(f32[4]{0}, f32[4]{0}, u32[], u32[]) collective-permute-start(%p0), "
     "source_target_pairs={{0,1}}, slice_sizes={{4}}",
     {"f32[4]"}},
    {"f32[4]{0} collective-permute-done(%p0)", {"(f32[4], f32[4], u32[], u32[])"}},
    {"(f32[4]{0}, u32[], token[]) send(%p0, %p1), channel_id=7, is_host_transfer=true",
     {"f32[4]", "token[]"}},
    {"token[] send-done(%p0), channel_id=7", {"(f32[4], u32[], token[])"}},
    {"(f32[4]{0}, u32[], token[]) recv(%p0), channel_id=7", {"token[]"}},
    {"(f32[4]{0}, token[]) recv-done(%p0), channel_id=7", {"(f32[4], u32[], token[])"}},
    {"(f32[4]{0}, token[]) infeed(%p0), infeed_config=\"from \\303\\251\"", {"token[]"}},
    {"token[] outfeed(%p0, %p1), outfeed_shape=f32[4]{0}, outfeed_config=\"to\"",
     {"f32[4]", "token[]"}},
    {"((f32[4]{0}), f32[4]{0}, u32[]) async-start(%p0), async_execution_thread=\"worker\", "
     "calls=%same",
     {"f32[4]"}},
    {"((f32[4]{0}), f32[4]{0}, u32[]) async-update(%p0)", {"((f32[4]), f32[4], u32[])"}},
    {"f32[4]{0} async-done(%p0), calls=%same", {"((f32[4]), f32[4], u32[])"}},
    {"(f32[4]{0}, f32[4]{0}, u32[]) copy-start(%p0), cross_program_prefetch_index=0", {"f32[4]"}},
    {"f32[4]{0} copy-done(%p0)", {"(f32[4], f32[4], u32[])"}},
    {"f32[4]{0} domain(%p0), domain={kind=\"sharding\", entry={replicated}, exit={manual}}",
     {"f32[4]"}},
    {"f32[4]{0} shuffle(%p0), dimensions={0}", {"f32[4]"}},
};

class EveryOpcodeInText : public ::testing::TestWithParam<Sample> {};

TEST_P(EveryOpcodeInText, PrintsAsXlaDoes) {
  auto module = parse_text(module_of(GetParam()));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(print(*module), HasSubstr(base::cat("  ROOT %r = ", GetParam().line, "\n")));
}

TEST_P(EveryOpcodeInText, ParsesBackInEveryForm) {
  auto module = parse_text(module_of(GetParam()));
  ASSERT_TRUE(module.ok()) << module.status();
  using Form = PrintOptions::Form;
  for (Form form : {Form::kLong, Form::kShort, Form::kCanonical}) {
    auto again = parse_text(print(*module, {.form = form, .operand_types = form == Form::kLong}));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(equal(*module, *again)) << print(*again);
    EXPECT_EQ(hash_of(*module), hash_of(*again));
  }
}

std::string name_of(const ::testing::TestParamInfo<Sample>& info) {
  std::string name = "sample";
  std::string_view line = info.param.line;
  for (size_t space = line.find(' '); space != std::string_view::npos;
       space = line.find(' ', space + 1)) {
    std::string_view word = line.substr(space + 1);
    if (parse_opcode(word.substr(0, word.find('(')))) name = word.substr(0, word.find('('));
  }
  std::ranges::replace(name, '-', '_');
  return base::cat(name, "_", info.index);
}

INSTANTIATE_TEST_SUITE_P(HloText, EveryOpcodeInText, ::testing::ValuesIn(kSamples), name_of);

TEST(EveryOpcodeInText, HasASample) {
  std::set<Opcode> missing;
  for (int i = 0; i < kOpcodeCount; ++i) missing.insert(static_cast<Opcode>(i));
  for (const Sample& sample : kSamples) {
    auto module = parse_text(module_of(sample));
    ASSERT_TRUE(module.ok()) << module.status();
    missing.erase(module->entry_computation().root_instruction().opcode);
  }
  for (Opcode opcode : missing) ADD_FAILURE() << to_string(opcode);
}

}  // namespace
}  // namespace heddle::hlo
