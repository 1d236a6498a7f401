#!/usr/bin/env python3
"""Training loops with a feed_dict, one stock client: in TensorFlow's own process, through TensorFlow's gRPC server, and through
`argosy serve`, in turn, in one run, on the same cores.

  serve_training.py [--argosy PROGRAM] [--rounds N] [--only lenet,autoencoder]    (a Python that has tensorflow)

  serve_training.py --replicate 2      the same loops on one of two emulated GPUs (a core each), and shared by both

Rows are steps/s of the best round and the spread of the rounds; then ours against TensorFlow in process (wanted at least 1 for
LeNet and the auto-encoder) and against its server (wanted at least 1.5).
"""
import argparse
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow.compat.v1 as tf

import built
import serve_models
from serve_tf import TF_SERVER, start

tf.disable_v2_behavior()


def variable(name, shape, stddev=0.1):
    return tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=stddev, seed=1))


def mlp(batch):
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    h = x
    for i, (n, m) in enumerate([(784, 256), (256, 256), (256, 10)]):
        h = tf.matmul(h, variable(f"w{i}", [n, m])) + variable(f"b{i}", [m])
        h = tf.nn.relu(h) if i < 2 else h
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return loss, step, {x: np.random.rand(batch, 784).astype("f"), y: np.random.randint(0, 10, batch)}


def lenet(batch):
    x, y = tf.placeholder(tf.float32, [None, 28, 28, 1]), tf.placeholder(tf.int64, [None])
    pool = lambda v: tf.nn.max_pool(v, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    h = pool(tf.nn.relu(tf.nn.conv2d(x, variable("c1", [5, 5, 1, 32]), [1, 1, 1, 1], "SAME") + variable("cb1", [32])))
    h = pool(tf.nn.relu(tf.nn.conv2d(h, variable("c2", [5, 5, 32, 64]), [1, 1, 1, 1], "SAME") + variable("cb2", [64])))
    h = tf.nn.relu(tf.matmul(tf.reshape(h, [-1, 3136]), variable("f1", [3136, 1024])) + variable("fb1", [1024]))
    logits = tf.matmul(h, variable("f2", [1024, 10])) + variable("fb2", [10])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    step = tf.train.AdamOptimizer(1e-4).minimize(loss)
    return loss, step, {x: np.random.rand(batch, 28, 28, 1).astype("f"), y: np.random.randint(0, 10, batch)}


def autoencoder(batch):
    """The convolutional auto-encoder of a question about two GPUs, its shapes repaired: 64x64 images, down to 4x4."""
    x = tf.placeholder(tf.float32, [None, 64, 64, 1])
    depths = [1, 64, 128, 256, 512]
    h = x
    for i, (n, m) in enumerate(zip(depths, depths[1:])):
        h = tf.nn.relu(tf.nn.conv2d(h, variable(f"c{i}", [3, 3, n, m]), [1, 1, 1, 1], "SAME") + variable(f"cb{i}", [m]))
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    for i, (n, m) in enumerate(zip(depths[::-1], depths[-2::-1])):
        shape = tf.shape(h)
        h = tf.nn.conv2d_transpose(h, variable(f"d{i}", [3, 3, m, n]), tf.stack([shape[0], shape[1] * 2, shape[2] * 2, m]),
                                   [1, 2, 2, 1], "SAME") + variable(f"db{i}", [m])
        h = tf.nn.relu(h)
    loss = tf.reduce_sum(tf.pow(h - x, 2)) / (64 * 64)
    return loss, tf.train.AdamOptimizer(1e-4).minimize(loss), {x: np.random.rand(batch, 64, 64, 1).astype("f")}


ROWS = {"mlp": (mlp, 10), "lenet": (lenet, 128), "autoencoder": (autoencoder, 4)} | serve_models.ROWS


def steps_per_second(session, run, feed, seconds):
    count, begin = 0, time.perf_counter()
    while True:
        session.run(run, feed)
        count += 1
        took = time.perf_counter() - begin
        if took >= seconds and count >= 3:
            return count / took


def main(rows, description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--argosy", default=built.program())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", default=",".join(rows))
    parser.add_argument("--replicate", type=int, metavar="N", help="compares one of N emulated GPUs with all of them")
    args = parser.parse_args()
    serve = [args.argosy, "serve", "--port", "0"]
    address = lambda line: line.split()[1]
    if args.replicate:
        serve += ["--emulate", str(args.replicate)]
        wanted = {"one GPU": (serve, address), f"{args.replicate} GPUs": (serve + ["--replicate"], address)}
    else:
        wanted = {"argosy": (serve, address), "tensorflow server": ([sys.executable, "-c", TF_SERVER], str.strip)}
    servers = {who: start(*how) for who, how in wanted.items()}
    targets = {who: target for who, (_, target) in servers.items()} | {"tensorflow": ""}
    try:
        for name in args.only.split(","):
            build, batch = rows[name]
            with tf.Graph().as_default() as graph:
                np.random.seed(0)
                with tf.variable_scope(name):  # a server keeps variables by name, and the rows' shapes differ
                    loss, step, feed = build(batch)
                initial = tf.global_variables_initializer()
                sessions = {}
                for who, target in targets.items():
                    sessions[who] = tf.Session(target, graph=graph)
                    sessions[who].run(initial)
                    for _ in range(3):
                        sessions[who].run([loss, step], feed)
                found = {who: [] for who in targets}
                for _ in range(args.rounds):
                    for who, session in sessions.items():
                        found[who].append(steps_per_second(session, [loss, step], feed, args.seconds))
                for session in sessions.values():
                    session.close()
            best = {who: max(values) for who, values in found.items()}
            one, other = wanted
            if args.replicate:
                ratios = f"{best[other] / best[one]:.2f} x one GPU, {best[other] / best['tensorflow']:.2f} x TensorFlow in process"
            else:
                ratios = f"{best[one] / best['tensorflow']:.2f} x in process, {best[one] / best[other]:.2f} x its server"
            print(f"{name} B={batch}: " + ", ".join(f"{who} {best[who]:.1f} steps/s ({min(found[who]):.1f} at worst)"
                                                    for who in targets) + f" = {ratios}", flush=True)
    finally:
        for process, _ in servers.values():
            process.kill()


if __name__ == "__main__":
    main(ROWS, __doc__)
