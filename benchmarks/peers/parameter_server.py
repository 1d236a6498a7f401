"""A TensorFlow 1.x script of its time: a parameter server and workers, asynchronous. parameter_server.py SPEC JOB TASK STEPS

Nothing in it knows who serves: `python parameter_server.py …` or `argosy run --cluster … -- python parameter_server.py …`.
"""
import json
import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

spec, job, task, steps = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
cluster = tf.train.ClusterSpec(spec)
server = tf.train.Server(cluster, job_name=job, task_index=task)
if job == "ps":
    server.join()
    sys.exit()

with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{task}", cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.int64, [None])
    layer = x
    for i, units in enumerate((256, 256)):
        w = tf.get_variable(f"w{i}", [layer.shape[1], units])
        b = tf.get_variable(f"b{i}", [units], initializer=tf.zeros_initializer())
        layer = tf.nn.relu(tf.matmul(layer, w) + b)
    w = tf.get_variable("out", [layer.shape[1], 10])
    loss = tf.losses.sparse_softmax_cross_entropy(y, tf.matmul(layer, w))
    train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
    warm = tf.get_variable("warm", [], tf.int32, tf.zeros_initializer(), trainable=False)
    is_warm = warm.assign_add(1)

random = np.random.RandomState(task)
batches = [(random.rand(128, 784).astype(np.float32), random.randint(0, 10, 128)) for _ in range(8)]
# A worker needs the server and itself: it does not wait for a worker that has ended.
config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{task}"])
with tf.train.MonitoredTrainingSession(master=server.target, is_chief=task == 0, config=config,
                                       log_step_count_steps=None) as session:
    print("variables are there", flush=True)
    for i in range(20):  # what is compiled and allocated first is not timed
        session.run([loss, train], {x: batches[i % 8][0], y: batches[i % 8][1]})
    # All workers at once: rates of workers that run one after the other do not add up.
    session.run(is_warm)
    while session.run(warm) < len(spec["worker"]):
        time.sleep(0.01)
    began = time.perf_counter()
    for i in range(steps):
        value, _ = session.run([loss, train], {x: batches[i % 8][0], y: batches[i % 8][1]})
    print("steps a second", steps / (time.perf_counter() - began), flush=True)
    print("loss", value, flush=True)
