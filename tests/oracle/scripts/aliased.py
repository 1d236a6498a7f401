#!/usr/bin/env python3
"""Operands that are one memory: programs whose ops read a value several times, or change a variable while they read it.

    aliased.py ARGOSY [--only NAME]

Each runs twice in a stock client's session in process and on our server, on its CPU and on an emulated GPU. Values must
agree. Where a program has variables, ours are references and then resources, TensorFlow's resources: its updates of
reference variables read what they have just written. Exit code 1 when anything differs.
"""
import argparse
import sys

import numpy as np

import served_state
from served_state import difference, outcome, tf

X, Y = np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 10]]), np.float32([[.5, -1, 2], [3, .25, -4], [0, 6, -.5]])
raw = tf.raw_ops


class Rows:
    """What programs are built of: values that the step computes, and variables of both kinds."""

    def __init__(self, resource):
        self.feeds, self.resource, self.variables = {}, resource, 0

    def value(self, array):
        fed = tf.placeholder(array.dtype, array.shape)
        self.feeds[fed] = array
        return tf.stack([fed, fed])[1]

    @property
    def x(self):
        return self.value(X)

    @property
    def y(self):
        return self.value(Y)

    def variable(self, array=X):
        self.variables += 1
        return tf.get_variable(f"v{self.variables}", initializer=array, use_resource=self.resource)


def after(update, *read):
    with tf.control_dependencies([update]):
        return [v.read_value() for v in read]


def apply(op, variables, **arguments):
    """The op of that name for references, or its twin for resources, of variables by their arguments' names."""
    resource = any(v.op.type == "VarHandleOp" for v in variables.values())
    given = {name: v.handle if resource else v for name, v in variables.items()}
    return getattr(raw, ("Resource" if resource else "") + op)(**given, **arguments)


def add_n_around(r):
    a, b = r.x, r.y
    return [tf.add_n([a, b, a])]


def two_towers(r):
    v, w = r.x, r.y
    loss = tf.nn.l2_loss
    return [tf.add_n([loss(v), loss(w), loss(v), loss(w), loss(v)])]


def less_its_row(r):
    x = r.x
    return [x - x[:1], x[1:2] / x, tf.reshape(x[0], [3, 1]) * x]


def scattered(r):
    x, at = r.x, [[1], [0], [2]]
    shifted = [[2], [0], [1]]
    y = r.y
    return [tf.tensor_scatter_nd_sub(x, at, x), tf.tensor_scatter_nd_update(y, shifted, y), tf.tensor_scatter_nd_max(x, shifted, tf.reshape(x, [3, 3]))]


def diagonal(r):
    x = r.x
    return [tf.linalg.set_diag(x, x[0]), tf.linalg.band_part(x, 0, 1) + x, raw.MatrixSetDiagV2(input=x, diagonal=tf.reshape(x, [9])[3:6], k=1 - 1)]


def slices(r):
    x = r.x
    flipped = raw.TensorStridedSliceUpdate(input=x, begin=[2, 0], end=[-4, 3], strides=[-1, 1], value=x)
    y = r.y
    return [flipped, raw.TensorStridedSliceUpdate(input=y, begin=[1, 0], end=[3, 3], strides=[1, 1], value=tf.reshape(y, [9])[:3])]


def chosen(r):
    x, y = r.x, r.y
    return [tf.where(x > 2, x, x), tf.where(y > 0, tf.zeros_like(y), y), tf.clip_by_value(y, y, y), tf.where(tf.greater(y, 0), y, -y) * y]


def activations(r):
    x, y = r.x, r.y
    return [tf.nn.bias_add(r.value(X[:1]) * 2, X[0]), tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=y),
            tf.gradients(tf.nn.softmax(x), x, grad_ys=x)[0], raw.ReluGrad(gradients=y, features=y), raw.TanhGrad(y=y, dy=y)]


def fused(r):
    x, y = r.x, r.y
    return [tf.tanh(x) * x + tf.sigmoid(x) * y - x, tf.add_n([x * y, x, x * y]), (x + y) * (x + y) + (x + y), x * tf.reshape(x, [1, 3, 3])[0]]


def normalised(r):
    x, g = r.value(np.linspace(-2, 3, 48).astype(np.float32).reshape(2, 3, 2, 4)), np.float32([1, 2, 3, 4])
    fused_norm = tf.nn.fused_batch_norm(x, g, g, is_training=True)[0]
    mean, variance = tf.nn.moments(x, [3], keepdims=True)
    return [fused_norm + x, (x - mean) * tf.rsqrt(variance + 1e-3) + x]


def passed_on(r):
    x, shape = r.x, tf.placeholder(tf.int32, [2])
    r.feeds[shape] = [3, 3]
    whole, same, alone = tf.broadcast_to(x * 3, shape), raw.Cast(x=tf.exp(x), DstT=tf.float32), tf.add_n([x + 7])
    later = x
    with tf.control_dependencies([whole, same, alone]):
        for _ in range(6):
            later = tf.tanh(later) * x - later * .25
    return [whole, same, alone, later]


def looped(r):
    x = r.x
    turn = lambda i, s, t: (i + 1, tf.add_n([s, t, s]) / 2, tf.tensor_scatter_nd_sub(t, [[1], [0], [2]], t) + s)
    return list(tf.while_loop(lambda i, *_: i < 4, turn, [0, x, r.y]))[1:]


def branched(r):
    x, yes = r.x, tf.placeholder(tf.bool, [])
    r.feeds[yes] = True
    y = tf.cond(yes, lambda: tf.identity(x), lambda: x * 2)
    return [tf.add_n([y, x, y]), tf.cond(yes, lambda: tf.add_n([x, y, x]), lambda: x)]


def gathered(r):
    x = r.x
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).write(0, x).write(1, x)
    return [array.stack(), array.read(0) + array.read(1), tf.dynamic_stitch([[0, 1, 2], [3, 4, 1]], [x, x]), tf.concat([x, x], 0), tf.matmul(x, x),
            tf.stack([x, x + x]), tf.tensordot(x, x, 1)]


def assigned(r):
    v, w, u = r.variable(), r.variable(), r.variable()
    doubled = tf.assign_add(v, v)
    turned = tf.assign(w, w[::-1])
    less = tf.assign_sub(u, u * u + u)
    return [*after(doubled, v), *after(turned, w), *after(less, u)]


def scattered_into(r):
    v, w, u, t = (r.variable() for _ in range(4))
    found = [*after(tf.scatter_add(v, [2, 1, 0], v), v), *after(tf.scatter_update(w, [1, 2, 0], tf.identity(w)), w)]
    found += after(tf.scatter_nd_update(u, [[1], [0], [2]], u), u)
    return found + after(tf.scatter_sub(t, [2], t[:1]), t)


def scattered_by_itself(r):
    v = r.variable(np.int32([2, 0, 1]))
    return after(tf.scatter_add(v, v, v), v)


def optimised(r):
    found = []
    rates, decay = {"lr": .1, "epsilon": 1e-3}, {"beta1_power": .9, "beta2_power": .99, "beta1": .9, "beta2": .99}
    for update in (lambda v, m, n: apply("ApplyGradientDescent", {"var": v}, alpha=.1, delta=v),
                   lambda v, m, n: apply("ApplyMomentum", {"var": v, "accum": m}, lr=.1, momentum=.9, grad=v),
                   lambda v, m, n: apply("ApplyMomentum", {"var": v, "accum": m}, lr=.1, momentum=.9, grad=m),
                   lambda v, m, n: apply("ApplyAdagrad", {"var": v, "accum": m}, lr=.1, grad=m),
                   lambda v, m, n: apply("ApplyAdam", {"var": v, "m": m, "v": n}, **rates, **decay, grad=v),
                   lambda v, m, n: apply("ApplyAdam", {"var": v, "m": m, "v": n}, **rates, **decay, grad=n),
                   lambda v, m, n: apply("ApplyRMSProp", {"var": v, "ms": n, "mom": m}, **rates, rho=.9, momentum=.5, grad=m)):
        v, m, n = (r.variable(abs(a)) for a in (X, Y, X * .5))
        found += after(update(v, m, n), v, m, n)
    return found


def trained(r):
    v, w = r.variable(), r.variable(Y)
    loss = tf.add_n([tf.nn.l2_loss(v), tf.nn.l2_loss(w), tf.nn.l2_loss(v), tf.reduce_sum(v * v * w)])
    step = tf.train.MomentumOptimizer(.01, .9).minimize(loss)
    return [loss, *after(step, v, w)]


PROGRAMS = {
    "add_n": add_n_around, "accumulate_n": lambda r: [(lambda v: tf.accumulate_n([v, v, v]))(r.x)], "two towers": two_towers,
    "less its row": less_its_row, "scattered": scattered, "diagonal": diagonal, "slices": slices, "chosen": chosen,
    "activations": activations, "fused": fused, "normalised": normalised, "passed on": passed_on, "looped": looped,
    "branched": branched, "gathered": gathered, "assigned": assigned, "scattered into": scattered_into,
    "scattered by itself": scattered_by_itself, "optimised": optimised, "trained": trained,
}


class Step:
    patience, compared = 60000, True

    def __init__(self, fetches, feeds):
        self.fetches, self.feeds = fetches, feeds


def built(name, device, resource):
    rows = Rows(resource)
    with tf.Graph().as_default() as graph, tf.device(device):
        fetches = PROGRAMS[name](rows)
        steps = [Step([tf.global_variables_initializer()], {}), Step(fetches, rows.feeds), Step(fetches, rows.feeds)]
    return graph, steps, rows.variables


def answers(name, device, resource, target):
    graph, steps, variables = built(name, device, resource)
    with served_state.session(target, graph) as session:
        return [outcome(session, step) for step in steps][1:], variables


def compare(name, target):
    """(times compared, what differs)."""
    theirs, variables = answers(name, "/cpu:0", True, "")  # TensorFlow's GPU kernels are not here
    count, found = 0, []
    for device in ("/cpu:0", "/gpu:0"):
        for resource in (False, True) if variables else (False,):
            ours, _ = answers(name, device, resource, target)
            count += 1
            for run, (mine, other) in enumerate(zip(ours, theirs)):
                text = difference(mine, other)
                if text and not any(isinstance(v, served_state.Refusal) for v in (mine, other)):
                    text = "value " + ", ".join(str(i) for i, (a, b) in enumerate(zip(mine, other)) if difference([a], [b])) + ": " + text
                kind = ("resources" if resource else "references") if variables else "values"
                if text:
                    found.append(f"{name} on {device}, {kind}, run {run}: {text}")
    return count, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("argosy")
    parser.add_argument("--only", default="")
    parser.add_argument("--devices", action="store_true", default=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [options.only] if options.only else list(PROGRAMS)
    server, target = served_state.serve(options)
    count, differences = 0, []
    try:
        for name in names:
            times, found = compare(name, target)
            count += times
            differences += found
    finally:
        server.terminate()
        server.wait(timeout=30)
    print("\n".join(differences + [f"{len(names)} programs, {count} times beside TensorFlow, {len(differences)} runs differ"]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
