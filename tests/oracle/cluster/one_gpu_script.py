"""A training script for one GPU, as people write them for TensorFlow 1.x: a convolutional net with dropout, fed in batches of
uneven sizes, evaluated between steps, saved, restored from another session and trained on. It knows no cluster.

  one_gpu_script.py FOLDER
"""
import json
import sys

import numpy as np
import tensorflow as tf

if hasattr(tf, "compat") and hasattr(tf.compat, "v1"):
    tf = tf.compat.v1
    tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

tf.set_random_seed(5)
x = tf.placeholder(tf.float32, [None, 12, 12, 1])
labels = tf.placeholder(tf.int64, [None])
keep = tf.placeholder(tf.float32, [])


def weights(name, shape, scale):
    return tf.get_variable(name, initializer=tf.random_normal(shape, stddev=scale, seed=len(name)))


net = tf.nn.relu(tf.nn.conv2d(x, weights("conv", [3, 3, 1, 8], 0.3), [1, 1, 1, 1], "SAME"))
net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
net = tf.reshape(net, [-1, 6 * 6 * 8])
net = tf.nn.relu(tf.matmul(net, weights("dense_1", [288, 32], 0.1)) + tf.get_variable("bias", [32], initializer=tf.zeros_initializer()))
net = tf.nn.dropout(net, keep, seed=9)
logits = tf.matmul(net, weights("logits_", [32, 4], 0.2))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
right = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.int32))
step = tf.train.get_or_create_global_step()
train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=step)
saver = tf.train.Saver()

random = np.random.RandomState(3)
means = random.randn(4, 12, 12, 1)


def batch(rows):
    classes = random.randint(0, 4, rows)
    return means[classes] + 0.8 * random.randn(rows, 12, 12, 1), classes


test = batch(40)
losses, counts = [], []


def some_steps(session, sizes):
    for rows in sizes:
        images, classes = batch(rows)
        losses.append(float(session.run([train, loss], {x: images, labels: classes, keep: 0.7})[1]))
        if rows % 2:
            counts.append(int(session.run(right, {x: test[0], labels: test[1], keep: 1.0})))


with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    some_steps(session, [32, 32, 31, 32, 1, 32])
    path = saver.save(session, sys.argv[1] + "/model", global_step=step)
with tf.Session() as session:
    saver.restore(session, path)
    some_steps(session, [32, 17, 32, 32])
    values = session.run(tf.trainable_variables())
print("RESULT " + json.dumps({"losses": losses, "right": counts,
                              "values": [[float(v) for v in np.ravel(value)] for value in values]}), flush=True)
