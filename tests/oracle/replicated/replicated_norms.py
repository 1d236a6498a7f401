"""Batch normalisation in replicated scripts, as they write it: fused and by hand, behind a flag of training or not, with moving
averages. With --sync-batch-norm all that they print is what TensorFlow prints."""

SYNCED = """
import numpy as np
import tensorflow as tf

def fused(h, scale, offset):
    return tf.nn.fused_batch_norm(h, scale, offset, epsilon=1e-3)

def by_hand(h, scale, offset):
    mean, variance = tf.nn.moments(h, list(range(len(h.shape) - 1)))
    return tf.nn.batch_normalization(h, mean, variance, offset, scale, 1e-3), mean, variance

def normalised(h, norm, training, name):
    with tf.variable_scope(name):
        size = [int(h.shape[-1])]
        scale = tf.get_variable('scale', size, initializer=tf.ones_initializer())
        offset = tf.get_variable('offset', size, initializer=tf.zeros_initializer())
        average = tf.get_variable('average', size, initializer=tf.zeros_initializer(), trainable=False)
        spread = tf.get_variable('spread', size, initializer=tf.ones_initializer(), trainable=False)

        def by_batch():
            rows, mean, variance = norm(h, scale, offset)
            with tf.control_dependencies([average.assign(average * .9 + mean * .1), spread.assign(spread * .9 + variance * .1)]):
                return tf.identity(rows)

        def by_averages():
            return tf.nn.batch_normalization(h, average, spread, offset, scale, 1e-3)

        if norm == 'layers':  # as tf.layers does it: what was used comes out of the conditional, and is averaged behind it
            given = lambda: tf.nn.fused_batch_norm(h, scale, offset, average, spread, epsilon=1e-3, is_training=False)
            rows, mean, variance = tf.cond(training, lambda: fused(h, scale, offset), given)
            part = tf.cond(training, lambda: .1, lambda: 0.)
            with tf.control_dependencies([average.assign_sub((average - mean) * part), spread.assign_sub((spread - variance) * part)]):
                return tf.identity(rows)
        return by_batch() if training is None else tf.cond(training, by_batch, by_averages)

for flag in (False, True):
    for norm in (fused, by_hand, 'layers') if flag else (fused, by_hand):
        tf.reset_default_graph()
        x, y = tf.placeholder(tf.float32, [None, 8, 8, 3]), tf.placeholder(tf.int64, [None])
        training = tf.placeholder_with_default(True, []) if flag else None
        w = tf.get_variable('w', [3, 3, 3, 8], initializer=tf.random_normal_initializer(stddev=.3, seed=1))
        last = tf.get_variable('last', [128, 10], initializer=tf.random_normal_initializer(stddev=.1, seed=2))
        h = tf.nn.conv2d(x, w, [1, 2, 2, 1], 'SAME')
        h = tf.reshape(normalised(h, norm, training, 'first'), [-1, 128])
        logits = normalised(tf.matmul(tf.nn.relu(h), last), by_hand, training, 'second')
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = tf.train.MomentumOptimizer(.05, .9).minimize(loss)
        data = np.random.RandomState(3)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for n in (12, 9, 2, 12):
                feeds = {x: data.randn(n, 8, 8, 3), y: data.randint(0, 10, n)}
                if flag:
                    feeds[training] = n != 2
                print('%.5f' % sess.run([loss, train], feeds)[0])
            for v in tf.global_variables():
                print('%.5f' % sess.run(tf.reduce_sum(tf.square(v))))
"""

# Batch normalisation that a placeholder switches: moving averages are updated in one branch of a conditional and read in
# the other. Both halves of the batch are the same, and so is their mean.
NORMALISED = """
import numpy as np
import tensorflow as tf

training = tf.placeholder(tf.bool, [])

def normalised(x, name):
    with tf.variable_scope(name):
        n = x.shape[-1]
        scale = tf.get_variable('scale', [n], initializer=tf.ones_initializer())
        offset = tf.get_variable('offset', [n], initializer=tf.zeros_initializer())
        mean = tf.get_variable('mean', [n], initializer=tf.zeros_initializer(), trainable=False)
        variance = tf.get_variable('variance', [n], initializer=tf.ones_initializer(), trainable=False)
        def batch():
            y, m, v = tf.nn.fused_batch_norm(x, scale, offset)
            with tf.control_dependencies([tf.assign_sub(mean, 0.1 * (mean - m)), tf.assign_sub(variance, 0.1 * (variance - v))]):
                return tf.identity(y)
        def moving():
            return tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)[0]
        return tf.nn.relu(tf.cond(training, batch, moving))

def convolved(x, n):
    w = tf.Variable(tf.truncated_normal([3, 3, int(x.shape[-1]), n], stddev=0.3, seed=n))
    return tf.nn.conv2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), w, [1, 1, 1, 1], 'VALID')

x = tf.placeholder(tf.float32, [None, 8, 8, 3])
y = tf.placeholder(tf.int64, [None])
h = tf.reduce_mean(normalised(convolved(normalised(convolved(x, 8), 'a'), 6), 'b'), [1, 2])
logits = tf.matmul(h, tf.Variable(tf.truncated_normal([6, 5], seed=9)))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
data = np.random.RandomState(0)
xs, ys = np.tile(data.rand(16, 8, 8, 3), (2, 1, 1, 1)), np.tile(data.randint(0, 5, 16), 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(8):
        print('%.6f' % sess.run([loss, train], {x: xs, y: ys, training: i != 5})[0])
    print('%.6f' % sess.run(loss, {x: xs, y: ys, training: False}))
"""

# Two replicas share the rows of each batch.
MIRRORED = """
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
strategy = tf.distribute.MirroredStrategy()
data = np.random.RandomState(0)
xs, ys = data.rand(48, 4).astype('f'), data.rand(48, 1).astype('f')
with strategy.scope():
    batches = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices((xs, ys)).repeat().batch(8))

    def step(batch):
        x, y = batch
        w = tf.get_variable('w', initializer=np.zeros([4, 1], 'f'))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(loss)]):
            return tf.identity(loss)

    losses = strategy.run(step, args=(batches.get_next(),))
    loss = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)
with tf.Session() as session:
    session.run(batches.initializer)
    session.run(tf.global_variables_initializer())
    for _ in range(20):
        value = session.run(loss)
print(strategy.num_replicas_in_sync, 'loss %.5f' % value)
"""
