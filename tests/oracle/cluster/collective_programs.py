"""Collectives between tasks, as between-graph scripts make them: every worker has a graph, a master and a session of its
own, and the members of a group find each other by keys. Each program gives one worker's ops; all workers run it at once.
"""
import threading

import numpy as np
import tensorflow as tf

if hasattr(tf, "compat"):
    tf = tf.compat.v1
tf.disable_v2_behavior()

raw = tf.raw_ops
SIZES = (1, 5, 16, 17, 48, 1000, 100003)


def device(task):
    return "/job:worker/replica:0/task:%d/device:CPU:0" % task


def leader(task):
    return "/job:worker/replica:0/task:%d" % task


def config(leading=0, **options):
    made = tf.ConfigProto(operation_timeout_in_ms=60000, **options)
    made.experimental.collective_group_leader = leader(leading)
    return made


def values(task, size, dtype, shape=None):
    random = np.random.RandomState(100 * task + size % 97)
    if np.dtype(dtype).kind == "i":
        made = random.randint(-1000, 1000, size)
    else:
        made = random.randn(size)
    return made.astype(dtype).reshape(shape or (size,))


def reduce1(x, workers, instance, merge="Add", final="Id", offsets=(0,), **more):
    return raw.CollectiveReduce(input=x, group_size=workers, group_key=7, instance_key=instance, merge_op=merge,
                                final_op=final, subdiv_offsets=list(offsets), **more)


def reductions(task, workers):
    """Every dtype, merge and end, in sizes that pieces do and do not divide."""
    ops, instance = [], 100
    for size in SIZES:
        for offsets in ((0,), (0, -1), ()):
            instance += 1
            ops.append(reduce1(tf.constant(values(task, size, np.float32)), workers, instance, offsets=offsets))
    for dtype in (np.float16, np.float32, np.float64, np.int32, np.int64):
        for merge in ("Add", "Mul", "Min", "Max"):
            for final in ("Id", "Div"):
                instance += 1
                x = values(task, 37, dtype)
                ops.append(reduce1(tf.constant(x), workers, instance, merge, final))
    instance += 1
    ops.append(reduce1(tf.constant(values(task, 24, np.float32, (2, 3, 4))), workers, instance))
    return ops


def rings(task, workers):
    """One ring and two, of sums whose bits tell the order of the members; the second versions decide by the size."""
    ops, instance = [], 900
    for size in (17, 1000, 100003):
        for offsets in ((0,), (0, -1), ()):
            instance += 1
            ops.append(reduce1(tf.constant(values(task, size, np.float32)), workers, instance, offsets=offsets))
    if hasattr(raw, "CollectiveReduceV2"):
        large = tf.constant(values(task, 4 << 20, np.float32))
        ops.append(raw.CollectiveReduceV2(input=large, instance_key=tf.constant(950), group_size=tf.constant(workers),
                                          group_key=tf.constant(7), ordering_token=[], merge_op="Add", final_op="Id",
                                          max_subdivs_per_device=2)[:1000])
    return ops


def gathers(task, workers):
    ops, instance = [], 300
    for shape in ((1,), (5,), (3, 4), (1000,)):
        instance += 1
        x = values(task, int(np.prod(shape)), np.float32, shape)
        ops.append(raw.CollectiveGather(input=tf.constant(x), group_size=workers, group_key=7, instance_key=instance,
                                        shape=[shape[0] * workers] + list(shape[1:])))
    return ops


def broadcasts(task, workers):
    ops, instance = [], 400
    for source in range(workers):
        for dtype in (np.float32, np.int64, np.bool_):
            instance += 1
            x = values(source, 12, np.float32, (3, 4)) * 10
            x = x > 0 if dtype == np.bool_ else x.astype(dtype)
            keys = dict(group_size=workers, group_key=7, instance_key=instance, shape=[3, 4])
            if task == source:
                ops.append(raw.CollectiveBcastSend(input=tf.constant(x), **keys))
            else:
                ops.append(raw.CollectiveBcastRecv(T=tf.as_dtype(dtype), **keys))
    return ops


def second_versions(task, workers):
    """Keys that are inputs, computed ones too."""
    if not hasattr(raw, "CollectiveReduceV2"):
        return []
    keys = dict(group_size=tf.constant(workers), group_key=tf.constant(9))
    computed = tf.placeholder_with_default(500, [])
    x = tf.constant(values(task, 70, np.float32))
    ops = [raw.CollectiveReduceV2(input=x, instance_key=tf.constant(501), ordering_token=[], merge_op="Add", final_op="Div", **keys),
           raw.CollectiveReduceV2(input=x, instance_key=computed + 2, ordering_token=[], merge_op="Max", final_op="Id", **keys),
           raw.CollectiveReduceV2(input=x, instance_key=tf.constant(503), ordering_token=[], merge_op="Add", final_op="Id",
                                  max_subdivs_per_device=2, **keys),
           raw.CollectiveGatherV2(input=x, instance_key=tf.constant(504), ordering_token=[], **keys)]
    if task == 1:
        ops.append(raw.CollectiveBcastSendV2(input=x, instance_key=tf.constant(505), **keys))
    else:
        ops.append(raw.CollectiveBcastRecvV2(T=tf.float32, shape=[70], instance_key=tf.constant(505), **keys))
    return ops


def dependent(task, workers):
    """One needs the other; each worker lists its nodes in another order."""
    x = tf.constant(values(task, 33, np.float32))
    first = reduce1(x, workers, 601)
    other = reduce1(x * 2.0, workers, 602, "Max")
    second = reduce1(first + tf.reduce_sum(other), workers, 603)
    third = reduce1(other - tf.reduce_sum(first), workers, 604)
    return [third, second] if task % 2 else [second, third]


def in_a_loop(task, workers):
    x = tf.constant(values(task, 9, np.float32))

    def body(i, total):
        return i + 1, total + reduce1(x + total, workers, 701, final="Div")

    with tf.device(device(task)):
        return [tf.while_loop(lambda i, t: i < 4, body, [tf.constant(0), tf.zeros([9])], parallel_iterations=1)[1]]


def in_a_long_loop(task, workers):
    """Longer than a second: members are looked at meanwhile."""
    x = tf.constant(values(task, 9, np.float32))

    def body(i, total):
        return i + 1, reduce1(x + 0.5 * total, workers, 702, final="Div")

    with tf.device(device(task)):
        return [tf.while_loop(lambda i, t: i < 1500, body, [tf.constant(0), tf.zeros([9])], parallel_iterations=1)[1]]


def training(task, workers):
    """Replicas that add up their gradients: all variables stay equal."""
    random = np.random.RandomState(5)
    wanted = random.randn(6, 2).astype(np.float32)
    random = np.random.RandomState(50 + task)
    data = random.randn(8, 6).astype(np.float32)
    x, y = tf.constant(data), tf.constant(data.dot(wanted))
    w = tf.get_variable("w%d" % task, initializer=np.linspace(-1, 1, 12).reshape(6, 2).astype(np.float32), use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    gradients = [(reduce1(g, workers, 801, final="Div"), v) for g, v in optimizer.compute_gradients(loss, [w])]
    return [tf.global_variables_initializer(), [loss, optimizer.apply_gradients(gradients)], w]


PROGRAMS = [reductions, gathers, broadcasts, second_versions, dependent, in_a_loop, in_a_long_loop]


def plain(program, task, workers, session_of):
    with tf.Graph().as_default(), tf.device(device(task)):
        ops = program(task, workers)
        with session_of(task) as session:
            return [session.run(ops) for _ in range(2)] if ops else []


def trained(task, workers, session_of):
    with tf.Graph().as_default(), tf.device(device(task)):
        init, step, w = training(task, workers)
        with session_of(task) as session:
            session.run(init)
            losses = [session.run(step)[0] for _ in range(12)]
            return losses + [session.run(w)]


def at_once(workers, call, seconds=240):
    """call(task) of every worker in a thread of its own: {task: result or exception}; one that hangs is a TimeoutError."""
    results = {}

    def run(task):
        try:
            results[task] = call(task)
        except Exception as error:
            results[task] = error

    threads = [threading.Thread(target=run, args=(task,), daemon=True) for task in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
    return {task: results.get(task, TimeoutError("hangs")) for task in workers}
