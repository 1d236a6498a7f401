"""Larger models for `serve_training.py`, in the sizes people train them: each gives (loss, step, feed)."""
import numpy as np
import tensorflow.compat.v1 as tf


def _variable(name, shape, initializer=None):
    return tf.get_variable(name, shape, initializer=initializer or tf.glorot_uniform_initializer(seed=1))


def _conv(x, filters, width, stride, name):
    w = _variable(name, [width, width, x.shape[-1], filters])
    return tf.nn.conv2d(x, w, [1, stride, stride, 1], "SAME")


def _norm(x, name, activation=tf.nn.relu):
    n = [x.shape[-1]]
    scale, offset = _variable(name + "/gamma", n, tf.ones_initializer()), _variable(name + "/beta", n, tf.zeros_initializer())
    y = tf.nn.fused_batch_norm(x, scale, offset, epsilon=1e-5)[0]
    return activation(y) if activation else y


def _dense(x, n, name):
    return tf.matmul(x, _variable(name + "/w", [x.shape[-1], n])) + _variable(name + "/b", [n], tf.zeros_initializer())


def _crossed(logits, labels):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def resnet50(batch):
    """Bottleneck blocks 3-4-6-3 on 64x64 images."""
    x, y = tf.placeholder(tf.float32, [None, 64, 64, 3]), tf.placeholder(tf.int64, [None])
    h = _norm(_conv(x, 64, 7, 2, "stem"), "stem_norm")
    h = tf.nn.max_pool(h, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    for stage, (blocks, filters) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        for block in range(blocks):
            name, stride = f"s{stage}b{block}", 2 if stage > 0 and block == 0 else 1
            shortcut = h
            if block == 0:
                shortcut = _norm(_conv(h, 4 * filters, 1, stride, name + "/project"), name + "/project_norm", None)
            v = _norm(_conv(h, filters, 1, 1, name + "/a"), name + "/a_norm")
            v = _norm(_conv(v, filters, 3, stride, name + "/b"), name + "/b_norm")
            v = _norm(_conv(v, 4 * filters, 1, 1, name + "/c"), name + "/c_norm", None)
            h = tf.nn.relu(v + shortcut)
    loss = tf.reduce_mean(_crossed(_dense(tf.reduce_mean(h, [1, 2]), 1000, "top"), y))
    step = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    return loss, step, {x: np.random.rand(batch, 64, 64, 3), y: np.random.randint(0, 1000, batch)}


class _Lstm:
    """A cell as tf.nn.static_rnn and dynamic_rnn take it."""

    def __init__(self, units, name):
        self.units, self.name = units, name
        self.state_size, self.output_size = (units, units), units

    def zero_state(self, batch, dtype):
        return tuple(tf.zeros([batch, self.units], dtype) for _ in range(2))

    def __call__(self, x, state, scope=None):
        with tf.variable_scope(self.name, reuse=tf.AUTO_REUSE):
            w = _variable("w", [x.shape[-1] + self.units, 4 * self.units])
            b = _variable("b", [4 * self.units], tf.zeros_initializer())
        c, h = state
        i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), w) + b, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


def _language_model(batch, dynamic, steps=20, words=10000, units=200):
    x, y = tf.placeholder(tf.int32, [batch, steps]), tf.placeholder(tf.int32, [batch, steps])
    h = tf.nn.embedding_lookup(_variable("embedding", [words, units]), x)
    for layer in range(2):
        cell = _Lstm(units, f"lstm{layer}")
        if dynamic:
            with tf.variable_scope(f"layer{layer}"):
                h = tf.nn.dynamic_rnn(cell, h, dtype=tf.float32)[0]
        else:
            h = tf.stack(tf.nn.static_rnn(cell, tf.unstack(h, axis=1), dtype=tf.float32)[0], axis=1)
    loss = tf.reduce_sum(_crossed(_dense(tf.reshape(h, [-1, units]), words, "softmax"), tf.reshape(y, [-1]))) / batch
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    step = tf.train.GradientDescentOptimizer(1.0).apply_gradients(zip(gradients, variables))
    text = np.random.randint(0, words, (batch, steps + 1))
    return loss, step, {x: text[:, :-1], y: text[:, 1:]}


def static_lstm(batch):
    """The small language model of the PTB tutorial: two layers of 200, 20 words unrolled."""
    return _language_model(batch, False)


def dynamic_lstm(batch):
    return _language_model(batch, True)


def word2vec(batch):
    """Skip-gram with noise-contrastive estimation, as the word2vec tutorial has it."""
    words, units = 50000, 128
    x, y = tf.placeholder(tf.int32, [batch]), tf.placeholder(tf.int32, [batch, 1])
    embedding = _variable("embedding", [words, units])
    weights, biases = _variable("nce/w", [words, units]), _variable("nce/b", [words], tf.zeros_initializer())
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, y, tf.nn.embedding_lookup(embedding, x), 64, words))
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    return loss, step, {x: np.random.randint(0, words, batch), y: np.random.randint(0, words, (batch, 1))}


def dcgan(batch):
    """Generator and discriminator of 32x32 images, both trained in one step."""
    noise, images = tf.placeholder(tf.float32, [batch, 100]), tf.placeholder(tf.float32, [batch, 32, 32, 3])

    def generator(z):
        h = tf.nn.relu(tf.reshape(_dense(z, 4 * 4 * 256, "g/in"), [batch, 4, 4, 256]))
        for i, (side, depth) in enumerate([(8, 128), (16, 64), (32, 3)]):
            w = _variable(f"g/d{i}", [5, 5, depth, h.shape[-1]])
            h = tf.nn.conv2d_transpose(h, w, [batch, side, side, depth], [1, 2, 2, 1], "SAME")
            h = _norm(h, f"g/n{i}") if depth != 3 else tf.tanh(h)
        return h

    def discriminator(v):
        with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
            for i, depth in enumerate([64, 128, 256]):
                v = _conv(v, depth, 5, 2, f"d/c{i}")
                v = tf.nn.leaky_relu(v) if i == 0 else _norm(v, f"d/n{i}", tf.nn.leaky_relu)
            return _dense(tf.reshape(v, [batch, 4 * 4 * 256]), 1, "d/out")

    made = generator(noise)
    real, fake = discriminator(images), discriminator(made)
    crossed = lambda logits, one: tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=one * tf.ones_like(logits)))
    d_loss, g_loss = crossed(real, 1.0) + crossed(fake, 0.0), crossed(fake, 1.0)
    of = lambda part: [v for v in tf.trainable_variables() if f"/{part}/" in "/" + v.op.name]
    step = tf.group(tf.train.AdamOptimizer(2e-4, 0.5).minimize(d_loss, var_list=of("d")),
                    tf.train.AdamOptimizer(2e-4, 0.5).minimize(g_loss, var_list=of("g")))
    return d_loss, step, {noise: np.random.rand(batch, 100), images: np.random.rand(batch, 32, 32, 3)}


def transformer(batch, steps=64, units=256, heads=4, words=1000):
    """Two blocks of attention and a feed-forward layer, over sentences of 64 words."""
    x, y = tf.placeholder(tf.int32, [batch, steps]), tf.placeholder(tf.int64, [batch])
    h = tf.nn.embedding_lookup(_variable("embedding", [words, units]), x)

    def normed(v, name):
        mean, variance = tf.nn.moments(v, [-1], keepdims=True)
        return ((v - mean) * tf.rsqrt(variance + 1e-6) * _variable(name + "/gamma", [units], tf.ones_initializer())
                + _variable(name + "/beta", [units], tf.zeros_initializer()))

    def split(v):
        return tf.transpose(tf.reshape(v, [batch, steps, heads, units // heads]), [0, 2, 1, 3])

    for i in range(2):
        flat = tf.reshape(h, [-1, units])
        q, k, v = (split(_dense(flat, units, f"b{i}/{part}")) for part in "qkv")
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / (units // heads)**0.5)
        mixed = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [-1, units])
        h = normed(h + tf.reshape(_dense(mixed, units, f"b{i}/o"), [batch, steps, units]), f"b{i}/n1")
        inner = tf.nn.relu(_dense(tf.reshape(h, [-1, units]), 4 * units, f"b{i}/f1"))
        h = normed(h + tf.reshape(_dense(inner, units, f"b{i}/f2"), [batch, steps, units]), f"b{i}/n2")
    loss = tf.reduce_mean(_crossed(_dense(tf.reduce_mean(h, 1), 10, "top"), y))
    step = tf.train.AdamOptimizer(1e-4).minimize(loss)
    return loss, step, {x: np.random.randint(0, words, (batch, steps)), y: np.random.randint(0, 10, batch)}


ROWS = {"resnet50": (resnet50, 8), "static_lstm": (static_lstm, 20), "dynamic_lstm": (dynamic_lstm, 20),
        "word2vec": (word2vec, 128), "dcgan": (dcgan, 16), "transformer": (transformer, 16)}
