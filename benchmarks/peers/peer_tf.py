"""TensorFlow in graph mode. peer_tf.py train MODEL BATCH OPTIMIZER THREADS SECONDS | matpow N THREADS SECONDS |
towers MODEL BATCH OPTIMIZER TOWERS SECONDS | exec SECONDS | first NODES | ckpt DIR | start"""
import os
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import numpy as np
import tensorflow as tf

import work

v1 = tf.compat.v1
v1.disable_eager_execution()


def config(threads, optimize=True):
    made = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    if not optimize:  # else steady runs fetch what was folded at the first one
        made.graph_options.rewrite_options.disable_meta_optimizer = True
        made.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    return made


def variable(name, shape, value=None):
    initializer = v1.glorot_uniform_initializer(seed=1) if value is None else v1.constant_initializer(value)
    return v1.get_variable(name, shape, tf.float32, initializer=initializer, use_resource=True)


def dense(x, units, name, activation=tf.nn.relu):
    kernel = variable(name + "/kernel", [int(x.shape[-1]), units])
    y = tf.nn.bias_add(tf.matmul(x, kernel), variable(name + "/bias", [units], 0.0))
    return activation(y) if activation else y


def conv(x, window, filters, name, stride=1, activation=tf.nn.relu, bias=True):
    kernel = variable(name + "/kernel", [window, window, int(x.shape[-1]), filters])
    y = tf.nn.conv2d(x, kernel, stride, "SAME")
    if bias:
        y = tf.nn.bias_add(y, variable(name + "/bias", [filters], 0.0))
    return activation(y) if activation else y


def batch_norm(x, name):
    width = int(x.shape[-1])
    return v1.nn.fused_batch_norm(
        x, variable(name + "/gamma", [width], 1.0), variable(name + "/beta", [width], 0.0), epsilon=1e-5)[0]


def lenet(x):
    h = tf.reshape(x, [-1, 28, 28, 1])
    h = tf.nn.max_pool2d(conv(h, 5, 32, "conv1"), 2, 2, "SAME")
    h = tf.nn.max_pool2d(conv(h, 5, 64, "conv2"), 2, 2, "SAME")
    return dense(dense(tf.reshape(h, [-1, 3136]), 1024, "dense1"), 10, "dense2", None)


def autoencoder(x):
    h = x
    for i, width in enumerate(work.encoder(work.Choices())):
        h = tf.nn.max_pool2d(conv(h, 3, width, f"down{i}"), 2, 2, "SAME")
    for i, width in enumerate(reversed(work.encoder(work.Choices()))):
        size, channels = int(h.shape[1]) * 2, int(h.shape[-1])
        kernel = variable(f"up{i}/kernel", [3, 3, width, channels])
        h = tf.nn.conv2d_transpose(h, kernel, tf.stack([tf.shape(h)[0], size, size, width]), 2, "SAME")
        h = tf.nn.relu(tf.nn.bias_add(h, variable(f"up{i}/bias", [width], 0.0)))
        h.set_shape([None, size, size, width])
    return conv(h, 3, 1, "out", activation=None)


def resnet50(x):
    h = tf.nn.relu(batch_norm(conv(x, 7, 64, "stem", 2, None, False), "stem/norm"))
    h = tf.nn.max_pool2d(h, 3, 2, "SAME")
    for stage, (width, blocks) in enumerate(work.RESNET50):
        for block in range(blocks):
            name, stride, short = f"s{stage}b{block}", 2 if block == 0 and stage > 0 else 1, h
            if block == 0:
                short = batch_norm(conv(h, 1, 4 * width, name + "/p", stride, None, False), name + "/pn")
            g = tf.nn.relu(batch_norm(conv(h, 1, width, name + "/1", 1, None, False), name + "/1n"))
            g = tf.nn.relu(batch_norm(conv(g, 3, width, name + "/2", stride, None, False), name + "/2n"))
            h = tf.nn.relu(batch_norm(conv(g, 1, 4 * width, name + "/3", 1, None, False), name + "/3n") + short)
    return dense(tf.reduce_mean(h, [1, 2]), 1000, "head", None)


MODELS = {
    "mlp": ([784], [10], lambda x: dense(dense(dense(x, 256, "d1"), 256, "d2"), 10, "d3", None)),
    "lenet": ([784], [10], lenet),
    "autoencoder": ([64, 64, 1], [64, 64, 1], autoencoder),
    "resnet": ([224, 224, 3], [1000], resnet50),
}


def placeholders(model):
    return [v1.placeholder(tf.float32, [None] + shape) for shape in MODELS[model][:2]]


def loss_of(model, x, y):
    out = MODELS[model][2](x)
    if model == "autoencoder":
        return tf.reduce_mean(tf.square(out - y))
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=out))


def rule_of(optimizer):
    rate = work.LEARNING_RATE[optimizer]
    return v1.train.GradientDescentOptimizer(rate) if optimizer == "sgd" else v1.train.AdamOptimizer(rate)


def callable_of(how, train_op, loss, x, y):
    session = v1.Session(config=how)
    session.run(v1.global_variables_initializer())
    return session.make_callable([train_op, loss], feed_list=[x, y])


def training_step(model, optimizer, threads):
    x, y = placeholders(model)
    loss = loss_of(model, x, y)
    return callable_of(config(threads), rule_of(optimizer).minimize(loss), loss, x, y)


def tower_step(model, optimizer, towers):
    """The batch over logical CPU devices of one thread each, shared variables, gradients averaged by hand."""
    x, y = placeholders(model)
    rule, gradients, losses = rule_of(optimizer), [], []
    for k, (xs, ys) in enumerate(zip(tf.split(x, towers), tf.split(y, towers))):
        with tf.device(f"/cpu:{k}"), v1.variable_scope("model", reuse=k > 0):
            losses.append(loss_of(model, xs, ys))
            gradients.append(rule.compute_gradients(losses[-1], v1.trainable_variables()))
    means = [(tf.add_n([g for g, _ in each]) / towers, each[0][1]) for each in zip(*gradients)]
    how = config(1)
    how.device_count["CPU"] = towers
    how.inter_op_parallelism_threads = towers
    return callable_of(how, rule.apply_gradients(means), tf.add_n(losses) / towers, x, y)


def towers(model, batch, optimizer, count, seconds):
    step = tower_step(model, optimizer, int(count))
    work.tell_training(model, int(batch), step, work.batches(model, int(batch)), float(seconds))


def train(model, batch, optimizer, threads, seconds):
    step = training_step(model, optimizer, int(threads))
    work.tell_training(model, int(batch), step, work.batches(model, int(batch)), float(seconds))


def matpow(size, threads, seconds):
    size = int(size)
    random = np.random.RandomState(0)
    matrices = [random.rand(size, size).astype("float32") * (2.0 / size) for _ in range(2)]
    inputs = [v1.placeholder(tf.float32, [size, size]) for _ in matrices]
    powers = []
    for m in inputs:
        power = m
        for _ in range(10):
            power = tf.matmul(m, power)
        powers.append(power)
    session = v1.Session(config=config(int(threads), optimize=False))
    once = session.make_callable(tf.add_n(powers), feed_list=inputs)
    work.tell_matpow(size, 20, lambda: once(*matrices), float(seconds))


def chain(x, one, ops):
    for _ in range(ops):
        x = tf.raw_ops.AddV2(x=x, y=one)
    return x


def fan(x, one, ops):
    return tf.add_n([tf.raw_ops.AddV2(x=x, y=one) for _ in range(ops)])


def tree(x, one, ops):
    level = [tf.raw_ops.AddV2(x=x, y=one) for _ in range((ops + 1) // 2)]
    while len(level) > 1:
        level = [tf.raw_ops.AddV2(x=a, y=b) for a, b in zip(level[::2], level[1::2])] + level[len(level) & ~1 :]
    return level[0]


def power(x, w, turns):
    _, y = v1.while_loop(lambda i, y: i < turns, lambda i, y: (i + 1, y * w), (0, x))
    return y


def power_gradient(x, w, turns):
    return v1.gradients(power(x, w, turns), x)[0]


def conds(x, one, count):
    even = tf.equal(x, one)
    for _ in range(count):
        x = v1.cond(even, lambda x=x: tf.raw_ops.AddV2(x=x, y=one), lambda x=x: tf.raw_ops.AddV2(x=one, y=x))
    return x


def control_flow(seconds):
    """Loops and conds as graphs of TensorFlow 1.x have them: Switch and Merge, on the executor that knows them."""
    v1.disable_control_flow_v2()
    kinds = (("loop", power, "ns/iteration", 10000), ("loop and gradient", power_gradient, "ns/iteration", 10000),
             ("conds", conds, "ns/cond", 2000))
    for name, build, unit, count in kinds:
        with tf.Graph().as_default():
            x, w = v1.placeholder(tf.float32, []), v1.placeholder(tf.float32, [])
            once = v1.Session(config=config(1, optimize=False)).make_callable(build(x, w, count), feed_list=[x, w])
            zero, one = np.float32(0), np.float32(1)
            times = work.seconds_of(lambda: once(zero, one), float(seconds) / 4)
            work.tell(name, unit, [t * 1e9 / count for t in times])


def executor(seconds):
    """Scalar additions, nothing folded: TensorFlow's single-threaded executor, its fastest here."""
    for name, build in (("chain", chain), ("fan", fan), ("tree", tree)):
        with tf.Graph().as_default():
            x, one = v1.placeholder(tf.float32, []), v1.placeholder(tf.float32, [])
            y = build(x, one, 10000)
            how = config(1, optimize=False)
            how.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
            once = v1.Session(config=how).make_callable(y, feed_list=[x, one])
            zero, step = np.float32(0), np.float32(1)
            times = work.seconds_of(lambda: once(zero, step), float(seconds) / 4)
            work.tell(name, "ns/op", [t * 1e5 for t in times])
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        once = v1.Session(config=config(1)).make_callable(x + 1.0, feed_list=[x])
        times = work.seconds_of(lambda: once(np.float32(1)), float(seconds) / 4)
        work.tell("feed, add, fetch", "ns", [t * 1e9 for t in times])
    control_flow(seconds)


def first(nodes):
    """The first step of a deep perceptron of narrow layers with gradients and updates; Grappler as by default."""
    x = v1.placeholder(tf.float32, [None, 4])
    h, layers = x, 0
    graph = v1.get_default_graph()
    while len(graph.get_operations()) < int(nodes) * 0.45:
        h = dense(h, 4, f"layer{layers}")
        layers += 1
    loss = tf.reduce_mean(tf.square(h))
    train_op = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = v1.Session(config=config(1))
    session.run(v1.global_variables_initializer())
    size = len(graph.get_operations())
    start = time.perf_counter()
    session.run([train_op, loss], {x: np.zeros([4, 4], np.float32)})
    work.tell("first step", "us/node", [(time.perf_counter() - start) * 1e6 / size])


def checkpoint(directory):
    """1 GiB in 64 variables: saved and made durable, read back while the page cache holds it."""
    elements = (16 << 20) // 4
    variables = [v1.get_variable(f"v{i}", [elements], initializer=v1.random_uniform_initializer(seed=i),
                                 use_resource=True) for i in range(64)]
    saver = v1.train.Saver(variables, max_to_keep=1)
    session = v1.Session(config=config(2))
    session.run(v1.global_variables_initializer())
    saves, restores = [], []
    for step in range(3):
        start = time.perf_counter()
        prefix = saver.save(session, os.path.join(directory, "model"), global_step=step, write_meta_graph=False)
        for name in os.listdir(directory):
            descriptor = os.open(os.path.join(directory, name), os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        saves.append(2**30 / (time.perf_counter() - start) * 1e-9)
        start = time.perf_counter()
        saver.restore(session, prefix)
        restores.append(2**30 / (time.perf_counter() - start) * 1e-9)
    work.tell("durable save", "GB/s", saves, best=max)
    work.tell("restore", "GB/s", restores, best=max)


def start():
    feeds = work.batches("mlp", 10)
    training_step("mlp", "sgd", 1)(*feeds[0])


if __name__ == "__main__":
    tasks = {"train": train, "towers": towers, "matpow": matpow, "exec": executor, "first": first, "ckpt": checkpoint,
             "start": start}
    tasks[sys.argv[1]](*sys.argv[2:])
