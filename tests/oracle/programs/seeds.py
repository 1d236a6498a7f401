"""What the first users of several GPUs wrote: matrix powers, one job per GPU, ensembles, one big model over GPUs."""
import threading

import numpy as np
import tensorflow.compat.v1 as tf

from program import dense, program, train


@program
def matrix_powers(run):
    """A^n + B^n: on one device, then a power on each of two."""
    n, size = 10, 200
    a_value = run.random.rand(size, size).astype("float32") / size
    b_value = run.random.rand(size, size).astype("float32") / size

    def matpow(m, n):
        return m if n < 1 else tf.matmul(m, matpow(m, n - 1))

    c1, c2 = [], []
    with tf.device("/gpu:0"):
        c1 += [matpow(tf.constant(a_value), n), matpow(tf.constant(b_value), n)]
    with tf.device("/cpu:0"):
        total = tf.add_n(c1)
    with run.session(log_device_placement=True) as session:
        run.keep("on one", session.run(total))
    with tf.device("/gpu:0"):
        c2.append(matpow(tf.constant(a_value), n))
    with tf.device("/gpu:1"):
        c2.append(matpow(tf.constant(b_value), n))
    with tf.device("/cpu:0"):
        total = tf.add_n(c2)
    with run.session(log_device_placement=True) as session:
        run.keep("on two", session.run(total))


def _classifier(nodes, learning_rate=0.01, scope="model"):
    with tf.variable_scope(scope):
        x = tf.placeholder(tf.float32, [None, 784], name="input")
        y = tf.placeholder(tf.int64, [None], name="label")
        keep = tf.placeholder_with_default(1.0, [], name="dropout")
        hidden = tf.nn.dropout(dense(x, nodes, "hidden", tf.nn.relu), rate=1 - keep)
        logits = dense(hidden, 10, "logits")
        cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="cost")
        tf.train.GradientDescentOptimizer(learning_rate).minimize(cost, name="train")
        tf.identity(tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32)), name="accuracy")
    return cost


def _batches(run, count, size=10):
    return [(run.random.rand(size, 784).astype("float32"), run.random.randint(0, 10, size)) for _ in range(count)]


@program
def one_job_per_gpu(run):
    """Two jobs in one process, each with a GPU of its own, named gpu:0 in both."""
    batches = _batches(run, 20)

    def job(gpu, graph, out):
        with graph.as_default():
            config = tf.ConfigProto(allow_soft_placement=True,
                                    gpu_options=tf.GPUOptions(visible_device_list=str(gpu), allow_growth=True,
                                                              per_process_gpu_memory_fraction=0.4))
            with run.session_of(config, graph) as session:
                session.run(tf.global_variables_initializer())
                for x, y in batches:
                    feed = {"model/input:0": x, "model/label:0": y}
                    out.append(session.run(["model/cost:0", "model/train"], feed)[0])

    jobs = []
    for gpu in range(2):
        graph = tf.Graph()
        with graph.as_default(), tf.device("/gpu:0"):
            tf.set_random_seed(gpu)
            with tf.container(f"job{gpu}"):
                _classifier(32)
        jobs.append((gpu, graph, []))
    threads = [threading.Thread(target=job, args=arguments) for arguments in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for gpu, _, losses in jobs:
        run.keep(f"losses of job {gpu}", np.array(losses), 1e-4)


@program
def ensemble(run):
    """A model on each of two GPUs, the same names in two scopes; one step trains both, threads train them again."""
    for gpu in range(2):
        with tf.device(f"/gpu:{gpu}"):
            _classifier(16 * (gpu + 1), scope=f"model{gpu}")
    batches = _batches(run, 25)
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        both = []
        for x, y in batches:
            feed = {f"model{i}/{what}:0": value for i in range(2) for what, value in (("input", x), ("label", y))}
            both.append(session.run([f"model{i}/cost:0" for i in range(2)] + [f"model{i}/train" for i in range(2)],
                                    feed)[:2])
        run.keep("losses together", np.array(both), 1e-4)
        alone = [[], []]

        def one(i):
            for x, y in batches:
                feed = {f"model{i}/input:0": x, f"model{i}/label:0": y}
                alone[i].append(session.run([f"model{i}/cost:0", f"model{i}/train"], feed)[0])

        threads = [threading.Thread(target=one, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        run.keep("losses in threads", np.array(alone), 1e-4)


@program
def one_big_model(run):
    """Layers on two GPUs, conditional statements and a loop on the CPU."""
    x = tf.placeholder(tf.float32, [None, 32])
    y = tf.placeholder(tf.float32, [None, 1])
    with tf.device("/gpu:0"):
        hidden = dense(x, 64, "first", tf.nn.relu)
    with tf.device("/gpu:1"):
        hidden = dense(hidden, 64, "second", tf.tanh)
        out = dense(hidden, 1, "out")
        loss = tf.reduce_mean(tf.square(out - y))
    with tf.device("/cpu:0"):
        step_number = tf.Variable(0, trainable=False, dtype=tf.int64)
        rate = tf.cond(step_number < 10, lambda: tf.constant(0.05), lambda: tf.constant(0.01))
        _, doublings = tf.while_loop(lambda v, n: v < 1000.0, lambda v, n: (v * 2.0, n + 1),
                                     [tf.abs(loss) + 1.0, tf.constant(0)])
    step = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step_number,
                                                            colocate_gradients_with_ops=True)
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        data = [(run.random.randn(16, 32), run.random.randn(16, 1)) for _ in range(50)]
        train(run, session, 50, loss, step, lambda i: {x: data[i][0], y: data[i][1]})
        run.keep("doublings", session.run(doublings, {x: data[0][0], y: data[0][1]}))


@program
def autoencoder(run):
    """The convolutional auto-encoder of a question about two GPUs, its shapes repaired, narrower and shallower."""
    width, height, channels = 16, 16, 1

    def conv_layer(value, depth_in, depth_out, name):
        with tf.name_scope(name):
            w = tf.Variable(tf.truncated_normal([3, 3, depth_in, depth_out], stddev=0.1), name="W")
            b = tf.Variable(tf.constant(0.1, shape=[depth_out]), name="B")
            result = tf.nn.relu(tf.nn.conv2d(value, w, strides=[1, 1, 1, 1], padding="SAME") + b)
            tf.summary.histogram("weights", w)
            tf.summary.histogram("biases", b)
            tf.summary.histogram("activations", result)
            return tf.nn.max_pool(result, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    def deconv_layer(value, depth_in, depth_out, name):
        with tf.name_scope(name):
            w = tf.Variable(tf.truncated_normal([3, 3, depth_out, depth_in], stddev=0.1), name="W")
            b = tf.Variable(tf.constant(0.1, shape=[depth_out]), name="B")
            shape = tf.shape(value)
            output_shape = tf.stack([shape[0], shape[1] * 2, shape[2] * 2, depth_out])
            result = tf.nn.conv2d_transpose(value, w, output_shape, strides=[1, 2, 2, 1], padding="SAME") + b
            result = tf.nn.relu(result)
            tf.summary.histogram("activations", result)
            return result

    x = tf.placeholder(tf.float32, (None, width, height, channels), name="X")
    y_ = tf.placeholder(tf.float32, (None, width, height, channels), name="Y")
    towers, losses = [], []
    optimizer = tf.train.AdamOptimizer(1e-3)
    halves = zip(tf.split(x, 2), tf.split(y_, 2))
    for gpu, (half, wanted) in enumerate(halves):
        with tf.device(f"/gpu:{gpu}"), tf.variable_scope("", reuse=gpu > 0):
            c8 = conv_layer(half, 1, 8, f"c8_{gpu}")
            c16 = conv_layer(c8, 8, 16, f"c16_{gpu}")
            d8 = deconv_layer(c16, 16, 8, f"d8_{gpu}")
            d1 = deconv_layer(d8, 8, 1, f"d1_{gpu}")
            losses.append(tf.reduce_sum(tf.pow(d1 - wanted, 2)) / (width * height * channels))
            towers.append(d1)
    loss = tf.add_n(losses)
    tf.summary.image("output", tf.concat(towers, 0), 6)
    tf.summary.scalar("Training_Loss", loss)
    step = optimizer.minimize(loss)
    merged = tf.summary.merge_all()
    images = run.random.rand(8, width, height, channels).astype("float32")
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        train(run, session, 50, loss, step, lambda i: {x: images, y_: images})
        summary = tf.Summary.FromString(session.run(merged, {x: images, y_: images}))
        run.keep("summaries", sorted(value.tag for value in summary.value))
        run.keep("scalar", [v.simple_value for v in summary.value if v.tag == "Training_Loss"][0], 1e-4)
