#!/usr/bin/env python3
"""TensorFlow as the oracle of functional control flow: control_flow.py CONTROL_TOOL

The programs of control_tool.cc, written for TensorFlow 2 (whose tf.cond, tf.while_loop and tf.switch_case make the same
ops), must give the same values and derivatives. Exit code 1 when one differs.
"""

import json
import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf


def nested_cond(x):
    return tf.cond(x > 0, lambda: tf.cond(x > 1, lambda: x * x * x, lambda: x * x), lambda: -x)


def cases(x):
    return tf.switch_case(tf.cast(x, tf.int32), [lambda: x, lambda: x * x, lambda: tf.sin(x)])


def counted_loop(x):
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * x), (tf.constant(0), x))[1]


def loop_by_value(x):
    return tf.while_loop(lambda a, b: b < 50, lambda a, b: (a + b * 0.1, b + a * a + 1), (x, x * x))[0]


def loop_with_limit(x):
    return tf.while_loop(lambda v: v < 1e300, lambda v: (v * x + 1,), (x,), maximum_iterations=5)[0]


def no_iteration(x):
    return tf.while_loop(lambda a, b: a > 0, lambda a, b: (a, b * x), (tf.constant(0, tf.float64), x * x))[1]


def nested_loops(x):
    def body(i, v):
        inner = tf.while_loop(lambda k, u: k < i, lambda k, u: (k + 1, tf.sin(u) + v * x), (tf.constant(0), v))
        return i + 1, inner[1]
    return tf.while_loop(lambda i, v: i < 3, body, (tf.constant(0), x))[1]


def cond_in_loop(x):
    def body(i, v):
        return i + 1, tf.cond(v > 1, lambda: v * 0.5, lambda: v * v + x)
    return tf.while_loop(lambda i, v: i < 6, body, (tf.constant(0), x))[1]


def loop_in_cond(x):
    return tf.cond(x > 0, lambda: counted_loop(x), lambda: x * 7)


def list_in_loop(x):
    array = tf.TensorArray(tf.float64, size=0, dynamic_size=True, element_shape=[])

    def body(i, v, a):
        following = tf.sin(v) + x
        return i + 1, following, a.write(i, following * following)
    return tf.reduce_sum(tf.while_loop(lambda i, v, a: i < 4, body, (tf.constant(0), x, array))[2].stack())


def called_twice(x):
    f = tf.function(lambda u: u * u * x)
    return f(f(tf.sin(x)))


def second_derivative(x):
    return tf.gradients(counted_loop(x), x)[0]


PROGRAMS = [nested_cond, cases, counted_loop, loop_by_value, loop_with_limit, no_iteration, nested_loops, cond_in_loop,
            loop_in_cond, list_in_loop, called_twice, second_derivative]


def value_and_derivative(program):
    @tf.function(input_signature=[tf.TensorSpec([], tf.float64)])
    def both(x):
        y = program(x)
        return y, tf.gradients(y, x)[0]
    return both


def main(tool):
    ours = json.loads(subprocess.run([tool], check=True, capture_output=True, text=True).stdout)
    programs = {p.__name__: p for p in PROGRAMS}
    programs["array_in_loop"] = list_in_loop  # a TensorArray here, a TensorList in TensorFlow 2: one meaning
    different = sorted(set(ours) ^ set(programs))
    for name in different:
        print(f"{name}: written for one side only")
    worst = 0.0
    for name in sorted(set(ours) & set(programs)):
        theirs = value_and_derivative(programs[name])
        for at, value, derivative in ours[name]:
            for what, mine, other in zip(("value", "derivative"), (value, derivative),
                                         (float(t) for t in theirs(tf.constant(at, tf.float64)))):
                error = abs(mine - other) / max(1.0, abs(other))
                worst = max(worst, error)
                if not error <= 1e-10:
                    different.append(name)
                    print(f"{name} at {at}: {what} {mine!r}, TensorFlow {other!r}")
    print(f"{len(ours)} programs, {len(set(different))} differ; largest relative difference {worst:.1e}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
