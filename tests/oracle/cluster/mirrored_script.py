"""MultiWorkerMirroredStrategy in graph mode, as scripts for TensorFlow 1.x have it: a server of their own, a session at it,
variables that the strategy mirrors over workers, gradients that it adds up. TF_CONFIG says who is who.

  mirrored_script.py STEPS
"""
import json
import os
import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


def main():
    steps = int(sys.argv[1])
    told = json.loads(os.environ["TF_CONFIG"])
    job, task = told["task"]["type"], told["task"]["index"]
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    config = strategy.update_config_proto(tf.ConfigProto(allow_soft_placement=True))
    server = tf.distribute.Server(tf.train.ClusterSpec(told["cluster"]), job_name=job, task_index=task, config=config)
    random = np.random.RandomState(task)
    wanted = np.linspace(-1, 1, 12).reshape(6, 2).astype(np.float32)
    x = random.randn(16, 6).astype(np.float32)
    y = x.dot(wanted)

    def replica():
        w = tf.get_variable("w", initializer=np.full((6, 2), 0.1 * (1 + task), np.float32))
        b = tf.get_variable("b", shape=[2], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(x), w) + b - tf.constant(y)))
        update = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
        with tf.control_dependencies([update]):
            return tf.identity(loss)

    with strategy.scope():
        run = getattr(strategy, "experimental_run_v2", None) or strategy.run
        loss = strategy.reduce(tf.distribute.ReduceOp.MEAN, run(replica), axis=None)
        init = tf.global_variables_initializer()
        w = [v for v in tf.global_variables() if v.name.startswith("w")][0]
        total = tf.reduce_sum(strategy.experimental_local_results(w)[0] * np.arange(12, dtype=np.float32).reshape(6, 2))
        print("replicas", strategy.num_replicas_in_sync, flush=True)
        with tf.Session(server.target, config=config) as session:
            session.run(init)
            for step in range(steps):
                print("loss %d %r" % (step, float(session.run(loss))), flush=True)
            print("weights %r" % float(session.run(total)), flush=True)


main()
