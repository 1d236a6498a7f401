#!/usr/bin/env python3
"""TensorFlow as the oracle of our ops.

    ARGOSY_TF_PYTHON=path/to/venv/bin/python ctest --test-dir build/dev -R tf_ops     # all of it; or step by step:
    ctest --test-dir build/dev -R op_cases                            # the op tests write their cases and our results
    path/to/venv/bin/python tests/oracle/ops/compare_ops.py build/dev/op_cases [--op Tanh,Sum] [--verbose] [--json FILE]
        [--report FILE.md]

Runs each case through the op of that name (TensorFlow 2.x, eager, CPU) and reports per op: cases, how many agree, the
largest difference in units in the last place, and every case that differs or that only one of the two refuses.
Exit code 1 when anything differs without the case saying why (OpCase::unlike_tensorflow), or when an op of ops.json has
no case that is run. The file format is what argosy/testing/op_cases/op_dump.cc writes. Needs a Python with tensorflow; nothing of
argosy's.
"""

import argparse
import collections
import json
import os
import pathlib
import select
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the plain kernels are the definition
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import op_def_registry

from closeness import differs
from compared_elsewhere import CANNOT_SAY
from one_op import array, call, call_state, tensor
from op_tally import Tally, count, not_asked, report, summary

SHOWN = 4  # differences of an op that are told without --verbose


def brief(case):
    names = []
    for t in filter(None, case["inputs"]):
        names.append(f"{tf.dtypes.as_dtype(t['dtype']).name}{t['shape']}")
    attrs = {k: next(iter(v.values())) for k, v in case["attrs"].items()}
    return f"({', '.join(names)}) {attrs} in {case.get('test', '?')}"


def compare(case):
    """{"is": agree | skip | differ, "ulps": n, "text": how it differs}."""
    if op_def_registry.get(case["op"]) is None:
        return {"is": "skip", "why": "TensorFlow has no such op"}
    problem, furthest = None, 0
    ours = case["outputs"] + case.get("after", [])
    if "seed2" in case["attrs"]:  # a kernel kept from an earlier case would go on where that one stopped
        context.context().clear_kernel_cache()
    try:
        theirs = call_state(case) if "after" in case else call(case)
        if "error" in case:
            problem = f"we refuse ({case['error']}), TensorFlow gives {[np.asarray(t).tolist() for t in theirs]!s:.200}"
        elif len(theirs) != len(ours):
            problem = f"we give {len(ours)} outputs, TensorFlow {len(theirs)}"
        else:
            for i, (record, value) in enumerate(zip(ours, theirs)):
                if record is None:
                    continue
                text, distance = differs(array(tensor(record)), value, case["tolerance"])
                furthest = max(furthest, 0 if text else distance)
                if text and not problem:
                    problem = f"output {i}: {text}"
    except Exception as error:  # TensorFlow refuses in many types: tf.errors, TypeError, ValueError
        lines = str(error).splitlines() or [type(error).__name__]
        # A session says where first; what, after the node's name.
        said = [i for i, line in enumerate(lines) if line.startswith("Node:")]
        message = lines[said[0] + 1] if said and said[0] + 1 < len(lines) else lines[0]
        if "error" not in case:
            why = next((why for words, why in CANNOT_SAY.items() if words in message), None)
            if why:
                return {"is": "skip", "why": why}
            problem = f"TensorFlow refuses: {message[:300]}"
        elif isinstance(error, tf.errors.OpError) and os.environ.get("COMPARE_CODES"):
            code = type(error).__name__
            if code.upper().removesuffix("ERROR") != case["error"].replace("_", ""):
                problem = f"we refuse with {case['error']}, TensorFlow with {code}: {message[:200]}"
    if problem is None:
        return {"is": "agree", "ulps": furthest}
    return {"is": "differ", "ulps": furthest, "text": f"{problem}\n      {brief(case)}"}


class Worker:
    """Cases run in a process of its own: hostile input crashes or hangs TensorFlow here and there."""

    def __init__(self):
        self.process = None

    def ask(self, line):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker", "-"],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
            if select.select([self.process.stdout], [], [], 120)[0]:
                answer = self.process.stdout.readline()
                if answer:
                    return json.loads(answer)
                how = "dies of it"
            else:
                how = "hangs"
        except BrokenPipeError:
            how = "dies of it"
        self.stop()
        return {"is": "crash", "text": f"TensorFlow {how}"}

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def work():
    """Answers cases on stdin, one line each, until it ends."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what TensorFlow prints is no answer
    for line in sys.stdin:
        os.write(answers, (json.dumps(compare(json.loads(line))) + "\n").encode())


def read_cases(path):
    """Every line once: several runs may have appended to one file."""
    seen = set()
    for file in sorted(path.glob("ops_*.jsonl")) if path.is_dir() else [path]:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if line not in seen:
                    seen.add(line)
                    case = json.loads(line)
                    if "inputs" in case:
                        yield line, case


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--op", default="", help="only these, separated by commas")
    parser.add_argument("--verbose", action="store_true", help="every op, not only those that differ")
    parser.add_argument("--json", default="", help="write the counts to this file")
    parser.add_argument("--report", default="", help="write docs/tensorflow-agreement.md, or wherever")
    parser.add_argument("--generated", default="", help="what generated_ops.py --json wrote, for the report")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work()
    worker = Worker()
    wanted = set(filter(None, options.op.split(",")))
    tallies = collections.defaultdict(Tally)
    for line, case in read_cases(options.cases):
        if not wanted or case["op"] in wanted:
            count(case, worker.ask(line), tallies[case["op"]])
    worker.stop()
    total = Tally()
    print(f"TensorFlow {tf.__version__}")
    print(f"{'op':36} {'cases':>6} {'agree':>6} {'known':>6} {'skip':>5} {'max ulps':>9}")
    for op in sorted(tallies):
        t = tallies[op]
        total.add(t)
        if options.verbose or t.differences:
            print(f"{op:36} {t.cases:6} {t.agree:6} {sum(t.known.values()):6} {sum(t.skipped.values()):5} {t.ulps:9}")
            shown = len(t.differences) if options.verbose else SHOWN
            for text in t.differences[:shown]:
                print(f"    {text}")
            if len(t.differences) > shown:
                print(f"    … and {len(t.differences) - shown} more")
    unasked, untried = not_asked(tallies, options.cases / "ops.json") if not wanted else ({}, set())
    for why, ops in sorted(collections.Counter(unasked.values()).items()):
        print(f"no op case could be compared of {ops} ops, {why}: {', '.join(sorted(o for o in unasked if unasked[o] == why))}")
    print(summary(total, len(tallies)))
    if options.json:
        counts = {op: {"cases": t.cases, "agree": t.agree, "known": t.known, "skipped": t.skipped, "max_ulps": t.ulps,
                       "differences": t.differences} for op, t in sorted(tallies.items())}
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"tensorflow": tf.__version__, "ops": counts}, out, indent=1)
    if options.report:
        pathlib.Path(options.report).write_text(report(tallies, total, unasked, options.generated), encoding="utf-8")
    return 1 if total.differences or untried else 0


if __name__ == "__main__":
    sys.exit(main())
