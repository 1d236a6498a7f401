"""Programs of a client of a cluster with jobs ps (2 tasks) and worker (2 tasks), for TensorFlow 1.15 and 2.x. Each
returns numbers or texts that do not depend on who serves the tasks.

  cluster_programs.py CLUSTER_JSON MASTER RESULTS NAME...      MASTER: worker:0
"""
import json
import sys
import threading
import traceback

import numpy as np
import tensorflow as tf

from cluster_client import batches, config, model, model_of_rows, session, setter, SPEC, target, train

if hasattr(tf, "compat"):
    tf = tf.compat.v1
tf.disable_v2_behavior()


def gradient_descent():
    return train(lambda: tf.train.GradientDescentOptimizer(0.1))


def adam_resource_variables():
    return train(lambda: tf.train.AdamOptimizer(0.05), resource=True)


def momentum():
    return train(lambda: tf.train.MomentumOptimizer(0.05, 0.9))


def partitioned_variables():
    with tf.device(setter()):
        ids = tf.placeholder(tf.int64, [None])
        table = tf.get_variable("table", [10, 3], partitioner=tf.fixed_size_partitioner(2),
                                initializer=tf.constant_initializer(0.5))
        rows = tf.nn.embedding_lookup(table, ids, partition_strategy="div")
        loss = tf.reduce_sum(tf.square(rows - 1.0))
        update = tf.train.AdagradOptimizer(0.1).minimize(loss)
    devices = sorted(v.device for v in tf.global_variables() if "Adagrad" not in v.name)
    losses = []
    with session() as s:
        s.run(tf.global_variables_initializer())
        for _ in range(4):
            losses.append(float(s.run([loss, update], {ids: [1, 7, 7, 2]})[0]))
        losses.append(float(np.sum(s.run(table.as_tensor()))))
    return losses + devices


def in_graph():
    """One client, one graph, towers on two workers, sums on a server."""
    optimizer = tf.train.GradientDescentOptimizer(0.05)
    with tf.device("/job:ps/task:1"):
        w = tf.get_variable("w", initializer=np.ones((6, 2), np.float32))
    x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 2])
    losses, gradients = [], []
    for i in range(2):
        with tf.device("/job:worker/task:%d" % i):
            loss = tf.reduce_mean(tf.square(tf.matmul(x[4 * i:4 * i + 4], w) - y[4 * i:4 * i + 4]))
            losses.append(loss)
            gradients.append(optimizer.compute_gradients(loss, [w])[0])
    with tf.device("/job:ps/task:1"):
        update = optimizer.apply_gradients([((gradients[0][0] + gradients[1][0]) / 2, w)])
        total = tf.add_n(losses)
    with session() as s:
        s.run(tf.global_variables_initializer())
        return [float(s.run([total, update], {x: a, y: b})[0]) for a, b in batches(6)]


def two_clients():
    """Between-graph replication: each worker's client has a session of its own master; turns are taken in order."""
    steps = []
    graphs = [tf.Graph(), tf.Graph()]
    for i, graph in enumerate(graphs):
        with graph.as_default(), tf.device(setter(i)):
            steps.append(model(tf.train.GradientDescentOptimizer(0.1), False))
            init = tf.global_variables_initializer()
            if i == 0:
                first = init
    losses = []
    with tf.Session(target("worker:0"), graph=graphs[0], config=config()) as a, \
            tf.Session(target("worker:1"), graph=graphs[1], config=config()) as b:
        a.run(first)
        for turn, (u, v) in enumerate(batches(8)):
            x, y, loss, update = steps[turn % 2]
            losses.append(float((a, b)[turn % 2].run([loss, update], {x: u, y: v})[0]))
    return losses


def queue_between_sessions():
    def build():
        with tf.device("/job:ps/task:0"):
            return tf.FIFOQueue(10, [tf.float32], shapes=[[2]], shared_name="between")
    graphs = [tf.Graph(), tf.Graph()]
    with graphs[0].as_default():
        value = tf.placeholder(tf.float32, [None, 2])
        put = build().enqueue_many([value])
    with graphs[1].as_default():
        queue = build()
        with tf.device("/job:worker/task:1"):
            taken = queue.dequeue() * 2.0
        size = queue.size()
    got = []
    with tf.Session(target("worker:0"), graph=graphs[0], config=config()) as a, \
            tf.Session(target("worker:1"), graph=graphs[1], config=config()) as b:
        waiting = threading.Thread(target=lambda: got.append(b.run(taken).tolist()))
        waiting.start()  # waits at the queue of another task
        a.run(put, {value: [[1, 2], [3, 4], [5, 6]]})
        waiting.join()
        got.append(b.run(taken).tolist())
        got.append(int(b.run(size)))
        got.append(b.run(taken).tolist())
    return got


def sync_replicas():
    return synchronous(model)


def sync_replicas_of_rows():
    return synchronous(model_of_rows)


def synchronous(build):
    """No tokens at the start: nobody runs ahead, so both gradients of a step are of the same variables."""
    losses = {}
    chief_is_ready = threading.Event()

    def worker(index):
        with tf.Graph().as_default(), tf.container(build.__name__.replace("_", ".")):
            with tf.device(setter(index)):
                optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1),
                                                           replicas_to_aggregate=2, total_num_replicas=2)
                x, y, loss, update = build(optimizer, False)
                step = tf.train.get_global_step()
            hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
            if index == 1:
                chief_is_ready.wait(60)
            with tf.train.MonitoredTrainingSession(target("worker:%d" % index), is_chief=index == 0, hooks=[hook],
                                                   config=config(), stop_grace_period_secs=5) as s:
                chief_is_ready.set()
                for turn, (a, b) in enumerate(batches(6)):
                    half = slice(4 * index, 4 * index + 4)
                    value = s.run([loss, update], {x: a[half], y: b[half]})[0]
                    losses[turn, index] = float(value)

    failures = []

    def guarded(index):
        try:
            worker(index)
        except BaseException:
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    if failures:
        raise RuntimeError(failures[0])
    return [losses[turn, index] for turn in range(6) for index in range(2)]


def asynchronous():
    """Two workers update a counter at once: every update is applied, once."""
    def worker(index, counts):
        with tf.Graph().as_default():
            with tf.device(setter(index)):
                total = tf.get_variable("total", initializer=np.float32(0), use_resource=False)
                add = tf.assign_add(total, 1.0, use_locking=True)
                init = tf.global_variables_initializer()
            with tf.Session(target("worker:%d" % index), config=config()) as s:
                if index == 0:
                    s.run(init)
                    ready.set()
                ready.wait()
                for _ in range(50):
                    s.run(add.op)
                barrier.append(index)
                while len(barrier) < 2:
                    pass
                counts.append(float(s.run(total)))
    ready, barrier, counts = threading.Event(), [], []
    threads = [threading.Thread(target=worker, args=(i, counts)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    return counts


def loop_on_one_worker():
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.float32(1.5))
        limit = tf.placeholder(tf.int32, [])
    with tf.device("/job:worker/task:1"):
        i, total = tf.while_loop(lambda i, t: i < limit, lambda i, t: (i + 1, t * w + tf.cast(i, tf.float32)),
                                 [tf.constant(0), tf.constant(1.0)])
        chosen = tf.cond(limit > 3, lambda: total + 1.0, lambda: total - 1.0)
    with tf.device("/job:ps/task:1"):
        out = chosen * 2.0
    with session() as s:
        s.run(tf.global_variables_initializer())
        return [[float(v) for v in s.run([total, out], {limit: n})] for n in (0, 3, 5)]


def lists_between_tasks():
    """Lists of tensors go there and back; a list in a list; strings. A place of the first is empty."""
    ops, ps, worker = tf.raw_ops, "/job:ps/task:1", "/job:worker/task:0"
    anything, scalar = tf.constant(-1), tf.constant([], tf.int32)
    x = tf.placeholder(tf.float32, [2])
    with tf.device(ps):
        numbers = ops.TensorListReserve(element_shape=tf.constant([2]), num_elements=tf.constant(3), element_dtype=tf.float32)
        words = ops.EmptyTensorList(element_shape=anything, max_num_elements=anything, element_dtype=tf.string)
        for word in ("a", "bc"):
            words = ops.TensorListPushBack(input_handle=words, tensor=tf.constant(word))
    with tf.device(worker):
        numbers = ops.TensorListSetItem(input_handle=numbers, index=0, item=x)
    with tf.device(ps):
        numbers = ops.TensorListSetItem(input_handle=numbers, index=2, item=x * 2.0)
        nested = ops.EmptyTensorList(element_shape=scalar, max_num_elements=anything, element_dtype=tf.variant)
        nested = ops.TensorListPushBack(input_handle=nested, tensor=numbers)
    with tf.device(worker):
        inner = ops.TensorListPopBack(input_handle=nested, element_shape=scalar, element_dtype=tf.variant)[1]
        left, word = ops.TensorListPopBack(input_handle=words, element_shape=scalar, element_dtype=tf.string)
        given = [ops.TensorListStack(input_handle=l, element_shape=tf.constant([2]), element_dtype=tf.float32, num_elements=-1)
                 for l in (numbers, inner)]
        given += [word, ops.TensorListLength(input_handle=left)]
    with session() as s:
        first, second, word, count = s.run(given, {x: [1, 2]})
    return first.tolist() + second.tolist() + [word.decode(), int(count)]


def optionals_between_tasks():
    """What the gradient of a v2 tf.cond keeps for the branch that was taken; optionals with and without a value."""
    x, taken = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.bool, [])
    with tf.device("/job:ps/task:1"):
        v = tf.get_variable("v", initializer=np.float32([1, 2, 3]), use_resource=True)

    def branch():
        with tf.device("/job:worker/task:1"):
            y = tf.exp(x * v)
        with tf.device("/job:ps/task:0"):
            return tf.reduce_sum(y * y)

    def other():
        with tf.device("/job:worker/task:0"):
            return tf.reduce_sum(tf.sin(x * v))

    tf.enable_control_flow_v2()
    try:
        loss = tf.cond(taken, branch, other)
    finally:
        tf.disable_control_flow_v2()
    gradients = tf.gradients(loss, [x, v])
    with tf.device("/job:ps/task:0"):
        some = [tf.raw_ops.OptionalFromValue(components=[x, tf.constant("text")]), tf.raw_ops.OptionalNone()]
    with tf.device("/job:worker/task:1"):
        there = [tf.raw_ops.OptionalHasValue(optional=o) for o in some]
        there += tf.raw_ops.OptionalGetValue(optional=some[0], output_types=[tf.float32, tf.string],
                                             output_shapes=[[3], []])
    with session() as s:
        s.run(v.initializer)
        found = [np.asarray(value).tolist() for flag in (True, False)
                 for value in s.run([loss] + gradients, {x: [0.1, 0.2, 0.3], taken: flag})]
        return found + [str(value) for value in s.run(there, {x: [4, 5, 6]})]


def loop_over_tasks():
    """A loop in a loop, of which every task has a part."""
    def inner(j, value):
        with tf.device("/job:ps/task:0"):
            value = value * 2.0
        with tf.device("/job:worker/task:1"):
            return j + 1, value + 1.0

    def body(i, value):
        with tf.device("/job:worker/task:0"):
            value = tf.while_loop(lambda j, v: j < 2, inner, [tf.constant(0), value])[1]
        with tf.device("/job:ps/task:1"):
            return i + 1, value - 0.5

    limit = tf.placeholder(tf.int32, [])
    with tf.device("/job:worker/task:0"):
        out = tf.while_loop(lambda i, value: i < limit, body, [tf.constant(0), tf.constant(1.0)])[1]
    with session() as s:
        return [float(s.run(out, {limit: n})) for n in (3, 0, 1)]


def partial_run():
    with tf.device("/job:worker/task:1"):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        first = a + 1.0
    with tf.device("/job:ps/task:0"):
        second = first * b
    with session() as s:
        handle = s.partial_run_setup([first, second], [a, b])
        one = s.partial_run(handle, first, {a: 3.0})
        return [float(one), float(s.partial_run(handle, second, {b: 10.0}))]


def errors():
    texts = []
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [None])
        bad = tf.check_numerics(x, "not a number there")
    with tf.device("/job:ps/task:0"):
        out = bad + 1.0
    with session() as s:
        for value in ([1.0], [np.inf], [2.0]):
            try:
                texts.append(s.run(out, {x: value}).tolist())
            except tf.errors.InvalidArgumentError as e:
                texts.append([type(e).__name__, e.op.name if e.op is not None else None, "not a number there" in e.message])
    try:
        with tf.device("/job:ps/task:7"):
            far = tf.constant(1.0) + 1.0
        with session() as s:
            s.run(far)
    except tf.errors.OpError as e:
        texts.append([type(e).__name__, "/job:ps/task:7" in e.message])
    return texts


def device_filters():
    filters = ["/job:ps", "/job:worker/task:0"]
    with session(device_filters=filters) as s:
        return sorted(d.name for d in s.list_devices())


def isolated_state():
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.float32(2.0))
        add = tf.assign_add(w, 1.0)
    got = []
    with session(isolate_session_state=True) as a, session(isolate_session_state=True) as b:
        a.run(tf.global_variables_initializer())
        b.run(tf.global_variables_initializer())
        a.run(add.op)
        got += [float(a.run(w)), float(b.run(w))]
    return got


def reset_container():
    with tf.container("kept.apart"), tf.device("/job:ps/task:1"):
        w = tf.get_variable("w", initializer=np.float32(2.0), use_resource=False)
    with session() as s:
        s.run(tf.global_variables_initializer())
        before = float(s.run(w))
    tf.Session.reset(target(), ["kept.apart"], config())
    with session() as s:
        try:
            return [before, float(s.run(w))]
        except tf.errors.FailedPreconditionError as e:
            return [before, type(e).__name__]


def fetched_references():
    """A fetched read has the value of the update that it waits for, wherever the variable lives."""
    with tf.device("/job:ps/task:1"):
        v = tf.get_variable("v", initializer=np.float32(1), use_resource=False)
        assigned = tf.assign(v, v * 3 + 1)
        with tf.control_dependencies([assigned]):
            read = v.read_value()
    with session() as s:
        s.run(v.initializer)
        return [float(s.run(fetch)) for fetch in (read, read, v)]


def one_name_on_three_tasks():
    """Soft placement gives up a device, never a task."""
    queues, variables = [], []
    for number, task in enumerate(["/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:1"]):
        with tf.device(task):
            queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]], shared_name="one_name")
            queues.append((queue.enqueue_many([np.ones(number + 1, np.float32)]), queue.size()))
    with session(allow_soft_placement=True) as s:
        for enqueue, _ in queues:
            s.run(enqueue)
        sizes = [int(s.run(size)) for _, size in queues]
    for target_of in ("worker:0", "worker:1"):  # each puts it on the other one
        tf.reset_default_graph()
        with tf.container("one.name"), tf.device("/job:worker/task:%d" % (target_of == "worker:0")):
            v = tf.get_variable("v", initializer=np.float32(2), use_resource=True)
        with session(target_of, allow_soft_placement=True) as s:
            variables.append(bool(s.run(tf.is_variable_initialized(v))))
            s.run(v.initializer)
    return [sizes, variables]


def dead_values():
    """A branch that is not taken has nodes on three tasks."""
    with tf.device("/job:worker/task:0"):
        p = tf.placeholder(tf.bool, [])
        x = tf.constant([1.0, 2.0])
        off, on = tf.raw_ops.Switch(data=x, pred=p)
    with tf.device("/job:worker/task:1"):
        up = on + 1.0
    with tf.device("/job:ps/task:0"):
        down = off - 1.0
    with tf.device("/job:ps/task:1"):
        merged = tf.raw_ops.Merge(inputs=[up, down])[0]
    with session() as s:
        return [s.run(merged, {p: value}).tolist() for value in (True, False)]


def run_metadata():
    with tf.device("/job:worker/task:1"):
        a = tf.placeholder(tf.float32, [4, 4])  # of a constant all would be folded
        b = tf.matmul(a, a, name="product")
    with tf.device("/job:ps/task:0"):
        c = tf.reduce_sum(b + tf.random_uniform([4, 4], 0, 1e-9), name="sum")
    metadata = tf.RunMetadata()
    with session() as s:
        s.run(c, {a: np.ones((4, 4))}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    names = {d.device.split("/device")[0] for d in metadata.step_stats.dev_stats if len(d.node_stats) > 0}
    # TensorFlow's master adds its own part even where no node of the step is on it.
    return sorted(n for n in names if n.startswith("/job") and n != "/job:worker/replica:0/task:0")


def values_change_their_readers():
    """Steps of one session take a value of worker 1 to this task and to that; what it is made of is fed, or is not."""
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=np.zeros(2, np.float32), use_resource=False)
    with tf.device("/job:worker/task:1"):
        size = tf.FIFOQueue(4, [tf.float32], shapes=[[]], name="empty").size()  # an op with state
        scale = tf.placeholder(tf.float32, [])
        product = tf.cast(size, tf.float32) * scale + scale
    with tf.device("/job:ps/task:0"):
        add = tf.assign_add(v, tf.stack([product, product]))
    with tf.device("/job:worker/task:0"):
        here = product + 1.0
    with tf.device("/job:ps/task:1"):
        there = product * 2.0
    found = []
    with session() as s:
        s.run(v.initializer)
        for what, feeds in [(add, {scale: 2.0}), (here, {scale: 2.0}), (there, {scale: 3.0}),
                            (here, {size: 5, scale: 2.0}), (there, {scale: 3.0}), (product, {size: 4, scale: 1.0}),
                            (product, {scale: 7.0}), (add, {size: 1, scale: 1.0}), (size, {})]:
            found.append(np.asarray(s.run(what, feeds)).tolist())
    return found


def iterators_on_two_tasks():
    """In-graph replication: each worker has its own input."""
    outs, starts = [], []
    for worker in (0, 1):
        with tf.device("/job:worker/task:%d" % worker):
            numbers = tf.data.Dataset.from_tensor_slices(np.arange(4, dtype=np.float32) + 10 * worker)
            outs.append(tf.data.make_one_shot_iterator(numbers).get_next() * 2.0)
            iterator = tf.data.make_initializable_iterator(numbers.batch(2))
            starts.append(iterator.initializer)
            outs.append(iterator.get_next())
    with session() as s:
        s.run(starts)
        return [[np.asarray(value).tolist() for value in s.run(outs)] for _ in range(2)]


PROGRAMS = [gradient_descent, adam_resource_variables, momentum, partitioned_variables, in_graph, two_clients,
            queue_between_sessions, sync_replicas, sync_replicas_of_rows, asynchronous, loop_on_one_worker,
            loop_over_tasks, lists_between_tasks, optionals_between_tasks, partial_run, errors,
            device_filters, isolated_state, reset_container, dead_values, run_metadata,
            values_change_their_readers, iterators_on_two_tasks, fetched_references, one_name_on_three_tasks]


def main():
    wanted = sys.argv[4:] or [p.__name__ for p in PROGRAMS]
    results = {}
    for program in PROGRAMS:
        if program.__name__ not in wanted:
            continue
        tf.reset_default_graph()
        try:
            # Variables outlive sessions: each program has a container of its own, whose name has no '_' in TensorFlow.
            with tf.container(program.__name__.replace("_", ".")):
                results[program.__name__] = program()
        except BaseException as e:
            results[program.__name__] = "raised %s: %s" % (type(e).__name__, str(e)[:1500])
        with open(sys.argv[3], "w") as to:
            json.dump(results, to)


main()
