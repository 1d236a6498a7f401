#!/usr/bin/env python3
"""A stock TensorFlow client against `argosy serve` and against TensorFlow's own gRPC server, in turn, in one run.

  serve_tf.py [--argosy PROGRAM] [--rounds N]     (a Python that has tensorflow)
  serve_tf.py --under-run       the script under `argosy run`, against the script as it is with TensorFlow's server

Servers are processes of their own; rows are the smallest and the median time of a call.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import built

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

TF_SERVER = """
import os
import tensorflow as tf
server = tf.compat.v1.train.Server.create_local_server()
print(server.target, flush=True)
server.join()
"""


WANTED = {"run a NoOp": 0.7, "feed, add, fetch 4 bytes": 0.7, "feed 64 MiB": 0.5, "fetch 64 MiB": 0.5}


def start(words, pick):
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, pick(process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--argosy", default=built.program())
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=100, help="small calls a round")
    parser.add_argument("--under-run", action="store_true", help="ours is the script under argosy run")
    parser.add_argument("--client", metavar="TARGET", help="one process of --under-run: its times as JSON")
    args = parser.parse_args()
    if args.client is not None:
        return client(args)

    theirs, theirs_target = start([sys.executable, "-c", TF_SERVER], lambda line: line.strip())
    try:
        if args.under_run:
            return show(under_run(args, theirs_target))
        ours, ours_target = start([args.argosy, "serve", "--port", "0"], lambda line: line.split()[1])
        try:
            show(measure(args, {"argosy": ours_target, "tensorflow": theirs_target}))
        finally:
            ours.kill()
    finally:
        theirs.kill()


def measure(args, targets):
    """{row: {name: times}}, the targets in turn. An empty target: what tf.Session() means by itself."""
    import numpy as np
    import tensorflow as tf
    tf1 = tf.compat.v1
    tf1.disable_eager_execution()
    x = tf1.placeholder(tf.float32, name="x")
    y = x + x
    size = tf.size(x)
    nothing = tf.no_op()
    v = tf1.get_variable("v", shape=[16 << 20], dtype=tf.float32, use_resource=True,
                         initializer=tf1.zeros_initializer())
    read = v.read_value()
    big = np.zeros([16 << 20], np.float32)
    rows = {
        "run a NoOp": (lambda s: s.run(nothing), args.calls),
        "feed, add, fetch 4 bytes": (lambda s: s.run(y, {x: 1.0}), args.calls),
        "feed 64 MiB": (lambda s: s.run(size, {x: big}), 1),
        "fetch 64 MiB": (lambda s: s.run(read), 1),
    }
    sessions = {name: tf1.Session(target) if target else tf1.Session() for name, target in targets.items()}
    times = {row: {name: [] for name in targets} for row in rows}
    for session in sessions.values():
        session.run(v.initializer)
        for work, _ in rows.values():
            for _ in range(3):
                work(session)
    for _ in range(args.rounds):
        for row, (work, calls) in rows.items():
            for name, session in sessions.items():
                for _ in range(calls):
                    begin = time.perf_counter()
                    work(session)
                    times[row][name].append(time.perf_counter() - begin)
    return times


def client(args):
    print(json.dumps({row: of["it"] for row, of in measure(args, {"it": args.client}).items()}))


def under_run(args, their_target):
    """The same script in processes of its own, in turn: under argosy run, and as TensorFlow's users have it."""
    times = {row: {"argosy": [], "tensorflow": []} for row in WANTED}
    script = [sys.executable, __file__, "--calls", str(args.calls), "--rounds", "5", "--client"]
    for _ in range(args.rounds):
        for name, words in (("argosy", [args.argosy, "run", "--", *script, ""]), ("tensorflow", [*script, their_target])):
            text = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
            for row, some in json.loads(next(line for line in text.splitlines() if line.startswith("{"))).items():
                times[row][name] += some
    return times


def show(times):
    for row, of in times.items():
        best = {name: min(t) for name, t in of.items()}
        middle = {name: statistics.median(t) for name, t in of.items()}
        print(f"{row:26}" + "".join(f"{name} {best[name] * 1e6:9.1f} us (median {middle[name] * 1e6:9.1f})   "
                                    for name in of) +
              f"= {best['argosy'] / best['tensorflow']:.2f} x, of medians "
              f"{middle['argosy'] / middle['tensorflow']:.2f}, wanted {WANTED[row]}")


if __name__ == "__main__":
    main()
