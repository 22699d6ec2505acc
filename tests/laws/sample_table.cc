// The table of samples. Lines are HLO: op(operand types) -> result type, attributes.
#include "heddle/tests/laws/samples.h"

namespace heddle::laws {
namespace {

using hlo::Opcode;

constexpr Row kRows[] = {
    // Elementwise.
    {"float complex",
     "acos|acosh|asin|asinh|atan|atanh|cbrt|cosine|cosh|exponential|exponential-minus-one|log|log-"
     "plus-one|logistic|rsqrt|sine|"
     "sinh|sqrt|tan|tanh($t[$d]) -> $t[$d]"},
    {"float", "ceil|erf|floor|round-nearest-afz|round-nearest-even($t[$d]) -> $t[$d]"},
    {"float", "is-finite($t[$d]) -> pred[$d]"},
    {"float complex", "real|imag($t[$d]) -> $p[$d]"},
    {"signed float complex", "abs($t[$d]) -> $p[$d]"},
    {"signed float complex", "sign($t[$d]) -> $t[$d]"},
    {"int float complex", "negate($t[$d]) -> $t[$d]"},
    {"pred int", "not($t[$d]) -> $t[$d]"},
    {"int", "popcnt|count-leading-zeros($t[$d]) -> $t[$d]"},
    {"all", "copy($t[$d]) -> $t[$d]"},
    {"", "copy((f32[2], (s32[], pred[0]))) -> (f32[2], (s32[], pred[0]))"},
    {"all", "convert($t[30]) -> $s[30]"},
    {"float", "reduce-precision($t[$d]) -> $t[$d], exponent_bits=4, mantissa_bits=3"},
    {"float", "reduce-precision($t[30]) -> $t[30], exponent_bits=11, mantissa_bits=52"},
    {"float", "reduce-precision($t[30]) -> $t[30], exponent_bits=1, mantissa_bits=0"},
    {"float", "stochastic-convert($t[$d], $u[$d]) -> s32[$d]"},
    {"all", "add|multiply|maximum|minimum($t[$d], $t[$d]) -> $t[$d]"},
    {"int float complex", "subtract|divide|power($t[$d], $t[$d]) -> $t[$d]"},
    {"int float", "remainder($t[$d], $t[$d]) -> $t[$d]"},
    {"float complex", "atan2($t[$d], $t[$d]) -> $t[$d]"},
    {"int",
     "mulhi|shift-left|shift-right-arithmetic|shift-right-logical($t[$d], $t[$d]) -> $t[$d]"},
    {"int",
     "shift-left|shift-right-arithmetic|shift-right-logical($t[30], $t[30]~small) -> $t[30]"},
    {"int float complex", "power($t[30], $t[30]~small) -> $t[30]"},
    {"pred int", "and|or|xor($t[$d], $t[$d]) -> $t[$d]"},
    {"f32 f64", "complex($t[$d], $t[$d]) -> $c[$d]"},
    {"all", "compare($t[$d], $t[$d]) -> pred[$d], direction=EQ"},
    {"all", "compare($t[$d], $t[$d]) -> pred[$d], direction=NE"},
    {"pred int float", "compare($t[$d], $t[$d]) -> pred[$d], direction=LT"},
    {"pred int float", "compare($t[$d], $t[$d]) -> pred[$d], direction=LE"},
    {"pred int float", "compare($t[$d], $t[$d]) -> pred[$d], direction=GT"},
    {"pred int float", "compare($t[$d], $t[$d]) -> pred[$d], direction=GE"},
    {"float", "compare($t[$d], $t[$d]) -> pred[$d], direction=GE, type=TOTALORDER"},
    {"float", "compare($t[$d], $t[$d]) -> pred[$d], direction=EQ, type=TOTALORDER"},
    {"float", "compare($t[$d], $t[$d]) -> pred[$d], direction=GT, type=FLOAT"},
    {"signed", "compare($t[$d], $t[$d]) -> pred[$d], direction=LT, type=SIGNED"},
    {"unsigned pred", "compare($t[$d], $t[$d]) -> pred[$d], direction=LT, type=UNSIGNED"},
    {"all", "clamp($t[$d], $t[$d], $t[$d]) -> $t[$d]"},
    {"all", "clamp($t[], $t[3,2], $t[]) -> $t[3,2]"},
    {"all", "select(pred[$d], $t[$d], $t[$d]) -> $t[$d]"},
    {"all", "select(pred[], $t[3,2], $t[3,2]) -> $t[3,2]"},

    // Leaves.
    {"all", "parameter() -> $t[$d]"},
    {"", "parameter() -> (f32[2], (), token[])"},
    {"all", "constant() -> $t[$d]"},
    {"", "constant() -> (f32[2], (s32[], pred[0,2]))"},
    {"int float complex", "iota() -> $t[3], iota_dimension=0"},
    {"int float complex", "iota() -> $t[3,2], iota_dimension=1"},
    {"int float complex", "iota() -> $t[0,2], iota_dimension=1"},
    {"", "partition-id|replica-id() -> u32[]"},

    // Movement.
    {"all", "bitcast($t[3,2]) -> $t[6]"},
    {"all", "bitcast($t[3,2]{0,1}) -> $t[2,3]{1,0}"},
    {"", "bitcast(f32[2]) -> s32[2]"},
    {"all", "bitcast-convert($t[$d]) -> $t[$d]"},
    {"int float", "bitcast-convert($t[$d]) -> $u[$d]"},
    {"", "bitcast-convert(u8[3,4]) -> f32[3]"},
    {"", "bitcast-convert(f32[3]) -> u16[3,2]"},
    {"", "bitcast-convert(u4[3,2]) -> s8[3]"},
    {"", "bitcast-convert(s8[2]) -> s2[2,4]"},
    {"", "bitcast-convert(f64[2]) -> f8e4m3fn[2,8]"},
    {"", "bitcast-convert(c128[2]) -> c64[2,2]"},
    {"all", "broadcast($t[]) -> $t[3,2], dimensions={}"},
    {"all", "broadcast($t[$d]) -> $t[$d], dimensions={$n}"},
    {"all", "broadcast($t[3]) -> $t[2,3,2], dimensions={1}"},
    {"", "broadcast(f32[0]) -> f32[2,0], dimensions={1}"},
    {"all", "reshape($t[3,2]) -> $t[6]"},
    {"all", "reshape($t[]) -> $t[1,1]"},
    {"all", "reshape($t[0,4]) -> $t[2,0]"},
    {"", "reshape(f32[3,2]) -> f32[2,3], inferred_dimension=0"},
    {"", "dynamic-reshape(f32[4], s32[]~4) -> f32[<=4]"},
    {"all", "transpose($t[3,2]) -> $t[2,3], dimensions={1,0}"},
    {"all", "transpose($t[]) -> $t[], dimensions={}"},
    {"all", "transpose($t[2,3,4]) -> $t[4,2,3], dimensions={2,0,1}"},
    {"all", "reverse($t[3,2]) -> $t[3,2], dimensions={0,1}"},
    {"all", "reverse($t[$d]) -> $t[$d], dimensions={}"},
    {"all", "concatenate($t[1,2], $t[1,0], $t[1,3]) -> $t[1,5], dimensions={1}"},
    {"all", "concatenate($t[2,2], $t[1,2]) -> $t[3,2], dimensions={0}"},
    {"all", "slice($t[4,3]) -> $t[2,2], slice={[1:4:2], [0:2]}"},
    {"all", "slice($t[]) -> $t[], slice={}"},
    {"all", "slice($t[5]) -> $t[0], slice={[5:5]}"},
    {"all",
     "dynamic-slice($t[4,3], s32[]~small, s32[]~small) -> $t[2,2], dynamic_slice_sizes={2,2}"},
    {"int", "dynamic-slice(f32[4], $t[]) -> f32[2], dynamic_slice_sizes={2}"},
    {"", "dynamic-slice(f32[]) -> f32[], dynamic_slice_sizes={}"},
    {"all", "dynamic-update-slice($t[4,3], $t[2,2], s32[]~small, s32[]~small) -> $t[4,3]"},
    {"int", "dynamic-update-slice(f32[4], f32[2], $t[]) -> f32[4]"},
    {"all", "pad($t[2,2], $t[]) -> $t[5,3], padding=1_1_1x-1_2_0"},
    {"all", "pad($t[0], $t[]) -> $t[3], padding=1_2"},
    {"all", "pad($t[], $t[]) -> $t[], padding="},
    {"all",
     "gather($t[4,2], s32[3]~small) -> $t[3,2], offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,2}"},
    {"int",
     "gather(f32[4,2], $t[3]) -> f32[3,2], offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, "
     "slice_sizes={1,2}"},
    {"",
     "gather(f32[3,4], s32[3,1]~small) -> f32[3,2], offset_dims={1}, collapsed_slice_dims={}, "
     "start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, "
     "slice_sizes={1,2}"},
    {"all",
     "scatter($t[4,2], s32[3]~small, $t[3,2]) -> $t[4,2], update_window_dims={1}, "
     "inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum"},
    {"all",
     "scatter($t[4,2], s32[3]~small, $t[3,2]) -> $t[4,2], update_window_dims={1}, "
     "inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second"},
    {"int",
     "scatter(f32[4,2], $t[3], f32[3,2]) -> f32[4,2], update_window_dims={1}, "
     "inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum_f32"},
    {"",
     "scatter(f32[3,4], s32[3,1]~small, f32[3,2]) -> f32[3,4], update_window_dims={1}, "
     "inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={0}, index_vector_dim=1, "
     "to_apply=sum_f32"},
    {"all",
     "scatter($t[4], s32[4], s32[3,1]~small, $t[3], s32[3]) -> ($t[4], s32[4]), "
     "update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=swap_in"},
    {"float complex",
     "sort($t[2,7]) -> $t[2,7], dimensions={1}, is_stable=true, to_apply=less_real"},
    {"pred int float", "sort($t[7]) -> $t[7], dimensions={0}, to_apply=less"},
    {"pred int float",
     "sort($t[7,2], s32[7,2]) -> ($t[7,2], s32[7,2]), dimensions={0}, is_stable=true, "
     "to_apply=less_pair"},
    {"", "sort(f32[0]) -> f32[0], dimensions={0}, to_apply=less_f32"},
    {"int float +", "topk($t[2,7]) -> ($t[2,3], s32[2,3]), k=3"},
    {"", "topk(f32[7]) -> (f32[7], s32[7]), k=7, largest=false"},
    {"all", "get-dimension-size($t[3,2]) -> s32[], dimensions={1}"},
    {"all", "set-dimension-size($t[3,2], s32[]~2) -> $t[3,<=2], dimensions={1}"},

    // Reductions and contractions.
    {"all", "reduce($t[5,3], $t[]) -> $t[5], dimensions={1}, to_apply=sum"},
    {"all", "reduce($t[5,3], $t[]) -> $t[3], dimensions={0}, to_apply=second"},
    {"all", "reduce($t[0,3], $t[]) -> $t[3], dimensions={0}, to_apply=sum"},
    {"all", "reduce($t[5], $t[]) -> $t[5], dimensions={}, to_apply=sum"},
    {"all", "reduce($t[300], $t[]) -> $t[], dimensions={0}, to_apply=larger"},
    {"all",
     "reduce($t[5,3], s32[5,3], $t[], s32[]) -> ($t[5], s32[5]), dimensions={1}, to_apply=swap_in"},
    {"float int +",
     "reduce-window($t[4,4], $t[]) -> $t[3,3], window={size=2x3 stride=1x2 pad=0_0x1_1 "
     "lhs_dilate=1x2 rhs_dilate=1x2}, to_apply=sum"},
    {"", "reduce-window(f32[], f32[]) -> f32[], to_apply=sum_f32"},
    {"float int +",
     "select-and-scatter($t[4], $t[2], $t[]) -> $t[4], window={size=2 stride=2}, "
     "select=larger_or_same, scatter=sum"},
    {"all", "map($t[$d], $t[$d]) -> $t[$d], dimensions={$n}, to_apply=sum"},
    {"all", "map($t[3,2], s32[3,2]) -> s32[3,2], dimensions={0,1}, to_apply=pick_s32"},
    {"all",
     "dot($t[5,2,3], $t[5,3,4]) -> $t[5,2,4], lhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_batch_dims={0}, rhs_contracting_dims={1}"},
    {"all",
     "dot($t[2,3], $t[3,4]) -> s32[2,4], lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"all", "dot($t[2], $t[4]) -> $t[2,4], lhs_contracting_dims={}, rhs_contracting_dims={}"},
    {"all", "dot($t[2,0], $t[0,4]) -> $t[2,4], lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"all",
     "dot($t[3,2], $t[2]) -> f32[3], lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
     "operand_precision={high,highest}"},
    {"float +",
     "ragged-dot($t[4,3], $t[2,3,2], s32[2]~1) -> $t[4,2], lhs_contracting_dims={1}, "
     "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"},
    {"",
     "scaled-dot(f8e4m3fn[2,32], f8e4m3fn[32,4], f8e8m0fnu[2,1]~1, f8e8m0fnu[1,4]~1) -> f32[2,4], "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"float int complex +",
     "convolution($t[1,4,4,4], $t[3,3,2,2]) -> $t[1,3,4,2], window={size=3x3 stride=2x2 "
     "pad=-1_2x1_2 lhs_dilate=2x2 rhs_reversal=1x0}, "
     "dim_labels=b01f_01io->b01f, feature_group_count=2"},
    {"", "convolution(f32[2,4], f32[4,3]) -> f32[2,3], dim_labels=bf_io->bf"},
    {"complex", "fft($t[3,8]) -> $t[3,8], fft_type=FFT, fft_length={8}"},
    {"complex", "fft($t[2,6]) -> $t[2,6], fft_type=IFFT, fft_length={2,6}"},
    {"", "fft(f32[3,8]) -> c64[3,5], fft_type=RFFT, fft_length={8}"},
    {"", "fft(c128[3,5]) -> f64[3,8], fft_type=IRFFT, fft_length={8}"},
    {"f32 f64 complex +",
     "triangular-solve($t[3,3], $t[3,2]) -> $t[3,2], left_side=true, lower=true, "
     "unit_diagonal=true, transpose_a=ADJOINT"},
    {"f32 f64 complex +",
     "triangular-solve($t[2,3,3]~1, $t[2,4,3]) -> $t[2,4,3], transpose_a=NO_TRANSPOSE"},
    {"f32 f64 complex +", "cholesky($t[3,3]~1) -> $t[3,3], lower=true"},
    {"",
     "batch-norm-training(f32[5,3], f32[3], f32[3]) -> (f32[5,3], f32[3], f32[3]), epsilon=0.001, "
     "feature_index=1"},
    {"",
     "batch-norm-inference(f32[2,3], f32[3], f32[3], f32[3], f32[3]) -> f32[2,3], epsilon=1, "
     "feature_index=1"},
    {"",
     "batch-norm-grad(f32[2,3], f32[3], f32[3], f32[3], f32[2,3]) -> (f32[2,3], f32[3], f32[3]), "
     "epsilon=1, feature_index=1"},

    // Random bits.
    {"float +", "rng($t[]~1, $t[]~small) -> $t[30], distribution=rng_normal"},
    {"", "rng-bit-generator(u64[2]) -> (u64[2], u32[30]), algorithm=rng_three_fry"},
    {"", "rng-bit-generator(u64[3]) -> (u64[3], u64[30]), algorithm=rng_philox"},
    {"", "rng-get-and-update-state() -> u64[2], delta=4096"},

    // Tuples, tokens, barriers.
    {"all", "tuple($t[$d], (s32[]), ()) -> ($t[$d], (s32[]), ())"},
    {"", "tuple() -> ()"},
    {"all", "get-tuple-element((f32[4], $t[$d])) -> $t[$d], index=1"},
    {"all", "opt-barrier(($t[$d], s32[])) -> ($t[$d], s32[])"},
    {"", "opt-barrier(f32[2]) -> f32[2]"},
    {"", "after-all(token[], token[]) -> token[]"},
    {"", "after-all() -> token[]"},
    {"all", "add-dependency($t[$d], token[]) -> $t[$d]"},

    // Regions.
    {"all", "call($t[3,2], $t[3,2]) -> $t[3,2], to_apply=sum_matrix"},
    {"all",
     "call($t[3,2], $t[3,2]) -> $t[3,2], to_apply=sum_matrix, is_composite=true, "
     "frontend_attributes={composite.name=\"a.b\"}"},
    {"all",
     "while((s32[], $t[3,2])~small) -> (s32[], $t[3,2]), condition=below_5, body=count_and_double"},
    {"all",
     "conditional(pred[], ($t[3,2], s32[]), $t[3,2]) -> $t[3,2], true_computation=pick_first, "
     "false_computation=same_matrix"},
    {"all",
     "conditional(s32[]~small, $t[3,2], $t[3,2]) -> $t[3,2], branch_computations={same_matrix, "
     "double_matrix}"},
    {"all",
     "scan($t[4,3], $t[3]) -> ($t[4,3], $t[3]), dimensions={0}, num_carries=1, to_apply=step"},
    {"all",
     "scan($t[3,4], $t[3]) -> ($t[3,4], $t[3]), dimensions={1}, num_carries=1, is_reverse=true, "
     "to_apply=step_inner"},
    {"all",
     "scan($t[0,3], $t[3]) -> ($t[0,3], $t[3]), dimensions={0}, num_carries=1, to_apply=step"},
    {"all", "fusion($t[3,2], $t[3,2]) -> $t[3,2], kind=kLoop, calls=sum_matrix"},
    {"",
     "custom-call(f32[4], f32[]) -> (f32[4], f32[]), custom_call_target=\"unknown\", "
     "api_version=API_VERSION_TYPED_FFI"},

    // Several devices, hosts and asynchrony.
    {"all",
     "all-reduce|all-reduce-start($t[4]) -> $t[4], channel_id=1, replica_groups={{0}}, "
     "to_apply=sum"},
    {"", "all-reduce(f32[4], f32[2]) -> (f32[4], f32[2]), replica_groups={}, to_apply=sum_f32"},
    {"all", "all-reduce-done($t[4]) -> $t[4]"},
    {"all", "reduce-scatter($t[4]) -> $t[4], replica_groups={{0}}, dimensions={0}, to_apply=sum"},
    {"all", "all-gather($t[4]) -> $t[4], replica_groups={{0}}, dimensions={0}"},
    {"all", "reduce-scatter($t[4]) -> $t[2], replica_groups={{0,1}}, dimensions={0}, to_apply=sum"},
    {"all", "all-gather($t[4]) -> $t[8], channel_id=3, replica_groups=[1,2]<=[2], dimensions={0}"},
    {"", "all-gather-start(f32[4]) -> (f32[4], f32[8]), replica_groups=[1,2]<=[2], dimensions={0}"},
    {"", "all-gather-done((f32[4], f32[8])) -> f32[8]"},
    {"all", "all-to-all($t[4]) -> $t[4], replica_groups={{0}}, dimensions={0}"},
    {"",
     "ragged-all-to-all(f32[4], f32[4], s32[2], s32[2], s32[2], s32[2]) -> f32[4], "
     "replica_groups={{0,1}}"},
    {"all", "collective-broadcast($t[4]) -> $t[4], replica_groups={{0}}"},
    {"", "collective-reduce(f32[4]) -> f32[4], replica_groups={{0}}, to_apply=sum_f32"},
    {"all", "collective-permute($t[4]) -> $t[4], channel_id=2, source_target_pairs={{0,0}}"},
    {"",
     "collective-permute-start(f32[4]) -> (f32[4], f32[4], u32[], u32[]), "
     "source_target_pairs={{0,1}}"},
    {"", "collective-permute-done((f32[4], f32[4], u32[], u32[])) -> f32[4]"},
    {"", "send(f32[4], token[]) -> (f32[4], u32[], token[]), channel_id=7, is_host_transfer=true"},
    {"", "send-done((f32[4], u32[], token[])) -> token[], channel_id=7"},
    {"", "recv(token[]) -> (f32[4], u32[], token[]), channel_id=7"},
    {"", "recv-done((f32[4], u32[], token[])) -> (f32[4], token[]), channel_id=7"},
    {"", "infeed(token[]) -> (f32[4], token[]), infeed_config=\"a\""},
    {"", "outfeed(f32[4], token[]) -> token[], outfeed_shape=f32[4]{0}, outfeed_config=\"b\""},
    {"",
     "async-start(f32[3,2], f32[3,2]) -> ((f32[3,2], f32[3,2]), f32[3,2], u32[]), "
     "calls=sum_matrix_f32"},
    {"",
     "async-update(((f32[3,2], f32[3,2]), f32[3,2], u32[])) -> ((f32[3,2], f32[3,2]), f32[3,2], "
     "u32[]), calls=sum_matrix_f32"},
    {"", "async-done(((f32[3,2], f32[3,2]), f32[3,2], u32[])) -> f32[3,2], calls=sum_matrix_f32"},
    {"", "copy-start(f32[4]) -> (f32[4], f32[4], u32[])"},
    {"", "copy-done((f32[4], f32[4], u32[])) -> f32[4]"},
    {"all",
     "domain($t[4]) -> $t[4], domain={kind=\"sharding\", entry={replicated}, exit={manual}}"},
    {"", "shuffle(f32[4]) -> f32[4], dimensions={0}"},
};

constexpr Called kCalled[] = {
    {"sum", "$t[] $t[]", "ROOT r = $t[] add(p0, p1)"},
    {"sum_f32", "f32[] f32[]", "ROOT r = f32[] add(p0, p1)"},
    {"second", "$t[] $t[]", "ROOT r = $t[] copy(p1)"},
    {"larger", "$t[] $t[]", "ROOT r = $t[] maximum(p0, p1)"},
    {"larger_or_same", "$t[] $t[]", "ROOT r = pred[] compare(p0, p1), direction=GE"},
    {"less", "$t[] $t[]", "ROOT r = pred[] compare(p0, p1), direction=LT"},
    {"less_f32", "f32[] f32[]", "ROOT r = pred[] compare(p0, p1), direction=LT"},
    {"less_pair", "$t[] $t[] s32[] s32[]", "ROOT r = pred[] compare(p0, p1), direction=LT"},
    {"less_real", "$t[] $t[]",
     "a = $p[] real(p0)\n  b = $p[] real(p1)\n  ROOT r = pred[] compare(a, b), direction=LT, "
     "type=TOTALORDER"},
    {"swap_in", "$t[] s32[] $t[] s32[]",
     "n = s32[] subtract(p3, p1)\n  ROOT r = ($t[], s32[]) tuple(p2, n)"},
    {"pick_s32", "$t[] s32[]", "ROOT r = s32[] negate(p1)"},
    {"sum_matrix", "$t[3,2] $t[3,2]", "ROOT r = $t[3,2] add(p0, p1)"},
    {"sum_matrix_f32", "f32[3,2] f32[3,2]", "ROOT r = f32[3,2] add(p0, p1)"},
    {"same_matrix", "$t[3,2]", "ROOT r = $t[3,2] copy(p0)"},
    {"double_matrix", "$t[3,2]", "ROOT r = $t[3,2] add(p0, p0)"},
    {"pick_first", "($t[3,2],s32[])", "ROOT r = $t[3,2] get-tuple-element(p0), index=0"},
    {"below_5", "(s32[],$t[3,2])",
     "i = s32[] get-tuple-element(p0), index=0\n  n = s32[] constant(5)\n  ROOT r = pred[] "
     "compare(i, n), direction=LT"},
    {"count_and_double", "(s32[],$t[3,2])",
     "i = s32[] get-tuple-element(p0), index=0\n  one = s32[] constant(1)\n  j = s32[] add(i, "
     "one)\n"
     "  x = $t[3,2] get-tuple-element(p0), index=1\n  y = $t[3,2] add(x, x)\n  ROOT r = (s32[], "
     "$t[3,2]) tuple(j, y)"},
    {"step", "$t[3] $t[3]", "n = $t[3] add(p1, p0)\n  ROOT r = ($t[3], $t[3]) tuple(p1, n)"},
    {"step_inner", "$t[3] $t[3]", "n = $t[3] add(p0, p1)\n  ROOT r = ($t[3], $t[3]) tuple(n, n)"},
};

}  // namespace

std::span<const Row> rows() { return kRows; }

std::span<const Called> called_by_rows() { return kCalled; }

std::span<const Unsampled> unsampled() { return {}; }

}  // namespace heddle::laws
