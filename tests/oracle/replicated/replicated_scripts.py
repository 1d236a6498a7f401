"""Scripts written for one GPU, which run_scripts.py runs on several: what they print must be what TensorFlow prints."""

# Written for one GPU: Adam, clipping by the global norm, dropout, summaries, a Saver, a placeholder of no known shape.
ONE_GPU = """
import os, sys
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.int64, [None])
keep = tf.placeholder(tf.float32)
w = tf.Variable(tf.truncated_normal([20, 30], seed=1))
b = tf.Variable(tf.zeros([30]))
hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(x, w) + b), keep, seed=5)
logits = tf.matmul(hidden, tf.Variable(tf.truncated_normal([30, 5], seed=2)))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
tf.summary.scalar('loss', loss)
tf.summary.histogram('hidden', hidden)
merged = tf.summary.merge_all()
steps = tf.Variable(0, trainable=False)
optimizer = tf.train.AdamOptimizer(0.05)
slopes, variables = zip(*optimizer.compute_gradients(loss))
train = optimizer.apply_gradients(zip(tf.clip_by_global_norm(slopes, 1.0)[0], variables), global_step=steps)
data = np.random.RandomState(0)
xs, ys = data.rand(67, 20), data.randint(0, 5, 67)
saver = tf.train.Saver()
checkpoint = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'model')
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(20):
        value, part, _, summary = sess.run([loss, accuracy, train, merged], {x: xs, y: ys, keep: 0.8})
        print('%.6f %.6f' % (value, part))
    told = {v.tag: v for v in tf.Summary.FromString(summary).value}
    print('%.6f %.1f' % (told['loss'].simple_value, told['hidden'].histo.num), sess.run(steps))
    saver.save(sess, checkpoint)
    sess.run(w.assign(tf.zeros_like(w)))
    print('%.6f' % sess.run([loss, train], {x: xs, y: ys, keep: 1.0})[0])
    saver.restore(sess, checkpoint)
    for rows in (67, 5, 1):
        print('%.6f' % sess.run([loss, train], {x: xs[:rows], y: ys[:rows], keep: 1.0})[0])
"""

# Rows of an embedding, updated where words were seen; equal words are added up before Adam sees them.
EMBEDDING = """
import numpy as np
import tensorflow as tf

words = tf.placeholder(tf.int32, [None, 3])
wanted = tf.placeholder(tf.int32, [None])
table = tf.Variable(tf.random_uniform([50, 8], -1, 1, seed=1))
mean = tf.reduce_mean(tf.nn.embedding_lookup(table, words), 1)
logits = tf.matmul(mean, tf.Variable(tf.truncated_normal([8, 50], seed=2)))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=logits))
train = tf.train.OPTIMIZER.minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for rows in (32, 32, 7, 2, 1, 32):
        feed = {words: data.randint(0, 9, (rows, 3)), wanted: data.randint(0, 50, rows)}
        print('%.6f' % sess.run([loss, train], feed)[0])
    for row in sess.run(table)[:10]:
        print(' '.join('%.6f' % v for v in row))
"""

# Labels and what was drawn are looked up in one go and used apart: rows of which not every example has as many.
CANDIDATES = """
import numpy as np
import tensorflow as tf

for loss_of in (tf.nn.nce_loss, tf.nn.sampled_softmax_loss):
    tf.reset_default_graph()
    words, wanted = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None, 1])
    rows = lambda name, seed: tf.get_variable(name, [50, 8], initializer=tf.random_normal_initializer(stddev=.5, seed=seed))
    weights, biases = rows('weights', 2), tf.get_variable('biases', [50], initializer=tf.zeros_initializer())
    drawn = tf.nn.log_uniform_candidate_sampler(tf.cast(wanted, tf.int64), 1, 5, True, 50, seed=3)
    loss = tf.reduce_mean(loss_of(weights=weights, biases=biases, inputs=tf.nn.embedding_lookup(rows('table', 1), words),
                                  labels=wanted, num_sampled=5, num_classes=50, sampled_values=drawn))
    train = tf.train.AdagradOptimizer(.5).minimize(loss)
    data = np.random.RandomState(1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for n in (12, 9, 12):
            print('%.5f' % sess.run([loss, train], {words: data.randint(0, 50, n), wanted: data.randint(0, 50, (n, 1))})[0])
        print('%.4f %.5f' % tuple(sess.run([tf.reduce_sum(tf.square(weights)), tf.reduce_sum(biases)])))
"""

# A dataset brings the batches.
DATASET = """
import numpy as np
import tensorflow as tf

data = np.random.RandomState(0)
batches = tf.data.Dataset.from_tensor_slices((data.rand(50, 4), data.rand(50, 1))).repeat(2).shuffle(100, seed=3).batch(16)
iterator = tf.data.make_initializable_iterator(batches)
x, y = iterator.get_next()
w = tf.get_variable('w', initializer=np.ones([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
with tf.control_dependencies([x]):  # who waits for a batch that another part of the step has brought
    count = tf.assign_add(tf.get_variable('count', initializer=0.), 1.)
train = tf.group(tf.train.AdamOptimizer(0.1).minimize(loss), count)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), iterator.initializer])
    try:
        while True:
            print('%.6f' % sess.run([loss, train])[0])
    except tf.errors.OutOfRangeError:
        pass
    print(sess.run('count:0'), ' '.join('%.6f' % v for v in sess.run(w)[:, 0]))
"""

# A queue brings them, the last one smaller.
QUEUE = """
import numpy as np
import tensorflow as tf

data = np.random.RandomState(0)
queue = tf.FIFOQueue(50, [tf.float64, tf.float64], [[4], [1]])
fill = queue.enqueue_many([data.rand(20, 4), data.rand(20, 1)])
x, y = queue.dequeue_up_to(8)
w = tf.get_variable('w', initializer=np.ones([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
with tf.control_dependencies([x]):  # who waits for a batch that another part of the step has brought
    count = tf.assign_add(tf.get_variable('count', initializer=0.), 1.)
train = tf.group(tf.train.AdamOptimizer(0.1).minimize(loss), count)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), fill])
    sess.run(queue.close())
    for _ in range(3):
        print('%.6f' % sess.run([loss, train])[0])
    print(sess.run('count:0'), ' '.join('%.6f' % v for v in sess.run(w)[:, 0]))
"""

# Variables are written by a branch that is a function, and in a partial run, between training steps.
OTHER_WRITERS = """
import numpy as np
import tensorflow as tf

tf.enable_control_flow_v2()
x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None, 1])
to_zero = tf.placeholder(tf.bool, [])
w = tf.get_variable('w', initializer=np.ones([4, 1], 'f'), use_resource=True)
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

def zero():
    with tf.control_dependencies([w.assign(tf.zeros([4, 1]))]):
        return tf.constant(1.)

reset = tf.cond(to_zero, zero, lambda: tf.constant(0.))
value = tf.placeholder(tf.float32, [4, 1])
put = w.assign(value)
data = np.random.RandomState(0)
feed = {x: data.rand(9, 4), y: data.rand(9, 1)}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print('%.6f' % sess.run([loss, train], feed)[0])
    sess.run(reset, {to_zero: True})
    print('%.6f' % sess.run([loss, train], feed)[0])
    handle = sess.partial_run_setup([put], [value])
    sess.partial_run(handle, put, {value: np.full([4, 1], 3.)})
    print('%.6f' % sess.run([loss, train], feed)[0])
    print('%.6f' % sess.run(loss, feed))
"""

# Two models in one step, one loss a mean, the other a sum.
TWO_LOSSES = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None, 2])
losses, steps = [], []
for i, combined in enumerate([tf.reduce_mean, tf.reduce_sum]):
    w = tf.Variable(tf.truncated_normal([4, 2], seed=i))
    losses.append(combined(tf.square(tf.matmul(x, w) - y)))
    steps.append(tf.train.AdamOptimizer(0.05).minimize(losses[-1]))
data = np.random.RandomState(0)
xs, ys = data.rand(23, 4), data.rand(23, 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for rows in (23, 23, 2, 23):
        print('%.6f %.6f' % tuple(sess.run(losses + steps, {x: xs[:rows], y: ys[:rows]})[:2]))
"""

# One loss whose terms are a weighted mean, another with weights of its own, a mean and decay.
TERMS = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 6])
y = tf.placeholder(tf.int32, [None])
z = tf.placeholder(tf.float32, [None, 2])
w = tf.get_variable('w', [6, 8], initializer=tf.truncated_normal_initializer(seed=1))
h = tf.nn.relu(tf.matmul(x, w))
a = tf.matmul(h, tf.get_variable('a', [8, 3], initializer=tf.truncated_normal_initializer(seed=2)))
b = tf.matmul(h, tf.get_variable('b', [8, 2], initializer=tf.truncated_normal_initializer(seed=3)))
tf.losses.sparse_softmax_cross_entropy(y, a)
tf.losses.mean_squared_error(z, b, weights=tf.to_float(tf.expand_dims(tf.not_equal(y, 0), 1)))
tf.losses.add_loss(0.01 * tf.nn.l2_loss(w), tf.GraphKeys.REGULARIZATION_LOSSES)
mean = tf.reduce_mean(tf.square(b))
loss = tf.losses.get_total_loss() + 0.3 * mean
train = tf.train.AdamOptimizer(0.05).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 12, 7, 2, 12):
        feed = {x: data.rand(n, 6), y: data.randint(0, 3, n), z: data.rand(n, 2)}
        print(' '.join('%.6f' % v for v in sess.run([loss, mean] + tf.losses.get_losses() + [train], feed)[:-1]))
"""

# Losses that are no sums themselves but made of some: the root of a mean, Dice, a norm, a logarithm.
ROOTS = """
import numpy as np
import tensorflow as tf

tf.enable_resource_variables()  # one of 1.15 reads a variable that is not now before its update, now after
x = tf.placeholder(tf.float32, [None, 6])
z = tf.placeholder(tf.float32, [None, 2])
w = tf.get_variable('w', [6, 8], initializer=tf.truncated_normal_initializer(seed=1))
s = tf.get_variable('s', [], initializer=tf.ones_initializer())
b = tf.matmul(tf.nn.relu(tf.matmul(x, w)), tf.get_variable('b', [8, 2], initializer=tf.truncated_normal_initializer(seed=3)))
p = tf.sigmoid(b)
losses = [
    s * tf.sqrt(tf.reduce_mean(tf.square(b - z))) + 0.01 * tf.nn.l2_loss(w),
    1 - 2 * tf.reduce_sum(p * z) / (tf.reduce_sum(p) + tf.reduce_sum(z) + 1e-3),
    tf.log(tf.reduce_sum(tf.exp(b * 0.1)) * s) + tf.reduce_mean(tf.abs(b - z)) * s,
    tf.reduce_mean(tf.square(tf.reduce_mean(b, 0) - tf.reduce_mean(z, 0))) + tf.reduce_mean(tf.square(b - z)),
    -tf.log(tf.reduce_mean(tf.nn.softmax(b)[:, 0]) + 1e-6) * 0.5 + tf.norm(b - z),
]
steps = [tf.train.AdamOptimizer(0.05).minimize(loss) for loss in losses]
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 7, 2, 12):
        for loss, step in zip(losses, steps):
            print('%.6f %.6f' % tuple(sess.run([loss, s, step], {x: data.rand(n, 6), z: data.rand(n, 2)})[:2]))
"""

# As slim.learning.create_train_op ends a step: with a loss that was checked; and layers as slim pads and strides them.
CHECKED = """
import numpy as np
import tensorflow as tf

B = 10
x = tf.placeholder(tf.float32, [B, 8, 8, 1])
y = tf.placeholder(tf.int64, [B])
w = tf.Variable(tf.truncated_normal([3, 3, 1, 4], stddev=0.3, seed=1))
first = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], 'SAME'))
strided = tf.nn.conv2d(tf.pad(first, [[0, 0], [1, 1], [1, 1], [0, 0]]),
                       tf.Variable(tf.truncated_normal([3, 3, 4, 4], stddev=0.3, seed=2)), [1, 2, 2, 1], 'VALID')
logits = tf.matmul(tf.reshape(strided, [B, 64]), tf.Variable(tf.truncated_normal([64, 10], stddev=0.1, seed=3)))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
total = tf.add_n([tf.Print(loss, [loss], 'loss'), 0.01 * tf.nn.l2_loss(w)])
optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
grads = [(tf.check_numerics(g, 'gradient'), v) for g, v in optimizer.compute_gradients(total)]
with tf.control_dependencies([optimizer.apply_gradients(grads)]):
    train = tf.check_numerics(total, 'LossTensor is inf or nan')
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(8): print('%.6f' % sess.run(train, {x: data.rand(B, 8, 8, 1), y: data.randint(0, 10, B)}))
    try: sess.run(train, {x: np.full([B, 8, 8, 1], np.nan), y: np.zeros(B, int)})
    except tf.errors.InvalidArgumentError as e: print(-1 if 'LossTensor' in str(e) or 'gradient' in str(e) else 0)
"""

# A GAN whose noise is drawn in the graph, for all GPUs alike: by steps that are replicated and by others, in turn.
NOISE = """
import numpy as np
import tensorflow as tf

B, Z = 16, 6
images = tf.placeholder(tf.float32, [B, 8, 8, 1])
z = tf.random_uniform([B, Z], -1, 1, seed=9)
def var(name, shape, seed): return tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=0.3, seed=seed))
def generator(z):
    with tf.variable_scope('g'):
        h = tf.nn.relu(tf.reshape(tf.matmul(z, var('w0', [Z, 64], 1)), [B, 4, 4, 4]))
        return tf.tanh(tf.nn.conv2d_transpose(h, var('w1', [3, 3, 1, 4], 2), [B, 8, 8, 1], [1, 2, 2, 1]))
def critic(x, reuse):
    with tf.variable_scope('d', reuse=reuse):
        h = tf.nn.leaky_relu(tf.nn.conv2d(x, var('w0', [3, 3, 1, 4], 3), [1, 2, 2, 1], 'SAME'))
        return tf.matmul(tf.reshape(h, [B, 64]), var('w1', [64, 1], 4))
fake = generator(z)
real_logits, fake_logits = critic(images, False), critic(fake, True)
ce = tf.nn.sigmoid_cross_entropy_with_logits
d_loss = tf.reduce_mean(ce(logits=real_logits, labels=tf.ones([B, 1]))) + tf.reduce_mean(ce(logits=fake_logits, labels=tf.zeros([B, 1])))
g_loss = tf.reduce_mean(ce(logits=fake_logits, labels=tf.ones_like(fake_logits)))
tv = tf.trainable_variables()
d_train = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(d_loss, var_list=[v for v in tv if v.name.startswith('d/')])
g_train = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(g_loss, var_list=[v for v in tv if v.name.startswith('g/')])
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(6):
        xs = data.rand(B, 8, 8, 1)
        print('%.6f' % sess.run([d_loss, d_train], {images: xs})[0])
        print('%.6f' % sess.run([g_loss, g_train, real_logits], {images: xs})[0])
"""

# Generator and critic in turn, and nothing is fed to the generator's step: its noise is its batch.
NOISE_ALONE = NOISE.replace("{images: xs})[0])\n        print", "{images: xs})[0])\n        for _ in range(2): print").replace(
    "[g_loss, g_train, real_logits], {images: xs}", "[g_loss, g_train, fake]")

# Noise whose rows are no examples: of weights, and the loss is no sum over them.
NOISY_WEIGHTS = """
import numpy as np
import tensorflow as tf
data = tf.constant(np.random.RandomState(0).rand(8, 4).astype('f'))
w = tf.get_variable('w', initializer=np.random.RandomState(1).rand(4, 3).astype('f'))
noisy = w + tf.random_normal([4, 3], stddev=0.1, seed=5)
loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(data, noisy)) - 1))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(4): print('%.6f' % sess.run([loss, train])[0])
"""

# Time before batch, as one axis: its rows come in TensorFlow's order.
TIME_MAJOR = """
import numpy as np
import tensorflow as tf

T, H = 4, 3
x = tf.placeholder(tf.float32, [None, T, H])
w = tf.get_variable('w', initializer=np.random.RandomState(1).rand(H, 2).astype('f'))
flat = tf.matmul(tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, H]), w)
back = tf.transpose(tf.reshape(flat, [T, -1, 2]), [1, 0, 2])
loss = tf.reduce_mean(tf.square(back - 1))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        for v in sess.run([loss, flat, back, train], {x: data.rand(5, T, H)})[:3]:
            print(' '.join('%.6f' % e for e in v.reshape(-1)))
"""

ROW_BY_ROW = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [8, 3])
w = tf.Variable(tf.ones([3]))
loss = tf.add_n([tf.reduce_sum(tf.square(row * w)) for row in tf.unstack(x)]) / 24
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print('%.6f' % sess.run([loss, train], {x: np.ones([8, 3])})[0])
"""

# What a step does outside training: looks words up, follows losses, counts a queue, decays weights, tells how much of a
# sparse gradient is zero.
BESIDE = """
import numpy as np
import tensorflow as tf

words = tf.placeholder(tf.string, [None, 3])
y = tf.placeholder(tf.int32, [None])
known = tf.lookup.KeyValueTensorInitializer(tf.constant(list('abcd')), tf.constant([1, 2, 3, 4], tf.int64))
table = tf.lookup.StaticHashTable(known, 0)
embedding = tf.get_variable('e', [5, 6], initializer=tf.truncated_normal_initializer(seed=1))
hidden = tf.nn.relu(tf.reduce_mean(tf.nn.embedding_lookup(embedding, table.lookup(words)), 1))
w = tf.get_variable('w', [6, 3], initializer=tf.truncated_normal_initializer(seed=2))
logits = tf.matmul(hidden, w)
loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
total = tf.reduce_sum(tf.square(logits))
averages = tf.train.ExponentialMovingAverage(0.5)
follow = averages.apply([loss, total, total + 3. * tf.reduce_mean(hidden) + tf.nn.l2_loss(w)])
optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
pairs = optimizer.compute_gradients(loss)
zeros = [tf.nn.zero_fraction(tf.convert_to_tensor(g)) for g, _ in pairs]
train = optimizer.apply_gradients([(tf.convert_to_tensor(g) + 0.1 * v, v) for g, v in pairs])
queue = tf.FIFOQueue(100, [tf.float32], [[]])
keep = queue.enqueue(loss)
waiting = tf.cast(queue.size(), tf.float32) * 0.
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for n in (12, 7, 12, 2):
        told = np.array(list('abcdz'))[data.randint(0, 5, (n, 3))]
        got = sess.run([loss, waiting] + zeros + [train, follow, keep], {words: told, y: data.randint(0, 3, n)})
        print(' '.join('%.6f' % v for v in got[:4]))
    print(' '.join('%.6f' % sess.run(averages.average(v)) for v in (loss, total)))
    print(' '.join('%.6f' % v for v in sess.run(queue.dequeue_many(4))), sess.run(queue.size()))
    print(' '.join('%.6f' % v for v in sess.run(embedding).reshape(-1)))
"""

# What Estimators' feature columns make: words looked up in a list, and embeddings of those that are there.
COLUMNS = """
import numpy as np
import tensorflow as tf

words = tf.placeholder(tf.string, [None, 2])
y = tf.placeholder(tf.float32, [None, 1])
lookup = tf.lookup.KeyValueTensorInitializer(tf.constant(list('abcd')), tf.constant([0, 1, 2, 3], tf.int64))
table = tf.lookup.StaticHashTable(lookup, -1)
there = tf.where(tf.not_equal(words, ''))
ids = tf.SparseTensor(there, table.lookup(tf.gather_nd(words, there)), tf.shape(words, out_type=tf.int64))
ids = tf.sparse_retain(ids, ids.values >= 0)
ids, empty = tf.sparse_fill_empty_rows(ids, tf.constant(0, tf.int64))
embedding = tf.get_variable('e', [4, 3], initializer=tf.truncated_normal_initializer(seed=1), use_resource=RESOURCE)
mean = tf.nn.embedding_lookup_sparse(embedding, ids, None, combiner='mean')
w = tf.get_variable('w', [3, 1], initializer=tf.ones_initializer(), use_resource=RESOURCE)
loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=tf.matmul(mean, w)))
train = tf.train.AdagradOptimizer(0.3).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for n in (12, 7, 12, 3):
        told = np.array(['a', 'b', 'c', 'd', 'z', ''])[data.randint(0, 6, (n, 2))]
        print('%.6f' % sess.run([loss, train], {words: told, y: data.randint(0, 2, (n, 1))})[0])
    print(' '.join('%.6f' % v for v in sess.run(embedding).reshape(-1)))
"""

# Gradients in which nothing is left of the addition that made the loss, as Keras's optimizers ask for them.
UNGATED = """
import numpy as np
import tensorflow as tf

tf.enable_resource_variables()
x = tf.placeholder(tf.float32, [None, 4])
w = tf.get_variable('w', [4], initializer=tf.ones_initializer())
each = tf.reduce_sum(x * w, 1)
loss = 1. * tf.reduce_mean(tf.square(each)) + OTHER
train = tf.train.GradientDescentOptimizer(0.02).apply_gradients([(tf.gradients(loss, w)[0], w)])
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (8, 7, 2):
        sess.run(train, {x: data.rand(n, 4)})
        print(' '.join('%.6f' % v for v in sess.run(w)))
"""
