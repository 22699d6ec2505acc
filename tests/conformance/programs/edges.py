"""Each elementwise opcode on a grid of extremes, complex numbers with extremes in both parts; as HLO text, so that nothing is expanded on the way."""
import itertools
import numpy as np
from programs._values import *
from programs.ops_table import NAMES, Written

UNARY = '''abs cbrt ceil cosine erf exponential exponential-minus-one floor log log-plus-one logistic negate round-nearest-afz round-nearest-even
    rsqrt sign sine sqrt tan tanh real imag is-finite not popcnt count-leading-zeros'''.split()
BINARY = '''add subtract multiply divide remainder maximum minimum power atan2 and or xor shift-left shift-right-arithmetic
    shift-right-logical complex'''.split()
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.0, 40.0, -90.0, 710.0, -750.0, 1e-4, -1e-9, 3e4, -1e8, 1e30, -3e38, 1e-30, np.inf, -np.inf, np.nan, np.pi / 2, 0.99, 1.01]
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-6, 30.0, -100.0, 1e20, 1e-20, np.inf, -np.inf, np.nan]
RESULTS = {'real': {'c64': 'f32', 'c128': 'f64'}, 'imag': {'c64': 'f32', 'c128': 'f64'}, 'abs': {'c64': 'f32', 'c128': 'f64'}, 'complex': {'f32': 'c64', 'f64': 'c128'}}


def grid(t):
    dtype = dtype_of(NAMES[t])
    with np.errstate(all='ignore'):
        if t[0] == 'c':
            return np.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)]).astype(dtype)
        if dtype.kind in 'iu':
            info = np.iinfo(dtype)
            return np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 31, 33, 64, 100], dtype)
        return np.array(REAL).astype(dtype)


def programs():
    for t in ['f16', 'bf16', 'f32', 'f64', 'c64', 'c128', 's8', 'u8', 's32', 'u32', 's64', 'u64', 's16', 'u16']:
        x = grid(t)
        for op in UNARY:
            result = 'pred' if op == 'is-finite' else RESULTS.get(op, {}).get(t, t)
            text = f'HloModule m\n\nENTRY main {{\n  x = {t}[{len(x)}] parameter(0)\n  ROOT r = {result}[{len(x)}] {op}(x)\n}}\n'
            yield f'{op}_{t}', lambda text=text, x=x: Written(text, [x])
        a, b = (v.reshape(-1) for v in np.meshgrid(x[::5] if t[0] == 'c' else x, x[::3] if t[0] == 'c' else x))
        for op in BINARY:
            result = RESULTS.get(op, {}).get(t, t)
            text = f'HloModule m\n\nENTRY main {{\n  x = {t}[{len(a)}] parameter(0)\n  y = {t}[{len(a)}] parameter(1)\n  ROOT r = {result}[{len(a)}] {op}(x, y)\n}}\n'
            yield f'{op}_{t}', lambda text=text, a=a, b=b: Written(text, [a, b])
