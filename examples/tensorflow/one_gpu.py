"""A TensorFlow 1.x script for one GPU: a small network on points of a circle. It names no device."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
rng = np.random.default_rng(1)

x = tf.placeholder(tf.float32, [None, 2], "x")
y = tf.placeholder(tf.float32, [None, 1], "y")
w1 = tf.get_variable("w1", initializer=tf.random.normal([2, 64], seed=1))
w2 = tf.get_variable("w2", initializer=tf.random.normal([64, 1], seed=2) / 8)
logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(0.01).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(201):
        points = rng.uniform(-1, 1, [256, 2]).astype(np.float32)
        inside = (np.hypot(points[:, :1], points[:, 1:]) < 0.7).astype(np.float32)
        value, _ = sess.run([loss, train], {x: points, y: inside})
        if step % 100 == 0:
            print("step", step, "loss", round(float(value), 3))
