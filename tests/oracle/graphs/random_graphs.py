"""Random graphs of 5 to 200 ops, with conditions, loops, variables and several devices: equal in TensorFlow and on a server.

    random_graphs.py ARGOSY [--count 200] [--first SEED] [--keep FOLDER]

Graph number SEED is the same wherever it is made. Values are kept in bounds as they are made (tanh, clipping), so that what
differs is an op and not an overflow; what jumps (comparisons, floor, sign, the gradient of a maximum) is shifted by APART, lest
it tell which of two values that are equal but for their last bit is the larger one. Sums are compared relative to their size.
The last of three runs feeds values that the graph computes otherwise.
A graph that differs is written to FOLDER.
"""
import argparse
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the plain kernels are the definition: with it the softmax of [nan, 1] is [nan, 0]
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf

from programs import difference, server

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


APART = 0.01234567


class GraphGenerator:
    """One random graph: values of known shapes, from which further ones are made."""

    def __init__(self, seed, devices):
        self.random = np.random.RandomState(seed)
        self.devices = devices
        self.floats, self.ints, self.feeds, self.variables = [], [], {}, []
        self.depth = 0

    def choose(self, items):
        return items[self.random.randint(len(items))]

    def shape(self):
        return [int(self.choose([0, 1, 2, 3, 5])) if self.random.rand() < 0.1 else int(self.random.randint(1, 5))
                for _ in range(self.random.randint(0, 4))]

    def device(self):
        kind = self.random.randint(self.devices + 2)
        return tf.device(None if kind > self.devices else "/cpu:0" if kind == self.devices else f"/gpu:{kind}")

    def start(self):
        for i in range(self.random.randint(1, 4)):
            shape = self.shape()
            known = [None if self.random.rand() < 0.3 else n for n in shape]
            fed = tf.placeholder(tf.float32, known, name=f"x{i}")
            self.feeds[fed] = np.float32(self.random.randn(*shape))
            self.floats.append(fed)
        self.floats.append(tf.constant(self.random.randn(3, 4).astype("float32")))
        self.ints.append(tf.constant(self.random.randint(-5, 6, [4]), tf.int32))
        for i in range(self.random.randint(0, 3)):
            value = self.random.randn(2, 3).astype("float32")
            variable = tf.get_variable(f"v{i}", initializer=value, use_resource=bool(self.random.randint(2)))
            self.variables.append(variable)
            self.floats.append(tf.identity(variable))

    def add(self):
        with self.device():
            make = self.choose(self.MAKERS)
            try:
                made = make(self)
            except (ValueError, TypeError):  # shapes that do not fit: Python says so before it adds anything
                return
        for value in made if isinstance(made, (list, tuple)) else [made]:
            if value is None:
                continue
            (self.floats if value.dtype.base_dtype == tf.float32 else self.ints).append(value)

    # --- kinds of ops ----------------------------------------------------------------------------------------------------

    def f(self):
        return self.choose(self.floats[-12:])

    def i(self):
        return self.choose(self.ints[-6:])

    def unary(self):
        return self.choose([tf.tanh, tf.sigmoid, lambda x: tf.nn.relu(x - APART), lambda x: tf.abs(x - APART), tf.square, tf.negative,
                            lambda x: tf.floor(x + APART), lambda x: tf.sign(x - APART), tf.erf,
                            tf.nn.elu, tf.nn.softplus, tf.sin, tf.zeros_like, tf.ones_like, tf.identity, tf.stop_gradient,
                            lambda x: tf.sqrt(tf.abs(x) + 0.1), lambda x: tf.exp(tf.tanh(x)), lambda x: tf.log1p(tf.abs(x)),
                            lambda x: tf.clip_by_value(x + APART, -2.0, 2.0), lambda x: tf.nn.leaky_relu(x - APART)])(self.f())

    def binary(self):
        op = self.choose([tf.add, tf.subtract, tf.multiply, lambda a, b: tf.maximum(a, b + APART),
                          lambda a, b: tf.minimum(a, b + APART), tf.squared_difference,
                          lambda a, b: a / (tf.abs(b) + 1.0), lambda a, b: tf.where(a > b + APART, a, b)])
        return tf.clip_by_value(op(self.f(), self.f()), -100.0, 100.0)

    def integer(self):
        return self.choose([lambda: self.i() + self.i(), lambda: self.i() * 3 % 7, lambda: tf.floordiv(self.i(), 2),
                            lambda: tf.cast(tf.clip_by_value(self.f(), -50.0, 50.0) * 2 + APART, tf.int32), lambda: tf.shape(self.f()),
                            lambda: tf.cast(self.f() > APART, tf.int32), lambda: tf.bitwise.bitwise_and(self.i(), 3)])()

    def cast(self):
        return tf.cast(self.i(), tf.float32) * 0.1

    def reduce(self):
        x = self.f()
        axis = None if x.shape.ndims in (None, 0) or self.random.rand() < 0.3 else int(self.random.randint(x.shape.ndims))
        op = self.choose([tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_logsumexp])
        if op is tf.reduce_prod:
            x = tf.tanh(x)
        return op(x, axis, keepdims=bool(self.random.randint(2)))

    def product(self):
        a = tf.reshape(self.f(), [-1])[:6]
        side = tf.pad(a, [[0, 6 - tf.minimum(6, tf.size(a))]])
        m = tf.reshape(side, [2, 3])
        return self.choose([lambda: tf.matmul(m, m, transpose_b=True), lambda: tf.matmul(m, m, transpose_a=True),
                            lambda: tf.nn.softmax(m), lambda: tf.nn.log_softmax(m), lambda: tf.nn.bias_add(m, m[0])])()

    def layout(self):
        x = self.f()
        n = x.shape.ndims or 0
        choices = [lambda: tf.reshape(x, [-1]), lambda: tf.expand_dims(x, int(self.random.randint(-n - 1, n + 1))),
                   lambda: tf.stack([x, x * 2]), lambda: tf.pad(x, [[1, 0]] * n), lambda: tf.squeeze(tf.expand_dims(x, 0), 0)]
        if n:
            axis = int(self.random.randint(n))
            choices += [lambda: tf.transpose(x, self.random.permutation(n)), lambda: tf.concat([x, x], axis),
                        lambda: tf.reverse(x, [axis]), lambda: tf.tile(x, self.random.randint(0, 3, n)),
                        lambda: x[..., ::2], lambda: tf.cumsum(x, axis), lambda: tf.unstack(x, axis=axis)[:2]]
        return self.choose(choices)()

    def choose_rows(self):
        x = tf.reshape(self.f(), [-1])
        at = tf.clip_by_value(self.i(), 0, tf.maximum(tf.size(x) - 1, 0))
        filled = tf.concat([x, [0.5]], 0)
        # TensorFlow's top_k has no place for NaN: of [0.1, 0.5, nan] it takes 0.1.
        ordered = lambda: tf.where(tf.is_nan(filled), tf.zeros_like(filled), filled)
        return self.choose([lambda: tf.gather(filled, at), lambda: tf.unsorted_segment_sum(filled, tf.zeros_like(filled, tf.int32), 2),
                            lambda: tf.one_hot(tf.floormod(at, 3), 3), lambda: tf.boolean_mask(filled, filled > APART),
                            lambda: tf.cast(tf.argmax(tf.floor(filled * 4.0 + APART)), tf.int32), lambda: tf.nn.top_k(ordered(), 1).values])()

    def picture(self):
        x = tf.reshape(self.f(), [-1])[:16]
        x = tf.reshape(tf.pad(x, [[0, 16 - tf.minimum(16, tf.size(x))]]), [1, 4, 4, 1])
        w = tf.constant(self.random.randn(2, 2, 1, 2).astype("float32"))
        return self.choose([lambda: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), lambda: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
                            lambda: tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME"), lambda: tf.nn.lrn(x)])()

    def condition(self):
        a, b = self.f(), self.f()
        return tf.cond(tf.reduce_sum(a) > tf.reduce_sum(b) + APART, lambda: tf.reduce_sum(a) * 0.5, lambda: tf.reduce_mean(tf.tanh(b)) + 1.0)

    def loop(self):
        x = tf.tanh(self.f())
        n = int(self.random.randint(0, 5))
        return tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v * 1.5 + 0.1)), [0, x], [tf.TensorShape([]), x.shape])[1]

    def gradient(self):
        y, x = tf.reduce_sum(self.f()), self.f()
        g = tf.gradients(y, x)[0]
        return tf.clip_by_value(g, -100.0, 100.0) if isinstance(g, tf.Tensor) else None

    def waiting(self):
        with tf.control_dependencies([self.f()]):
            return tf.identity(self.f())

    MAKERS = [unary] * 5 + [binary] * 5 + [integer] * 2 + [cast, reduce, reduce, product, product, layout, layout, layout,
                                                          choose_rows, choose_rows, picture, condition, loop, gradient, waiting]

    def finish(self):
        fetches = [v for v in self.floats[-10:] + self.ints[-5:]]
        with tf.control_dependencies([tf.identity(v) for v in fetches if isinstance(v, tf.Tensor)]):
            updates = [v.assign_add(tf.ones_like(v)) for v in self.variables]
        computed = [v for v in self.floats if isinstance(v, tf.Tensor) and v.op.type != "Placeholder" and v.graph.is_feedable(v)]
        given = [self.choose(computed) for _ in range(self.random.randint(1, 4))]
        return fetches, updates, list(dict.fromkeys(given))


def make(seed, devices):
    generator = GraphGenerator(seed, devices)
    functional = generator.random.rand() < 0.3
    graph = tf.Graph()
    (tf.enable_control_flow_v2 if functional else tf.disable_control_flow_v2)()
    with graph.as_default():
        tf.set_random_seed(seed)
        generator.start()
        wanted = int(generator.random.randint(5, 201))
        while len(graph.get_operations()) < wanted:
            generator.add()
        fetches, updates, given = generator.finish()
        initial = tf.global_variables_initializer()
    return graph, generator.feeds, fetches, updates, given, initial


def run(target, made):
    """Two steps with an update of the variables between, one that feeds `given`; or the class of the error."""
    graph, feeds, fetches, updates, given, initial = made
    config = tf.ConfigProto(allow_soft_placement=True, isolate_session_state=bool(target))
    if not target:  # the plain graph is the definition, and far sooner run than rewritten
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    try:
        with tf.Session(target, graph=graph, config=config) as session:
            session.run(initial)
            first = session.run(fetches, feeds)
            if updates:
                session.run(updates, feeds)
            second, computed = session.run(fetches, feeds), session.run(given, feeds)
            fed = {v: np.asarray(x * .5 + .1, "float32") for v, x in zip(given, computed)}
            return [*first, *second, *session.run(fetches, {**feeds, **fed})]
    except tf.errors.OpError as error:
        return f"{type(error).__name__}: {error.message[:1500]}"


def disagreement(wanted, found):
    if isinstance(wanted, str) or isinstance(found, str):
        same = isinstance(wanted, str) and isinstance(found, str) and wanted.split(":")[0] == found.split(":")[0]
        return "" if same else f"{wanted if isinstance(wanted, str) else 'values'} against {found if isinstance(found, str) else 'values'}"
    for n, (a, b) in enumerate(zip(wanted, found)):
        d = difference(a, b, 1e-4)
        if d:
            return f"fetch {n % (len(wanted) // 3)} of step {n // (len(wanted) // 3)}: {d}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--keep")
    options = parser.parse_args()
    different, start = [], time.time()
    with server(options.argosy, options.devices) as target:
        for seed in range(options.first, options.first + options.count):
            made = make(seed, options.devices)
            if (seed - options.first) % 500 == 499:
                print(f"{seed - options.first + 1} graphs, {len(different)} differ, {time.time() - start:.0f} s", file=sys.stderr, flush=True)
            told = disagreement(run("", made), run(target, made))
            if told:
                different.append(seed)
                print(f"graph {seed}: {told[:1500]}", flush=True)
                if options.keep:
                    os.makedirs(options.keep, exist_ok=True)
                    tf.io.write_graph(made[0], options.keep, f"graph{seed}.pbtxt")
    print(f"{options.count - len(different)} of {options.count} random graphs agree ({time.time() - start:.0f} s)"
          + (f"; these do not: {different[:50]}" if different else ""))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
