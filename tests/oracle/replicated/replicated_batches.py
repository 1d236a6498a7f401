"""Scripts for one GPU, which run_scripts.py runs on several: where the batch lies, and how its size is said."""

# Examples lie in columns: of both feeds, or of one beside labels in rows.
IN_COLUMNS = """
import numpy as np
import tensorflow as tf

def variable(name, shape):
    return tf.get_variable(name, shape, initializer=tf.random_normal_initializer(stddev=.3, seed=len(shape) + shape[0]))

x, wanted = tf.placeholder(tf.float32, [12, None]), tf.placeholder(tf.float32, [6, None])
labels = tf.placeholder(tf.int32, [None])
hidden = tf.nn.relu(tf.add(tf.matmul(variable('w1', [8, 12]), x), variable('b1', [8, 1])))
z = tf.add(tf.matmul(variable('w2', [6, 8]), hidden), variable('b2', [6, 1]))
first = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=tf.transpose(z), labels=tf.transpose(wanted)))
second = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=tf.transpose(z), labels=labels))
right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(z), tf.argmax(wanted)), 'float'))
steps = [tf.train.AdamOptimizer(.01).minimize(loss) for loss in (first, second)]
data = np.random.RandomState(1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 9, 12):
        xs, ys = data.randn(12, n), data.randint(0, 6, n)
        print('%.6f %.6f' % tuple(sess.run([first, right, steps[0]], {x: xs, wanted: np.eye(6)[:, ys]})[:2]))
        print('%.6f' % sess.run([second, steps[1]], {x: xs, labels: ys})[0])
        print(' '.join('%.5f' % v for v in sess.run(z, {x: xs})[0]))
"""

# Written for batches of one size: in shapes, in what is drawn, in the gradient of the mean, in a constant.
FIXED_SIZE = """
import numpy as np
import tensorflow as tf

B = 10
x = tf.placeholder(tf.float32, [B, 6, 6])
y = tf.placeholder(tf.int64, [B])
w = tf.Variable(tf.truncated_normal([36, 10], seed=1))
hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(tf.reshape(x, [B, 36]), w)), 0.8, seed=5)
shifted = hidden + tf.constant(np.random.RandomState(3).rand(B, 1).astype('f')) + tf.zeros([B, 10])
logits = tf.matmul(shifted, tf.Variable(tf.truncated_normal([10, 10], seed=2)))
each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
loss = tf.reduce_mean(each) + 0.01 * tf.nn.l2_loss(w)
train = tf.train.AdamOptimizer(0.05).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(8):
        value, values, _ = sess.run([loss, each, train], {x: data.rand(B, 6, 6), y: data.randint(0, 10, B)})
        print('%.6f' % value, ' '.join('%.6f' % v for v in values))
"""

# The batch's size comes as a number: for first states, noise, shapes, numbers of rows, and to divide by.
SIZE_FED = """
import numpy as np
import tensorflow as tf

size = tf.placeholder(tf.int32, [])
x, y = tf.placeholder(tf.float32, [None, 5, 4]), tf.placeholder(tf.int32, [None])
turn = tf.get_variable('turn', [12, 8], initializer=tf.random_normal_initializer(stddev=.3, seed=1))
states = [tf.zeros([size, 8])]
for t in range(5):
    states.append(tf.nn.tanh(tf.matmul(tf.concat([x[:, t], states[-1]], 1), turn)))
outputs = tf.stack(states[1:], 1)
noisy = tf.concat([states[-1], tf.random_normal([size, 2], seed=3), tf.ones([size, 1])], 1)
w = tf.get_variable('w', [11, 6], initializer=tf.random_normal_initializer(stddev=.3, seed=2))
logits = tf.matmul(noisy, w)
picked = tf.gather_nd(logits, tf.stack([tf.range(size), y], 1))
each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
steps = tf.reshape(tf.reshape(outputs, [size * 5, 8])[:, :2], [size, 10])
losses = [tf.reduce_mean(each), tf.reduce_sum(each) / tf.cast(size, tf.float32) - .1 * tf.reduce_mean(picked),
          tf.reduce_mean(tf.square(steps)) + tf.reduce_mean(each)]
trains = [tf.train.MomentumOptimizer(.1, .9).minimize(loss) for loss in losses]
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 9, 3, 12):
        for loss, train in zip(losses, trains):
            feeds = {x: data.randn(n, 5, 4), y: data.randint(0, 6, n), size: n}
            print('%.6f' % sess.run([loss, train], feeds)[0])
"""
