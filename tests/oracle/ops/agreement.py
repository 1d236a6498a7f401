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
             "Written from what `tests/oracle/ops/generated_ops.py` counted. The cases above, changed (values with NaN and infinities, "
             "integers,", "sizes of 0 and 1, ranks, dtypes, attributes), as nodes that a stock client runs in process and on "
             "`argosy serve`. Both must give", "equal values, or refuse with one code.", "",
             f"{len(counted)} ops, {compared} cases: {total['equal']} equal, {total['refused']} refused alike, {total['known']} "
             f"differ as said, {different} differ;", f"{total['client']} more are refused by the client already, and "
             f"{total['skip']} TensorFlow cannot run (no kernel, or it dies of them).", "",
             "| differs as said: why | cases |", "|---|---|"]
    lines += [f"| {why} | {n} |" for why, n in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    if different:
        lines += ["", "Differs, and is not explained:", ""]
        lines += [f"* {name}: {len(op['differences'])} ({', '.join(sorted({d.split(':')[0] for d in op['differences']}))})"
                  for name, op in sorted(counted.items()) if op["differences"]]
    lines += ["", "| op | cases | equal | refused alike | as said | differ | not compared |", "|---|---|---|---|---|---|---|"]
    for name, op in sorted(counted.items()):
        counts = collections.Counter(op["counts"])
        out = sum(counts[kind] for kind in LEFT_OUT)
        lines.append(f"| {name} | {sum(counts.values()) - out} | {counts['equal']} | {counts['refused']} | {counts['known']} | "
                     f"{len(op['differences'])} | {out} |")
    return lines + [""]
