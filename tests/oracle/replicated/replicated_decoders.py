"""Attention decoders, CTC and gradients of functions for one GPU, which run_scripts.py runs on several: what they print must
be what TensorFlow prints."""

# tf.contrib.seq2seq, of 1.x only. KIND: "plain", "luong" or "bahdanau"; a beam search follows the training.
SEQ2SEQ = """
import numpy as np
import tensorflow as tf
from tensorflow.contrib import seq2seq

V, D, U = 11, 5, 6

def init(seed):
    return tf.random_normal_initializer(stddev=.4, seed=seed)

source, target = tf.placeholder(tf.int32, [None, None]), tf.placeholder(tf.int32, [None, None])
source_lengths, target_lengths = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
size = tf.shape(source)[0]
table = tf.get_variable('table', [V, D], initializer=init(1))
with tf.variable_scope('encoder', initializer=init(2)):
    memory, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(U), tf.nn.embedding_lookup(table, source), source_lengths, dtype=tf.float32)
project = tf.layers.Dense(V, use_bias=False, kernel_initializer=init(4))


def decode(times, helper=None):
    with tf.variable_scope('decoder', initializer=init(3), reuse=tf.AUTO_REUSE):
        seen, lengths, begin = memory, source_lengths, state
        if times > 1:
            seen, lengths, begin = (seq2seq.tile_batch(v, times) for v in (seen, lengths, begin))
        if 'KIND' == 'plain':
            cell = tf.nn.rnn_cell.LSTMCell(U)
            first = cell.zero_state(size * times, tf.float32)
        else:
            attention = (seq2seq.LuongAttention(U, seen, lengths, scale=True) if 'KIND' == 'luong' else
                         seq2seq.BahdanauAttention(U, seen, lengths, normalize=True))
            cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(U), attention, attention_layer_size=U,
                                            alignment_history='KIND' == 'luong' and times == 1)
            first = cell.zero_state(size * times, tf.float32).clone(cell_state=begin)
        if helper is not None:
            return seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, first, project), swap_memory='KIND' == 'bahdanau')
        beams = seq2seq.BeamSearchDecoder(cell, table, tf.fill([size], 1), 0, first, times, project)
        return seq2seq.dynamic_decode(beams, maximum_iterations=6)


shifted = tf.concat([tf.fill([size, 1], 1), target[:, :-1]], 1)
outputs, last, lengths = decode(1, seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, shifted), target_lengths))
longest = tf.reduce_max(lengths)
loss = seq2seq.sequence_loss(outputs.rnn_output, target[:, :longest], tf.sequence_mask(target_lengths, longest, tf.float32))
optimizer = tf.train.AdamOptimizer(.02)
slopes, variables = zip(*optimizer.compute_gradients(loss))
train = optimizer.apply_gradients(zip(tf.clip_by_global_norm(slopes, 5.)[0], variables))
found = decode(3)[0].predicted_ids
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (7, 6, 4, 9, 7):
        s, t = data.randint(1, 6, n), data.randint(1, 7, n)
        feed = {source: data.randint(2, V, (n, s.max())), target: data.randint(2, V, (n, t.max())), source_lengths: s, target_lengths: t}
        value, ids, _ = sess.run([loss, outputs.sample_id, train], feed)
        print('%.6f' % value, ids.sum())
    for v in tf.trainable_variables():
        print('%.5f %.5f' % tuple(sess.run([tf.reduce_sum(v), tf.reduce_sum(tf.abs(v))])))
    print(' '.join('%d' % i for i in sess.run(found, feed).ravel()))
"""

# Labels are a sparse tensor: as many rows as there are labels, not examples.
CTC = """
import numpy as np
import tensorflow as tf

C, U = 6, 8
x, lengths = tf.placeholder(tf.float32, [None, None, 4]), tf.placeholder(tf.int32, [None])
labels = tf.sparse_placeholder(tf.int32)
w = tf.get_variable('w', [4, U], initializer=tf.random_normal_initializer(stddev=.5, seed=1))
v = tf.get_variable('v', [U, C], initializer=tf.random_normal_initializer(stddev=.5, seed=2))
flat = tf.matmul(tf.tanh(tf.matmul(tf.reshape(x, [-1, 4]), w)), v)
logits = tf.transpose(tf.reshape(flat, [tf.shape(x)[0], -1, C]), [1, 0, 2])
loss = tf.reduce_mean(tf.nn.ctc_loss(labels, logits, lengths))
train = tf.train.MomentumOptimizer(.05, .9).minimize(loss)
found = tf.nn.ctc_greedy_decoder(logits, lengths)[0][0]
errors = tf.reduce_mean(tf.edit_distance(tf.cast(found, tf.int32), labels))
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (7, 6, 4, 9, 7):
        words = [data.randint(0, C - 1, data.randint(1, 4)) for _ in range(n)]
        at = np.array([(i, k) for i, word in enumerate(words) for k in range(len(word))])
        sparse = tf.SparseTensorValue(at, np.concatenate(words), [n, max(map(len, words))])
        feed = {x: data.randn(n, 9, 4), lengths: data.randint(7, 10, n), labels: sparse}
        print('%.6f %.6f' % tuple(sess.run([loss, errors, train], feed)[:2]))
    print(' '.join('%.6f' % k for k in np.concatenate([k.ravel() for k in sess.run([w, v])])))
"""

# A function whose body TensorFlow differentiates, and one with a gradient of its own.
FUNCTIONS = """
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function

@function.Defun(tf.float32, tf.float32)
def layer(rows, weights):
    return tf.tanh(tf.matmul(rows, weights)) * 1.5

@function.Defun(tf.float32, tf.float32)
def half_slope(rows, dy):
    return dy * .5 * tf.cast(rows > 0., tf.float32)

@function.Defun(tf.float32, grad_func=half_slope)
def gate(rows):
    return tf.nn.relu(rows)

x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 3])
w = tf.get_variable('w', [5, 8], initializer=tf.random_normal_initializer(stddev=.5, seed=1))
v = tf.get_variable('v', [8, 3], initializer=tf.random_normal_initializer(stddev=.5, seed=2))
h = layer(x, w)
h.set_shape([None, 8])
g = gate(h)
g.set_shape([None, 8])
loss = tf.reduce_mean(tf.square(tf.matmul(g, v) - y))
train = tf.train.AdamOptimizer(.02).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (7, 6, 4, 9, 7):
        print('%.6f' % sess.run([loss, train], {x: data.randn(n, 5), y: data.randn(n, 3)})[0])
    print(' '.join('%.6f' % k for k in np.concatenate([k.ravel() for k in sess.run([w, v])])))
"""

# Random numbers in loops and branches whose sizes are those of the batch: none are drawn after the last iteration, nor in
# the branch that is not taken.
DRAWN_INSIDE = """
import numpy as np
import tensorflow as tf

x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 8])
noisy = tf.placeholder(tf.bool, [])
w = tf.get_variable('w', [6, 8], initializer=tf.random_normal_initializer(stddev=.5, seed=1))
u = tf.get_variable('u', [8, 8], initializer=tf.random_normal_initializer(stddev=.5, seed=2))
h = tf.cond(noisy, lambda: tf.nn.dropout(tf.matmul(x, w), .6, seed=3), lambda: tf.matmul(x, w))
for turns in (2, 3):
    h = tf.while_loop(lambda i, _: i < turns, lambda i, h: (i + 1, tf.nn.dropout(tf.tanh(tf.matmul(h, u)), .8, seed=4)), (0, h),
                      parallel_iterations=1)[1]
loss = tf.reduce_mean(tf.square(h - y))
train = tf.train.AdamOptimizer(.02).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n, drop in ((8, True), (7, False), (9, True), (8, False), (7, True)):
        print('%.6f' % sess.run([loss, train], {x: data.randn(n, 6), y: data.randn(n, 8), noisy: drop})[0])
"""

# LSTM cells of a batch of any size, as tf.nn.rnn_cell has them.
OPEN_LSTM = """
import numpy as np
import tensorflow as tf

H = 5

class Lstm(object):
    state_size, output_size = (H, H), H

    def zero_state(self, batch_size, dtype):
        return tf.zeros([batch_size, H]), tf.zeros([batch_size, H])

    def __call__(self, x, state, scope=None):
        c, h = state
        w = tf.get_variable('w', [3 + H, 4 * H], initializer=tf.random_uniform_initializer(-.3, .3, seed=2))
        b = tf.get_variable('b', [4 * H], initializer=tf.zeros_initializer())
        i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), w), b), 4, 1)
        c = c * tf.sigmoid(f + 1.) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)

x, y = tf.placeholder(tf.float32, [None, 6, 3]), tf.placeholder(tf.float32, [None, H])
outputs, (c, h) = tf.nn.dynamic_rnn(Lstm(), x, dtype=tf.float32)
losses = [tf.reduce_mean(tf.square(v - y)) for v in (h, outputs[:, -1], tf.reduce_mean(outputs, 1) + c,
                                                     tf.unstack(tf.transpose(outputs, [1, 0, 2]))[2])]
trains = [tf.train.GradientDescentOptimizer(.3).minimize(loss) for loss in losses]
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (8, 7, 3):
        for loss, train in zip(losses, trains):
            print('%.6f' % sess.run([loss, train], {x: data.randn(n, 6, 3), y: data.randn(n, H)})[0])
"""
