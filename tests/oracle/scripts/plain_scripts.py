"""Scripts that run_scripts.py runs: one of two devices, one that lists devices, one of Keras' era."""

# As somebody wrote it for TensorFlow 1: no tf.compat, no target, no word of us.
SOFTMAX = """
import sys
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.int64, [None])
with tf.device('/gpu:0'):
    w = tf.Variable(tf.truncated_normal([20, 5], seed=1))
    b = tf.Variable(tf.zeros([5]))
    logits = tf.matmul(x, w) + b
with tf.device('/gpu:1'):
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
data = np.random.RandomState(0)
xs, ys = data.rand(64, 20), data.randint(0, 5, 64)
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(30):
        value, _ = sess.run([loss, train], feed_dict={x: xs, y: ys})
    print('loss %.5f' % value)
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as other:
    try:
        other.run(w)
    except tf.errors.FailedPreconditionError:
        print('a session of its own')
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""

DEVICES = """
import tensorflow as tf
from tensorflow.python.client import device_lib
print([str(t) for t in sorted(d.device_type for d in device_lib.list_local_devices())], tf.test.is_gpu_available())
"""

KERAS_ERA = """
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
twice = tf.get_variable('v', initializer=3.0) * 2
with tf.train.MonitoredTrainingSession() as session:
    print(session.run(twice))
"""
