#!/usr/bin/env python3
"""Rows C01, C02 and C12: a TensorFlow cluster of two and three tasks on one host, Argosy's and TensorFlow's in turn.

  cluster_tasks.py ARGOSY [C01 C02 C12] [--rounds N]     with a Python that has TensorFlow 2

C01  a step that does nothing on the server, asked for at the worker: us
C02  100 MB of a variable taken by the worker, and 100 MB added to it by the worker: GB/s each way
C12  a script with one parameter server and two workers, unchanged: seconds for its steps
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, "..", "tests", "oracle", "cluster")
sys.path.insert(0, ORACLE)

from cluster_harness import Cluster  # noqa: E402

KINDS = {"argosy": "A", "tensorflow": "T"}
MEGABYTES = 100


def null_step(tf, cluster):
    with tf.device("/job:ps/task:0"):
        nothing = tf.no_op()
    with tf.Session(cluster.target("worker", 0)) as session:
        step = session.make_callable(nothing)
        for _ in range(50):
            step()
        best = []
        for _ in range(10):
            begin = time.perf_counter()
            for _ in range(50):
                step()
            best.append((time.perf_counter() - begin) / 50 * 1e6)
    return {"us a step": min(best)}


def pull_and_push(tf, cluster):
    count = MEGABYTES * 1000 * 1000 // 4
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", shape=[count], initializer=tf.zeros_initializer(), use_resource=True)
    with tf.device("/job:worker/task:0"):
        g = tf.get_variable("g", shape=[count], initializer=tf.ones_initializer(), use_resource=True)
        at = tf.placeholder(tf.int32, [1])
        pulled = tf.strided_slice(v.read_value(), at, at + 1)  # reads little of it, needs all of it
    with tf.device("/job:ps/task:0"):
        pushed = v.assign_add(g.read_value(), read_value=False)
    rates = {}
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        for name, step in (("GB/s pulled", pulled), ("GB/s pushed", pushed)):
            call = session.make_callable(step, feed_list=[at])
            call([0])
            seconds = []
            for i in range(6):
                begin = time.perf_counter()
                call([i])
                seconds.append(time.perf_counter() - begin)
            rates[name] = MEGABYTES / 1000 / min(seconds)
    return rates


def script(program, kind, steps):
    from cluster_scripts import run

    prefix = (lambda *_: [program, "run", "--"]) if kind == "argosy" else (lambda *_: [])
    ended, _, _ = run(prefix, 2, steps)
    return {"s for %d steps of each worker" % steps: max(seconds for seconds, _ in ended.values())}


def one(row, kind, program, steps):
    """In a process of its own: TensorFlow's client keeps threads and caches."""
    if row == "C12":
        return script(program, kind, steps)
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    roles = {("ps", 0): KINDS[kind], ("worker", 0): KINDS[kind]}
    with Cluster(program, roles) as cluster:
        return {"C01": null_step, "C02": pull_and_push}[row](tf, cluster)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("rows", nargs="*", default=["C01", "C02", "C12"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--kind")
    options = parser.parse_args()
    if options.kind:
        for name, value in one(options.rows[0], options.kind, options.program, options.steps).items():
            print("RESULT %s = %g" % (name, value))
        return
    for row in options.rows:
        found = {}
        for turn in range(options.rounds):
            for kind in sorted(KINDS, reverse=turn % 2 == 1):
                done = subprocess.run([sys.executable, os.path.abspath(__file__), options.program, row, "--kind", kind, "--steps",
                                       str(options.steps)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
                lines = [line[7:].split(" = ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
                if not lines:
                    sys.exit("%s %s: %s" % (row, kind, done.stderr[-2000:]))
                for name, value in lines:
                    found.setdefault(name, {}).setdefault(kind, []).append(float(value))
        for name, kinds in found.items():
            best = max if "/s" in name else min
            ours, theirs = best(kinds["argosy"]), best(kinds["tensorflow"])
            ratio = ours / theirs if best is max else theirs / ours
            print("%s  argosy %.4g (median %.4g)  tensorflow %.4g (median %.4g)  %s  = %.2f x tensorflow; load %.1f" % (
                row, ours, statistics.median(kinds["argosy"]), theirs, statistics.median(kinds["tensorflow"]), name, ratio,
                os.getloadavg()[0]), flush=True)


main()
