#!/usr/bin/env python3
"""Writes programs that JAX makes and the shared corpora do not hold, with the results of XLA's CPU, as packs for `heddle conformance`.

  new_programs.py CORPORA OUT [--areas harnesses,numpy,..] [--every N] [--offset K]

CORPORA is the folder of the shared corpora, which has the reference runner too. Each area is a file of programs/ whose programs() gives
(name, function of no arguments); whatever JAX compiles while the function runs becomes a case, unless its structure is known.
OUT/unoptimised gets the HLO as JAX hands it to XLA, OUT/optimised what XLA's CPU compiler makes of it: fusions, layouts, bitcasts, its
own custom calls. Needs jax[cpu]==0.10.2, scipy, protobuf and, for harnesses, absl-py (tests only)."""
import argparse, importlib, os, signal, sys, time, warnings

parser = argparse.ArgumentParser()
parser.add_argument('corpora'); parser.add_argument('out')
parser.add_argument('--areas', default='')
parser.add_argument('--every', type=int, default=1); parser.add_argument('--offset', type=int, default=0)
parser.add_argument('--match', default='', help='part of the names of the programs wanted')
parser.add_argument('--start', type=int, default=0, help='the number of the first program: behind the one that took XLA down')
parser.add_argument('--seconds', type=int, default=60, help='the most that one program may take')
parser.add_argument('-v', action='store_true')
args = parser.parse_args()

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(args.corpora, 'runner')]
import capture, hclib, xrun
import jax

warnings.filterwarnings('ignore')
AREAS = args.areas.split(',') if args.areas else sorted(
    f[:-3] for f in os.listdir(os.path.join(here, 'programs')) if f.endswith('.py') and not f.startswith('_'))


class TooLong(Exception):
    pass


def on_alarm(*_):
    raise TooLong()


def run(area, packs):
    counts = dict(run=0, new=0, refused=0, known=0, unwritten=0)
    module = importlib.import_module('programs.' + area)
    with capture.Capture(hclib, xrun) as recorder:
        for n, (name, thunk) in enumerate(module.programs()):
            if args.match not in name or n < args.start or n % args.every != args.offset:
                continue
            if args.v:
                print(n, name, flush=True)
            counts['run'] += 1
            recorder.stop_at = packs.known if getattr(module, 'ONE_MODULE_EACH', False) else set()
            signal.alarm(args.seconds)
            try:
                written = thunk()
                if hasattr(written, 'text'):  # HLO text
                    recorder.compile_text(written)
            except capture.Known:
                counts['known'] += 1
            except (Exception, TooLong) as error:  # what JAX itself refuses
                counts['refused'] += 1
                if args.v:
                    print('refused', name, type(error).__name__, str(error)[:150].replace('\n', ' '), flush=True)
            signal.alarm(0)
            for k, seen in enumerate(recorder.take()):
                try:
                    counts['new'] += packs.add(area, f'{name}.{k}' if k else name, *seen)
                except Exception as error:
                    counts['unwritten'] += 1
                    if args.v:
                        print('unwritten', name, type(error).__name__, str(error)[:300].replace('\n', ' '), flush=True)
            if counts['run'] % 400 == 0:
                jax.clear_caches()
                print(area, counts, flush=True)
    counts['missed'] = recorder.missed
    return counts


signal.signal(signal.SIGALRM, on_alarm)
packs = capture.Packs(hclib, xrun, args.out, capture.known_structures(hclib, args.corpora))
try:
    for area in AREAS:
        start = time.time()
        print(area, run(area, packs), f'{time.time() - start:.0f} s', flush=True)
finally:  # so that what was made is there after an interrupt
    packs.close()
