"""HLO text with the idioms of torch_xla: dimensions of dynamic size through every op, convolutions of the backward pass, tuples through loops and branches, sums over
one replica, batch norms, pooling, embeddings, top k by sort and by custom call, optimiser steps. Of a dynamic value the programs return sums over what is in it, and its size."""
import numpy as np
from programs._values import *
from programs.ops_table import Written

CALLED = '''HloModule m

add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }
mul { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] multiply(a, b) }
or { a = pred[] parameter(0) b = pred[] parameter(1) ROOT c = pred[] or(a, b) }
count { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
last { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] copy(b) }
greater { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3) ROOT c = pred[] compare(a, b), direction=GT, type=TOTALORDER }
greater64 { a = f32[] parameter(0) b = f32[] parameter(1) i = s64[] parameter(2) j = s64[] parameter(3) ROOT c = pred[] compare(a, b), direction=GT }
argmax { a = f32[] parameter(0) i = s64[] parameter(1) b = f32[] parameter(2) j = s64[] parameter(3) ge = pred[] compare(a, b), direction=GE v = f32[] select(ge, a, b) eq = pred[] compare(a, b), direction=EQ least = s64[] minimum(i, j) k = s64[] select(ge, i, j) at = s64[] select(eq, least, k) ROOT r = (f32[], s64[]) tuple(v, at) }
'''

# name, lines from d = f32[<=6,4] of dynamic rows, e = f32[6,4], v = f32[4], n = s32[] (the rows); the result's shape, and its name is r.
DYNAMIC = dict(
    unary=('r = f32[<=6,4] exponential(d)', '<=6,4'), both=('r = f32[<=6,4] multiply(d, d)', '<=6,4'), static=('r = f32[<=6,4] add(d, e)', '<=6,4'), static_first=('r = f32[<=6,4] subtract(e, d)', '<=6,4'),
    compare=('p = pred[<=6,4] compare(d, e), direction=GT\n r = f32[<=6,4] convert(p)', '<=6,4'), select=('p = pred[<=6,4] compare(d, e), direction=GT\n r = f32[<=6,4] select(p, d, e)', '<=6,4'), clamp=('r = f32[<=6,4] clamp(zero, d, one)', '<=6,4'),
    transpose=('r = f32[4,<=6] transpose(d), dimensions={1,0}', '4,<=6'), rows=('r = f32[<=6] reduce(d, zero), dimensions={1}, to_apply=add', '<=6'), columns=('r = f32[4] reduce(d, zero), dimensions={0}, to_apply=add', '4'), columns_max=('r = f32[4] reduce(d, low), dimensions={0}, to_apply=max', '4'),
    product=('r = f32[] reduce(d, one), dimensions={0,1}, to_apply=mul', ''), dot=('r = f32[<=6,6] dot(d, e), lhs_contracting_dims={1}, rhs_contracting_dims={1}', '<=6,6'), dot_inner=('r = f32[4,4] dot(d, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}', '4,4'), dot_static=('r = f32[4,4] dot(d, e), lhs_contracting_dims={0}, rhs_contracting_dims={0}', '4,4'),
    dot_batch=('r = f32[<=6] dot(d, d), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}', '<=6'), broadcast=('r = f32[3,<=6,4] broadcast(d), dimensions={1,2}', '3,<=6,4'), concatenate=('r = f32[<=12,4] concatenate(d, e), dimensions={0}', '<=12,4'), concatenate_static_first=('r = f32[<=12,4] concatenate(e, d), dimensions={0}', '<=12,4'),
    concatenate_both=('r = f32[<=12,4] concatenate(d, d), dimensions={0}', '<=12,4'), concatenate_columns=('r = f32[<=6,8] concatenate(d, d), dimensions={1}', '<=6,8'), slice=('r = f32[<=6,2] slice(d), slice={[0:6], [1:3]}', '<=6,2'), pad=('r = f32[<=9,4] pad(d, one), padding=1_2x0_0', '<=9,4'), pad_columns=('r = f32[<=6,9] pad(d, one), padding=0_0x1_1_1', '<=6,9'),
    pad_interior=('r = f32[<=11,4] pad(d, one), padding=0_0_1x0_0', '<=11,4'), reverse=('r = f32[<=6,4] reverse(d), dimensions={1}', '<=6,4'), reverse_rows=('r = f32[<=6,4] reverse(d), dimensions={0}', '<=6,4'), sort=('r = f32[<=6,4] sort(d), dimensions={0}, to_apply=less', '<=6,4'), sort_columns=('r = f32[<=6,4] sort(d), dimensions={1}, to_apply=less', '<=6,4'),
    sort_pair=('i = s32[<=6,4] convert(d)\n s = (f32[<=6,4], s32[<=6,4]) sort(d, i), dimensions={0}, is_stable=true, to_apply=greater\n r = f32[<=6,4] get-tuple-element(s), index=0', '<=6,4'),
    convert=('h = s32[<=6,4] convert(d)\n r = f32[<=6,4] convert(h)', '<=6,4'), map=('r = f32[<=6,4] map(d, d), dimensions={0,1}, to_apply=mul', '<=6,4'), window=('r = f32[<=6,4] reduce-window(d, zero), window={size=3x1 pad=1_1x0_0}, to_apply=add', '<=6,4'), window_stride=('r = f32[<=3,4] reduce-window(d, zero), window={size=2x1 stride=2x1}, to_apply=add', '<=3,4'),
    window_columns=('r = f32[<=6,3] reduce-window(d, zero), window={size=1x2}, to_apply=max', '<=6,3'), gather=('i = s32[3,1] constant({{0},{2},{1}})\n r = f32[3,4] gather(d, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}', '3,4'),
    gather_rows=('i = s32[<=6] reduce(j, zero_int), dimensions={1}, to_apply=count\n k = s32[<=6] clamp(zero_int, i, five)\n r = f32[<=6,4] gather(e, k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}', '<=6,4'),
    scatter=('i = s32[<=6] reduce(j, zero_int), dimensions={1}, to_apply=count\n k = s32[<=6] clamp(zero_int, i, five)\n r = f32[6,4] scatter(e, k, d), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add', '6,4'),
    dynamic_slice=('i = s32[] constant(1)\n r = f32[<=6,2] dynamic-slice(d, zero_int, i), dynamic_slice_sizes={6,2}', '<=6,2'), update=('u = f32[1,2] constant({{7,8}})\n i = s32[] constant(1)\n r = f32[<=6,4] dynamic-update-slice(d, u, zero_int, i)', '<=6,4'),
    again=('m = s32[] subtract(n, one_int)\n r = f32[<=6,4] set-dimension-size(d, m), dimensions={0}', '<=6,4'), columns_too=('r = f32[<=6,<=4] set-dimension-size(d, two), dimensions={1}', '<=6,<=4'), static_again=('s = f32[6,4] set-dimension-size(d, six), dimensions={0}\n r = f32[<=6,4] set-dimension-size(s, n), dimensions={0}', '<=6,4'),
    sizes=('m = s32[] get-dimension-size(d), dimensions={1}\n k = s32[] get-dimension-size(d), dimensions={0}\n mk = s32[] multiply(m, k)\n r = f32[] convert(mk)', ''), mean=('t = f32[4] reduce(d, zero), dimensions={0}, to_apply=add\n k = s32[] get-dimension-size(d), dimensions={0}\n kf = f32[] convert(k)\n kb = f32[4] broadcast(kf), dimensions={}\n r = f32[4] divide(t, kb)', '4'),
    softmax=('m = f32[4] reduce(d, low), dimensions={0}, to_apply=max\n mb = f32[<=6,4] broadcast(m), dimensions={1}\n c = f32[<=6,4] subtract(d, mb)\n h = f32[<=6,4] exponential(c)\n t = f32[4] reduce(h, zero), dimensions={0}, to_apply=add\n tb = f32[<=6,4] broadcast(t), dimensions={1}\n r = f32[<=6,4] divide(h, tb)', '<=6,4'),
    norm=('b = f32[<=6,1,4] reshape(d)\n r = f32[<=6,4] reshape(b)', '<=6,4'), split=('r = f32[<=6,2,2] reshape(d)', '<=6,2,2'), call=('r = f32[<=6,4] call(d), to_apply=double', '<=6,4'), branch=('r = f32[<=6,4] conditional(p, d, d), true_computation=double, false_computation=negated', '<=6,4'),
    loop=('t = (s32[], f32[<=6,4]) tuple(zero_int, d)\n w = (s32[], f32[<=6,4]) while(t), condition=three, body=doubled\n r = f32[<=6,4] get-tuple-element(w), index=1', '<=6,4'), iota=('i = f32[6,4] iota(), iota_dimension=0\n r = f32[<=6,4] add(d, i)', '<=6,4'),
    convolution=('a = f32[<=6,1,4] reshape(d)\n k = f32[2,1,3] constant({{{1,2,3}},{{-1,0,1}}})\n r = f32[<=6,2,4] convolution(a, k), window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0', '<=6,2,4'), complex=('c = c64[<=6,4] complex(d, d)\n r = f32[<=6,4] imag(c)', '<=6,4'), bitcast=('b = s32[<=6,4] bitcast-convert(d)\n r = f32[<=6,4] bitcast-convert(b)', '<=6,4'))

BODIES = '''
double { a = f32[<=6,4] parameter(0) ROOT b = f32[<=6,4] add(a, a) }
negated { a = f32[<=6,4] parameter(0) ROOT b = f32[<=6,4] negate(a) }
three { t = (s32[], f32[<=6,4]) parameter(0) i = s32[] get-tuple-element(t), index=0 n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }
doubled { t = (s32[], f32[<=6,4]) parameter(0) i = s32[] get-tuple-element(t), index=0 one = s32[] constant(1) j = s32[] add(i, one) d = f32[<=6,4] get-tuple-element(t), index=1 e = f32[<=6,4] add(d, d) ROOT r = (s32[], f32[<=6,4]) tuple(j, e) }
'''


def dynamic(lines, result):
    dims = result.split(',') if result else []
    bounds = [int(d.replace('<=', '')) for d in dims]
    order, end = ','.join(map(str, range(len(dims)))), ''
    outs = ['total = f32[] reduce(r, zero), dimensions={%s}, to_apply=add' % order, 'weighed = f32[%s] multiply(r, weights)' % result, 'sum = f32[] reduce(weighed, zero), dimensions={%s}, to_apply=add' % order, 'most = f32[] reduce(r, low), dimensions={%s}, to_apply=max' % order] if dims else []
    names = (['f32[] total', 'f32[] sum', 'f32[] most'] if dims else ['f32[] r'])
    for k, d in enumerate(dims):
        if '<=' in d:
            outs.append(f'size{k} = s32[] get-dimension-size(r), dimensions={{{k}}}')
            names.append(f's32[] size{k}')
    if not any('<=' in d for d in dims) and dims:
        names.append(f'f32[{result}] r')
    rng = rng_of('dynamic')
    weights = np.round(rng.uniform(-2, 2, bounds), 2).astype('float32')
    e, base = np.round(rng.uniform(-2, 2, (6, 4)), 2).astype('float32'), np.round(rng.uniform(-2, 2, (6, 4)), 2).astype('float32')
    for n in (3, 0, 6, 5):
        text = CALLED + BODIES + '\nENTRY main {\n' + f''' x = f32[6,4] parameter(0)\n e = f32[6,4] parameter(1)\n weights = f32[{','.join(map(str, bounds))}] parameter(2)\n n = s32[] parameter(3)
 zero = f32[] constant(0)\n one = f32[] constant(1)\n low = f32[] constant(-inf)\n zero_int = s32[] constant(0)\n one_int = s32[] constant(1)\n two = s32[] constant(2)\n five = s32[] constant(5)\n six = s32[] constant(6)
 tag = s32[] constant({n})
 p = pred[] compare(n, five), direction=LT\n d = f32[<=6,4] set-dimension-size(x, n), dimensions={{0}}\n j = s32[<=6,4] convert(d)\n ''' + lines.replace(' p = ', ' q = ').replace('select(p,', 'select(q,').replace('convert(p)', 'convert(q)').replace('p = pred[<=6', 'q = pred[<=6') + '\n ' + '\n '.join(outs) + '\n ROOT out = (' + ', '.join(s.split()[0] for s in names) + ') tuple(' + ', '.join(s.split()[1] for s in names) + ')\n}\n'
        yield n, Written(text, [base, e, weights, np.int32(n)])


def entry(lines, *arguments, more=''):
    declared = ''.join(f' p{k} = {shape} parameter({k})\n' for k, (shape, _) in enumerate(arguments))
    text = CALLED + more + '\nENTRY main {\n' + declared + ' zero = f32[] constant(0)\n low = f32[] constant(-inf)\n one = f32[] constant(1)\n ' + '\n '.join(lines.strip().splitlines()) + '\n}\n'
    return lambda: Written(text, [v for _, v in arguments])


def f(*shape, low=-2.0, high=2.0):
    return f'f32[{",".join(map(str, shape))}]', values(rng_of('torch', shape), shape, 'float32', low, high)


def ints(kind, shape, high, low=0):
    return f'{kind}[{",".join(map(str, shape))}]', rng_of('torch', shape, high).integers(low, high, shape).astype(dict(s32='int32', s64='int64', pred='bool')[kind])


def programs():
    for name, (lines, result) in DYNAMIC.items():
        for n, written in dynamic(lines, result):
            yield f'dynamic_{name}_{n}', lambda w=written: w
    for name, thunk in static():
        yield name, thunk


CONVOLUTIONS = dict(
    forward=('p0, p1', f(2, 3, 8, 7), f(4, 3, 3, 3), 'f32[2,4,4,4]', 'window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01'), to_input=('p0, p1', f(2, 4, 4, 4), f(4, 3, 3, 3), 'f32[2,3,8,7]', 'window={size=3x3 pad=1_2x1_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=bf01_io01->bf01'),
    to_kernel=('p0, p1', f(2, 3, 8, 7), f(2, 4, 4, 4), 'f32[3,3,3,4]', 'window={size=4x4 pad=1_0x1_1 rhs_dilate=2x2}, dim_labels=fb01_io01->01bf'), depthwise=('p0, p1', f(2, 6, 5, 5), f(6, 1, 3, 3), 'f32[2,6,5,5]', 'window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=6'),
    depthwise_kernel=('p0, p1', f(2, 6, 5, 5), f(2, 6, 5, 5), 'f32[1,3,3,6]', 'window={size=5x5 pad=1_1x1_1}, dim_labels=fb01_io01->b01f, batch_group_count=6'), grouped=('p0, p1', f(1, 4, 6), f(6, 2, 3), 'f32[1,6,4]', 'window={size=3}, dim_labels=bf0_oi0->bf0, feature_group_count=2'),
    transposed=('p0, p1', f(1, 3, 4, 4), f(3, 2, 2, 2), 'f32[1,2,8,8]', 'window={size=2x2 pad=1_1x1_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=bf01_io01->bf01'), reversed_one=('p0, p1', f(1, 2, 5, 5), f(3, 2, 2, 3), 'f32[1,3,5,4]', 'window={size=2x3 pad=1_0x0_1 rhs_reversal=0x1}, dim_labels=bf01_oi01->bf01'),
    volume=('p0, p1', f(1, 2, 4, 4, 4), f(3, 2, 2, 2, 2), 'f32[1,3,2,2,2]', 'window={size=2x2x2 stride=2x2x2}, dim_labels=bf012_oi012->bf012'), one=('p0, p1', f(2, 5, 3), f(4, 5, 1), 'f32[2,4,3]', 'window={size=1}, dim_labels=bf0_oi0->bf0'), negative=('p0, p1', f(1, 1, 8), f(1, 1, 3), 'f32[1,1,3]', 'window={size=3 pad=-2_-1}, dim_labels=bf0_oi0->bf0'))


def static():
    for name, (operands, a, b, result, rest) in CONVOLUTIONS.items():
        yield f'conv_{name}', entry(f'ROOT r = {result} convolution({operands}), {rest}', a, b)
        for t in ('bf16', 'f64', 's32'):
            kind = dict(bf16='bfloat16', f64='float64', s32='int32')[t]
            shapes = [(s.replace('f32', t), v.astype(dtype_of(kind))) for s, v in (a, b)]
            yield f'conv_{name}_{t}', entry(f'ROOT r = {result.replace("f32", t)} convolution({operands}), {rest}', *shapes)
    for n, rest in enumerate(['size=1x1x2x2 stride=1x1x2x2', 'size=1x1x3x3 stride=1x1x2x2 pad=0_0x0_0x1_1x1_1', 'size=1x1x3x2 stride=1x1x1x2 pad=0_0x0_0x1_0x0_1', 'size=1x2x3x3 stride=1x1x3x3']):
        for reducer in ('max', 'add'):
            start = 'low' if reducer == 'max' else 'zero'
            sizes = {0: '2,3,3,3', 1: '2,3,3,4', 2: '2,3,4,4', 3: '2,2,2,2'}[n]
            yield f'pool_{reducer}_{n}', entry(f'ROOT r = f32[{sizes}] reduce-window(p0, {start}), window={{{rest}}}, to_apply={reducer}', f(2, 3, 6, 7) if n == 0 else f(2, 3, 5, 7) if n < 3 else f(2, 3, 6, 6))
        yield f'pool_backward_{n}', entry(f'ROOT r = f32[{dict({0: "2,3,6,7", 1: "2,3,5,7", 2: "2,3,5,7", 3: "2,3,6,6"})[n]}] select-and-scatter(p0, p1, zero), window={{{rest}}}, select=ge, scatter=add', f(2, 3, 6, 7) if n == 0 else f(2, 3, 5, 7) if n < 3 else f(2, 3, 6, 6), f(*map(int, sizes.split(','))))
    for axis, shape in ((1, (2, 3, 4)), (0, (3, 5)), (2, (2, 2, 3))):
        s = ','.join(map(str, shape)); c = shape[axis]
        yield f'batch_norm_training_{axis}', entry(f'ROOT r = (f32[{s}], f32[{c}], f32[{c}]) batch-norm-training(p0, p1, p2), epsilon=1e-5, feature_index={axis}', f(*shape), f(c), f(c))
        yield f'batch_norm_inference_{axis}', entry(f'ROOT r = f32[{s}] batch-norm-inference(p0, p1, p2, p3, p4), epsilon=1e-5, feature_index={axis}', f(*shape), f(c), f(c), f(c), f(c, low=0.5))
        yield f'batch_norm_grad_{axis}', entry(f'ROOT r = (f32[{s}], f32[{c}], f32[{c}]) batch-norm-grad(p0, p1, p2, p3, p4), epsilon=1e-5, feature_index={axis}', f(*shape), f(c), f(c), f(c, low=0.5), f(*shape))
    yield 'embedding', entry('ROOT r = f32[2,5,4] gather(p0, p1), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,4}', f(7, 4), ints('s64', (2, 5), 9, -1))
    yield 'embedding_backward', entry('z = f32[7,4] broadcast(zero), dimensions={}\nROOT r = f32[7,4] scatter(z, p0, p1), update_window_dims={2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=2, to_apply=add', ints('s64', (2, 5), 9, -1), f(2, 5, 4))
    yield 'index_put', entry('ROOT r = f32[7,4] scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=last', f(7, 4), ('s32[3,2]', np.array([[0, 3], [6, 1], [2, 4]], 'int32')), f(3))
    yield 'topk_sort', entry('i = s32[40] iota(), iota_dimension=0\nb = s32[3,40] broadcast(i), dimensions={1}\ns = (f32[3,40], s32[3,40]) sort(p0, b), dimensions={1}, is_stable=true, to_apply=greater\nv = f32[3,40] get-tuple-element(s), index=0\nk = s32[3,40] get-tuple-element(s), index=1\nv5 = f32[3,5] slice(v), slice={[0:3], [0:5]}\nk5 = s32[3,5] slice(k), slice={[0:3], [0:5]}\nk6 = s64[3,5] convert(k5)\nROOT r = (f32[3,5], s64[3,5]) tuple(v5, k6)', f(3, 40))
    yield 'topk_call', entry('ROOT r = (f32[3,5], s32[3,5]) custom-call(p0), custom_call_target="TopK", called_computations={greater_only}', f(3, 40), more='greater_only { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GT }\n')
    yield 'topk_op', entry('ROOT r = (f32[3,5], s32[3,5]) topk(p0), k=5, largest=true', f(3, 40))
    yield 'argmax', entry('i = s64[3,9] iota(), iota_dimension=1\nm = s64[] constant(0)\nROOT r = (f32[3], s64[3]) reduce(p0, i, low, m), dimensions={1}, to_apply=argmax', f(3, 9))
    yield 'sort_unstable', entry('i = s64[50] iota(), iota_dimension=0\nq = f32[50] round-nearest-even(p0)\nROOT r = (f32[50], s64[50]) sort(q, i), dimensions={0}, to_apply=greater64', f(50, low=-4, high=4))
    many = ', '.join(f'p{k}' for k in range(5)); keys = ' '.join(f'a{k} = f32[] parameter({2 * k}) b{k} = f32[] parameter({2 * k + 1})' for k in range(5))
    yield 'sort_many', entry(f'q = f32[30] round-nearest-even(p0)\nROOT r = (f32[30], f32[30], f32[30], f32[30], f32[30]) sort(q, p1, p2, p3, p4), dimensions={{0}}, to_apply=by_two', *[(f'f32[30]', values(rng_of('sm', k), (30,), 'float32', -3, 3)) for k in range(5)], more=f'by_two {{ {keys} l = pred[] compare(a0, b0), direction=LT e = pred[] compare(a0, b0), direction=EQ m = pred[] compare(a1, b1), direction=LT t = pred[] and(e, m) ROOT r = pred[] or(l, t) }}\n')
    for op in ('all-reduce(p0), replica_groups={}, to_apply=add', 'all-reduce(p0), replica_groups={{0}}, to_apply=max', 'collective-permute(p0), source_target_pairs={{0,0}}', 'collective-permute(p0), source_target_pairs={}', 'all-gather(p0), dimensions={0}, replica_groups={{0}}', 'all-to-all(p0), dimensions={0}, replica_groups={{0}}', 'reduce-scatter(p0), dimensions={0}, replica_groups={{0}}, to_apply=add'):
        yield f'one_replica_{op[:20].replace("(", "_")}', entry(f'ROOT r = f32[4,3] {op}', f(4, 3))
    yield 'all_reduce_chain', entry('a = (f32[4,3], f32[]) all-reduce(p0, zero), replica_groups={}, to_apply=add\nb = f32[4,3] get-tuple-element(a), index=0\nt = f32[] get-tuple-element(a), index=1\nz = f32[] multiply(t, zero)\nc = (f32[3], f32[]) all-reduce(p1, z), replica_groups={}, to_apply=add\nd = f32[3] get-tuple-element(c), index=0\nROOT r = (f32[4,3], f32[3]) tuple(b, d)', f(4, 3), f(3))
    yield 'token', entry('t = token[] after-all()\nu = token[] after-all(t, t)\nd = f32[3] add-dependency(p0, u)\nROOT r = f32[3] add(d, p0)', f(3))
    nested = '''inner_cond { t = (s32[], (f32[3], pred[])) parameter(0) i = s32[] get-tuple-element(t), index=0 n = s32[] constant(2) ROOT c = pred[] compare(i, n), direction=LT }
on { u = (f32[3], pred[]) parameter(0) x = f32[3] get-tuple-element(u), index=0 p = pred[] get-tuple-element(u), index=1 y = f32[3] add(x, x) q = pred[] not(p) ROOT r = (f32[3], pred[]) tuple(y, q) }
off { u = (f32[3], pred[]) parameter(0) x = f32[3] get-tuple-element(u), index=0 p = pred[] get-tuple-element(u), index=1 y = f32[3] negate(x) q = pred[] not(p) ROOT r = (f32[3], pred[]) tuple(y, q) }
inner_body { t = (s32[], (f32[3], pred[])) parameter(0) i = s32[] get-tuple-element(t), index=0 one = s32[] constant(1) j = s32[] add(i, one) u = (f32[3], pred[]) get-tuple-element(t), index=1 x = f32[3] get-tuple-element(u), index=0 p = pred[] get-tuple-element(u), index=1 y = (f32[3], pred[]) conditional(p, u, u), true_computation=on, false_computation=off ROOT r = (s32[], (f32[3], pred[])) tuple(j, y) }
outer_cond { t = (s32[], (s32[], (f32[3], pred[]))) parameter(0) i = s32[] get-tuple-element(t), index=0 n = s32[] constant(4) ROOT c = pred[] compare(i, n), direction=LT }
outer_body { t = (s32[], (s32[], (f32[3], pred[]))) parameter(0) i = s32[] get-tuple-element(t), index=0 one = s32[] constant(1) j = s32[] add(i, one) z = s32[] constant(0) w = (s32[], (f32[3], pred[])) get-tuple-element(t), index=1 u = (f32[3], pred[]) get-tuple-element(w), index=1 s = (s32[], (f32[3], pred[])) tuple(z, u) v = (s32[], (f32[3], pred[])) while(s), condition=inner_cond, body=inner_body ROOT r = (s32[], (s32[], (f32[3], pred[]))) tuple(j, v) }
'''
    yield 'nested_tuples', entry('k = s32[] constant(0)\nt = (f32[3], pred[]) tuple(p0, p1)\nw = (s32[], (f32[3], pred[])) tuple(k, t)\ns = (s32[], (s32[], (f32[3], pred[]))) tuple(k, w)\no = (s32[], (s32[], (f32[3], pred[]))) while(s), condition=outer_cond, body=outer_body\nx = (s32[], (f32[3], pred[])) get-tuple-element(o), index=1\ny = (f32[3], pred[]) get-tuple-element(x), index=1\na = f32[3] get-tuple-element(y), index=0\nb = pred[] get-tuple-element(y), index=1\nROOT r = (f32[3], pred[]) tuple(a, b)', f(3), ('pred[]', np.bool_(True)), more=nested)
    branches = 'one { a = f32[3] parameter(0) ROOT b = f32[3] sine(a) }\ntwo { a = (f32[3], f32[3]) parameter(0) b = f32[3] get-tuple-element(a), index=1 ROOT c = f32[3] negate(b) }\nnone { a = () parameter(0) ROOT b = f32[3] constant({1,2,3}) }\n'
    for i in (-1, 0, 1, 2, 9):
        yield f'branches_{i}', entry('t = (f32[3], f32[3]) tuple(p1, p1)\ne = () tuple()\nROOT r = f32[3] conditional(p0, p1, t, e), branch_computations={one, two, none}', ('s32[]', np.int32(i)), f(3), more=branches)
    for op in ('rng-bit-generator', ):
        for algorithm in ('rng_default', 'rng_philox', 'rng_three_fry'):
            for t, n in (('u32', 7), ('u64', 5), ('u8', 9), ('u16', 6), ('s32', 4)):
                state = 2 if algorithm == 'rng_three_fry' else 3
                yield f'{algorithm}_{t}', entry(f'ROOT r = (u64[{state}], {t}[{n},2]) rng-bit-generator(p0), algorithm={algorithm}', (f'u64[{state}]', np.arange(1, state + 1).astype('uint64')))
    adam = '''b1 = f32[] constant(0.9)\nc1 = f32[] constant(0.1)\nB1 = f32[4,3] broadcast(b1), dimensions={}\nC1 = f32[4,3] broadcast(c1), dimensions={}\nm1 = f32[4,3] multiply(p2, B1)\nm2 = f32[4,3] multiply(p1, C1)\nm = f32[4,3] add(m1, m2)
b2 = f32[] constant(0.999)\nc2 = f32[] constant(0.001)\nB2 = f32[4,3] broadcast(b2), dimensions={}\nC2 = f32[4,3] broadcast(c2), dimensions={}\nv1 = f32[4,3] multiply(p3, B2)\ng2 = f32[4,3] multiply(p1, p1)\nv2 = f32[4,3] multiply(g2, C2)\nv = f32[4,3] add(v1, v2)
q = f32[4,3] sqrt(v)\ne = f32[] constant(1e-8)\nE = f32[4,3] broadcast(e), dimensions={}\nd = f32[4,3] add(q, E)\nw = f32[4,3] divide(m, d)\nl = f32[] constant(0.001)\nk = f32[] power(b1, p4)\nok = f32[] subtract(one, k)\nlk = f32[] divide(l, ok)\nL = f32[4,3] broadcast(lk), dimensions={}\nu = f32[4,3] multiply(w, L)\nn = f32[4,3] subtract(p0, u)
ROOT r = (f32[4,3], f32[4,3], f32[4,3]) tuple(n, m, v)'''
    yield 'adam', entry(adam, f(4, 3), f(4, 3), f(4, 3), f(4, 3, low=0.1), ('f32[]', np.float32(3)))
    yield 'linear', entry('w = f32[5,4]{0,1} transpose(p1), dimensions={1,0}\nd = f32[3,4] dot(p0, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\nb = f32[3,4] broadcast(p2), dimensions={1}\nROOT r = f32[3,4] add(d, b)', f(3, 5), f(4, 5), f(4))
    yield 'log_softmax', entry('m = f32[3] reduce(p0, low), dimensions={1}, to_apply=max\nM = f32[3,5] broadcast(m), dimensions={0}\ns = f32[3,5] subtract(p0, M)\ne = f32[3,5] exponential(s)\nt = f32[3] reduce(e, zero), dimensions={1}, to_apply=add\nl = f32[3] log(t)\nL = f32[3,5] broadcast(l), dimensions={0}\nROOT r = f32[3,5] subtract(s, L)', f(3, 5))
    yield 'nonzero', entry('z = f32[4,3] broadcast(zero), dimensions={}\nn = pred[4,3] compare(p0, z), direction=GT\nf = s32[4,3] convert(n)\nfl = s32[12] reshape(f)\ni = s32[12] iota(), iota_dimension=0\ns = (s32[12], s32[12]) sort(fl, i), dimensions={0}, is_stable=true, to_apply=first\nk = s32[12] get-tuple-element(s), index=1\nzi = s32[] constant(0)\nc = s32[] reduce(fl, zi), dimensions={0}, to_apply=count\nd = s32[<=12] set-dimension-size(k, c), dimensions={0}\nthree = s32[] constant(3)\nT = s32[<=12] broadcast(three), dimensions={}\nq = s32[<=12] divide(d, T)\nt = s32[] reduce(q, zi), dimensions={0}, to_apply=count\ng = s32[] get-dimension-size(q), dimensions={0}\nROOT r = (s32[], s32[]) tuple(t, g)', f(4, 3), more='first { a = s32[] parameter(0) b = s32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3) ROOT c = pred[] compare(a, b), direction=GT }\n')
