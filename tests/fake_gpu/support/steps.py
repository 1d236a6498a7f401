#!/usr/bin/env python3
"""What steps start on GPUs, counted on fake ones: kernels, graphs, copies, waits, allocations.

    steps.py [--nodes] [--virtual N] [--all] train mlp --devices gpu:0 --batch 10 --steps 30
    steps.py [--nodes] [--virtual N] [--all] run --devices gpu:0 -- python3 script.py

What follows the flags is the program's own command line. Shown is a step that is repeated: a part of the log that comes
three times in a row, with how often each call comes in it. --nodes: which node starts what; nothing is recorded into
graphs then. --all: every call, in order. Nothing is computed, so losses are of no use (--compute: it is, slowly).
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "build", "release")
STEADY = 3  # times that a step must come to be one
LEAST, MOST = 4, 5000  # different calls in it; calls


def calls_of(command, arguments):
    """The calls that the program makes, as (how, what, node, stream, bytes, blocks)."""
    facts = ["libraries=none"]
    if not arguments.compute:
        facts.append("kernels=skipped")
    if arguments.nodes:
        facts.append("nodes=named")
    with tempfile.NamedTemporaryFile(mode="r") as log:
        env = dict(os.environ, ARGOSY_CUDA_PLUGIN=os.path.abspath(arguments.plugin), ARGOSY_FAKE_GPUS=",".join(facts),
                   ARGOSY_FAKE_GPUS_LOG=log.name)
        if arguments.virtual:
            env["ARGOSY_VIRTUAL_GPUS"] = str(arguments.virtual)
        done = subprocess.run([arguments.program] + command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if done.returncode != 0:
            sys.exit(done.stdout)
        return [tuple(line.rstrip("\n").split("\t")) for line in log]


def is_timing(call):
    """Whether the host waits depends on how fast the fake is."""
    return call[1].startswith("host waits for") or call[1] == "pin"


def steady_step(calls):
    """Of the parts of the log that come STEADY times in a row the last that updates variables, or else the last. None
    where there is none."""
    calls = [c for c in calls if not is_timing(c)]
    numbers_of, log = {}, []
    for call in calls:
        log.append(numbers_of.setdefault(call, len(numbers_of)))
    found, end = None, len(log)
    while end > 0:
        period = period_before(log, end)
        if period is None:
            end -= 1
            continue
        step = calls[end - period:end]
        if any(call[1].startswith("kernel apply") for call in step):
            return step
        found = found or step
        end -= period
    return found


def period_before(log, end):
    """How long the part is that ends here and comes STEADY times in a row."""
    for period in range(1, min(end // STEADY, MOST) + 1):
        if log[end - 1] != log[end - 1 - period]:
            continue
        last = log[end - period:end]
        if len(set(last)) >= LEAST and all(last == log[end - (k + 1) * period:end - k * period]
                                           for k in range(1, STEADY)):
            return period
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(BUILD, "bin", "argosy"))
    parser.add_argument("--plugin", default=os.path.join(BUILD, "tests", "fake_gpu", "libargosy_fake_gpus.so"))
    parser.add_argument("--nodes", action="store_true")
    parser.add_argument("--compute", action="store_true", help="run the kernels too: slow, for scripts that look")
    parser.add_argument("--virtual", type=int, default=0, metavar="N", help="so many logical GPUs on the physical one")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    step = steady_step(calls_of(arguments.command, arguments))
    if step is None:
        sys.exit("nothing in the log comes %d times in a row: more steps" % STEADY)
    if arguments.all:
        for call in step:
            print("  ".join(call))
    counts = collections.Counter()
    for how, what, node, stream, size, blocks in step:
        counts[(how, what)] += 1
    for (how, what), count in sorted(counts.items(), key=lambda item: (item[0][0], -item[1])):
        print("%6d  %-9s %s" % (count, how, what))
    kernels = sum(n for (how, what), n in counts.items() if what.startswith("kernel") and how != "recorded")
    print("a step: %d kernels, %d graphs, %d calls outside of graphs" %
          (kernels, counts[("called", "launch")], sum(n for (how, _), n in counts.items() if how == "called")))


if __name__ == "__main__":
    main()
