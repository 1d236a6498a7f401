"""Sums over the batch that travel on as they are, through branches, loops, calls and arrays, on several devices and in TensorFlow.

    replicated_partials.py ARGOSY [--devices 3] [--tasks 1] [--strategy dp] [--only TEXT] [--least N] [--show]

On each device such a value is a part of the sum (partial) until somebody needs it whole. Each case takes one of SUMS through one of
WAYS. It fetches the result beside a training step, or has it in the loss too. Fetches and variables are TensorFlow's.
"""
import argparse
import itertools
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

from random_training import OtherTasks
from replicated_graphs import Server

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

STEPS = ((9, True), (12, False), (5, False), (3, True))  # the batch's size, the way that is taken
TOLERANCE = 3e-4

SUMS = {
    "mean": tf.reduce_mean, "sum": lambda h: tf.reduce_sum(h) * .1, "mean of rows": lambda h: tf.reduce_mean(h, 0),
    "loss": lambda h: tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(h * 0.), logits=h)),
    "maximum": tf.reduce_max, "deviation": lambda h: tf.math.reduce_std(h, 0), "count": lambda h: tf.cast(tf.shape(h)[0], tf.float32),
    "covariance": lambda h: tf.matmul(h, h, transpose_a=True),
}


def counter(resource):
    return tf.get_variable("counter", initializer=0., trainable=False, use_resource=resource)


def after(effect, value):
    with tf.control_dependencies([effect]):
        return tf.identity(value)


def looped(turn, start, turns=3):
    return tf.while_loop(lambda i, s: i < turns, lambda i, s: (i + 1, turn(i, s)), [0, start])[1]


# Of a sum m, the rows h, a flag that is fed, the batch's size n. What one branch or iteration needs whole, another takes in parts.
WAYS = {
    "branch": lambda m, h, flag, n: tf.cond(flag, lambda: m * .5, lambda: tf.sin(m)),
    "other branch": lambda m, h, flag, n: tf.cond(flag, lambda: tf.sin(m), lambda: m * .5),
    "branch that reads none": lambda m, h, flag, n: tf.cond(flag, lambda: m, lambda: tf.zeros_like(m)),
    "branch in a branch": lambda m, h, flag, n: tf.cond(flag, lambda: tf.cond(n > 5, lambda: tf.exp(-tf.abs(m)), lambda: m), lambda: m * 2.),
    "behind a branch": lambda m, h, flag, n: tf.sin(tf.cond(flag, lambda: m, lambda: m * .3)),
    "branch with two results": lambda m, h, flag, n: tf.add_n(tf.cond(flag, lambda: [m, tf.sin(m)], lambda: [tf.cos(m), m])),
    "branch that assigns": lambda m, h, flag, n: tf.cond(flag, lambda: tf.assign(counter(False), tf.reduce_sum(m)), lambda: tf.reduce_sum(m) * .1),
    "case": lambda m, h, flag, n: tf.case([(n > 7, lambda: m), (n > 4, lambda: tf.sin(m))], default=lambda: m * m),
    "switch_case": lambda m, h, flag, n: tf.switch_case(n % 3, [lambda: m, lambda: tf.sin(m), lambda: m * .2]),
    "read in a loop": lambda m, h, flag, n: looped(lambda i, s: s + tf.sin(m), tf.zeros_like(m)),
    "carried by a loop": lambda m, h, flag, n: looped(lambda i, s: s * .5, m),
    "carried, needed whole": lambda m, h, flag, n: looped(lambda i, s: tf.sin(s), m),
    "condition of a loop": lambda m, h, flag, n: tf.while_loop(lambda i, s: tf.reduce_sum(s) < 100., lambda i, s: (i + 1, s + 1. + tf.abs(m)), [0, m])[1],
    "branch in a loop": lambda m, h, flag, n: looped(lambda i, s: tf.cond(tf.equal(i % 2, 0), lambda: s + m, lambda: tf.sin(s)), m, 4),
    "loop in a branch": lambda m, h, flag, n: tf.cond(flag, lambda: looped(lambda i, s: s + tf.sin(m), m), lambda: m),
    "call": lambda m, h, flag, n: tf.function(lambda z: (z * .5, tf.sin(z)))(m)[1],
    "linear call": lambda m, h, flag, n: tf.function(lambda z: z * .5)(m),
    "map_fn": lambda m, h, flag, n: tf.map_fn(lambda z: z * 2. + tf.reduce_sum(m), tf.reshape(m, [-1])),
    "scan": lambda m, h, flag, n: tf.scan(lambda a, z: a + z, tf.reshape(m, [-1])),
    "array": lambda m, h, flag, n: tf.TensorArray(tf.float32, 2).write(0, m).write(1, tf.sin(m)).stack(),
    "stack": lambda m, h, flag, n: tf.stack([m, tf.sin(m)]),
    "concat": lambda m, h, flag, n: tf.concat([tf.reshape(m, [-1]), tf.reshape(m, [-1]) * 2.], 0),
    "slice": lambda m, h, flag, n: tf.reshape(m, [-1])[:1],
    "tile": lambda m, h, flag, n: tf.tile(tf.reshape(m, [-1]), [3]),
    "where": lambda m, h, flag, n: tf.where(m > 0., m, tf.sin(m)),
    "waited for": lambda m, h, flag, n: after(tf.sin(m), m),
    "asserted": lambda m, h, flag, n: after(tf.Assert(tf.reduce_sum(m) < 1e9, [m]), m),
    "without gradient": lambda m, h, flag, n: tf.stop_gradient(m) + 1.,
    "quotient": lambda m, h, flag, n: m / (1. + tf.abs(m)),
    "by the batch's size": lambda m, h, flag, n: m / tf.cast(n, tf.float32),
    "the batch's size by it": lambda m, h, flag, n: tf.cast(n, tf.float32) / (1. + m * m),
    "tuple": lambda m, h, flag, n: tf.tuple([m, tf.sin(m)])[0],
    "integer": lambda m, h, flag, n: tf.cast(m * 10., tf.int32),
    "comparison": lambda m, h, flag, n: tf.cast(m > .1, tf.float32),
    "product": lambda m, h, flag, n: tf.matmul(tf.reshape(m, [1, -1]), tf.reshape(m, [-1, 1])),
    "norm": lambda m, h, flag, n: tf.nn.l2_loss(m),
    "less from each row": lambda m, h, flag, n: h - tf.reduce_sum(m),
    "maximum with rows": lambda m, h, flag, n: tf.maximum(tf.reduce_sum(m), tf.reduce_max(h)),
    "slope": lambda m, h, flag, n: tf.gradients(tf.reduce_sum(tf.square(m)), h)[0],
    "added to a variable": lambda m, h, flag, n: tf.assign_add(counter(False), tf.reduce_sum(m)),
    "added to a resource": lambda m, h, flag, n: counter(True).assign_add(tf.reduce_sum(m), read_value=True),
    "metric": lambda m, h, flag, n: tf.metrics.mean(m)[1],
    "size of it": lambda m, h, flag, n: tf.zeros_like(m) + tf.cast(tf.size(m), tf.float32),
}


class Case:
    def __init__(self, sum_of, way, in_loss):
        self.name = f"{sum_of}, {way}{', in the loss' if in_loss else ''}"
        self.graph = tf.Graph()
        with self.graph.as_default():
            x = tf.placeholder(tf.float32, [None, 6], name="x")
            flag = tf.placeholder(tf.bool, [], name="flag")
            w = tf.get_variable("w", initializer=np.random.RandomState(0).randn(6, 4).astype("float32") * .3)
            h = tf.tanh(tf.matmul(x, w))
            found = WAYS[way](SUMS[sum_of](h), h, flag, tf.shape(x)[0])
            loss = tf.reduce_sum(tf.square(h)) * .1
            if in_loss:
                loss += tf.reduce_mean(tf.tanh(tf.cast(found, tf.float32)))
            slopes = tf.tuple(tf.gradients(loss, [w], gate_gradients=True))
            train = tf.train.MomentumOptimizer(.1, .9).apply_gradients(zip(slopes, [w]), global_step=tf.train.get_or_create_global_step())
            self.run_list = [found, loss, train]
            self.initial = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
            self.state = tf.global_variables() + tf.local_variables()

    def run(self, target):
        got = []
        with tf.Session(target, graph=self.graph) as session:
            session.run(self.initial)
            for size, flag in STEPS:
                x = np.random.RandomState(size).randn(size, 6).astype("float32")
                values = session.run(self.run_list, {"x:0": x, "flag:0": flag})
                got += [(f"batch of {size}: value", values[0]), (f"batch of {size}: loss", values[1])]
            return got + [(v.name, value) for v, value in zip(self.state, session.run(self.state))]


def compare(case, wanted, target):
    try:
        found = case.run(target)
    except tf.errors.OpError as error:
        return f"{type(error).__name__}: {' '.join(error.message.split())[:300]}"
    for (name, one), (_, other) in zip(wanted, found):
        if np.shape(one) != np.shape(other) or not np.allclose(one, other, TOLERANCE, TOLERANCE / 10):
            return f"{name}: {np.ravel(one)[:3]} in TensorFlow, {np.ravel(other)[:3]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--devices", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=1, help="of a cluster, each with so many devices")
    parser.add_argument("--strategy", default="dp", help="of argosy serve")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names have it")
    parser.add_argument("--least", type=int, default=1, metavar="N", help="fewer replicated cases are a failure")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    others = OtherTasks(options.argosy, options.tasks, options.devices)
    server = Server(options.argosy, options.devices, *others.flags, strategy=options.strategy)
    tried = wrong = left_out = replicated = 0
    try:
        for in_loss, sum_of, way in itertools.product((False, True), SUMS, WAYS):
            try:
                case = Case(sum_of, way, in_loss)
                if options.only not in case.name:
                    continue
                wanted = case.run("")
            except (TypeError, ValueError, tf.errors.OpError):  # TensorFlow does not build it, or does not run it
                left_out += 1
                continue
            tried += 1
            told = compare(case, wanted, server.target)
            wrong += bool(told)
            replicated += "replicated: " in server.told()
            if told or options.show:
                print(f"{case.name}: {told or 'equal'}", flush=True)
    finally:
        server.close()
        others.close()
    print(f"{tried} cases on {options.devices * options.tasks} devices, {options.strategy}: {replicated} replicated, {wrong} differ; {left_out} left out, which TensorFlow does not have")
    return 1 if wrong or replicated < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
