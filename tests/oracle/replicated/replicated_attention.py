"""Attention of several heads for one GPU, which run_scripts.py runs on several: the batch lies once for every head."""

# Heads are laid one behind the other along the batch, and so are masks; what is dropped there, or in rows of which time
# comes first, is what one GPU drops.
ATTENTION = """
import numpy as np
import tensorflow as tf

T, D, H = 5, 6, 2

def weights(name):
    return tf.get_variable(name, [D, D], initializer=tf.random_normal_initializer(stddev=.5, seed=len(name)))

def heads(x, w):
    return tf.concat(tf.split(tf.tensordot(x, w, 1), H, axis=2), axis=0)

x, padding = tf.placeholder(tf.float32, [None, T, D]), tf.placeholder(tf.float32, [None, T])
wanted = tf.placeholder(tf.float32, [None, D])
scores = tf.matmul(heads(x, weights('q')), heads(x, weights('k2')), transpose_b=True)
scores += tf.expand_dims(tf.tile(padding, [tf.shape(scores)[0] // tf.shape(padding)[0], 1]), 1) * -1e9
seen = tf.tile(tf.expand_dims(tf.linalg.band_part(tf.ones_like(scores[0]), -1, 0), 0), [tf.shape(scores)[0], 1, 1])
scores = tf.where(tf.equal(seen, 0), tf.ones_like(seen) * -1e9, scores)
looks = tf.nn.dropout(tf.nn.softmax(scores), .7, seed=3)
h = tf.concat(tf.split(tf.matmul(looks, heads(x, weights('v33'))), H, axis=0), axis=2)
by_time = tf.nn.dropout(tf.transpose(h, [1, 0, 2]), .8, seed=5)
rows = tf.nn.dropout(tf.reshape(tf.nn.tanh(by_time), [-1, D]), .8, seed=6)
last = tf.reduce_mean(tf.reshape(rows, [T, -1, D]), 0)
loss = tf.reduce_mean(tf.square(last - wanted))
train = tf.train.AdamOptimizer(.05).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (7, 6, 3, 1, 7):
        feed = {x: data.rand(n, T, D), padding: np.arange(T) > data.randint(1, T, (n, 1)), wanted: data.rand(n, D)}
        value, look, row = sess.run([loss, looks, rows, train], feed)[:3]
        print('%.6f' % value, ' '.join('%.5f' % v for part in (look, row) for v in part.ravel()))
"""

# Of a batch of one size, sentences as long as they come.
OPEN_LENGTHS = """
import numpy as np
import tensorflow as tf

B = 12
x, y = tf.placeholder(tf.float32, [B, None, 4]), tf.placeholder(tf.int32, [B])
w = tf.get_variable('w', [4, 6], initializer=tf.random_normal_initializer(stddev=.5, seed=1))
first = tf.get_variable('first', [4], initializer=tf.random_normal_initializer(stddev=.5, seed=2))
weights = tf.nn.softmax(tf.reduce_sum(x * first, 2))
logits = tf.matmul(tf.reduce_sum(x * tf.expand_dims(weights, 2), 1), w) + tf.zeros([B, 6])
each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
losses = [tf.reduce_mean(each), tf.reduce_sum(each) / B]
trains = [tf.train.MomentumOptimizer(.5, .9).minimize(loss) for loss in losses]
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (5, 7, 4, 12):
        for loss, train in zip(losses, trains):
            print('%.6f' % sess.run([loss, train], {x: data.randn(B, n, 4), y: data.randint(0, 6, B)})[0])
"""
