"""Recurrent networks and loops, which run_scripts.py runs on several GPUs: what they print must be what TensorFlow prints."""

# The loss is a sum divided by a number; states that come out of one step go into the next.
WITH_STATES = """
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
cost = tf.reduce_sum(losses) / B
variables = tf.trainable_variables()
slopes, _ = tf.clip_by_global_norm(tf.gradients(cost, variables), 5)
train = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(slopes, variables))
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    now = None
    for i in range(8):
        feed = {words: data.randint(0, V, (B, T)), targets: data.randint(0, V, (B, T))}
        if now: feed.update(zip(start, now))
        value, now, _ = sess.run([cost, last, train], feed)
        print('%.6f' % value, ' '.join('%.6f' % v for v in now[1].reshape(-1)))
"""

# A language model unrolled by hand.
UNROLLED = """
import numpy as np
import tensorflow as tf

B, T, H, V = 12, 5, 8, 20
words = tf.placeholder(tf.int32, [B, T])
targets = tf.placeholder(tf.int32, [B, T])
start = c, h = tf.zeros([B, H]), tf.zeros(tf.concat([[B], [H]], 0))
table = tf.get_variable('table', [V, H], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
inputs = tf.nn.dropout(tf.nn.embedding_lookup(table, words), 0.9, seed=3)
kernel = tf.get_variable('kernel', [2 * H, 4 * H], initializer=tf.random_uniform_initializer(-.3, .3, seed=2))
outputs = []
for t in range(T):
    i, j, f, o = tf.split(tf.matmul(tf.concat([inputs[:, t, :], h], 1), kernel), 4, 1)
    c = c * tf.sigmoid(f + 1.) + tf.sigmoid(i) * tf.tanh(j)
    h = tf.tanh(c) * tf.sigmoid(o)
    outputs.append(h)
logits = tf.matmul(tf.reshape(tf.concat(outputs, 1), [-1, H]),
                   tf.get_variable('w', [H, V], initializer=tf.random_uniform_initializer(-1, 1, seed=4)))
last = c, h
""" + WITH_STATES

# A loop of the script's own, with TensorArrays, clipping by the global norm, and states that are fetched.
LOOP = """
import numpy as np
import tensorflow as tf

T, H, V = 5, 8, 20
words = tf.placeholder(tf.int32, [None, T])
targets = tf.placeholder(tf.int32, [None])
table = tf.get_variable('table', [V, H], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
kernel = tf.get_variable('kernel', [2 * H, 4 * H], initializer=tf.random_uniform_initializer(-.3, .3, seed=2))
bias = tf.get_variable('bias', [4 * H], initializer=tf.zeros_initializer())
x = tf.transpose(tf.nn.embedding_lookup(table, words), [1, 0, 2])
steps, rows = tf.shape(x)[0], tf.shape(x)[1]
source = tf.TensorArray(tf.float32, steps).unstack(x)
result = tf.TensorArray(tf.float32, steps, element_shape=[None, H])

def body(t, out, c, h):
    i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([source.read(t), h], 1), kernel), bias), 4, 1)
    c = c * tf.sigmoid(f + 1.) + tf.sigmoid(i) * tf.tanh(j)
    h = tf.nn.dropout(tf.tanh(c) * tf.sigmoid(o), 0.9, seed=5)
    c.set_shape([None, H])
    h.set_shape([None, H])
    return t + 1, out.write(t, h), c, h

start = [0, result, tf.zeros([rows, H]), tf.zeros([rows, H])]
_, result, c, h = tf.while_loop(lambda t, *_: t < steps, body, start)
outputs = tf.transpose(result.stack(), [1, 0, 2])
out = tf.get_variable('out', [H, V], initializer=tf.random_uniform_initializer(-1, 1, seed=4))
logits = tf.matmul(tf.reduce_mean(outputs, 1) + h, out)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits))
variables = tf.trainable_variables()
slopes, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 0.5)
train = tf.train.AdamOptimizer(0.02).apply_gradients(zip(slopes, variables))
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 12, 7, 2, 12):
        feed = {words: data.randint(0, V, (n, T)), targets: data.randint(0, V, n)}
        l, g, state, _ = sess.run([loss, norm, h, train], feed)
        print('%.6f %.6f' % (l, g), ' '.join('%.6f' % v for v in state.reshape(-1)))
"""

# tf.nn.dynamic_rnn of sentences of different lengths: it iterates as often as the longest of the global batch asks.
DYNAMIC_RNN = """
import numpy as np
import tensorflow as tf

H, V = 8, 20
words = tf.placeholder(tf.int32, [None, None])
lengths = tf.placeholder(tf.int32, [None])
targets = tf.placeholder(tf.int32, [None])

class Gru:
    state_size = output_size = H

    def zero_state(self, batch_size, dtype):
        return tf.zeros([batch_size, H], dtype)

    def __call__(self, x, h, scope=None):
        w = tf.get_variable('w', [2 * H, 2 * H], initializer=tf.random_uniform_initializer(-.3, .3, seed=2))
        u = tf.get_variable('u', [2 * H, H], initializer=tf.random_uniform_initializer(-.3, .3, seed=3))
        r, z = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w)), 2, 1)
        h = z * h + (1 - z) * tf.tanh(tf.matmul(tf.concat([x, r * h], 1), u))
        return h, h

table = tf.get_variable('table', [V, H], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
outputs, last = tf.nn.dynamic_rnn(Gru(), tf.nn.embedding_lookup(table, words), sequence_length=lengths, dtype=tf.float32)
out = tf.get_variable('w', [H, V], initializer=tf.random_uniform_initializer(-1, 1, seed=4))
each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=tf.matmul(last, out))
loss = tf.reduce_mean(each) + tf.reduce_mean(tf.square(outputs))
train = tf.train.AdamOptimizer(0.02).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 12, 7, 2, 12):
        t = 6 + n % 3
        feed = {words: data.randint(0, V, (n, t)), targets: data.randint(0, V, n), lengths: data.randint(1, t + 1, n)}
        l, state, all_, _ = sess.run([loss, last, outputs, train], feed)
        print('%.6f' % l, ' '.join('%.6f' % v for v in list(state.reshape(-1)) + list(all_.reshape(-1))))
"""

# Gates by slices of one kernel, taken in every turn, as Keras's LSTM has them.
SLICED = DYNAMIC_RNN.replace("tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w)), 2, 1)",
                             "[tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w[:, i:i + H])) for i in (0, H)]")

# Both: batches of one size, a dynamic_rnn with dropout in its loop, states that go from step to step.
FIXED_LOOP = """
import numpy as np
import tensorflow as tf

B, T, H, V = 12, 5, 8, 20
words = tf.placeholder(tf.int32, [B, T])
targets = tf.placeholder(tf.int32, [B, T])

class Lstm:
    state_size, output_size = (H, H), H

    def zero_state(self, batch_size, dtype):
        return tf.zeros([batch_size, H]), tf.zeros([batch_size, H])

    def __call__(self, x, state, scope=None):
        c, h = state
        w = tf.get_variable('w', [2 * H, 4 * H], initializer=tf.random_uniform_initializer(-.3, .3, seed=2))
        i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), w), 4, 1)
        c = c * tf.sigmoid(f + 1.) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return tf.nn.dropout(h, 0.9, seed=7), (c, h)

cell = Lstm()
start = cell.zero_state(B, tf.float32)
table = tf.get_variable('table', [V, H], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
embedded = tf.nn.embedding_lookup(table, words)
# One turn after the other: TensorFlow draws in any order else.
outputs, last = tf.nn.dynamic_rnn(cell, embedded, initial_state=start, parallel_iterations=1)
out = tf.get_variable('out', [H, V], initializer=tf.random_uniform_initializer(-.1, .1, seed=4))
logits = tf.matmul(tf.reshape(outputs, [-1, H]), out)
""" + WITH_STATES

# A loop that iterates once for every example, as detection losses look at the boxes of each image: a shard has less.
OVER_EXAMPLES = """
import numpy as np
import tensorflow as tf

x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 3])
w = tf.get_variable('w', [4, 3], initializer=tf.truncated_normal_initializer(seed=1))
predicted = tf.matmul(x, w)
n = tf.cast(tf.shape(x)[0], tf.float32)

def look(i, found):
    near = tf.boolean_mask(y[i], y[i] > 0.4)
    return i + 1, found.write(i, tf.cast(tf.abs(predicted[i] - tf.reduce_sum(near)) > 0.5, tf.float32))

far = tf.while_loop(lambda i, _: i < tf.cast(n, tf.int32), look, [0, tf.TensorArray(tf.float32, 0, dynamic_size=True)])[1].stack()
loss = tf.reduce_sum(tf.square(predicted - y) * tf.stop_gradient(far)) / n
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for rows in (7, 4, 1, 7):
        print('%.6f' % sess.run([loss, train], {x: data.rand(rows, 4), y: data.rand(rows, 3)})[0])
"""

# Adversarial training: the example is changed along the gradient of a loss that lies in a loop.
ADVERSARIAL = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 4])
w = tf.Variable(tf.ones([4, 1]))
def body(i, z):
    return i + 1, z - .1 * tf.gradients(tf.reduce_mean(tf.square(tf.matmul(z, w))), z)[0]
_, z = tf.while_loop(lambda i, z: i < 3, body, [0, x])
loss = tf.reduce_mean(tf.square(tf.matmul(tf.stop_gradient(z), w) - 1.))
train = tf.train.GradientDescentOptimizer(.1).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(5):
        print('%.6f' % sess.run([loss, train], {x: data.randn(6, 4)})[0])
"""

# A loss in a branch: only some steps train.
TRAINED_NOW_AND_THEN = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 4])
trains = tf.placeholder(tf.bool, [])
w = tf.Variable(tf.ones([4, 1]))
def update():
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.))
    with tf.control_dependencies([tf.train.GradientDescentOptimizer(.1).minimize(loss)]):
        return tf.no_op()
step = tf.cond(trains, update, tf.no_op)
with tf.control_dependencies([step]):
    size = tf.reduce_sum(tf.square(w.read_value()))
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(6):
        print('%.6f' % sess.run(size, {x: data.randn(6, 4), trains: i % 3 > 0}))
"""
