#!/usr/bin/env python3
"""The times of a process that compiles its programs (cold), and of one that finds them on disk (warm).

  bench/disk_cache.py [BUILD] [--runs 11] [--plugin NAME] [PROGRAM..]

BUILD is build/release by default, PROGRAM a folder of bench/programs (by default all of them); the example `nile` comes first.
Each kind runs RUNS processes, each cold one with a folder of its own. Prints milliseconds, the least of each: the
processor's time of a whole process, with its start and the program's run; the part that the warm one saves; the time by the
clock that `heddle run` took to read the program; and how many times less that is than to compile it.
"""
import argparse
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MADE = re.compile(r"(compile|read from disk) ([0-9.]+) ms, run")


def run(command, folder):
    """Processor time in ms, how the program came (None where the command does not say) and what that took."""
    environment = dict(os.environ, HEDDLE_CACHE="1" if folder else "0", HEDDLE_CACHE_DIR=str(folder or ""))
    of_children = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) * 1e3
    start = of_children()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    spent = of_children() - start
    made = MADE.search(done.stdout)
    return (spent, made[1], float(made[2])) if made else (spent, None, None)


def measure(name, command, runs):
    colds, warms, offs = [], [], []
    with tempfile.TemporaryDirectory() as top:
        for i in range(runs):
            folder = pathlib.Path(top) / str(i)
            offs.append(run(command, None))
            colds.append(run(command, folder))
            warms.append(run(command, folder))
            assert colds[-1][1] in ("compile", None) and warms[-1][1] in ("read from disk", None), name
        held = sum(file.stat().st_size for file in folder.iterdir())
    least = lambda of, part: min(x[part] for x in of)
    cold, warm = least(colds, 0), least(warms, 0)
    line = f"{name:26} {least(offs, 0):9.1f} {cold:9.1f} {warm:9.1f} {cold / warm:7.1f}x"
    ratio = None
    if warms[0][2] is not None:
        read = least(warms, 2)
        ratio = (cold - warm + read) / read
        line += f" {cold - warm:9.1f} {read:9.2f} {ratio:7.1f}x"
    else:
        line += f" {cold - warm:9.1f}" + " " * 19
    print(f"{line} {held:10}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=str(ROOT / "build/release"))
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--plugin", help="a backend pjrt:NAME instead of cpu, as HEDDLE_PLUGINS knows it")
    arguments = parser.parse_args()
    built = pathlib.Path(arguments.build) / "bin"
    folders = [pathlib.Path(p) for p in arguments.programs] or sorted((ROOT / "bench/programs").glob("*/"))
    print(f"{'':26} {'off':>9} {'cold':>9} {'warm':>9} {'':>8} {'saved':>9} {'read':>9} {'':>8} {'bytes':>10}")
    ratios = []
    with tempfile.TemporaryDirectory() as out:
        # As installed: what a linker writes piece by piece takes up to 0.6 ms more to start.
        tool = pathlib.Path(shutil.copy(built / "heddle", out))
        if arguments.plugin is None and not arguments.programs:
            measure("nile", [shutil.copy(built / "nile", out), out], arguments.runs)
        for folder in folders:
            module = folder / "module.hlo.txt"
            command = [str(tool), "run", str(module), "--backend",
                       f"pjrt:{arguments.plugin}" if arguments.plugin else "cpu"]
            if module.exists():
                ratios.append(measure(folder.name, command, arguments.runs))
    if ratios:
        print(f"programs: {len(ratios)}, read {statistics.geometric_mean(ratios):.1f}x faster than compiled (geometric mean), "
              f"at least {min(ratios):.1f}x")


if __name__ == "__main__":
    main()
