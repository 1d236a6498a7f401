"""What programs of a cluster's client share: sessions, and models whose numbers do not depend on who serves the tasks.
Its arguments are those of cluster_programs.py.
"""
import json
import sys

import numpy as np
import tensorflow as tf

if hasattr(tf, "compat"):
    tf = tf.compat.v1
tf.disable_v2_behavior()

SPEC = json.loads(sys.argv[1])
MASTER = sys.argv[2]


def target(name=MASTER):
    job, task = name.split(":")
    return "grpc://" + SPEC[job][int(task)]


def config(**options):
    return tf.ConfigProto(operation_timeout_in_ms=60000, **options)


def session(name=MASTER, **options):
    return tf.Session(target(name), config=config(**options))


def setter(worker=0):
    return tf.train.replica_device_setter(cluster=tf.train.ClusterSpec(SPEC), worker_device="/job:worker/task:%d" % worker)


def batches(count, size=8, features=6):
    random = np.random.RandomState(3)
    wanted = random.randn(features, 2).astype(np.float32)
    for _ in range(count):
        x = random.randn(size, features).astype(np.float32)
        yield x, x.dot(wanted)


def model(optimizer, resource):
    x = tf.placeholder(tf.float32, [None, 6], name="x")
    y = tf.placeholder(tf.float32, [None, 2], name="y")
    initial = np.linspace(-0.5, 0.5, 24).reshape(6, 4).astype(np.float32)
    w = tf.get_variable("w", initializer=initial, use_resource=resource)
    b = tf.get_variable("b", initializer=np.zeros(4, np.float32), use_resource=resource)
    v = tf.get_variable("v", initializer=initial[:4, :2].copy() + 0.1, use_resource=resource)
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.tanh(tf.matmul(x, w) + b), v) - y))
    step = tf.train.get_or_create_global_step()
    return x, y, loss, optimizer.minimize(loss, global_step=step)


def model_of_rows(optimizer, resource):
    """The table's gradient is of gathered rows."""
    x = tf.placeholder(tf.float32, [None, 6], name="x")
    y = tf.placeholder(tf.float32, [None, 2], name="y")
    initial = np.linspace(-0.5, 0.5, 20).reshape(10, 2).astype(np.float32)
    table = tf.get_variable("table", initializer=initial, use_resource=resource)
    ids = tf.cast(tf.minimum(tf.abs(x[:, :3]) * 5.0, 9.0), tf.int64)
    rows = tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1)
    loss = tf.reduce_mean(tf.square(tf.nn.tanh(rows) * 3.0 - y))
    step = tf.train.get_or_create_global_step()
    return x, y, loss, optimizer.minimize(loss, global_step=step)


def train(optimizer, resource=False):
    with tf.device(setter()):
        x, y, loss, update = model(optimizer(), resource)
    losses = []
    with session() as s:
        s.run(tf.global_variables_initializer())
        for a, b in batches(8):
            losses.append(float(s.run([loss, update], {x: a, y: b})[0]))
    return losses
