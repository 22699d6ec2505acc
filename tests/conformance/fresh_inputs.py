#!/usr/bin/env python3
"""Makes a corpus of old programs on new inputs, with the results of XLA's CPU: what shows a rule fitted to the inputs given.

  fresh_inputs.py RUNNER OUT PACK_OR_DIR... [--every N] [--offset K] [--seed S]

RUNNER is the folder of the corpus's reference runner (hclib.py, xrun.py). The elements of each argument are drawn again from its
own elements; floats may turn their sign, and some cases get NaN, infinities, zeros and extremes. Loops keep their integers
in range. OUT then holds packs for `heddle conformance`. A loop may never end on other inputs: each pack has a process of its own, which is
stopped and started again behind the case after 40 seconds of silence. Needs jax[cpu]==0.10.2 and protobuf (tests only)."""
import argparse, gzip, glob, os, select, subprocess, sys, zlib
import numpy as np
from google.protobuf.internal.encoder import _VarintBytes

parser = argparse.ArgumentParser()
parser.add_argument('runner'); parser.add_argument('out'); parser.add_argument('paths', nargs='+')
parser.add_argument('--every', type=int, default=1); parser.add_argument('--offset', type=int, default=0)
parser.add_argument('--seed', type=int, default=0)
parser.add_argument('--worker', type=int, default=-1, help='used by the script itself: the ordinal to start from')
args = parser.parse_args()
sys.path.insert(0, args.runner)
import hclib, xrun
from hclib import pb

LOOPS = {'while', 'conditional', 'scan'}
WEAK = {'stablehlo'}  # corpora whose tolerance is that of another implementation


def is_number(dtype):
    return dtype.kind in 'fc' or dtype.kind == 'V'


def specials(dtype):
    if dtype.kind in 'iu':
        info = np.iinfo(dtype)
        return [info.min, info.max, 0, 1]
    return [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]


def fresh(x, rng, special, loops):
    flat = rng.permutation(x.reshape(-1))
    if flat.size == 0 or x.dtype == bool:
        return flat.reshape(x.shape)
    known = x.dtype.kind in 'fciu'  # the small floats are numpy's 'V'
    if x.dtype.kind in 'fc' and rng.random() < 0.5:
        flat = flat * rng.choice(np.array([1, 1, -1], x.dtype), flat.shape)
    if special and known and (x.dtype.kind in 'fc' or not (loops or x.ndim == 0)):
        for value in rng.choice(specials(x.dtype), 3):
            flat[rng.integers(flat.size)] = value
    return flat.reshape(x.shape).astype(x.dtype)


def scale_tolerance(case, old, new):
    """atol was a share of the old result's size."""
    for t, a, b in zip(case.tolerance, old, new):
        if case.corpus in WEAK and not t.exact:
            t.rtol = max(t.rtol, 2e-5)
        if t.atol and a.dtype.kind in 'fc' and a.size:
            size = lambda v: np.max(np.abs(v[np.isfinite(v)]), initial=1e-30)
            t.atol *= max(1.0, float(size(b) / size(a)))


def remake(case):
    rng = np.random.default_rng(zlib.crc32(case.name.encode()) + args.seed)
    module = case.snapshot.hlo.hlo_module
    loops = any(i.opcode in LOOPS for c in module.computations for i in c.instructions)
    special = rng.random() < 0.5
    old = [hclib.literal_to_np(a) for a in case.snapshot.arguments]
    new = [fresh(a, rng, special, loops) for a in old]
    outs = xrun.run(xrun.compile_mlir(xrun.hlo_to_mlir(module.SerializeToString())), new)
    scale_tolerance(case, [hclib.literal_to_np(l) for l in xrun.leaves(case.snapshot.result)], outs)
    case.snapshot.result.CopyFrom(xrun.result_literal(module, outs))
    for literal, old_literal, value in zip(case.snapshot.arguments, list(case.snapshot.arguments), new):
        literal.CopyFrom(hclib.np_to_literal(value, old_literal.shape.element_type))
    case.ClearField('xla_cpu_result')
    case.expected_from = 'xla-cpu'


def work(pack, target, start):
    """Appends the cases from `start` on; says each ordinal when it begins."""
    with gzip.open(pack, 'rb') as source, open(target, 'ab') as sink:
        for n, case in enumerate(hclib.read_delimited(source, pb.Case)):
            if n < start or case.corpus == 'spmd' or n % args.every != args.offset or not case.snapshot.arguments:
                continue
            print(n, flush=True)
            try:
                remake(case)
            except Exception:  # what jaxlib cannot run from its proto
                print('failed', flush=True)
                continue
            data = case.SerializeToString()
            sink.write(_VarintBytes(len(data)) + data)
            sink.flush()
            print('made', flush=True)


def watch(pack, raw, counts):
    """Runs workers until one comes to the end of the pack."""
    start = 0
    while True:
        options = ['--every', str(args.every), '--offset', str(args.offset), '--seed', str(args.seed), '--worker', str(start)]
        worker = subprocess.Popen([sys.executable, __file__, args.runner, raw, pack, *options], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, bufsize=0)
        while select.select([worker.stdout], [], [], 40)[0]:
            line = worker.stdout.readline().decode().strip()
            if not line:
                break
            if line.isdigit():
                start = int(line) + 1
            else:
                counts[line] += 1
        else:
            worker.kill()
        if worker.wait() == 0:
            return
        counts['stopped'] += 1  # it hung, or took XLA down


if args.worker >= 0:
    work(args.paths[0], args.out, args.worker)
    sys.exit()
for path in args.paths:
    for pack in sorted(glob.glob(path + '/**/*.cases.gz', recursive=True)) if os.path.isdir(path) else [path]:
        counts = dict(made=0, failed=0, stopped=0)
        target = os.path.join(args.out, *pack.split(os.sep)[-2:])
        os.makedirs(os.path.dirname(target), exist_ok=True)
        raw = target + '.raw'
        open(raw, 'wb').close()
        watch(pack, raw, counts)
        with open(raw, 'rb') as source, gzip.open(target, 'wb') as sink:
            sink.write(source.read())
        os.remove(raw)
        print(target, counts['made'], 'made,', counts['failed'], 'that XLA cannot run,', counts['stopped'], 'stopped', flush=True)
