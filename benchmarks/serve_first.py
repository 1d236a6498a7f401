#!/usr/bin/env python3
"""What a large graph costs once: its first step, and what is added to it later, with a stock client against `argosy serve`,
TensorFlow in its own process (as it is, and with its graph optimiser off) and TensorFlow's gRPC server, in turn, in one run.

  serve_first.py [--argosy PROGRAM] [--rounds N] [--nodes N]     (a Python that has tensorflow)

first step: a training step of a deep perceptron of narrow layers, in a session that has run nothing but the initial values
            (they bring the graph over); wanted: a tenth of the time of TensorFlow as it is.
added     : eight nodes more and a run of them, in a session whose graph has 1,000 nodes, and N; wanted: the same time.
"""
import argparse
import os
import statistics
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import rewriter_config_pb2

import built
from serve_tf import TF_SERVER, start

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

WIDTH, BATCH = 16, 8


def training_graph(nodes):
    """About so many nodes: a loss, its gradients and updates. Returns what a step runs and feeds, and the initial values."""
    x = tf.placeholder(tf.float32, [BATCH, WIDTH])
    h = x
    while True:
        for _ in range(max(1, nodes // 1000)):
            w = tf.Variable(tf.eye(WIDTH), name="w")
            h = tf.nn.relu(tf.matmul(h, w) + tf.Variable(tf.zeros([WIDTH]), name="b"))
        # Gradients and updates are about as many again as all so far.
        if len(tf.get_default_graph().get_operations()) >= nodes * 0.45:
            break
    loss = tf.reduce_mean(tf.square(h))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return [loss, step], {x: np.ones([BATCH, WIDTH], "f")}, tf.global_variables_initializer()


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def unoptimised():
    off = rewriter_config_pb2.RewriterConfig.OFF
    options = tf.GraphOptions(rewrite_options=rewriter_config_pb2.RewriterConfig(
        disable_meta_optimizer=True, constant_folding=off), optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0))
    return tf.ConfigProto(graph_options=options)


def report(row, found, wanted):
    best = {who: min(times) for who, times in found.items()}
    print(f"{row}: " + ", ".join(f"{who} {best[who] * 1e3:.1f} ms (median {statistics.median(found[who]) * 1e3:.1f})"
                                 for who in found) + f" = TensorFlow / {best['tensorflow'] / best['argosy']:.1f}{wanted}", flush=True)


def first_steps(contestants, nodes, rounds):
    found = {who: [] for who in contestants}
    with tf.Graph().as_default() as graph:
        run, feed, initial = training_graph(nodes)
        for _ in range(rounds):
            for who, (target, config) in contestants.items():
                with tf.Session(target, graph=graph, config=config) as session:
                    session.run(initial)
                    found[who].append(timed(lambda: session.run(run, feed)))
        report(f"first step, {len(graph.get_operations())} nodes", found, ", wanted 10")


def added(contestants, nodes, rounds):
    found = {who: [] for who in contestants}
    for who, (target, config) in contestants.items():
        with tf.Graph().as_default() as graph:
            run, feed, initial = training_graph(nodes)
            with tf.Session(target, graph=graph, config=config) as session:
                session.run(initial)
                session.run(run, feed)
                for _ in range(rounds):
                    value = tf.constant(1.0)
                    for _ in range(7):
                        value = value + 1.0
                    found[who].append(timed(lambda: session.run(value)))
    report(f"8 nodes added to {nodes}", found, "")
    return min(found["argosy"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--argosy", default=built.program())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=10_000)
    args = parser.parse_args()
    ours, our_target = start([args.argosy, "serve", "--port", "0"], lambda line: line.split()[1])
    theirs, their_target = start([sys.executable, "-c", TF_SERVER], lambda line: line.strip())
    contestants = {"argosy": (our_target, None), "tensorflow": ("", None), "tensorflow unoptimised": ("", unoptimised()),
                   "tensorflow server": (their_target, None)}
    try:
        first_steps(contestants, args.nodes, args.rounds)
        small, large = (added(contestants, nodes, 5 * args.rounds) for nodes in (1000, args.nodes))
        print(f"added to {args.nodes} nodes takes {large / small:.2f} of what it takes with 1000 (wanted 1)")
    finally:
        ours.kill()
        theirs.kill()


if __name__ == "__main__":
    main()
