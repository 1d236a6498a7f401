"""A parameter-server script as they were written for TensorFlow 1.x: nothing in it knows of Argosy.

  ps_script.py PS_HOSTS WORKER_HOSTS JOB TASK STEPS FOLDER     FOLDER: both workers meet there before their first step; the
                                                               chief writes its checkpoints below it
"""
import os
import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def meet(folder, name, others):
    open(os.path.join(folder, name), "w").close()
    while not all(os.path.exists(os.path.join(folder, other)) for other in others):
        time.sleep(0.02)


def main():
    ps_hosts, worker_hosts, job, task, steps, folder = sys.argv[1:7]
    task, steps = int(task), int(steps)
    cluster = tf.train.ClusterSpec({"ps": ps_hosts.split(","), "worker": worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=job, task_index=task)
    if job == "ps":
        server.join()
        print("ps ended")
        return
    count = len(worker_hosts.split(","))
    with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % task, cluster=cluster)):
        x = tf.placeholder(tf.float32, [None, 64])
        y = tf.placeholder(tf.float32, [None, 1])
        w1 = tf.get_variable("w1", [64, 64], initializer=tf.constant_initializer(np.eye(64)))
        b1 = tf.get_variable("b1", [64], initializer=tf.zeros_initializer())
        w2 = tf.get_variable("w2", [64, 1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) - y))
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer(0.003).minimize(loss, global_step=step)
    random = np.random.RandomState(task)
    wanted = np.linspace(-1, 1, 64).reshape(64, 1)
    if task > 0:  # the chief has made the variables
        meet(folder, "built%d" % task, ["made"])
    saved = os.path.join(folder, "saved")
    with tf.train.MonitoredTrainingSession(master=server.target, is_chief=task == 0, checkpoint_dir=saved) as session:
        meet(folder, "made" if task == 0 else "in%d" % task, ["in%d" % i for i in range(1, count)])
        begin = time.time()
        for _ in range(steps):
            a = random.randn(32, 64)
            value, at = session.run([loss, step, train], {x: a, y: a.dot(wanted)})[:2]
        print("worker %d steps %d seconds %.4f loss %.6f" % (task, steps, time.time() - begin, value))
        meet(folder, "done%d" % task, ["done%d" % i for i in range(count)])
    if task == 0:
        print("saved %s" % os.path.basename(tf.train.latest_checkpoint(saved)))


main()
