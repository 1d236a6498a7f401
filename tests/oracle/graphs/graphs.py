#!/usr/bin/env python3
"""Graphs built by TensorFlow, run there and here: graphs.py ARGOSY

Each program is a function that builds a graph with tf.compat.v1, names its feeds and says what it fetches. TensorFlow
runs it; `argosy graph run` loads the same GraphDef and must give the same values.
Exit code 1 when one differs.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function

tf.disable_eager_execution()
tf.disable_resource_variables()
tf.disable_control_flow_v2()

RANDOM = np.random.RandomState(7)


def values(*shape):
    return RANDOM.randn(*shape).astype(np.float32)


def weights(name, *shape):
    return tf.constant(values(*shape) * 0.3, name=name)


def mlp(_):
    x = tf.placeholder(tf.float32, [None, 6], "x")
    labels = tf.placeholder(tf.int32, [None], "labels")
    hidden = tf.nn.relu(tf.matmul(x, weights("w1", 6, 10)) + weights("b1", 10))
    logits = tf.matmul(hidden, weights("w2", 10, 4)) + weights("b2", 4)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return {"x": values(5, 6), "labels": np.array([0, 3, 1, 2, 2], np.int32)}, \
        [logits, tf.nn.softmax(logits), loss] + tf.gradients(loss, [x])


def lenet(_):
    x = tf.placeholder(tf.float32, [None, 12, 12, 1], "x")
    keep = tf.placeholder_with_default(tf.constant(1.0), [], "keep")
    y = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, weights("c1", 3, 3, 1, 4), 1, "SAME")), 2, 2, "VALID")
    y = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(y, weights("c2", 3, 3, 4, 8), 1, "VALID")), 2, 2, "SAME")
    y = tf.reshape(y, [-1, int(np.prod(y.shape[1:]))])
    y = tf.nn.softmax(tf.matmul(y, weights("d", int(y.shape[1]), 3)) * keep)
    return {"x": values(2, 12, 12, 1)}, [y] + tf.gradients(y[:, 0], [x])


def cond(x):
    small = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sqrt(tf.abs(x)), lambda: x * x - 1)
    nested = tf.cond(x[0] > 0, lambda: tf.cond(x[1] > 0, lambda: x[2], lambda: x[2] * 3), lambda: -x[2])
    return [small, nested] + tf.gradients(tf.reduce_sum(small) * nested, [x])


def loop(x):
    total = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, tf.sin(v) + x * v), (tf.constant(0), x))[1]
    grown = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, x], 0)), (tf.constant(0), x),
                          shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])))[1]

    def outer(i, v):
        inner = tf.while_loop(lambda k, u: k < i, lambda k, u: (k + 1, u * 0.5 + x), (tf.constant(0), v))[1]
        return i + 1, inner
    nested = tf.while_loop(lambda i, v: i < 4, outer, (tf.constant(0), x))[1]
    return [total, grown, nested] + tf.gradients([total, nested], [x])


def cond_in_loop(x):
    def body(i, v):
        return i + 1, tf.cond(tf.reduce_sum(v) > 1, lambda: v * 0.5, lambda: v * v + x)
    last = tf.while_loop(lambda i, v: i < 6, body, (tf.constant(0), x))[1]
    return [last] + tf.gradients(last, [x])


def arrays(x):
    steps = tf.TensorArray(tf.float32, size=4, element_shape=[3])
    steps = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))),
                          (tf.constant(0), steps))[1]
    stacked = steps.stack()
    return [stacked] + tf.gradients(stacked * stacked, [x])


def cases(x):
    return [tf.switch_case(tf.cast(x[1], tf.int32), [lambda: x, lambda: x * x, lambda: tf.sin(x)])]


def with_v2(program):
    def build(x):
        tf.enable_control_flow_v2()
        try:
            return program(x)
        finally:
            tf.disable_control_flow_v2()
    build.__name__ = program.__name__ + "_v2"
    return build


def tf_function(x):
    @tf.function
    def inner(a, b):
        return a * b + 1, tf.reduce_max(a)

    @tf.function
    def outer(a):
        y, m = inner(a, a)
        if m > 0.5:
            y = y * 2
        return tf.map_fn(lambda v: v * m, y)
    y = outer(x)
    return [y] + tf.gradients(y, [x])


def defun(x):
    @function.Defun(tf.float32, tf.float32, func_name="weigh")
    def weigh(a, b):
        return tf.sin(a) * b, a + b

    @function.Defun(tf.float32, tf.float32, func_name="cubed_gradient")
    def cubed_gradient(a, dy):
        return 3 * a * a * dy * 2  # twice what it should be: so it is seen to be used

    @function.Defun(tf.float32, func_name="cubed", grad_func=cubed_gradient)
    def cubed(a):
        return a * a * a
    u, v = weigh(x, x * 2)
    y = u * v + cubed(x)
    return [y] + tf.gradients(y, [x])


def captured(x):
    scale = tf.placeholder_with_default(tf.constant([1.0, -2.0, 0.5]), [3], "scale")

    @function.Defun(tf.float32)
    def scaled(a):
        return a * scale
    return [scaled(scaled(x))]


def effects(x):
    """Variables of both kinds, updated inside functions and branches in one run."""
    with tf.variable_scope("v", use_resource=True):
        counted = tf.get_variable("counted", initializer=tf.constant([1.0, 2.0, 3.0]))
    plain = tf.Variable([0.5, 0.5, 0.5], name="plain", use_resource=False)
    with tf.control_dependencies([counted.initializer, plain.initializer]):
        start = tf.identity(x)

    @tf.function
    def add_twice(a):
        counted.assign_add(a)
        counted.assign_add(a)
        return a * 2
    with tf.control_dependencies([start]):
        doubled = add_twice(start)
        added = tf.assign_add(plain, start)
    with tf.control_dependencies([doubled, added]):
        branch = tf.cond(tf.reduce_sum(tf.abs(start)) > 0, lambda: tf.assign_sub(plain, [0.25, 0.25, 0.25]) * 1.0,
                         lambda: tf.identity(start))
        with tf.control_dependencies([branch]):
            return [doubled, branch, counted.read_value(), plain.read_value()]


def one_input(program, at):
    def build(_):
        x = tf.placeholder(tf.float32, [3], "x")
        return {"x": np.array(at, np.float32)}, program(x)
    build.__name__ = program.__name__
    return build


POINTS = [[0.3, 1.2, -0.4], [-0.7, 0.2, 0.1], [1.5, 2.6, 0.9]]
PROGRAMS = [mlp, lenet]
for one in (cond, loop, cond_in_loop, arrays, cases, tf_function, defun, captured, effects):
    PROGRAMS += [one_input(one, at) for at in POINTS]
for one in (cond, loop, cond_in_loop, arrays, cases):
    PROGRAMS += [one_input(with_v2(one), at) for at in POINTS]


def argosy(program, folder, graph, feeds, fetches, *more):
    """The values, as `argosy graph run` gives them."""
    command = [program, "graph", "run", str(graph), *more]
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--feed", f"{name}={folder / name}.npy"]
    outs = [folder / f"out{i}.npy" for i in range(len(fetches))]
    for name, out in zip(fetches, outs):
        command += ["--fetch", name, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return [np.load(out) for out in outs]


def differs(ours, theirs):
    for i, (a, b) in enumerate(zip(ours, theirs)):
        b = np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"output {i}: {a.dtype}{a.shape}, TensorFlow {b.dtype}{b.shape}"
        if not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"output {i}: {a.ravel()[:6]}, TensorFlow {b.ravel()[:6]}"
    return None


def compare(program, folder, build):
    graph = tf.Graph()
    with graph.as_default(), tf.device(None):
        tf.set_random_seed(3)
        feeds, fetches = build(None)
        fetches = [tf.identity(f, name=f"fetch{i}") for i, f in enumerate(fetches)]
    names = [f.name for f in fetches]
    with tf.Session(graph=graph) as session:
        theirs = session.run(fetches, {name + ":0": value for name, value in feeds.items()})
    path = folder / "graph.pb"
    path.write_bytes(graph.as_graph_def(add_shapes=len(build.__name__) % 2 == 0).SerializeToString())
    return differs(argosy(program, folder, path, feeds, names), theirs)


def main():
    program = sys.argv[1]
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for build in PROGRAMS:
            try:
                difference = compare(program, folder, build)
            except Exception as error:  # whatever it is, it belongs to this program
                difference = f"{type(error).__name__}: {error}"
            if difference:
                wrong += 1
                print(f"{build.__name__}: {difference}")
    print(f"{len(PROGRAMS) - wrong} of {len(PROGRAMS)} graphs give what TensorFlow gives")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
