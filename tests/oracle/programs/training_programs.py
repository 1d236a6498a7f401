"""Model programs: what people train, forward and backward as TensorFlow's Python builds them."""
import numpy as np
import tensorflow.compat.v1 as tf

from program import conv, dense, program, train


def _xent(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _mlp(run, resource):
    with tf.variable_scope("", use_resource=resource):
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.int32, [None])
        logits = dense(dense(dense(x, 64, "a", tf.nn.relu), 32, "b", tf.nn.sigmoid), 10, "c")
        loss = _xent(logits, y)
        accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, y, 1), tf.float32))
        step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    xs, ys = run.random.rand(20, 10, 784), run.random.randint(0, 10, (20, 10))
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        train(run, session, 50, loss, step, lambda i: {x: xs[i % 20], y: ys[i % 20]})
        run.keep("accuracy", session.run(accuracy, {x: xs[0], y: ys[0]}))


@program
def mlp(run):
    _mlp(run, False)


@program
def mlp_resource_variables(run):
    _mlp(run, True)


@program
def optimizers(run):
    """Every optimizer of tf.train on one small problem, with reference and with resource variables."""
    makers = [tf.train.GradientDescentOptimizer(0.1), tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
              tf.train.AdagradOptimizer(0.1), tf.train.AdadeltaOptimizer(0.1), tf.train.AdamOptimizer(0.1),
              tf.train.RMSPropOptimizer(0.1, momentum=0.5), tf.train.RMSPropOptimizer(0.1, centered=True),
              tf.train.FtrlOptimizer(0.1), tf.train.ProximalGradientDescentOptimizer(0.1),
              tf.train.ProximalAdagradOptimizer(0.1)]
    for resource in (False, True):
        for number, optimizer in enumerate(makers):
            graph = tf.Graph()
            with graph.as_default():
                w = tf.get_variable("w", initializer=np.linspace(-1, 1, 12).reshape(3, 4).astype("float32"),
                                    use_resource=resource)
                picked = tf.gather(w, [0, 2, 0])
                loss = tf.reduce_sum(tf.square(w - 0.5)) + tf.reduce_sum(tf.abs(picked))
                fresh = type(optimizer)  # a new one in this graph, with what the listed one was made from
                step = _again(number, fresh).minimize(loss)
                with run.session(graph) as session:
                    session.run(tf.global_variables_initializer())
                    train(run, session, 10, loss, step, lambda i: {}, f"{fresh.__name__} {number} {resource}")


def _again(number, kind):
    options = {1: {"momentum": 0.9, "use_nesterov": True}, 5: {"momentum": 0.5}, 6: {"centered": True}}
    return kind(learning_rate=0.1, **options.get(number, {}))


@program
def lenet(run):
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    y = tf.placeholder(tf.int64, [None])
    h = tf.nn.max_pool(conv(x, 6, 5, "c1", activation=tf.nn.relu), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    h = tf.nn.max_pool(conv(h, 16, 5, "c2", activation=tf.nn.relu, padding="VALID"), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    h = tf.reshape(h, [-1, 400])
    logits = dense(dense(dense(h, 120, "f1", tf.nn.relu), 84, "f2", tf.nn.relu), 10, "f3")
    loss = _xent(logits, y)
    step = tf.train.AdamOptimizer(1e-3).minimize(loss)
    xs, ys = run.random.rand(5, 16, 28, 28, 1), run.random.randint(0, 10, (5, 16))
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        train(run, session, 50, loss, step, lambda i: {x: xs[i % 5], y: ys[i % 5]})


@program
def residual_network(run):
    """Bottleneck blocks with batch norm, as in ResNet-50, on small images."""
    training = tf.placeholder(tf.bool, [])

    def norm(x, name, activation=tf.nn.relu):
        with tf.variable_scope(name):
            n = x.shape[-1]
            scale = tf.get_variable("gamma", [n], initializer=tf.ones_initializer())
            offset = tf.get_variable("beta", [n], initializer=tf.zeros_initializer())
            mean = tf.get_variable("mean", [n], initializer=tf.zeros_initializer(), trainable=False)
            variance = tf.get_variable("variance", [n], initializer=tf.ones_initializer(), trainable=False)

            def batch():
                y, m, v = tf.nn.fused_batch_norm(x, scale, offset, epsilon=1e-5)
                with tf.control_dependencies([tf.assign_sub(mean, 0.1 * (mean - m)),
                                              tf.assign_sub(variance, 0.1 * (variance - v))]):
                    return tf.identity(y)

            def moving():
                return tf.nn.fused_batch_norm(x, scale, offset, mean, variance, epsilon=1e-5, is_training=False)[0]

            y = tf.cond(training, batch, moving)
            return activation(y) if activation else y

    def block(x, filters, stride, name):
        with tf.variable_scope(name):
            shortcut = x
            if stride != 1 or x.shape[-1] != 4 * filters:
                shortcut = norm(conv(x, 4 * filters, 1, "project", stride), "project_norm", None)
            y = norm(conv(x, filters, 1, "a"), "norm_a")
            y = norm(conv(y, filters, 3, "b", stride), "norm_b")
            y = norm(conv(y, 4 * filters, 1, "c"), "norm_c", None)
            return tf.nn.relu(y + shortcut)

    x = tf.placeholder(tf.float32, [None, 32, 32, 3])
    y = tf.placeholder(tf.int64, [None])
    h = norm(conv(x, 8, 7, "stem", 2), "stem_norm")
    h = tf.nn.max_pool(tf.pad(h, [[0, 0], [1, 1], [1, 1], [0, 0]]), [1, 3, 3, 1], [1, 2, 2, 1], "VALID")
    for i, (filters, stride) in enumerate([(8, 1), (8, 1), (16, 2), (16, 1)]):
        h = block(h, filters, stride, f"block{i}")
    logits = dense(tf.reduce_mean(h, [1, 2]), 10, "logits")
    decay = 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
    loss = _xent(logits, y) + decay
    number = tf.train.get_or_create_global_step()
    rate = tf.train.piecewise_constant(number, [5, 8], [0.01, 0.005, 0.002])
    step = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=number)
    xs, ys = run.random.rand(4, 8, 32, 32, 3), run.random.randint(0, 10, (4, 8))
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        # Wide tolerances: from the sixth step TensorFlow on one thread and TensorFlow on two are 1e-3 apart (a maximum
        # that is nearly a tie goes the other way).
        train(run, session, 10, loss, step, lambda i: {x: xs[i % 4], y: ys[i % 4], training: True}, tolerance=2e-3)
        run.keep("evaluation", session.run(loss, {x: xs[0], y: ys[0], training: False}), 5e-3)


class Lstm:
    """A cell as tf.nn.dynamic_rnn takes it."""

    def __init__(self, units):
        self.units = units
        self.state_size, self.output_size = (units, units), units

    def zero_state(self, batch, dtype):
        return tuple(tf.zeros([batch, self.units], dtype) for _ in range(2))

    def __call__(self, x, state, scope=None):
        with tf.variable_scope(scope or "lstm", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [x.shape[-1] + self.units, 4 * self.units])
            b = tf.get_variable("b", [4 * self.units], initializer=tf.zeros_initializer())
        c, h = state
        i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), w) + b, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


def _language_model(run, dynamic):
    words, steps, batch, units = 50, 8, 4, 16
    x = tf.placeholder(tf.int32, [batch, steps])
    y = tf.placeholder(tf.int32, [batch, steps])
    lengths = tf.placeholder(tf.int32, [batch])
    embedding = tf.get_variable("embedding", [words, units])
    inputs = tf.nn.embedding_lookup(embedding, x)
    if dynamic:
        outputs, _ = tf.nn.dynamic_rnn(Lstm(units), inputs, sequence_length=lengths, dtype=tf.float32)
    else:
        outputs, _ = tf.nn.static_rnn(Lstm(units), tf.unstack(inputs, axis=1), dtype=tf.float32)
        outputs = tf.stack(outputs, axis=1)
    logits = tf.reshape(dense(tf.reshape(outputs, [-1, units]), words, "softmax"), [batch, steps, words])
    weights = tf.sequence_mask(lengths, steps, dtype=tf.float32)
    crossed = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_sum(crossed * weights) / tf.reduce_sum(weights)
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
    step = tf.train.AdagradOptimizer(0.5).apply_gradients(zip(gradients, variables))
    text = run.random.randint(0, words, (20, batch, steps + 1))
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        feed = lambda i: {x: text[i % 20, :, :-1], y: text[i % 20, :, 1:], lengths: [steps, 3, 5, 1]}
        train(run, session, 50, loss, step, feed)
        run.keep("norm", session.run(norm, feed(0)), 1e-4)


@program
def lstm_dynamic(run):
    _language_model(run, True)


@program
def lstm_static(run):
    _language_model(run, False)


@program
def lstm_control_flow_v2(run):
    """The same with functional control flow: While, If and tensor lists."""
    tf.enable_control_flow_v2()
    try:
        _language_model(run, True)
    finally:
        tf.disable_control_flow_v2()


@program
def word2vec(run):
    words, size = 100, 16
    inputs = tf.placeholder(tf.int32, [None])
    labels = tf.placeholder(tf.int32, [None, 1])
    embeddings = tf.Variable(tf.random_uniform([words, size], -1, 1, seed=3))
    with tf.device("/cpu:0"):
        embed = tf.nn.embedding_lookup(embeddings, inputs)
        weights = tf.Variable(tf.truncated_normal([words, size], stddev=1 / np.sqrt(size), seed=4))
        biases = tf.Variable(tf.zeros([words]))
        # One class is drawn, so that the draw is the same wherever it is made.
        sampled = tf.nn.log_uniform_candidate_sampler(tf.cast(labels, tf.int64), 1, 8, True, words, seed=5)
        loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, labels, embed, 8, words, sampled_values=sampled))
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    normalized = embeddings / tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    near = tf.matmul(normalized, normalized[:5], transpose_b=True)
    xs, ys = run.random.randint(0, words, (50, 16)), run.random.randint(0, words, (50, 16, 1))
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        train(run, session, 50, loss, step, lambda i: {inputs: xs[i], labels: ys[i]})
        run.keep("similarity", session.run(near), 1e-3)


@program
def gan(run):
    """DCGAN in small: transposed convolutions, leaky ReLU, two optimizers over two sets of variables."""
    z = tf.placeholder(tf.float32, [None, 16])
    real = tf.placeholder(tf.float32, [None, 16, 16, 1])

    def batch_norm(x):
        mean, variance = tf.nn.moments(x, [0, 1, 2])
        return tf.nn.batch_normalization(x, mean, variance, None, None, 1e-5)

    def generator(z):
        with tf.variable_scope("generator"):
            h = tf.nn.relu(tf.reshape(dense(z, 4 * 4 * 16, "project"), [-1, 4, 4, 16]))
            batch = tf.shape(z)[0]
            for name, size, depth, channels in (("up8", 8, 8, 16), ("up16", 16, 1, 8)):
                w = tf.get_variable(name, [5, 5, depth, channels], initializer=tf.truncated_normal_initializer(stddev=0.05))
                h = tf.nn.conv2d_transpose(h, w, [batch, size, size, depth], [1, 2, 2, 1], "SAME")
                h = tf.nn.relu(batch_norm(h)) if depth > 1 else tf.tanh(h)
            return h

    def discriminator(x):
        with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
            h = tf.nn.leaky_relu(conv(x, 8, 5, "c1", 2))
            h = tf.nn.leaky_relu(conv(h, 16, 5, "c2", 2))
            return dense(tf.reshape(h, [-1, 4 * 4 * 16]), 1, "out")

    fake = generator(z)
    real_logits, fake_logits = discriminator(tf.reshape(real, [-1, 16, 16, 1])), discriminator(tf.reshape(fake, [-1, 16, 16, 1]))
    cross = lambda logits, target: tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=tf.fill(tf.shape(logits), target)))
    d_loss = cross(real_logits, 0.9) + cross(fake_logits, 0.0)
    g_loss = cross(fake_logits, 1.0)
    adam = lambda: tf.train.AdamOptimizer(2e-4, beta1=0.5)
    d_step = adam().minimize(d_loss, var_list=tf.trainable_variables("discriminator"))
    g_step = adam().minimize(g_loss, var_list=tf.trainable_variables("generator"))
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        zs, images = run.random.randn(30, 8, 16), run.random.rand(30, 8, 16, 16, 1)
        both = []
        for i in range(30):
            feed = {z: zs[i], real: images[i]}
            both.append([session.run([d_loss, d_step], feed)[0], session.run([g_loss, g_step], feed)[0]])
        run.keep("losses", np.array(both), 1e-4)


@program
def transformer(run):
    batch, length, size, heads, words = 4, 6, 16, 2, 30
    x = tf.placeholder(tf.int32, [batch, length])
    y = tf.placeholder(tf.int32, [batch, length])
    h = tf.nn.embedding_lookup(tf.get_variable("embedding", [words, size]), x) * np.sqrt(size).astype("float32")
    h += tf.get_variable("positions", [length, size])

    def layer_norm(v, name):
        with tf.variable_scope(name):
            mean, variance = tf.nn.moments(v, [-1], keepdims=True)
            scale = tf.get_variable("scale", [size], initializer=tf.ones_initializer())
            offset = tf.get_variable("offset", [size], initializer=tf.zeros_initializer())
            return (v - mean) * tf.rsqrt(variance + 1e-6) * scale + offset

    def project(v, units, name):
        with tf.variable_scope(name):
            w = tf.get_variable("w", [v.shape[-1], units])
            return tf.einsum("btd,du->btu", v, w)

    def attention(v):
        split = lambda t: tf.transpose(tf.reshape(t, [batch, length, heads, size // heads]), [0, 2, 1, 3])
        q, k, u = (split(project(v, size, name)) for name in ("q", "k", "v"))
        scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(size / heads).astype("float32")
        mask = tf.matrix_band_part(tf.ones([length, length]), -1, 0)
        weights = tf.nn.softmax(scores - 1e9 * (1 - mask))
        return project(tf.reshape(tf.transpose(tf.matmul(weights, u), [0, 2, 1, 3]), [batch, length, size]), size, "o")

    for block in range(2):
        with tf.variable_scope(f"block{block}"):
            h += attention(layer_norm(h, "before"))
            v = project(layer_norm(h, "between"), 4 * size, "up")
            v = 0.5 * v * (1 + tf.erf(v / np.sqrt(2).astype("float32")))
            h += project(v, size, "down")
    logits = project(h, words, "logits")
    smooth = tf.one_hot(y, words, 0.9, 0.1 / (words - 1))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=smooth, logits=logits))
    step = tf.train.AdamOptimizer(1e-3).minimize(loss)
    text = run.random.randint(0, words, (10, batch, length + 1))
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        train(run, session, 50, loss, step, lambda i: {x: text[i % 10, :, :-1], y: text[i % 10, :, 1:]})
