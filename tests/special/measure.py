#!/usr/bin/env python3
"""Measures the special functions on many points, and writes the table of docs/functions.md between its two marks.

  V/bin/python tests/special/measure.py build/release/heddle_tests_special [POINTS or a table made before]

Needs mpmath (see make_reference.py). The test program reads its points from tests/special/reference.txt below the folder
where it runs; here that is a temporary folder with a longer table. Its bounds are those of this table, so it passes.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- measured: special -->\n", "<!-- /measured -->\n"


def measure(program, points, made):
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder, "tests/special/reference.txt")
        table.parent.mkdir(parents=True)
        make = [sys.executable, str(ROOT / "tests/special/make_reference.py"), str(points)]
        if made:
            table.write_text(pathlib.Path(made).read_text())
        else:
            table.write_text(subprocess.run(make, check=True, capture_output=True, text=True).stdout)
        report = pathlib.Path(folder, "report.json")
        subprocess.run(
            [program, "--gtest_filter=SpecialReference.NoError*", f"--gtest_output=json:{report}"],
            cwd=folder,
            stdout=subprocess.DEVNULL)
        return json.loads(report.read_text())["testsuites"][0]["testsuite"][0]


def rows(test):
    names = sorted({key[:-4] for key in test if key.endswith(("_f32", "_f64"))})
    for name in names:
        cells = []
        for dtype in ("f32", "f64"):
            ulps, at = test[f"{name}_{dtype}"].split(" at ")
            cells += [f"{float(ulps):.3g}", at]
        yield f"| {name} | " + " | ".join(cells) + " |\n"


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    given = sys.argv[2] if len(sys.argv) > 2 else "10000"
    points, made = (int(given), None) if given.isdigit() else (0, given)
    table = "".join(rows(measure(program, points, made)))
    document = ROOT / "docs/functions.md"
    text = document.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    header = "| function | f32: ulps | at | f64: ulps | at |\n|---|---|---|---|---|\n"
    document.write_text(head + BEGIN + header + table + END + tail)


if __name__ == "__main__":
    main()
