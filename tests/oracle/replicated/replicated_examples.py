"""Scripts whose losses set examples against examples: shards of a batch must come to the global batch's, or not be tried."""

_TRAIN = """
import numpy as np
import tensorflow as tf

def moments_of(h):
    mean, variance = tf.nn.moments(h, [0])
    with tf.variable_scope(h.op.name):
        return tf.nn.batch_normalization(h, mean, variance, tf.get_variable('beta', [8], initializer=tf.zeros_initializer()),
                                         tf.get_variable('gamma', [8], initializer=tf.ones_initializer()), 1e-3)

def overlap(h, y):
    hit, wanted = tf.nn.sigmoid(h[:, 0]), tf.cast(y > 3, tf.float32)
    return 2. * tf.reduce_sum(hit * wanted) / (tf.reduce_sum(hit) + tf.reduce_sum(wanted))

def cross_entropy(h, y):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h)

def advantages(h, y):
    mean, variance = tf.nn.moments(x[:, 0], [0])
    return tf.reduce_mean((x[:, 0] - mean) / tf.sqrt(variance + 1e-8) * cross_entropy(h, y))

def advantages_by_hand(h, y):
    a = x[:, 0]
    return tf.reduce_mean((a - tf.reduce_mean(a)) / (tf.math.reduce_std(a) + 1e-8) * cross_entropy(h, y))

def standardised(h, y):
    mean, variance = tf.nn.moments(x, [0])
    scale = tf.get_variable('scale', [6], initializer=tf.ones_initializer())
    rows = tf.nn.batch_normalization(x, mean, variance, None, scale, 1e-3)
    return tf.reduce_mean(cross_entropy(h + tf.matmul(rows, tf.ones([6, 8]) * .1), y)) + tf.reduce_mean(rows ** 2)

def stopped(h, y):
    given = tf.stop_gradient(h)
    return tf.reduce_mean(tf.square((h - tf.reduce_mean(given, 0)) / (1. + tf.math.reduce_std(given))))

LOSSES = LIST

for name, loss_of in LOSSES:
    tf.reset_default_graph()
    x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int32, [None])
    w = tf.get_variable('w', [6, 8], initializer=tf.random_normal_initializer(stddev=.5, seed=1))
    loss = loss_of(tf.nn.tanh(tf.matmul(x, w)), y)
    train = tf.train.MomentumOptimizer(.1, .9).minimize(loss)
    data = np.random.RandomState(7)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for n in (12, 9, 12):
            xs, ys = data.randn(n, 6), data.randint(0, 8, n)
            feeds = {x: np.concatenate([xs] * COPIES), y: np.concatenate([ys] * COPIES)}
            print('%.6f' % sess.run([loss, train], feeds)[0])
        print('%.6f' % sess.run(tf.reduce_sum(tf.square(w))))
"""

# Summed over shards before they divide, or multiply.
OF_SUMS = _TRAIN.replace("COPIES", "1").replace("LIST", """[
    ('overlap', overlap),
    ('ratio', lambda h, y: tf.reduce_sum(tf.square(h)) / tf.reduce_sum(tf.abs(h))),
    ('product', lambda h, y: tf.reduce_mean(tf.square(h)) * (1. + tf.reduce_mean(tf.abs(h)))),
]""")

# Numbers of the global batch that no gradient comes back to.
OF_UNTRAINED = _TRAIN.replace("COPIES", "1").replace("LIST", """[
    ('advantages', advantages),
    ('advantages by hand', advantages_by_hand),
    ('standardised', standardised),
    ('stopped', stopped),
    ('above the mean', lambda h, y: tf.reduce_mean(tf.where(h > tf.stop_gradient(tf.reduce_mean(h)), h ** 2, tf.abs(h)))),
    ('balanced', lambda h, y: tf.reduce_mean(tf.square(h[:, 0]) / (.1 + tf.reduce_mean(tf.cast(y > 3, tf.float32))))),
    ('by number', lambda h, y: tf.reduce_sum(tf.square(h) / tf.cast(tf.shape(h)[0], tf.float32))),
]""")

# Numbers of the global batch that are trained through, wherever they meet its rows.
OF_TRAINED = _TRAIN.replace("COPIES", "1").replace("LIST", """[
    ('centred', lambda h, y: tf.reduce_mean(tf.square(tf.matmul(h - tf.reduce_mean(h, 0), tf.ones([8, 2]))))),
    ('variance', lambda h, y: -tf.reduce_mean(tf.math.reduce_variance(h, 0))),
    ('clipped', lambda h, y: tf.reduce_mean(tf.abs(tf.clip_by_norm(h, 2.)))),
    ('relative', lambda h, y: tf.reduce_mean(tf.nn.softplus(tf.reduce_mean(h[:, :4]) - h[:, 4:])) +
        tf.reduce_mean(tf.nn.softplus(h[:, :4] - tf.reduce_mean(h[:, 4:])))),
    ('both', lambda h, y: (lambda m: tf.reduce_mean(tf.square(h - m)) + tf.reduce_mean(cross_entropy(h * m, y)))(
        tf.reduce_mean(h, 0))),
    ('and its own', lambda h, y: (lambda m: tf.reduce_mean(tf.sigmoid(h[:, 1] - m)) - m)(tf.reduce_mean(h[:, 0]))),
    ('summed', lambda h, y: tf.reduce_sum(tf.square(h - tf.reduce_sum(h, 0) / tf.cast(tf.shape(h)[0], tf.float32)))),
    ('weighted', lambda h, y: (lambda w: tf.reduce_mean(tf.abs(h - tf.reduce_sum(w * h, 0) / tf.reduce_sum(w))))(
        tf.nn.sigmoid(h[:, :1]))),
    ('scaled', lambda h, y: tf.reduce_mean(cross_entropy(h / (.1 + tf.math.reduce_std(h)), y))),
    ('twice', lambda h, y: (lambda d: tf.reduce_mean(tf.abs(d) / (1. + tf.reduce_mean(tf.square(d), 0))))(
        h - tf.reduce_mean(h, 0))),
    ('decorrelated', lambda h, y: (lambda d: tf.reduce_sum(tf.square(tf.matmul(d, d, transpose_a=True) / tf.cast(
        tf.shape(h)[0], tf.float32) - tf.eye(8))))(h - tf.reduce_mean(h, 0))),
    ('normalised beside', lambda h, y: tf.reduce_mean(tf.square(moments_of(h))) +
        tf.reduce_mean(tf.square(h - tf.reduce_mean(h, 0) * .5)) +
        tf.reduce_mean(cross_entropy(tf.nn.relu(moments_of(tf.matmul(h, tf.ones([8, 8]) * .1))), y))),
]""")

# Gradients by hand that hold a number of the global batch, beside what looks like batch normalisation. `z` does not come of
# it. Equal on any number of devices, but for the normalised branch itself, whose variable is not compared.
GRADIENTS_OF_ALL = """
import numpy as np
import tensorflow as tf

def standardised(v):
    mean, variance = tf.nn.moments(v, [0])
    return (v - mean) / tf.sqrt(variance + .1)

def none(x, w): return tf.matmul(x, w), 0.
def weights(x, w): return tf.matmul(x, standardised(w)), 0.
def beside(x, w):
    a = tf.get_variable('beside', initializer=np.random.RandomState(5).randn(3, 2), use_resource=True)
    return tf.matmul(x, w), tf.reduce_mean(tf.tanh(standardised(tf.matmul(x, a)) - .3))
def beside_weights(x, w):
    return tf.matmul(x, standardised(w)), beside(x, w)[1]

def centred(dz): return dz - tf.reduce_mean(dz, 0)
def summed(dz): return dz - tf.reduce_sum(dz, 0) / tf.cast(tf.shape(dz)[0], tf.float64)
def scaled(dz): return dz / (.1 + tf.reduce_mean(tf.abs(dz)))
def by_norm(dz): return dz * (1. + tf.reduce_sum(tf.square(dz), 0))

for forward in (none, weights, beside, beside_weights):
    for change in (centred, summed, scaled, by_norm):
        tf.reset_default_graph()
        r = np.random.RandomState(0)
        x, y = tf.placeholder(tf.float64, [None, 3]), tf.placeholder(tf.float64, [None, 2])
        w = tf.get_variable('w', initializer=r.randn(3, 2), use_resource=True)
        z, more = forward(x, w)
        loss = tf.reduce_mean(tf.square(z - y)) + more
        dw = tf.gradients(z, w, grad_ys=change(tf.gradients(loss, z)[0]))[0]
        pairs = [(dw, w)] + [(tf.gradients(loss, v)[0], v) for v in tf.trainable_variables() if v is not w]
        train = tf.train.GradientDescentOptimizer(.5).apply_gradients(pairs)
        with tf.Session() as s:
            s.run(tf.global_variables_initializer())
            for n in (8, 12, 9):
                s.run(train, {x: r.randn(n, 3) + 1, y: r.randn(n, 2) + np.linspace(0, 4, n)[:, None]})
                print(n, ' '.join('%.9f' % v for v in s.run(w).ravel()))
"""

# Rows that a shard takes from its own examples, by numbers that count these; columns, in an order drawn for all.
TAKEN = _TRAIN.replace("COPIES", "1").replace("LIST", """[
    ('actions', lambda h, y: tf.reduce_mean(tf.square(tf.gather_nd(h, tf.stack([tf.range(tf.shape(h)[0]), y], 1)) - 1.))),
    ('flat', lambda h, y: tf.reduce_mean(tf.square(tf.gather(tf.reshape(h, [-1]), tf.range(tf.shape(h)[0]) * 8 + y)))),
    ('positions', lambda h, y: tf.reduce_mean(tf.square(tf.gather(tf.reshape(h, [-1, 2]), tf.reshape(
        tf.stack([y % 4, (y + 1) % 4], 1) + tf.reshape(tf.range(0, tf.shape(h)[0]) * 4, [-1, 1]), [-1]))))),
    ('each its own', lambda h, y: tf.reduce_mean(tf.square(tf.gather(tf.reshape(h, [-1, 4, 2]), y[:, None] % 4, batch_dims=1)
                                                           if tf.__version__ > '1.14' else h))),
    ('shuffled columns', lambda h, y: tf.reduce_mean(tf.square(
        h[:, :3] - tf.transpose(tf.random_shuffle(tf.transpose(x), seed=3))[:, :3]))),
]""")

# A shard's rows are not computed as they are among the others'.
BESIDE_OTHERS = _TRAIN.replace("COPIES", "1").replace("LIST", """[
    ('neighbours', lambda h, y: tf.reduce_mean(tf.square(h[1:] - h[:-1]))),
    ('first', lambda h, y: tf.reduce_mean(tf.square(h - h[:1]))),
    ('turned', lambda h, y: tf.reduce_mean(tf.square(h - tf.reverse(h, [0])))),
    ('summed up', lambda h, y: tf.reduce_mean(tf.square(tf.cumsum(h)))),
    ('attended', lambda h, y: -tf.reduce_mean(tf.square(tf.transpose(tf.nn.softmax(tf.transpose(h)))) * 9.)),
    ('frequent', lambda h, y: tf.reduce_mean(tf.square(h[:, 0]) / tf.cast(
        tf.gather(tf.unique_with_counts(y)[2], tf.unique_with_counts(y)[1]), tf.float32))),
    ('by fed numbers', lambda h, y: tf.reduce_mean(tf.square(h - tf.gather(h, y)))),
    ('from the last', lambda h, y: tf.reduce_mean(x[:, :1] * tf.gather(h, tf.shape(h)[0] - 1 - tf.range(tf.shape(h)[0])))),
    ('next', lambda h, y: tf.reduce_mean(x[:, :1] * tf.gather(h, (tf.range(tf.shape(h)[0]) + 1) % tf.shape(h)[0]))),
    ('placed', lambda h, y: tf.reduce_mean(h * tf.cast(tf.range(tf.shape(h)[0]), tf.float32)[:, None])),
    ('shuffled', lambda h, y: tf.reduce_mean(tf.square(
        h - tf.gather(h, tf.random_shuffle(tf.range(tf.shape(h)[0]), seed=4))))),
    ('drawn', lambda h, y: tf.reduce_mean(tf.square(
        h - tf.gather(h, tf.random_uniform([tf.shape(h)[0]], 0, tf.shape(h)[0], tf.int32, seed=4))))),
    ('one by one', lambda h, y: tf.reduce_mean(tf.map_fn(lambda row: tf.reduce_sum(tf.square(row)), h))),
]""")

# Statistics are each shard's: alike where every shard has the same rows. Both numbers that they are multiplied with are
# trained.
OF_STATISTICS = _TRAIN.replace("COPIES", "2").replace("LIST", """[
    ('normalised', lambda h, y: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=y, logits=tf.nn.relu(moments_of(h))))),
    ('squared', lambda h, y: tf.reduce_mean(tf.square(moments_of(h) - tf.one_hot(y, 8)))),
]""")

# What is asked for outside training is the global batch's, whatever it sets beside what.
FETCHED = """
import numpy as np
import tensorflow as tf

x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int32, [None])
w = tf.get_variable('w', [6, 8], initializer=tf.random_normal_initializer(stddev=.5, seed=1))
logits = tf.nn.tanh(tf.matmul(x, w))
each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
train = tf.train.MomentumOptimizer(.1, .9).minimize(tf.reduce_mean(each))
ordered = tf.nn.top_k(each, tf.shape(each)[0]).values
asked = [tf.math.reduce_std(each), (each - tf.reduce_mean(each)) / tf.math.reduce_std(each), tf.cumsum(each),
         tf.reverse(each, [0]), ordered, ordered[tf.shape(each)[0] // 2], tf.reduce_logsumexp(each), tf.nn.softmax(each),
         each[1:] - each[:-1], 1. - tf.nn.moments(each - x[:, 0], [0])[1] / tf.nn.moments(x[:, 0], [0])[1], each[:1], tf.reduce_max(each), each / tf.reduce_max(each), tf.reduce_mean(logits, 0)]
data = np.random.RandomState(7)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 9, 12):
        feeds = {x: data.randn(n, 6), y: data.randint(0, 8, n)}
        for value in sess.run([asked, train], feeds)[0]:
            print(' '.join('%.6f' % v for v in np.ravel(value)))
"""

# Variables beside the trained ones: what they keep of a batch is no sum.
KEPT = """
import numpy as np
import tensorflow as tf

x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int32, [None])
w = tf.get_variable('w', [6, 8], initializer=tf.random_normal_initializer(stddev=.5, seed=1))
features = tf.nn.tanh(tf.matmul(x, w))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=features))
largest = tf.get_variable('largest', [], initializer=tf.zeros_initializer(), trainable=False)
spread = tf.get_variable('spread', [], initializer=tf.zeros_initializer(), trainable=False)
latest = tf.get_variable('latest', [10, 8], initializer=tf.zeros_initializer(), trainable=False)
updates = [largest.assign(tf.maximum(largest, tf.reduce_max(tf.abs(x)))),
           spread.assign(.9 * spread + .1 * tf.math.reduce_std(features)),
           latest.assign(tf.concat([features, latest], 0)[:10])]
train = tf.train.MomentumOptimizer(.1, .9).minimize(loss)
data = np.random.RandomState(7)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 9, 12):
        feeds = {x: data.randn(n, 6), y: data.randint(0, 8, n)}
        sess.run([train, updates], feeds)
        for value in sess.run([largest, spread, latest, w]):
            print(' '.join('%.6f' % v for v in np.ravel(value)))
"""

# What a step ends with is no op but the value of a conditional: each device has its own, and all are run.
CONDITIONAL = """
import numpy as np
import tensorflow as tf

x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int32, [None])
w = tf.get_variable('w', [6, 8], initializer=tf.random_normal_initializer(stddev=.5, seed=1))
count = tf.get_variable('count', [], dtype=tf.int32, initializer=tf.zeros_initializer(), trainable=False)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.nn.tanh(tf.matmul(x, w))))
train = tf.train.GradientDescentOptimizer(.3).minimize(loss)
with tf.control_dependencies([train]):
    counted = count.assign_add(1)
with tf.control_dependencies([counted]):
    shrink = tf.cond(tf.equal(counted % 2, 0), lambda: tf.group(w.assign(w * .5)), lambda: tf.no_op())
data = np.random.RandomState(7)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (12, 9, 12, 12):
        print('%.6f' % sess.run([loss, shrink], {x: data.randn(n, 6), y: data.randint(0, 8, n)})[0])
    print('%.6f' % sess.run(tf.reduce_sum(tf.square(w))))
"""
