#!/usr/bin/env python3
"""The processor's time to build a target, with libraries compiled eight files at a time and each file alone (HEDDLE_UNITY).

  bench/build_time.py [TARGET]      example_nile by default, which is what `./dev demo` builds

Each way starts from an empty folder below build/, which it removes, and leaves the compiler cache alone. Prints seconds of a
processor (user and system), and by the clock.
"""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build(folder, unity, target):
    environment = dict(os.environ, CCACHE_DISABLE="1")
    run = lambda *command: subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    run("cmake", "--preset", "release", "-B", folder, f"-DHEDDLE_UNITY={unity}")
    of_children = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    spent, start = of_children(), time.monotonic()
    run("cmake", "--build", folder, "--target", target)
    return of_children() - spent, time.monotonic() - start


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else "example_nile"
    for unity in ("ON", "OFF"):
        folder = ROOT / "build" / f"time-unity-{unity.lower()}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            spent, clock = build(folder, unity, target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"HEDDLE_UNITY={unity:3}  {target}: {spent:6.0f} s of a processor, {clock:6.0f} s by the clock", flush=True)


if __name__ == "__main__":
    main()
