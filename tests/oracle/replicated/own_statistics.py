"""Batch normalisation by hand, where each device uses the statistics of its own shard: what TensorFlow computes when the same
program cuts its batch in as many parts, and normalises each.

  own_statistics.py PARTS     1: the program as users write it, which is replicated; else what it must print
"""
import sys

import numpy as np
import tensorflow as tf

if hasattr(tf, "compat"):
    tf = tf.compat.v1
    tf.disable_v2_behavior()
PARTS = int(sys.argv[1])


def parts_of(h):
    """The rows of each device: as many, or one more for the first ones."""
    if PARTS == 1:
        return [h]
    n = tf.shape(h)[0]
    return tf.split(h, [n // PARTS + tf.cast(k < n % PARTS, tf.int32) for k in range(PARTS)], num=PARTS)


def plain(h, scale, offset):
    mean, variance = tf.nn.moments(h, [0])
    return (h - mean) / tf.sqrt(variance + .1)


def by_op(h, scale, offset):
    mean, variance = tf.nn.moments(h, [0])
    return tf.nn.batch_normalization(h, mean, variance, offset, scale, .1)


def kept(h, scale, offset):
    mean, variance = tf.nn.moments(h, [0], **{"keepdims" if tf.__version__ > "1.15.9" else "keep_dims": True})
    return scale * (h - mean) * tf.rsqrt(variance + .1) + offset


def twice(h, scale, offset):
    return by_op(tf.tanh(plain(h, scale, offset)) * (1. + offset), scale, offset)


def update(kind, loss):
    pairs = [(g, v) for g, v in tf.train.GradientDescentOptimizer(.3).compute_gradients(loss) if g is not None]
    if kind == "clipped":
        clipped = tf.clip_by_global_norm([g for g, _ in pairs], .1)[0]
        return tf.train.GradientDescentOptimizer(.3).apply_gradients(zip(clipped, [v for _, v in pairs]))
    if kind == "momentum":
        return tf.train.MomentumOptimizer(.1, .9).apply_gradients(pairs)
    if kind == "twice":  # the same gradients for two things
        sums = [v.assign_add(g * .01) for g, v in pairs]
        with tf.control_dependencies(sums):
            return tf.group(*[tf.assign_sub(v, .3 * (g + .1 * tf.reduce_sum(tf.square(g)))) for g, v in pairs])
    return tf.train.GradientDescentOptimizer(.3).apply_gradients(pairs)


for norm in (plain, by_op, kept, twice):
    for kind in ("plain", "clipped", "momentum", "twice"):
        tf.reset_default_graph()
        draw = np.random.RandomState(0)
        x, y = tf.placeholder(tf.float64, [None, 3]), tf.placeholder(tf.float64, [None, 2])
        w = tf.get_variable("w", initializer=draw.randn(3, 4), use_resource=True)
        scale = tf.get_variable("scale", initializer=1 + draw.rand(4), use_resource=True)
        offset = tf.get_variable("offset", initializer=draw.rand(4) - .5, use_resource=True)
        last = tf.get_variable("last", initializer=draw.randn(4, 2), use_resource=True)
        h = tf.concat([norm(part, scale, offset) for part in parts_of(tf.matmul(x, w))], 0)
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(h), last) - y))
        train = update(kind, loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for n in (12, 12, 9):
                value = session.run([loss, train], {x: draw.randn(n, 3) + 1, y: draw.randn(n, 2)})[0]
                print(n, "%.9f" % value, " ".join("%.8f" % v for v in session.run(w).ravel()), flush=True)
