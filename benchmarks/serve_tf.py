#!/usr/bin/env python3
"""A stock TensorFlow client against `argosy serve` and against TensorFlow's own gRPC server, in turn, in one run.

  serve_tf.py --argosy build/release/bin/argosy [--rounds N]     (a Python that has tensorflow)

Both servers are processes of their own; rows are the smallest and the median time of a call.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

TF_SERVER = """
import os
import tensorflow as tf
server = tf.compat.v1.train.Server.create_local_server()
print(server.target, flush=True)
server.join()
"""


def start(words, pick):
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, pick(process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--argosy", default="build/release/bin/argosy")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=100, help="small calls a round")
    args = parser.parse_args()

    ours, ours_target = start([args.argosy, "serve", "--port", "0"], lambda line: line.split()[1])
    theirs, theirs_target = start([sys.executable, "-c", TF_SERVER], lambda line: line.strip())
    try:
        measure(args, {"argosy": ours_target, "tensorflow": theirs_target})
    finally:
        ours.kill()
        theirs.kill()


def measure(args, targets):
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
        "run a NoOp": (lambda s: s.run(nothing), args.calls, 0.7),
        "feed, add, fetch 4 bytes": (lambda s: s.run(y, {x: 1.0}), args.calls, 0.7),
        "feed 64 MiB": (lambda s: s.run(size, {x: big}), 1, 0.5),
        "fetch 64 MiB": (lambda s: s.run(read), 1, 0.5),
    }
    sessions = {name: tf1.Session(target) for name, target in targets.items()}
    times = {row: {name: [] for name in targets} for row in rows}
    for session in sessions.values():
        session.run(v.initializer)
        for work, _, _ in rows.values():
            for _ in range(3):
                work(session)
    for _ in range(args.rounds):
        for row, (work, calls, _) in rows.items():
            for name, session in sessions.items():
                for _ in range(calls):
                    begin = time.perf_counter()
                    work(session)
                    times[row][name].append(time.perf_counter() - begin)
    for row, (_, _, wanted) in rows.items():
        best = {name: min(t) for name, t in times[row].items()}
        middle = {name: statistics.median(t) for name, t in times[row].items()}
        print(f"{row:26}" + "".join(f"{name} {best[name] * 1e6:9.1f} us (median {middle[name] * 1e6:9.1f})   "
                                    for name in targets) +
              f"= {best['argosy'] / best['tensorflow']:.2f} x, of medians "
              f"{middle['argosy'] / middle['tensorflow']:.2f}, wanted {wanted}")


if __name__ == "__main__":
    main()
