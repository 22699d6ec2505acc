"""Takes down every program that JAX compiles: the HLO it hands to XLA, what XLA makes of it, the arguments and the result.

The tolerances are those of the shared corpora's README: exact without float arithmetic, else by the element type, widened by what
the result moves when each float argument moves by one step."""
import gzip, os, sys
import numpy as np

os.environ.setdefault('JAX_PLATFORMS', 'cpu')
import jax
jax.config.update('jax_enable_x64', True)
from jax._src import compiler
from jax._src.interpreters import mlir, pxla
from jax._src.lib import xla_client

# Ops that give the same bits wherever they are right.
EXACT = set('''abs add-dependency after-all and bitcast bitcast-convert broadcast call ceil clamp compare complex concatenate
    conditional constant convert copy copy-done copy-start count-leading-zeros dynamic-reshape dynamic-slice dynamic-update-slice
    floor fusion gather get-dimension-size get-tuple-element imag iota is-finite maximum minimum negate not opt-barrier or pad
    parameter popcnt real reduce-precision reshape reverse rng-bit-generator round-nearest-afz round-nearest-even select
    set-dimension-size shift-left shift-right-arithmetic shift-right-logical sign slice sort topk transpose tuple while xor
    custom-call reduce reduce-window scatter select-and-scatter map scan domain partition-id replica-id'''.split())
ROUNDED_ONCE = {'add', 'subtract', 'multiply', 'divide', 'sqrt'}
SUMS = {'while', 'scan', 'reduce', 'reduce-window', 'dot', 'convolution', 'scatter', 'select-and-scatter', 'custom-call', 'fft',
        'cholesky', 'triangular-solve', 'ragged-dot', 'scaled-dot'}
INEXACT_CALLS = ('lapack_', 'blas_', '__onednn', '__ynn')
RTOL = {'float32': 2e-5, 'complex64': 2e-5, 'float64': 1e-10, 'complex128': 1e-10, 'float16': 4e-3, 'bfloat16': 3.2e-2}
LEAST = {'float16': 1.2e-7, 'float64': 2.0**-1022, 'complex128': 2.0**-1022}
LARGEST = 1_000_000  # bytes of arguments and results


def mantissa(dtype):
    import ml_dtypes
    return 2.0 ** -int(ml_dtypes.finfo(dtype).nmant)


def is_float(dtype):
    return jax.dtypes.issubdtype(dtype, np.inexact)


def float_types(pb):
    names = [n for n in ('F16', 'F32', 'F64', 'C64', 'C128', 'BF16', 'F8E5M2', 'F8E4M3FN', 'F8E4M3B11FNUZ', 'F8E5M2FNUZ', 'F8E4M3FNUZ',
                         'F8E4M3', 'F8E3M4', 'F4E2M1FN', 'F8E8M0FNU')]
    import hclib
    return {hclib.T[n] for n in names}


def inexact_ops(module, floats):
    """Each instruction of float arithmetic, by opcode; those of the computations of a reduction among them."""
    found = []
    for computation in module.computations:
        types = {i.id & 0xffffffff: i.shape.element_type for i in computation.instructions}
        for i in computation.instructions:
            touches = i.shape.element_type in floats or any(types[o & 0xffffffff] in floats for o in i.operand_ids)
            inexact_call = i.opcode == 'custom-call' and i.custom_call_target.startswith(INEXACT_CALLS)
            complex_size = i.opcode in ('abs', 'sign') and types[i.operand_ids[0] & 0xffffffff] in (15, 18)
            if (touches and i.opcode not in EXACT) or inexact_call or complex_size:
                found.append(i)
    return found


class Tolerances:
    def __init__(self, hclib, modules, values):
        floats = float_types(hclib.pb)
        self.inexact = [inexact_ops(m, floats) for m in modules]
        self.sums = any(i.opcode in SUMS for m in modules for c in m.computations for i in c.instructions)
        single = all(len(ops) == 1 and ops[0].opcode in ROUNDED_ONCE and ops[0].shape.element_type not in (15, 18)
                     for ops in self.inexact)
        self.exact = not any(self.inexact) or (single and not self.sums)
        self.values = values

    def of(self, pb, leaf, moved):
        """`moved`: the same leaf for arguments a step away."""
        value = self.values[leaf]
        if not is_float(value.dtype) or self.exact:
            return pb.Tolerance(exact=True), False
        name = value.dtype.name
        wide = value.astype(np.complex128 if value.dtype.kind == 'c' else np.float64)
        finite = np.abs(wide[np.isfinite(wide)])
        largest = float(finite.max(initial=0.0))
        rtol = RTOL.get(name) or mantissa(value.dtype)
        atol = max(LEAST.get(name, 2.0**-126), rtol / 20 * largest if self.sums else 0.0)
        factor, cap = (8, 1e-6) if name in ('float64', 'complex128') else (8, 1e-3) if name in ('float32', 'complex64') else (2, 0.1)
        step = max((float(np.max(np.abs(m[leaf].astype(wide.dtype) - wide), initial=0.0, where=np.isfinite(wide) &
                                 np.isfinite(m[leaf].astype(wide.dtype)))) for m in moved), default=0.0)
        return pb.Tolerance(rtol=rtol, atol=max(atol, min(factor * step, cap * largest))), factor * step > cap * largest


def one_step(x, rng):
    """Each float moved by a unit in its last place, up or down or not at all."""
    if not is_float(x.dtype) or x.dtype.itemsize < 2 or x.size == 0:
        return x
    if x.dtype.kind == 'c':
        return (one_step(x.real.copy(), rng) + 1j * one_step(x.imag.copy(), rng)).astype(x.dtype)
    bits = np.ascontiguousarray(x).view({2: np.int16, 4: np.int32, 8: np.int64}[x.dtype.itemsize])
    moved = (bits + np.where(np.isfinite(x.astype(np.float64)) & (x != 0), rng.integers(-1, 2, x.shape), 0).astype(bits.dtype)).view(x.dtype)
    return np.where(np.isfinite(moved.astype(np.float64)), moved, x).astype(x.dtype)


class Known(Exception):
    """Raised in the middle of a compilation."""


class Capture:
    """Use as `with Capture(hclib, xrun) as capture:`; `capture.seen` then grows by (module, executable, arguments)."""

    def __init__(self, hclib, xrun):
        self.hclib, self.xrun = hclib, xrun
        self.modules, self.seen, self.missed = {}, [], 0
        self.stop_at = set()  # structures that are not worth compiling

    def __enter__(self):
        self.compile, self.execute = compiler.backend_compile_and_load, pxla.ExecuteReplicated.__call__
        compiler.backend_compile_and_load = self.on_compile
        pxla.ExecuteReplicated.__call__ = lambda call, *args: self.on_execute(call, args)
        return self

    def __exit__(self, *_):
        compiler.backend_compile_and_load, pxla.ExecuteReplicated.__call__ = self.compile, self.execute

    def on_compile(self, backend, module, devices, options, callbacks):
        try:
            hlo = None if callbacks else self.xrun.mlir_to_hlo(mlir.module_to_bytecode(module))
        except Exception:
            hlo, self.missed = None, self.missed + 1
        if self.stop_at and hlo is not None and self.hclib.normalised_hash(self.hclib.strip(hlo)) in self.stop_at:
            raise Known()
        executable = self.compile(backend, module, devices, options, callbacks)
        if hlo is not None:
            self.modules[id(executable)] = (hlo, executable)
        return executable

    def on_execute(self, call, args):
        hlo, executable = self.modules.pop(id(call.xla_executable), (None, None))
        if hlo is not None and not call.ordered_effects and not call.has_unordered_effects and not call.mut:
            kept = [a for i, a in enumerate(args) if i in call.kept_var_idx]
            self.seen.append((hlo, executable, [np.array(getattr(a, '_base_array', a), copy=True) for a in kept]))
        return self.execute(call, *args)

    def compile_text(self, written):
        parsed = xla_client.hlo.hlo_module_from_text(written.text).as_serialized_hlo_module_proto()
        module = self.hclib.pb.HloModuleProto()
        module.ParseFromString(parsed)
        executable = self.xrun.compile_mlir(self.xrun.hlo_to_mlir(parsed))
        self.seen.append((module, executable, written.arguments))

    def take(self):
        seen, self.seen = self.seen, []
        self.modules.clear()
        return seen


def optimised(hclib, executable):
    module = hclib.pb.HloModuleProto()
    module.ParseFromString(executable.hlo_modules()[0].as_serialized_hlo_module_proto())
    return module


def typed(values, module):
    """bool and the like, as the program's own types."""
    shapes = module.host_program_shape.parameters
    return [np.asarray(v) for v in values[:len(shapes)]]


class Packs:
    """Cases, one pack of those before XLA's passes and one of those after for each category."""

    def __init__(self, hclib, xrun, out, known, run_seed=0):
        self.hclib, self.xrun, self.out, self.known = hclib, xrun, out, set(known)
        self.files, self.rng = {}, np.random.default_rng(run_seed)

    def sink(self, kind, category):
        """A file of at most 400 cases."""
        file, count = self.files.get((kind, category), (None, 0))
        if count % 400 == 0:
            if file:
                file.close()
            folder = os.path.join(self.out, kind)
            os.makedirs(folder, exist_ok=True)
            file = gzip.open(os.path.join(folder, f'{category}_{count // 400}.cases.gz'), 'wb', compresslevel=4)
        self.files[kind, category] = file, count + 1
        return file

    def close(self):
        for file, _ in self.files.values():
            file.close()

    def add(self, category, name, module, executable, arguments):
        """Whether it was new."""
        structure = self.hclib.normalised_hash(self.hclib.strip(module))
        if structure in self.known or sum(a.nbytes for a in arguments) > LARGEST:
            return False
        self.known.add(structure)
        arguments = typed(arguments, module)
        outs = self.xrun.run(executable, arguments)
        after = optimised(self.hclib, executable)
        tolerances = Tolerances(self.hclib, (module, after), outs)
        moved = [] if tolerances.exact else [
            self.xrun.run(executable, [one_step(a, self.rng) for a in arguments]) for _ in range(2)]
        for kind, each in (('unoptimised', module), ('optimised', after)):
            case = self.case(category, f'{category}/{name}-{structure[:10]}', each, arguments, outs, tolerances, moved)
            case.structure_hash = structure
            self.hclib.write_delimited(self.sink(kind, category), case)
        return True

    def case(self, category, name, module, arguments, outs, tolerances, moved):
        pb = self.hclib.pb
        case = pb.Case(name=name, corpus='new', category=category, expected_from='xla-cpu', hlo_text=self.xrun.hlo_text(module))
        case.snapshot.hlo.hlo_module.CopyFrom(self.hclib.strip(module))
        types = [p.element_type for p in module.host_program_shape.parameters]
        for value, element_type in zip(arguments, types):
            case.snapshot.arguments.append(self.hclib.np_to_literal(value, element_type))
        case.snapshot.result.CopyFrom(self.xrun.result_literal(module, outs))
        flags = {'class:exact' if tolerances.exact else 'class:approx'}
        for leaf, value in enumerate(outs):
            tolerance, weak = tolerances.of(pb, leaf, moved)
            case.tolerance.append(tolerance)
            if weak:
                flags.add('ill-conditioned')
            if not is_float(value.dtype) and any((m[leaf] != value).any() for m in moved):
                flags.add('perturbation-changes-int')
            elif is_float(value.dtype) and any((np.isfinite(m[leaf].astype(complex)) != np.isfinite(value.astype(complex))).any() for m in moved):
                flags.add('nonfinite-sensitive')
        case.flags.extend(sorted(flags))
        return case


def known_structures(hclib, folder):
    """The structure hashes of the cases that lie in `folder`."""
    import glob
    out = set()
    for pack in glob.glob(os.path.join(folder, '**/*.cases.gz'), recursive=True):
        with gzip.open(pack, 'rb') as file:
            out.update(case.structure_hash for case in hclib.read_delimited(file, hclib.pb.Case))
    return out
