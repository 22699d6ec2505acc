#!/usr/bin/env python3
"""Makes the tables and charts of docs/performance.md, and the table of README.md, from the newest run in bench/history/.

  bench/performance.py

Replaces the text between `<!-- figures: NAME -->` and `<!-- end -->`, and docs/performance/*.svg.
"""
import json
import math
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHARTS = ROOT / "docs/performance"
IN_README = ("kalman_n4m2_explicit", "leafgrad_60", "rnn_d16_t10000", "lorenz_f64", "chol3_f32", "cumsum_1m",
             "ssm_diag_t1024_d256_n16", "gru_b1_h128_t1000")


def newest_run():
    records = [json.loads(line) for path in (ROOT / "bench/history").glob("*.jsonl") for line in path.open()]
    date = max(record["date"] for record in records)
    return sorted((r for r in records if r["date"] == date), key=lambda r: r["program"])


def least(record, wanted):
    """ns a unit of the best backend that agrees, and its name."""
    found = [(figures["unit_ns_min"], name) for name, figures in record["backends"].items()
             if wanted(name) and figures.get("agrees", True)]
    return min(found, default=(None, None))


def row_of(record):
    ours, _ = least(record, lambda name: name == "cpu")
    bar, _ = least(record, lambda name: name == "baseline")
    xla, which = least(record, lambda name: name.startswith("pjrt:"))
    ratio = lambda other: other / ours if ours and other else None
    return {"program": record["program"], "ours": ours, "bar": bar, "xla": xla, "which": which,
            "over_bar": ratio(bar), "over_xla": ratio(xla), "figures": record["backends"].get("cpu", {})}


def number(x, unit=""):
    if x is None:
        return "-"
    digits = 3 - math.floor(math.log10(x)) - 1 if x > 0 else 0
    return f"{round(x, digits):,.{max(digits, 0)}f}{unit}"


def mean_of(rows, key):
    found = [row[key] for row in rows if row[key]]
    return (math.exp(sum(map(math.log, found)) / len(found)), len(found)) if found else (None, 0)


def table(rows):
    lines = ["| program | Heddle, ns | by hand, ns | best XLA, ns | over by hand | over XLA | compile, ms |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        which = f" ({'loop flag' if row['which'].endswith('+loops') else 'default'})" if row["which"] else ""
        lines.append(f"| {row['program']} | {number(row['ours'])} | {number(row['bar'])} | {number(row['xla'])}{which} | "
                     f"{number(row['over_bar'], 'x')} | {number(row['over_xla'], 'x')} | {number(row['figures'].get('compile_ms'))} |")
    return "\n".join(lines)


def summary(run, rows):
    lines = [f"{len(rows)} programs at commit {run[0]['commit']}, {run[0]['date'][:10]}, on {run[0]['cpu']}.", "",
             "| Heddle's speed over | geometric mean | least | programs |", "|---|---|---|---|"]
    for key, name in (("over_xla", "the better of XLA's two ways"), ("over_bar", "loops by hand")):
        mean, count = mean_of(rows, key)
        if count == 0:
            continue
        worst = min((row for row in rows if row[key]), key=lambda row: row[key])
        lines.append(f"| {name} | {number(mean, 'x')} | {number(worst[key], 'x')} ({worst['program']}) | {count} |")
    return "\n".join(lines)


def chart(rows, key, title):
    """Bars to the right of 1 are faster, on a scale of logarithms."""
    rows = sorted((row for row in rows if row[key]), key=lambda row: -row[key])
    low, high = (min([0.5, *(row[key] for row in rows)]), max([2, *(row[key] for row in rows)]))
    left, width, height = 220, 560, 18
    at = lambda x: left + width * math.log(x / low) / math.log(high / low)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{height * len(rows) + 50}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{left}" y="18" font-weight="bold">{title}</text>']
    for i, row in enumerate(rows):
        y, end = 30 + height * i, at(row[key])
        colour = "#3b7a57" if row[key] >= 1 else "#b5523b"
        out += [f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{row["program"]}</text>',
                f'<rect x="{min(end, at(1)):.1f}" y="{y + 2}" width="{abs(end - at(1)):.1f}" height="{height - 4}" fill="{colour}"/>',
                f'<text x="{max(end, at(1)) + 4:.1f}" y="{y + 13}">{number(row[key], "x")}</text>']
    out += [f'<line x1="{at(1):.1f}" y1="28" x2="{at(1):.1f}" y2="{32 + height * len(rows)}" stroke="black"/>', "</svg>"]
    return "\n".join(out) + "\n"


def replace(path, parts):
    text = path.read_text()
    for name, part in parts.items():
        text, count = re.subn(rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)", lambda m: m[1] + part + "\n" + m[2], text, flags=re.S)
        assert count == 1, f"{path} has no place for {name}"
    path.write_text(text)


def main():
    run = newest_run()
    rows = [row_of(record) for record in run]
    CHARTS.mkdir(exist_ok=True)
    (CHARTS / "xla.svg").write_text(chart(rows, "over_xla", "Speed over the better of XLA's two ways"))
    (CHARTS / "by_hand.svg").write_text(chart(rows, "over_bar", "Speed over loops written by hand in C++"))
    replace(ROOT / "docs/performance.md", {"summary": summary(run, rows), "programs": table(rows)})
    replace(ROOT / "README.md", {"some": table([row for row in rows if row["program"] in IN_README])})


if __name__ == "__main__":
    main()
