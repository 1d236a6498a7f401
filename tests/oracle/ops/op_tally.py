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
    return (f"{ops} ops, {total.cases} cases (in {total.refused} of them the inputs must be refused) in {len(total.dtypes)} dtypes: "
            f"{total.agree} agree, {sum(total.known.values())} have an expected difference, {len(total.differences)} have a "
            f"difference. {sum(total.skipped.values())} more cases cannot be compared")


def report(tallies, total, unasked, generated):
    lines = ["# Agreement with TensorFlow", "",
             "Which ops give TensorFlow's values, which do not, and why. `tests/oracle/ops/compare_ops.py --report` (ctest "
             "`tf_ops`) writes", "this page: do not edit it.", "",
             f"TensorFlow {tf.__version__}: {summary(total, len(tallies))}.", "",
             "How it is compared:", "",
             "* Each op case of the C++ tests runs in each dtype of the case, and in TensorFlow's op of the same name.",
             "* Both get the same attributes and inputs. TensorFlow runs on a CPU, with oneDNN off.",
             "* Floating-point values agree within the tolerance of the C++ test, relative to max(1, |value|). Without one it is "
             "1e-5 for", "  float32 and float64, 5e-3 for float16, and 4e-2 for bfloat16. NaN equals NaN.",
             "* Integers, booleans and strings must be equal.",
             "* Where one refuses the inputs, the other must refuse them.", "",
             "\"Expected difference\": the case names the difference and its reason. \"Difference\": nothing explains it.", ""]

    def table(title, counter):
        if counter:
            lines.extend([f"## {title}", "", "| why | cases |", "|---|---|"])
            lines.extend(f"| {why} | {n} |" for why, n in sorted(counter.items(), key=lambda item: (-item[1], item[0])))
            lines.append("")

    table("Expected differences", total.known)
    table("Cases that cannot be compared", total.skipped)
    if unasked:
        lines.extend(["## Ops without a compared case", "", "| op | why |", "|---|---|"])
        lines.extend(f"| {op} | {why} |" for op, why in sorted(unasked.items()))
        lines.append("")
    if total.differences:
        lines.extend(["## Differences", ""] + [f"* {op}: {len(t.differences)}" for op, t in sorted(tallies.items()) if t.differences] + [""])
    lines.extend(["## Each op", "",
                  "`ulps`: the largest distance between floating-point results that agree, in units in the last place.", "",
                  "| op | cases | agree | expected | differ | not compared | ulps | dtypes |", "|---|---|---|---|---|---|---|---|"])
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
            unasked[op] = ELSEWHERE.get(op, "pipelines are compared as a whole. Tested in tests/oracle/graphs/datasets.py" if pipeline else "no case")
            untried.update(set() if pipeline else {op} - ELSEWHERE.keys())
        elif tallies[op].cases == 0:
            unasked[op] = "; ".join(sorted(tallies[op].skipped))
    return unasked, untried
