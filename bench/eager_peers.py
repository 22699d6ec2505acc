#!/usr/bin/env python3
"""Times eager operations and models beside libtorch and MLX, in turns, and makes the table of docs/performance.md.

  cmake --preset release -DHEDDLE_BUILD_BENCH=ON && ninja -C build/release bench_eager bench_models && bench/eager_peers.py

Fetches the C++ parts of PyPI's wheels once into build/peers (torch, the two CUDA libraries that its CPU library names,
and MLX if there is a wheel), builds bench/peers/*.cc against them, and runs ours and theirs round by round. libtorch
runs with its threads and with one, and the faster counts. One JSON line for each way goes to bench/history/peers/. On a
machine that others use too, libtorch runs with one thread only, and the table has CPU time of all threads in place of time.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

import record

ROOT = record.ROOT
OURS = {"BM_AddChain/4": ("add of 4", 1000), "BM_AddChain/4096": ("add of 4096", 1000),
        "BM_TimesNewNumber": ("x * new number", 1), "BM_NewIndex": ("b[new index]", 1),
        "BM_ScanOf10": ("scan of 10", 1), "BM_RunOfScanOf10": ("scan of 10, its run", 1), "BM_Cond": ("cond", 1)}
ROWS = {"add of 4": "`x + y` of 4 floats, a chain of 1,000", "add of 4096": "the same of 4,096 floats",
        "x * new number": "`x * number`, a new number each time", "b[new index]": "`b[i]`, a new index each time",
        "b[new index], copied": "the same, and libtorch copies as we do", "scan of 10": "`scan` of 10 steps",
        "scan of 10, its run": "the run of its program alone",
        "cond": "`cond`", "dense forward": "two dense layers, 32 x 64", "dense training": "a training step of them",
        "rnn dot": "a dot of 1 x 16 and 16 x 16", "rnn cell": "a step of a cell with two such dots",
        "decoder": "a token of a decoder, 2 layers, 300 steps", "resnet18 step": "a training step of a ResNet-18, 8 x 32 x 32"}


def fetch(folder, *wheels):
    """Unpacks what C++ programs need of these wheels."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, *wheels], check=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            wanted = re.compile(r"torch/include/|torch/lib/lib(c10|torch_cpu|gomp)[.]|mlx/|mlx_cpu[.]libs/|nvidia/|[^/]*dist-info/METADATA")
            archive.extractall(folder, filter(wanted.match, archive.namelist()))
        wheel.unlink()


def libraries(folder):
    return sorted({str(path.parent) for path in folder.rglob("lib*.so*")})


def built(folder, build, name, flags):
    """The program bench/peers/NAME.cc."""
    program = folder / name
    libs = libraries(folder / "wheels" / name)
    subprocess.run(["g++", "-O2", *flags, f"-I{build}/include", str(ROOT / f"bench/peers/{name}.cc"), "-o", str(program),
                    *[f"-L{lib}" for lib in libs], *(["-l:libtorch_cpu.so", "-lc10"] if name == "torch" else ["-lmlx"]),
                    *[f"-Wl,-rpath,{lib}" for lib in libs], "-Wl,--allow-shlib-undefined"], check=True)
    return program


def torch(folder, build, version):
    wheels = folder / "wheels/torch"
    if not (wheels / "torch").exists():
        fetch(wheels, f"torch=={version}")
        about = next(wheels.glob("torch-*dist-info/METADATA")).read_text()
        cuda = [f"{name}=={found[1]}" for name in ("nvidia-cuda-cupti-cu12", "nvidia-cuda-runtime-cu12")
                if (found := re.search(rf"^Requires-Dist: {name}==([\d.]+)", about, re.M))]
        if cuda:
            fetch(wheels, *cuda)
    include = wheels / "torch/include"
    return built(folder, build, "torch", ["-std=c++17", f"-I{include}", f"-I{include}/torch/csrc/api/include"])


def mlx(folder, build):
    wheels = folder / "wheels/mlx"
    if not (wheels / "mlx").exists():
        fetch(wheels, "mlx", *(["mlx-cpu"] if platform.system() == "Linux" else ["mlx-metal"]))
    return built(folder, build, "mlx", ["-std=c++20", f"-I{wheels}/mlx/include"])


def lines_of(command, environment):
    text = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, env=environment).stdout
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def ours_at_once(tool, seconds, environment):
    text = subprocess.run([tool, "--benchmark_format=json", f"--benchmark_min_time={seconds}"], capture_output=True,
                          text=True, check=True, env=environment).stdout
    for run in json.loads(text)["benchmarks"]:
        if run["name"] in OURS:
            model, units = OURS[run["name"]]
            yield {"model": model, "way": "eager", "unit": "op", "ns_min": run["real_time"] / units,
                   "ns_median": run["real_time"] / units, "cpu_ns_min": run["cpu_time"] / units, "runs": run["iterations"]}


def measured(arguments, peers, is_loaded):
    quiet = {**os.environ, "HEDDLE_CACHE": "0"}
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    best = {}
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
        found = list(ours_at_once(arguments.build / "bin/bench_eager", arguments.seconds, quiet))
        found += lines_of([arguments.build / "bin/bench_models", arguments.seconds], quiet)
        for name, program in peers.items():
            if name == "torch":
                found += lines_of([program, arguments.seconds], one)
            if name != "torch" or not is_loaded:  # its threads spin, and wait for those that others keep from running
                found += lines_of([program, arguments.seconds], os.environ)
        for line in found:
            known = best.setdefault((line["model"], line["way"]), line)
            for key in ("ns_min", "ns_median", "cpu_ns_min"):
                known[key] = min(known[key], line[key])
    return best


def cell(line, key):
    if line is None:
        return "-"
    value = line[key]
    return f"{value / 1e6:,.3g} ms" if value >= 1e6 else f"{value / 1e3:,.3g} us" if value >= 1e4 else f"{value:,.0f} ns"


def table(best, key, about, is_loaded):
    lines = [f"At commit {about['commit']}, {about['date'][:10]}, on {about['cpu']}: the least of several runs in turns"
             + (", CPU time of all threads, since others used the machine, and libtorch with one." if is_loaded else "."), "",
             "| | eager | compiled | raw program | traced at each call | libtorch | MLX | eager over compiled |",
             "|---|---|---|---|---|---|---|---|"]
    ways = ("eager", "compiled", "raw program", "traced anew", "libtorch", "MLX")
    for model, name in ROWS.items():
        found = [best.get((model, way)) for way in ways]
        if not any(found):
            continue
        share = f"{found[1][key] / found[0][key]:.0%}" if found[0] and found[1] else "-"
        lines.append(f"| {name} | " + " | ".join(cell(line, key) for line in found) + f" | {share} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/peers")
    parser.add_argument("--torch", default="2.9.1", help="the version of PyPI's wheel")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each figure in a round")
    arguments = parser.parse_args()
    about = record.about()
    is_loaded = os.getloadavg()[0] > 0.5 * len(os.sched_getaffinity(0))
    peers = {"torch": torch(arguments.folder, arguments.build, arguments.torch)}
    try:
        peers["mlx"] = mlx(arguments.folder, arguments.build)
    except subprocess.CalledProcessError as error:
        print(f"no MLX here: {error}", file=sys.stderr)
    best = measured(arguments, peers, is_loaded)
    history = ROOT / "bench/history/peers"
    history.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", about["cpu"].lower()).strip("-") + ".jsonl"
    with (history / name).open("a") as out:
        for line in best.values():
            out.write(json.dumps({**about, "is_loaded": is_loaded, **line}) + "\n")
    import performance
    performance.replace(ROOT / "docs/performance.md",
                        {"peers": table(best, "cpu_ns_min" if is_loaded else "ns_min", about, is_loaded)})


if __name__ == "__main__":
    main()
