"""What compare_ops.py counted, as lines and as Markdown (docs/tensorflow-agreement.md)."""
import collections
import json

import tensorflow as tf

import agreement
from compared_elsewhere import ELSEWHERE, PIPELINES


class Tally:
    def __init__(self):
        self.cases = self.agree = self.ulps = self.refused = 0
        self.known, self.skipped = collections.Counter(), collections.Counter()  # by reason
        self.dtypes = set()
        self.differences = []

    def add(self, other):
        for name in ("cases", "agree", "refused", "known", "skipped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.dtypes |= other.dtypes
        self.ulps = max(self.ulps, other.ulps)
        self.differences += other.differences


def count(case, answer, tally):
    for t in filter(None, case["inputs"] + case["outputs"]):
        tally.dtypes.add(tf.dtypes.as_dtype(t["dtype"]).name)
    if answer["is"] == "skip":
        tally.skipped[answer["why"]] += 1
        return
    tally.cases += 1
    tally.refused += "error" in case
    tally.ulps = max(tally.ulps, answer.get("ulps", 0))
    if answer["is"] == "agree" or (answer["is"] == "crash" and "error" in case):
        tally.agree += 1
    elif case.get("unlike_tensorflow"):
        tally.known[case["unlike_tensorflow"]] += 1
    else:
        tally.differences.append(answer["text"] if answer["is"] == "differ" else f"{answer['text']}: {case['op']} in {case.get('test', '?')}")


def summary(total, ops):
    return (f"{ops} ops, {total.cases} cases ({total.refused} of them must be refused) in {len(total.dtypes)} dtypes: "
            f"{total.agree} agree, {sum(total.known.values())} differ as said, {len(total.differences)} differ; "
            f"{sum(total.skipped.values())} more cannot be compared")


def report(tallies, total, unasked, generated):
    lines = ["# Agreement with TensorFlow", "",
             "Written by `tests/oracle/ops/compare_ops.py --report` (ctest `tf_ops`); do not edit. Every op case of the C++ tests, in "
             "every dtype that it is", "run in, through TensorFlow's op of that name: same attributes, same inputs, CPU, oneDNN "
             "off.", "",
             f"TensorFlow {tf.__version__}: {summary(total, len(tallies))}.", "",
             "An error agrees when both refuse. Values agree within the tolerance of the C++ tests, relative to max(1, |value|): "
             "1e-5 for float32", "and float64 where the case does not say more, 5e-3 for float16, 4e-2 for bfloat16; NaN equals "
             "NaN; integers, bool and", "strings are equal.", ""]

    def table(title, counter):
        if counter:
            lines.extend([f"## {title}", "", "| why | cases |", "|---|---|"])
            lines.extend(f"| {why} | {n} |" for why, n in sorted(counter.items(), key=lambda item: (-item[1], item[0])))
            lines.append("")

    table("Differs as said: what the case says", total.known)
    table("Cannot be compared", total.skipped)
    if unasked:
        lines.extend(["## Ops of which no case could be compared", "", "| op | why |", "|---|---|"])
        lines.extend(f"| {op} | {why} |" for op, why in sorted(unasked.items()))
        lines.append("")
    if total.differences:
        lines.extend(["## Differs", ""] + [f"* {op}: {len(t.differences)}" for op, t in sorted(tallies.items()) if t.differences] + [""])
    lines.extend(["## Per op", "",
                  "`ulps`: the largest distance of an agreeing floating-point result, in units in the last place.", "",
                  "| op | cases | agree | as said | differ | not compared | ulps | dtypes |", "|---|---|---|---|---|---|---|---|"])
    for op, t in sorted(tallies.items()):
        lines.append(f"| {op} | {t.cases} | {t.agree} | {sum(t.known.values())} | {len(t.differences)} | "
                     f"{sum(t.skipped.values())} | {t.ulps} | {' '.join(sorted(t.dtypes))} |")
    if generated:
        lines += ["", *agreement.section(generated)]
    return "\n".join(lines).rstrip("\n") + "\n"


def not_asked(tallies, ops_file):
    """Ops of which nothing could be compared -> why; and those among them that no case is of."""
    registered = {json.loads(line)["name"] for line in ops_file.read_text().splitlines()} if ops_file.is_file() else set()
    unasked, untried = {}, set()
    for op in registered | set(tallies):
        if op not in tallies:
            pipeline = any(word in op for word in PIPELINES)
            unasked[op] = ELSEWHERE.get(op, "whole pipelines of them: tests/oracle/graphs/datasets.py" if pipeline else "no case")
            untried.update(set() if pipeline else {op} - ELSEWHERE.keys())
        elif tallies[op].cases == 0:
            unasked[op] = "; ".join(sorted(tallies[op].skipped))
    return unasked, untried
