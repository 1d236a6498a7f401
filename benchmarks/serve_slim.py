#!/usr/bin/env python3
"""tf_slim's networks, trained as slim.learning does (losses with decay, batch normalisation, a checked loss at the end of every
step), through `argosy serve` beside TensorFlow: the rows and options of serve_training.py.

  serve_slim.py [--argosy PROGRAM] [--rounds N] [--only resnet_v1_50]   (a Python with tensorflow and tf_slim)
"""
import serve_training  # first: it chooses what TensorFlow sees
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import ops

for gone in ("Tensor", "IndexedSlices", "Operation"):  # tf_slim 1.1.0 looks for them where TensorFlow 2.21 has them no more
    setattr(ops, gone, getattr(tf, gone))

import tf_slim as slim
from tf_slim.nets import alexnet, inception, overfeat, resnet_v1, resnet_v2, vgg


def row(net, scope, size, batch, optimizer=lambda: tf.train.MomentumOptimizer(0.01, 0.9)):
    def build(batch):
        tf.set_random_seed(7)
        x, y = tf.placeholder(tf.float32, [batch, size, size, 3]), tf.placeholder(tf.int64, [batch])
        # Zero-debiased averages: slim's own fused batch normalisation. Its other one needs what TensorFlow 2.21 lacks.
        with slim.arg_scope(scope()), slim.arg_scope([slim.batch_norm], zero_debias_moving_mean=True):
            logits = tf.reshape(net(x, num_classes=10, is_training=True)[0], [batch, 10])
        tf.losses.sparse_softmax_cross_entropy(y, logits)
        loss = tf.losses.get_total_loss()
        step = slim.learning.create_train_op(loss, optimizer())
        return loss, step, {x: np.random.rand(batch, size, size, 3).astype("f"), y: np.random.randint(0, 10, batch)}

    return build, batch


ROWS = {
    "alexnet_v2": row(alexnet.alexnet_v2, alexnet.alexnet_v2_arg_scope, 224, 8),
    "vgg_a": row(vgg.vgg_a, vgg.vgg_arg_scope, 224, 2),
    "overfeat": row(overfeat.overfeat, overfeat.overfeat_arg_scope, 231, 2),
    "inception_v1": row(inception.inception_v1, inception.inception_v1_arg_scope, 224, 4),
    "inception_v2": row(inception.inception_v2, inception.inception_v2_arg_scope, 128, 8,
                        lambda: tf.train.AdamOptimizer(1e-3)),
    "inception_v3": row(inception.inception_v3, inception.inception_v3_arg_scope, 160, 4,
                        lambda: tf.train.RMSPropOptimizer(1e-3, 0.9, 0.9, 1.0)),
    "resnet_v1_50": row(resnet_v1.resnet_v1_50, resnet_v1.resnet_arg_scope, 96, 8),
    "resnet_v2_50": row(resnet_v2.resnet_v2_50, resnet_v2.resnet_arg_scope, 96, 8),
}

if __name__ == "__main__":
    serve_training.main(ROWS, __doc__)
