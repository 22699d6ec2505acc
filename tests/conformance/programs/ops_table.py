"""The lines of tests/laws/sample_table.cc, which have every opcode by every type and several sizes, as HLO text: what JAX never writes
is among them. XLA compiles what it can of it."""
import os, re
import numpy as np
from programs._values import *

NAMES = dict(pred='bool', s2='int2', s4='int4', s8='int8', s16='int16', s32='int32', s64='int64', u2='uint2', u4='uint4', u8='uint8', u16='uint16',
             u32='uint32', u64='uint64', f16='float16', bf16='bfloat16', f32='float32', f64='float64', c64='complex64', c128='complex128',
             f8e5m2='float8_e5m2', f8e4m3fn='float8_e4m3fn', f8e4m3b11fnuz='float8_e4m3b11fnuz', f8e5m2fnuz='float8_e5m2fnuz',
             f8e4m3fnuz='float8_e4m3fnuz', f8e4m3='float8_e4m3', f8e3m4='float8_e3m4', f4e2m1fn='float4_e2m1fn', f8e8m0fnu='float8_e8m0fnu')
SIZES = {'': '', '0': '0', '3,2': '0,1', '300': '0'}
# Of several devices, hosts and asynchrony; what has no value that is known; what takes XLA's process down.
LEFT_OUT = re.compile(r'(all-|async|copy-|collective|send|recv|infeed|outfeed|partition-id|rng\(|rng-get|reduce-scatter|ragged|domain|shuffle|'
                      r'custom-call|add-dependency|after-all|parameter|scaled|scan|dynamic-reshape)')


class Written:
    """A program as HLO text, with its arguments."""

    def __init__(self, text, arguments):
        self.text, self.arguments = text, arguments


def table(name, source):
    """The rows of a C++ table of strings."""
    body = source[source.index(name):]
    body = body[body.index('{') + 1:body.index('\n};')]
    for row in re.findall(r'\{((?:\s*"(?:[^"\\]|\\.)*"\s*,?)+)\}', body):
        fields = re.findall(r'((?:"(?:[^"\\]|\\.)*"\s*)+)', row)
        yield [''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', f)).replace('\\"', '"').replace('\\n', '\n') for f in fields]


def kind(t):
    return 'pred' if t == 'pred' else 'complex' if t[0] == 'c' else 'float' if 'f' in t else 'signed' if t[0] == 's' else 'unsigned'


def takes(words, t):
    return any(w in ('all', t, kind(t)) or (w == 'int' and kind(t) in ('signed', 'unsigned')) for w in words)


def typed(text, t):
    real = dict(c64='f32', c128='f64').get(t, t)
    width = 8 * dtype_of(NAMES[t]).itemsize
    unsigned = dict(s2='u2', u2='u2', s4='u4', u4='u4', f4e2m1fn='u4').get(t, f'u{min(width, 64)}')
    return text.replace('$t', t).replace('$p', real).replace('$u', unsigned).replace('$c', 'c64' if t == 'f32' else 'c128')


def split(text):
    """At the commas outside of brackets."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in '([{') - (c in ')]}')
        if c == ',' and depth == 0:
            out.append(text[start:i].strip()); start = i + 1
    return [p for p in out + [text[start:].strip()] if p]


def close_of(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in '([{') - (text[i] in ')]}')
        if depth == 0:
            return i


def value(rng, shape_text, how):
    t, dims = re.match(r'(\w+)\[([^\]]*)\]', shape_text).groups()
    shape = tuple(int(d.replace('<=', '')) for d in dims.split(',') if d)
    dtype = dtype_of(NAMES[t])
    if how.startswith('~') and how[1:].isdigit():
        return np.full(shape, int(how[1:])).astype(dtype)
    if how == '~small':
        return np.asarray(rng.integers(-2, 4, shape)).astype(np.float32 if dtype.kind in 'fcV' else np.int64).astype(dtype)
    return values(rng, shape, NAMES[t], special=True)


def lines():
    here = os.path.dirname(os.path.abspath(__file__))
    source = open(os.path.join(here, '../../laws/sample_table.cc')).read()
    called = list(table('kCalled[]', source))
    for types, line in table('kRows[]', source):
        head, rest = line[:line.index('(')], line[line.index('('):]
        for op in head.split('|'):
            for t in (list(NAMES) if '$t' in line else ['f32']):
                if '$t' in line and not takes(types.split(), t):
                    continue
                for second in (NAMES if '$s' in line else ['']):
                    for size, dims in (SIZES.items() if '$d' in line else [('', '')]):
                        text = typed(op + rest, t).replace('$d', size).replace('$n', dims).replace('$s', second)
                        yield text, t, called


def program(line, t, called):
    at = line.index('(')
    end = close_of(line, at)
    op, operands = line[:at], split(line[at + 1:end])
    parts = split(line[end + len(') -> '):])
    result, attributes = parts[0], parts[1:]
    text = 'HloModule m\n\n'
    for name, parameters, body in called:
        if re.search(r'[={ ]' + name + r'(?=[,} ]|$)', ' ' + ', '.join(attributes)):
            declared = '\n'.join(f'  p{i} = {p} parameter({i})' for i, p in enumerate(parameters.split()))
            text += typed(f'{name} {{\n{declared}\n  {body}\n}}\n\n', t)
    rng = rng_of(line)
    arguments, names, declared = [], [], ''
    for i, operand in enumerate(operands):
        shape, _, how = operand.partition('~')
        leaves = split(shape[1:-1]) if shape.startswith('(') else [shape]
        first = len(arguments)
        for leaf in leaves:
            declared += f'  a{len(arguments)} = {leaf} parameter({len(arguments)})\n'
            arguments.append(value(rng, leaf, '~' + how if how else ''))
        if shape.startswith('('):
            declared += f'  p{i} = {shape} tuple({", ".join(f"a{k}" for k in range(first, len(arguments)))})\n'
        names.append(f'p{i}' if shape.startswith('(') else f'a{first}')
    text += 'ENTRY main {\n' + declared + f'  ROOT r = {result} {op}({", ".join(names)})' + ''.join(', ' + a for a in attributes) + '\n}\n'
    return Written(text, arguments)


def programs():
    for line, t, called in lines():
        if not LEFT_OUT.match(line) and 'constant()' not in line and '((' not in line.split(' -> ')[0]:
            yield re.sub(r'[^\w\-]+', '_', line)[:100], lambda line=line, t=t: program(line, t, called)
