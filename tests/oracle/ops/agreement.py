"""The part of docs/tensorflow-agreement.md that generated_ops.py has to tell: what it counted (--json), as Markdown."""
import collections
import json
import pathlib

LEFT_OUT = {"client", "skip"}  # not compared


def section(path):
    """Lines: a summary, the reasons, what differs, a row per op."""
    counted = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["ops"]
    total, reasons = collections.Counter(), collections.Counter()
    for op in counted.values():
        total.update(op["counts"])
        reasons.update(op["reasons"])
    different = sum(len(op["differences"]) for op in counted.values())
    compared = sum(n for kind, n in total.items() if kind not in LEFT_OUT)
    lines = ["## Generated cases, through the session server", "",
             "The cases above are changed: values with NaN and infinities, integers, sizes of 0 and 1, ranks, dtypes, attributes. A "
             "stock", "TensorFlow client runs each of them in process and on `argosy serve`. Both must give equal values, or refuse with "
             "the same", "error code. `tests/oracle/ops/generated_ops.py` counts.", "",
             f"{len(counted)} ops, {compared} cases: {total['equal']} equal, {total['refused']} refused by both, {total['known']} "
             f"with an expected difference, {different} with a difference. The client", f"itself refuses {total['client']} more. "
             f"TensorFlow cannot run {total['skip']}: it has no kernel, or the case ends its process.", "",
             "| expected difference: why | cases |", "|---|---|"]
    lines += [f"| {why} | {n} |" for why, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    if different:
        lines += ["", "Differences without an explanation:", ""]
        lines += [f"* {name}: {len(op['differences'])} ({', '.join(sorted({d.split(':')[0] for d in op['differences']}))})"
                  for name, op in sorted(counted.items()) if op["differences"]]
    lines += ["", "| op | cases | equal | refused by both | expected | differ | not compared |", "|---|---|---|---|---|---|---|"]
    for name, op in sorted(counted.items()):
        counts = collections.Counter(op["counts"])
        out = sum(counts[kind] for kind in LEFT_OUT)
        lines.append(f"| {name} | {sum(counts.values()) - out} | {counts['equal']} | {counts['refused']} | {counts['known']} | "
                     f"{len(op['differences'])} | {out} |")
    return lines + [""]
