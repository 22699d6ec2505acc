#!/usr/bin/env python3
"""Times the programs of ../shared/peers and appends the figures to bench/history/, one JSON line a program.

  HEDDLE_PLUGINS=xla-cpu:build/plugins/xla_cpu_pjrt.so bench/record.py
  bench/performance.py   # makes the page of them

All backends take turns in one process: cpu, the hand-written loops (`baseline`), and each plugin of HEDDLE_PLUGINS,
XLA's with and without its loop flag. A line has the commit, the date, the processor and, by backend, ns a unit (least
and median), ms to compile and the bytes of a call. A commit that ends in + had changes that were not committed.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ("unit_ns_min", "unit_ns_median", "compile_ms", "peak_bytes")


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout.strip()


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(r"^model name\s*: (.*)$", text, re.M)
    return f"{found[1] if found else 'unknown'}, {len(os.sched_getaffinity(0))} cores"


def backends():
    names = ["cpu", "baseline"]
    for entry in filter(None, os.environ.get("HEDDLE_PLUGINS", "").split(",")):
        plugin = "pjrt:" + entry.split(":")[0]
        names += [plugin, plugin + "+loops"] if "xla" in plugin else [plugin]
    return names


def measured(arguments, programs):
    with tempfile.NamedTemporaryFile(suffix=".json") as lines:
        subprocess.run([arguments.tool, "bench", *programs, "--backends", ",".join(backends()), "--json", lines.name,
                        "--seconds", str(arguments.seconds), "--rounds", str(arguments.rounds)], check=False)
        return [json.loads(line) for line in lines]


def records(lines, about):
    found = {}
    for line in lines:
        entry = found.setdefault(line["program"], {**about, "program": line["program"], "backends": {}})
        if line["unit_ns_min"] is None:
            continue
        figures = {key: line[key] for key in FIGURES if line[key] is not None}
        if not line["agrees"]:
            figures["agrees"] = False
        entry["backends"][line["backend"]] = figures
    return found.values()


def about():
    """When, what and where a figure is of."""
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain") else ""),
            "cpu": processor()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="*", help="folders; all of ../shared/peers/programs where none is named")
    parser.add_argument("--tool", default=ROOT / "build/release/bin/heddle_baselines")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each backend with a program")
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parser.parse_args()
    programs = arguments.program or sorted(map(str, (ROOT / "../shared/peers/programs").resolve().iterdir()))
    folder = ROOT / "bench/history"
    folder.mkdir(exist_ok=True)
    taken = about()
    name = re.sub(r"[^a-z0-9]+", "-", taken["cpu"].lower()).strip("-") + ".jsonl"
    with (folder / name).open("a") as out:
        for record in records(measured(arguments, programs), taken):
            out.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
