"""HLO text of what JAX and torch_xla seldom write: indices of every type at its extremes, conversions of hard values, Fourier transforms of odd, even and no lengths, dots and
convolutions of mixed types, sparse windows, random bits of every type and size, XLA's own custom calls, singular tridiagonal equations. Compiled by XLA, as all areas; what it refuses is left out."""
import itertools
import ml_dtypes
import numpy as np
import jax.numpy as jnp
import jax.scipy as scipy
from jax import lax
from programs._values import *
from programs.ops_table import NAMES, Written

SHORT = {name: t for t, name in NAMES.items()}
CALLED = '''HloModule m

add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }
mul { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] multiply(a, b) }
sub { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] subtract(a, b) }
last { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] copy(b) }
ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
gt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GT }
lt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
negated { a = f32[] parameter(0) ROOT c = f32[] negate(a) }
doubled { a = f32[] parameter(0) ROOT c = f32[] add(a, a) }
squared { a = f32[] parameter(0) ROOT c = f32[] multiply(a, a) }
'''


def programs():
    for part in (indices, pads, comparisons, reductions, windows, transforms, products, convolutions, conversions, random_bits, own_calls):
        for tag, (name, result, arguments) in enumerate(part()):
            yield f'{part.__name__}_{name}', lambda r=result, a=arguments, t=tag: written(r, a, t)
    yield from singular()


def written(result, arguments, tag):
    """The entry of one line, or of several, over the arguments p0, p1, .. The tag tells programs apart that differ in their arguments alone."""
    arguments = [np.asarray(a) for a in arguments]
    declared = ''.join(f'  p{i} = {shape_text(a)} parameter({i})\n' for i, a in enumerate(arguments))
    *before, root = result.split('\n')
    lines = ''.join(f'  {line}\n' for line in before)
    return Written(f'{CALLED}\nENTRY main {{\n{declared}  tag = s32[] constant({tag})\n{lines}  ROOT r = {root}\n}}\n', arguments)


def shape_text(a):
    return f'{SHORT[a.dtype.name]}[{",".join(map(str, a.shape))}]'


def arr(*shape, name='float32'):
    return values(rng_of('rare', shape, name), shape, name, -2.0, 2.0)


def indices():
    for t in INTS + UINTS:
        info = np.iinfo(t)
        for v in (info.min, info.max, 1, 3, info.max // 2 + 1 if info.min == 0 else -1):
            at = np.array(v, t), np.array(1, t)
            yield f'slice_{t}_{v}', 'f32[2,2] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,2}', (arr(4, 5), *at)
            yield f'update_{t}_{v}', 'f32[4,5] dynamic-update-slice(p0, p3, p1, p2)', (arr(4, 5), *at, arr(2, 2))
        at = np.array([[info.min], [info.max], [1], [3]], t)
        rows = 'start_index_map={0}, index_vector_dim=1'
        yield f'gather_{t}', f'f32[4,2] gather(p0, p1), offset_dims={{1}}, collapsed_slice_dims={{0}}, {rows}, slice_sizes={{1,2}}', (arr(4, 2), at)
        yield f'gather_windows_{t}', f'f32[4,3,2] gather(p0, p1), offset_dims={{1,2}}, collapsed_slice_dims={{}}, {rows}, slice_sizes={{3,2}}', (arr(5, 2), at)
        rows = 'scatter_dims_to_operand_dims={0}, index_vector_dim=1'
        yield f'scatter_{t}', f'f32[4,2] scatter(p0, p1, p2), update_window_dims={{1}}, inserted_window_dims={{0}}, {rows}, to_apply=add', (arr(4, 2), at, arr(4, 2))
        yield f'scatter_windows_{t}', f'f32[5,2] scatter(p0, p1, p2), update_window_dims={{1,2}}, inserted_window_dims={{}}, {rows}, to_apply=add', (arr(5, 2), at, arr(4, 3, 2))
        yield f'scatter_last_{t}', f'f32[4,2] scatter(p0, p1, p2), update_window_dims={{1}}, inserted_window_dims={{0}}, {rows}, unique_indices=true, to_apply=last', (arr(4, 2), at[:, 0], arr(4, 2))
    for v in (-5, -1, 0, 1, 2, 3, 2**31 - 1, -2**31):
        yield f'branch_{v}', 'f32[] conditional(p0, p1, p1, p1), branch_computations={negated, doubled, squared}', (np.int32(v), arr())
    for t, n in itertools.product(NAMES, (3, 300)):
        yield f'iota_{t}_{n}', f'i = {t}[{n}] iota(), iota_dimension=0\n{t}[{n}] copy(i)', ()


def pads():
    for padding, (rows, columns) in {'-1_2x0_0': (5, 3), '-1_-1_2x1_0': (8, 4), '0_-3_1x-1_-1': (4, 1), '2_-4_3x0_0_1': (11, 5), '-2_5x-1_0_2': (7, 6)}.items():
        yield padding, f'f32[{rows},{columns}] pad(p0, p1), padding={padding}', (arr(4, 3), arr())
    yield 'of_nothing', 'f32[3] pad(p0, p1), padding=1_2_4', (arr(0), arr())
    yield 'to_nothing', 'f32[0] pad(p0, p1), padding=-2_-1', (arr(3), arr())


def comparisons():
    for t in FLOATS + ['float8_e5m2', 'float8_e4m3fn']:
        x = np.array([np.nan, -np.nan, 1, -1, 0.0, -0.0, 448, -448, 2] + ([np.inf, -np.inf] if t != 'float8_e4m3fn' else []), 'f4').astype(dtype_of(t))
        a, b = (v.reshape(-1) for v in np.meshgrid(x, x))
        for direction, how in itertools.product(('EQ', 'NE', 'LT', 'LE', 'GT', 'GE'), ('', ', type=TOTALORDER', ', type=FLOAT')):
            yield f'{t}_{direction}{how[7:]}', f'pred[{len(a)}] compare(p0, p1), direction={direction}{how}', (a, b)
    x = np.array([np.nan, 1, -1, 5, -5, np.inf, -np.inf, 0, -0.0], 'f4')
    for low, high in [(0, 1), (1, 0), (np.nan, 1), (0, np.nan), (-np.inf, np.inf), (0.0, -0.0)]:
        yield f'clamp_{low}_{high}', 'f32[9] clamp(p0, p1, p2)', (np.float32(low), x, np.float32(high))


def reductions():
    for n, f in itertools.product((2, 5, 33, 70), ('last', 'sub', 'max')):
        yield f'{f}_{n}', f'f32[3] reduce(p0, p1), dimensions={{1}}, to_apply={f}', (arr(3, n), arr())
        yield f'{f}_{n}_columns', f'f32[3] reduce(p0, p1), dimensions={{0}}, to_apply={f}', (arr(n, 3), arr())
    yield 'of_nothing', 'f32[3] reduce(p0, p1), dimensions={1}, to_apply=add', (arr(3, 0), arr())
    yield 'to_nothing', 'f32[0] reduce(p0, p1), dimensions={1}, to_apply=add', (arr(0, 3), arr())


def windows():
    for n, (size, window, result) in enumerate([(6, 'size=3 pad=-1_2', 5), (6, 'size=3 pad=4_-2 lhs_dilate=2', 11), (5, 'size=2 stride=3 rhs_dilate=3', 1), (5, 'size=1 stride=2 pad=3_3', 6), (0, 'size=2 pad=1_1', 1), (3, 'size=5', 0), (0, 'size=1 lhs_dilate=2', 0), (4, 'size=2 pad=5_5', 13)]):
        for f, start in dict(add=0.5, max=-1, mul=2, sub=1).items():
            yield f'{n}_{f}', f'f32[{result}] reduce-window(p0, p1), window={{{window}}}, to_apply={f}', (arr(size), np.float32(start))
    for n, ((rows, columns), window, (r, c)) in enumerate([((6, 6), 'size=2x2 stride=2x2', (3, 3)), ((5, 5), 'size=3x3 stride=2x2 pad=1_1x1_1', (3, 3)), ((7, 4), 'size=3x2 stride=3x2 pad=1_1x0_0', (3, 2)), ((4, 4), 'size=2x2', (3, 3)), ((4, 5), 'size=1x3 pad=0_0x2_0', (4, 5))]):
        with_nan = arr(rows, columns)
        with_nan[0, 0] = with_nan[2, 2] = np.nan
        for select, x in (('ge', np.round(arr(rows, columns))), ('gt', np.round(arr(rows, columns))), ('lt', np.round(arr(rows, columns))), ('ge', with_nan)):
            yield f'select{n}_{select}_{np.isnan(x).any()}', f'f32[{rows},{columns}] select-and-scatter(p0, p1, p2), window={{{window}}}, select={select}, scatter=add', (x, arr(r, c), np.float32(0.5))


def transforms():
    for shape in [(n,) for n in (0, 1, 2, 3, 5, 7, 11, 16, 17, 31, 37, 97, 100)] + [(3, 4), (5, 2), (1, 7), (2, 3, 4), (2, 5, 1), (3, 1, 7)]:
        half = shape[:-1] + (shape[-1] // 2 + 1 if shape[-1] else 0,)
        length, whole, part = ','.join(map(str, shape)), ','.join(map(str, (2, *shape))), ','.join(map(str, (2, *half)))
        for kind, result, x in [('FFT', f'c64[{whole}]', (*shape, 'complex64')), ('IFFT', f'c64[{whole}]', (*shape, 'complex64')), ('RFFT', f'c64[{part}]', (*shape, 'float32')), ('IRFFT', f'f32[{whole}]', (*half, 'complex64'))]:
            yield f'{kind}_{shape_name(shape)}', f'{result} fft(p0), fft_type={kind}, fft_length={{{length}}}', (arr(2, *x[:-1], name=x[-1]),)


PRODUCTS = '''s8 s8 s32, u8 s8 s32, s8 u8 s32, bf16 bf16 f32, f16 f16 f32, bf16 f32 f32, f8e4m3fn f8e5m2 f32, f8e4m3fn f8e4m3fn bf16, s32 f32 f32, f32 f32 f64, f32 f32 bf16, pred pred s32, pred pred pred, s8 bf16 bf16, s8 s8 s8,
    s16 s16 s64, c64 f32 c64, f32 f32 s32, u8 u8 f32, f64 f64 f32, f8e8m0fnu f8e8m0fnu f32'''


def products():
    for kinds in PRODUCTS.split(','):
        a, b, out = kinds.split()
        small = [np.asarray(rng_of(kinds, k).integers(0 if NAMES[k][0] in 'ub' or 'e8m0' in k else -2, 3, shape)).astype('f4').astype(dtype_of(NAMES[k])) for k, shape in ((a, (3, 5)), (b, (5, 4)))]
        yield f'{a}_{b}_{out}', f'{out}[3,4] dot(p0, p1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}', small
        yield f'conv_{a}_{b}_{out}', f'{out}[1,3,4] convolution(p0, p1), window={{size=1}}, dim_labels=b0f_0io->b0f', [small[0][None], small[1][None]]
    yield 'outer', 'f32[3,5,4] dot(p0, p1), lhs_contracting_dims={}, rhs_contracting_dims={}', (arr(3, 5), arr(4))
    yield 'crossed_batch', 'f32[2,3] dot(p0, p1), lhs_batch_dims={1,0}, rhs_batch_dims={0,1}, lhs_contracting_dims={2}, rhs_contracting_dims={2}', (arr(3, 2, 4), arr(2, 3, 4))


CONVOLUTIONS = dict(
    batch_groups=('window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, batch_group_count=2', (4, 5, 3), (3, 3, 6), (2, 5, 6)), feature_groups=('window={size=2 rhs_reversal=1}, dim_labels=bf0_oi0->bf0, feature_group_count=3', (2, 6, 5), (6, 2, 2), (2, 6, 4)),
    dilated=('window={size=3 stride=2 pad=2_3 lhs_dilate=3 rhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f', (2, 5, 3), (3, 3, 2), (2, 7, 2)), cropped=('window={size=3 pad=-1_-2}, dim_labels=b0f_0io->b0f', (2, 9, 3), (3, 3, 2), (2, 4, 2)),
    cropped_dilated=('window={size=2 pad=-2_-1 lhs_dilate=2}, dim_labels=b0f_0io->b0f', (2, 6, 3), (2, 3, 2), (2, 7, 2)), nothing=('window={size=4}, dim_labels=b0f_0io->b0f', (2, 3, 3), (4, 3, 2), (2, 0, 2)), point=('dim_labels=bf_io->bf', (2, 3), (3, 4), (2, 4)),
    point_groups=('dim_labels=bf_io->bf, feature_group_count=3', (2, 3), (1, 6), (2, 6)), point_batches=('dim_labels=bf_io->bf, batch_group_count=2', (4, 3), (3, 4), (2, 4)), volume=('window={size=2x1x3 stride=1x2x1 pad=0_1x0_0x1_1}, dim_labels=b012f_012io->b012f', (1, 3, 4, 4, 2), (2, 1, 3, 2, 3), (1, 3, 2, 4, 3)),
    four=('window={size=2x1x2x1}, dim_labels=b0123f_0123io->b0123f', (1, 3, 2, 3, 2, 2), (2, 1, 2, 1, 2, 1), (1, 2, 2, 2, 2, 1)), no_batch=('window={size=2}, dim_labels=b0f_0io->b0f', (0, 4, 3), (2, 3, 2), (0, 3, 2)), no_features=('window={size=2}, dim_labels=b0f_0io->b0f', (2, 4, 0), (2, 0, 2), (2, 3, 2)),
    no_outputs=('window={size=2}, dim_labels=b0f_0io->b0f', (2, 4, 3), (2, 3, 0), (2, 3, 0)), labels=('window={size=2x3}, dim_labels=1b0f_i1o0->f10b', (5, 2, 4, 3), (3, 3, 2, 2), (2, 3, 3, 2)))


def convolutions():
    for (name, (rest, lhs, rhs, result)), t in itertools.product(CONVOLUTIONS.items(), ('float32', 'int8', 'bfloat16', 'complex64')):
        yield f'{name}_{t}', f'{SHORT[t]}[{",".join(map(str, result))}] convolution(p0, p1), {rest}', (arr(*lhs, name=t), arr(*rhs, name=t))


HARD = [0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 0.1, 3.7, 127, 128, 129, 255, 256, 257, -128, -129, 448, 464, 480, 57344, 61440, 65504, 65520, 1e10, -1e10, 2**31, 2**32, 2**63, 2**64, -2**63, -2**64, np.inf, -np.inf, np.nan,
        6, 7, 5, 0.25, 0.125, 1e-3, 2**-9, 2**-10, 3 * 2**-11, 2**-16, 2**-17, 2**-24, 2**-25, 1e-30, 7.5, 15.5, 16, 240, 248, 30, 31, 0.75, 1.25, 3.5, 4.5, -6, -7]


def conversions():
    with np.errstate(all='ignore'):
        hard = {t: np.array(HARD, 'float64').astype(dtype_of(NAMES[t])) for t in NAMES if 'f' in t}
    for t in NAMES:
        if t[0] in 'su':
            info = ml_dtypes.iinfo(dtype_of(NAMES[t]))
            hard[t] = np.array([dtype_of(NAMES[t]).type(v) for v in (int(info.min), int(info.max), 1, 0, int(info.max) - 1, int(info.max) // 2)])
    for t, out in itertools.product(hard, NAMES):
        yield f'{t}_{out}', f'{out}[{len(hard[t])}] convert(p0)', (hard[t],)
    x = np.array([0.5, -0.5, 1.25, -1.25, 126.9, 127.5, -128.5, -129, 300, np.nan, np.inf, -np.inf, 0, 3e9, -3e9, 65535.5])
    for t, bits, out in itertools.product(('float32', 'float16', 'bfloat16', 'float64'), ('uint16', 'uint32', 'uint64'), ('s8', 's16', 's32')):
        with np.errstate(all='ignore'):
            yield f'stochastic_{t}_{bits}_{out}', f'{out}[16] stochastic-convert(p0, p1)', (x.astype(dtype_of(t)), values(rng_of('bits', bits), (16,), bits, special=True))
    for t, out, before, after in [('float32', 'u8', (3,), '3,4'), ('uint8', 'f32', (3, 4), '3'), ('float64', 'f32', (2,), '2,2'), ('int4', 's8', (3, 2), '3'), ('int8', 's4', (3,), '3,2'), ('int2', 's8', (3, 4), '3'), ('int8', 'u2', (2,), '2,4'), ('float16', 's4', (2,), '2,4'), ('uint4', 'f16', (2, 4), '2'),
                                  ('float4_e2m1fn', 'u4', (3,), '3'), ('uint8', 'f4e2m1fn', (3,), '3,2'), ('uint32', 'u8', (), '4'), ('uint8', 'u32', (4,), '')]:
        yield f'bits_{t}_{out}_{after.replace(",", "x")}', f'{out}[{after}] bitcast-convert(p0)', (arr(*before, name=t),)


def random_bits():
    for (algorithm, size), t, shape in itertools.product([('rng_three_fry', 2), ('rng_philox', 2), ('rng_philox', 3), ('rng_default', 2), ('rng_default', 3)], ('u8', 'u16', 'u32', 'u64'), ('', '1', '7', '3,5', '0', '2,3,4', '1024', '33,17')):
        yield f'{algorithm}{size}_{t}_{shape.replace(",", "x")}', f'(u64[{size}], {t}[{shape}]) rng-bit-generator(p0), algorithm={algorithm}', (np.array([2**64 - 2, 12345, 7][:size], 'uint64'),)


def own_calls():
    for t, (m, n) in itertools.product(('float32', 'float64', 'complex64', 'complex128'), ((4, 4), (5, 3), (3, 5), (1, 1), (8, 8), (2, 3, 3)[1:])):
        k, s = min(m, n), SHORT[t]
        for batch in ('', '2,'):
            shape = ((2,) if batch else ())
            yield f'qr_{t}_{m}x{n}{batch}', f'({s}[{batch}{m},{n}], {s}[{batch}{k}]) custom-call(p0), custom_call_target="Qr"', (arr(*shape, m, n, name=t),)
            if m >= n:
                yield f'reflectors_{t}_{m}x{n}{batch}', f'{s}[{batch}{m},{n}] custom-call(p0, p1), custom_call_target="ProductOfElementaryHouseholderReflectors"', (arr(*shape, m, n, name=t), arr(*shape, k, name=t))
    for t, n, config in itertools.product(('float32', 'float64', 'complex64', 'complex128'), (0, 1, 2, 3, 4, 5, 8, 13), ('1,1,100,1e-6', '0,0,15,0.000001', '1,1,2,1e-6')):
        s, real = SHORT[t], dict(complex64='f32', complex128='f64').get(t, SHORT[t])
        yield f'eigh_{t}_{n}_{config}', f'({s}[2,{n},{n}], {real}[2,{n}]) custom-call(p0), custom_call_target="Eigh", backend_config="{config}"', (arr(2, n, n, name=t),)
    for target in ('MoveToHost', 'MoveToDevice', 'Sharding', 'annotate_device_placement'):
        yield target, f'f32[4] custom-call(p0), custom_call_target="{target}"', (arr(4),)


def singular():
    """JAX's tridiagonal solver of singular equations, whose call has layouts of its own, and the inverse iteration that it serves."""
    for t, n, columns, how in itertools.product(('float32', 'float64', 'complex64', 'complex128'), (1, 2, 3, 6, 11), (1, 3), range(4)):
        below, middle, above = (arr(2, n, name=t) * np.array(k, t) for k in (1, 1.5, -0.5))
        if how == 1:
            middle = np.zeros_like(middle)
        elif how == 2:
            below, middle = below * 0, middle * (np.arange(n) % 2).astype(t)
        elif how == 3:  # rows of unlike size
            middle = middle * (np.array(1e-20, t) ** (np.arange(n) % 3)).astype(t)
        tagged = lambda *a, k=how: (lax.linalg.tridiagonal_solve(*a, perturb_singular=True), jnp.int32(k))
        yield f'singular_{t}_{n}_{columns}_{how}', jitted(tagged, below, middle, above, arr(2, n, columns, name=t))
    for t, n in itertools.product(('float32', 'float64'), (2, 5, 8, 20)):
        diagonal, couplings = arr(n, name=t), arr(n + 1, name=t)[:n - 1]
        yield f'eigh_tridiagonal_{t}_{n}', jitted(lambda d, e: scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=False), diagonal, couplings)
        yield f'eigh_tridiagonal_{t}_{n}_few', jitted(lambda d, e: scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=False, select='i', select_range=(0, 1)), diagonal, couplings)
