"""tf.estimator.train_and_evaluate as written for TensorFlow 1.15, with TF_CONFIG: chief, ps, worker, evaluator, or workers
under MultiWorkerMirroredStrategy.

  estimator_script.py FOLDER STEPS plain|mirrored
"""
import json
import os
import sys

import numpy as np
import tensorflow as tf

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
TASK = json.loads(os.environ["TF_CONFIG"])["task"]


def data(seed):
    random = np.random.RandomState(seed)
    x = random.randn(64, 6).astype(np.float32)
    return x, x.dot(np.linspace(-1, 1, 6).astype(np.float32)).reshape(64, 1)


def training_data():
    return tf.data.Dataset.from_tensor_slices(data(TASK["index"])).repeat().batch(16)


def evaluation_data():
    return tf.data.Dataset.from_tensor_slices(data(99)).batch(16)


class Teller(tf.estimator.SessionRunHook):
    """Prints the loss of every step."""

    def __init__(self, loss):
        self._loss = loss

    def before_run(self, _):
        return tf.estimator.SessionRunArgs([self._loss, tf.compat.v1.train.get_global_step()])

    def after_run(self, _, values):
        print("loss %r step %d" % (float(values.results[0]), values.results[1]), flush=True)


def model(features, labels, mode):
    hidden = tf.compat.v1.layers.dense(features, 8, tf.nn.tanh, kernel_initializer=tf.compat.v1.constant_initializer(0.1), name="hidden")
    out = tf.compat.v1.layers.dense(hidden, 1, kernel_initializer=tf.compat.v1.constant_initializer(0.2), name="out")
    loss = tf.reduce_mean(tf.square(out - labels))
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={
            "error": tf.compat.v1.metrics.mean_absolute_error(labels, out)})
    update = tf.compat.v1.train.AdamOptimizer(0.02).minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=update, training_hooks=[Teller(loss)])


class Told(tf.estimator.Exporter):
    """Prints what each evaluation gave."""

    name = "told"

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        print("evaluation step %d loss %r error %r" % (eval_result["global_step"], float(eval_result["loss"]), float(eval_result["error"])), flush=True)


def main():
    folder, steps, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy() if kind == "mirrored" else None
    config = tf.estimator.RunConfig(model_dir=folder, tf_random_seed=3, save_checkpoints_steps=steps // 2, train_distribute=strategy)
    estimator = tf.estimator.Estimator(model, config=config)
    tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(training_data, max_steps=steps),
                                    tf.estimator.EvalSpec(evaluation_data, steps=None, start_delay_secs=0, throttle_secs=0, exporters=Told()))
    print("ended", flush=True)


main()
