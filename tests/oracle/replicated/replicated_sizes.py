#!/usr/bin/env python3
"""Losses that set examples against examples, in batches of every small size, on 2, 3 and 4 devices and in TensorFlow.

    replicated_sizes.py ARGOSY [--only TEXT]

Each pattern trains one variable for a step of every size from 1 to 4N+3, N being the number of devices; losses and the
variable after each step must be TensorFlow's. A pattern that is not replicated fails, unless it is in ONE_DEVICE. Prints a
table: a row for each pattern, how its step was replicated on each number of devices.
"""
import argparse
import re
import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

import replicated_graphs as graphs
import replicated_patterns as patterns

DEVICES = (2, 3, 4)
TOLERANCE = 2e-4


def sorted_rows(g):
    return tf.reduce_mean(tf.sort(g.h[:, 0]) * g.x[:, 0])


def segments(g):
    return patterns.mean_square(tf.math.unsorted_segment_sum(g.h, g.y, 8))


def permuted(g):
    """By a permutation of the batch that is computed from what is fed."""
    return tf.reduce_mean(g.x[:, :1] * tf.gather(g.h, tf.argsort(g.x[:, 1])))


def standardised(g):
    mean, variance = tf.nn.moments(g.h, [0])
    return patterns.mean_square(tf.nn.batch_normalization(g.h, mean, variance, None, None, 1e-3) - 0.5)


def contrastive(g):
    """Each example's softmax over all of the batch, its own the right one."""
    rows = tf.nn.l2_normalize(g.h, 1)
    scores = tf.matmul(rows, rows, transpose_b=True) * 5.
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.range(g.n), logits=scores))


def sparse_labels(g):
    """CTC: labels come as a sparse tensor whose first column numbers the examples."""
    frames = tf.reshape(tf.tile(g.h, [1, 4]), [-1, 4, 8])
    rows = tf.range(tf.cast(g.n, tf.int64))
    indices = tf.stack([rows, tf.zeros_like(rows)], 1)
    labels = tf.SparseTensor(indices, g.y % 7, tf.stack([tf.cast(g.n, tf.int64), 1]))
    return tf.reduce_mean(tf.nn.ctc_loss(labels, frames, tf.fill([g.n], 4), time_major=False))


def out_of_function(g):
    """The gradient comes out of a function that Python wrote."""
    from tensorflow.python.framework import function

    @function.Defun(tf.float32)
    def cube(rows):
        return rows * rows * rows
    with g.w.graph.as_default():
        return tf.reduce_mean(tf.square(tf.ensure_shape(cube(g.h), [None, 8]))) + patterns.mean_square(g.h)


def hard_examples(g):
    """The three examples with the largest loss."""
    return tf.reduce_mean(tf.nn.top_k(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=g.y, logits=g.h), 3)[0])


def groups(size):
    """Examples that come in twos, threes, fours: their distance, and statistics of each group."""
    def loss(g):
        rows = tf.reshape(g.h, [-1, size, 8])
        mean, variance = tf.nn.moments(rows, [1], keepdims=True)
        return patterns.mean_square((rows - mean) * tf.rsqrt(variance + .1) + rows[:, :1])
    return loss


PATTERNS = {
    "maximum over the batch": lambda g: tf.reduce_max(tf.square(g.h)),
    "contrastive pairs": contrastive,
    "pairs": lambda g: patterns.mean_square(tf.matmul(g.h, g.h, transpose_b=True)),
    "softmax along the batch": lambda g: patterns.mean_square(tf.nn.softmax(g.h, axis=0)),
    "cumulative sum along the batch": lambda g: patterns.mean_square(tf.cumsum(g.h)),
    "band part": lambda g: patterns.mean_square(tf.linalg.band_part(g.h, -1, 2)),
    "sort": sorted_rows,
    "unique": lambda g: (lambda u: patterns.mean_square(g.h - tf.gather(
        tf.gather(patterns.table(g), u[0]), u[1])))(tf.unique(g.y)),
    "segment sums by fed ids": segments,
    "permutation": permuted,
    "reversed": lambda g: tf.reduce_mean(g.x[:, :1] * tf.reverse(g.h, [0])),
    "tf.nn.moments": standardised,
    "sparse labels (CTC)": sparse_labels,
    "gradient out of a function": out_of_function,
    "hard examples": hard_examples,
    "groups of 2": groups(2),
    "groups of 3": groups(3),
    "groups of 4": groups(4),
}
# Batches that a pattern can be computed for, where not every one.
FITS = {
    "hard examples": lambda n: n >= 3,
    "groups of 2": lambda n: n % 2 == 0,
    "groups of 3": lambda n: n % 3 == 0,
    "groups of 4": lambda n: n % 4 == 0,
}
# A batch of one example is not sharded; and these never are, by name.
ONE_DEVICE = {}


def train(loss_of, target, sizes):
    """Losses and the variable, after a step of every size."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        g = graphs.Tensors()
        loss = loss_of(g)
        step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        data = np.random.RandomState(5)
        kept = []
        with tf.Session(target, graph=graph) as session:
            session.run(tf.global_variables_initializer())
            for n in sizes:
                feeds = {g.x: data.randn(n, 6), g.y: data.randint(0, 8, n)}
                kept.append((n, session.run([loss, step], feeds)[0], session.run(g.w)))
    return kept


def compare(wanted, got):
    for (n, loss, w), (_, our_loss, our_w) in zip(wanted, got):
        for name, a, b in (("loss", loss, our_loss), ("variable", w, our_w)):
            if not np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
                return f"batch of {n}: {name} {np.ravel(a)[:3]} in TensorFlow, {np.ravel(b)[:3]}"
    return ""


def how_of(told):
    summaries = re.findall(r"replicated: \d devices?, (.*)", told)
    if not summaries:
        return "one device"
    return "with gathers" if "gathered" in summaries[-1] or "all-gather" in summaries[-1] else "replicated"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--only", default="", metavar="TEXT", help="patterns whose name contains it")
    options = parser.parse_args()
    start, bad, steps = time.time(), [], 0
    chosen = {name: make for name, make in PATTERNS.items() if options.only in name}
    table = {name: [] for name in chosen}
    for devices in DEVICES:
        server = graphs.Server(options.argosy, devices, "--sync-batch-norm")
        try:
            for name, make in chosen.items():
                sizes = [n for n in range(1, 4 * devices + 4) if FITS.get(name, bool)(n)]
                wanted = train(make, "", sizes)
                try:
                    found = compare(wanted, train(make, server.target, sizes))
                except Exception as error:
                    found = f"{type(error).__name__}: {str(error).splitlines()[0][:300]}"
                how, why = how_of(server.told()), server.why()
                steps += len(sizes)
                table[name].append(how)
                if found:
                    bad.append(f"{name} on {devices} devices: {found}")
                elif (how == "one device" or why) and name not in ONE_DEVICE:
                    bad.append(f"{name} on {devices} devices is not replicated: {why}")
        finally:
            server.close()
    print(f"{'pattern':34}" + "".join(f"{n} devices".ljust(16) for n in DEVICES))
    for name, row in table.items():
        print(f"{name:34}" + "".join(how.ljust(16) for how in row))
    print(f"{len(chosen)} patterns, {steps} steps of 1 to {4 * DEVICES[-1] + 3} examples, {time.time() - start:.0f} s")
    for line in bad:
        print("wrong: " + line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
