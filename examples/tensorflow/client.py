"""A client of `argosy serve`: python client.py grpc://localhost:2222"""
import sys

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
counter = tf.get_variable("counter", shape=[], initializer=tf.zeros_initializer())
count = tf.assign_add(counter, 1.0)

with tf.Session(sys.argv[1]) as sess:
    print([d.name for d in sess.list_devices()])
    sess.run(counter.initializer)
    print("counted to", [sess.run(count) for _ in range(3)][-1])
