"""Programs of tf.distribute: strategies over two devices, their input, and collectives written by hand.

TensorFlow in this process runs them on two logical CPUs, a server on two GPUs. It has NCCL for GPUs only: there its
sums are made on one device.
"""
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.distribute import cross_device_ops
from tensorflow.python.ops import collective_ops, gen_collective_ops, gen_nccl_ops, nccl_ops

from program import program

TWO_CPUS = {"CPU": 2}


def devices(run, count=2):
    return [f"/{'cpu' if run.in_process else 'gpu'}:{i}" for i in range(count)]


def mirrored(run, how=None, count=2):
    """A MirroredStrategy; `how`: what sums over devices, where TensorFlow can do that here."""
    if how is None:
        return tf.distribute.MirroredStrategy(devices(run, count))
    if run.in_process and how is not tf.distribute.HierarchicalCopyAllReduce:
        how = tf.distribute.ReductionToOneDevice
    return tf.distribute.MirroredStrategy(devices(run, count), cross_device_ops=how())


def session(run, **options):
    return run.session(**({"device_count": TWO_CPUS} if run.in_process else {}), **options)


def classification(run, rows=70):
    """An input pipeline of batches of 16; the last batch of each epoch is smaller."""
    xs = run.random.rand(rows, 8).astype("f")
    ys = run.random.randint(0, 3, rows)
    return tf.data.Dataset.from_tensor_slices((xs, ys)).shuffle(rows, seed=7).repeat().batch(16)


def perceptron(x, y, optimizer):
    """Two layers and a variable that is the mean of what the replicas assign; gives the loss after the step."""
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        w = tf.get_variable("w", [8, 16], initializer=tf.glorot_uniform_initializer(seed=1))
        b = tf.get_variable("b", [16], initializer=tf.zeros_initializer())
        v = tf.get_variable("v", [16, 3], initializer=tf.glorot_uniform_initializer(seed=2))
        seen = tf.get_variable("seen", [], initializer=tf.zeros_initializer(), trainable=False,
                               aggregation=tf.VariableAggregation.MEAN, synchronization=tf.VariableSynchronization.ON_WRITE)
        local = tf.get_variable("local", [], initializer=tf.zeros_initializer(), trainable=False,
                                aggregation=tf.VariableAggregation.SUM, synchronization=tf.VariableSynchronization.ON_READ)
    h = tf.nn.relu(tf.matmul(x, w) + b)
    logits = tf.matmul(h, v)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    step = optimizer().minimize(loss)
    with tf.control_dependencies([step, seen.assign_add(tf.cast(tf.shape(x)[0], tf.float32)), local.assign_add(loss)]):
        return tf.identity(loss)


def train_mirrored(run, strategy, optimizer=lambda: tf.train.MomentumOptimizer(0.1, 0.9), steps=12, tolerance=1e-4):
    with strategy.scope():
        batches = strategy.make_dataset_iterator(classification(run))
        losses = strategy.extended.call_for_each_replica(lambda batch: perceptron(*batch, optimizer),
                                                         args=(batches.get_next(),))
        loss = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)
        apart = strategy.experimental_local_results(losses)
        variables = tf.global_variables()
    with session(run) as s:
        s.run(batches.initializer)
        s.run(tf.global_variables_initializer())
        run.keep("losses", np.array([s.run(loss) for _ in range(steps)]), tolerance)
        run.keep("apart", s.run(list(apart)), tolerance)
        run.keep("variables", s.run(variables), tolerance)


@program
def mirrored_default(run):
    """What tf.distribute.MirroredStrategy takes by itself: collectives on GPUs."""
    train_mirrored(run, mirrored(run))


@program
def mirrored_nccl(run):
    train_mirrored(run, mirrored(run, tf.distribute.NcclAllReduce))


@program
def mirrored_hierarchical(run):
    train_mirrored(run, mirrored(run, tf.distribute.HierarchicalCopyAllReduce), lambda: tf.train.AdamOptimizer(0.01))


@program
def mirrored_one_device(run):
    train_mirrored(run, mirrored(run, tf.distribute.ReductionToOneDevice), lambda: tf.train.GradientDescentOptimizer(0.2))


@program
def mirrored_without_soft_placement(run):
    """As scripts for GPUs are: what an iterator needs has kernels for them."""
    strategy = mirrored(run)
    with strategy.scope():
        w = tf.get_variable("w", [4], initializer=tf.ones_initializer())
        batches = strategy.make_dataset_iterator(tf.data.Dataset.range(12).map(lambda i: tf.cast(i, tf.float32)).batch(4))

        def step(batch):
            loss = tf.reduce_sum(w * tf.reduce_mean(batch))
            with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(loss)]):
                return tf.identity(loss)

        losses = strategy.run(step, args=(batches.get_next(),))
        total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
    with session(run, allow_soft_placement=False) as s:
        s.run(batches.initializer)
        s.run(tf.global_variables_initializer())
        run.keep("totals", [s.run(total) for _ in range(3)])
        run.keep("w", s.run(w))
        with run.raises("end", anywhere=True):  # of two shards' iterators
            s.run(total)


@program
def mirrored_input(run):
    """Batches that a map follows, whose size is not to be seen; gathered, in the order of the replicas."""
    strategy = mirrored(run)
    dataset = tf.data.Dataset.range(50).batch(9).map(lambda x: (x, tf.cast(x, tf.float32) / 2))
    with strategy.scope():
        iterator = strategy.experimental_distribute_dataset(dataset).make_initializable_iterator()
        whole, half = iterator.get_next()
        parts = strategy.experimental_local_results(strategy.run(lambda a, b: (a * 2, tf.reduce_sum(b)), args=(whole, half)))
        initializer = iterator.initializer
    with session(run) as s:
        for again in range(2):
            s.run(initializer)
            run.keep("batches", [s.run(list(parts)) for _ in range(5)])


@program
def multi_device_iterators(run):
    """The iterator itself: elements in turn, more than one pass, the end."""
    from tensorflow.python.data.ops import multi_device_iterator_ops

    names = devices(run)
    iterator = multi_device_iterator_ops.MultiDeviceIterator(tf.data.Dataset.range(7), names, max_buffer_size=2)
    first, second = iterator.get_next()
    alone = iterator.get_next(names[1])
    with session(run) as s:
        with run.raises("before"):
            s.run(first)
        for again in range(2):
            s.run(iterator.initializer)
            run.keep("both", [s.run([first, second]) for _ in range(2)])
            run.keep("alone", s.run(alone))
            run.keep("first", s.run(first))
            run.keep("first again", s.run(first))
            with run.raises("end"):
                s.run(second)


@program
def other_strategies(run):
    """OneDeviceStrategy and CentralStorageStrategy."""
    name = devices(run)[1]
    one = tf.distribute.OneDeviceStrategy(name)
    train_mirrored(run, one, steps=5)
    with tf.Graph().as_default():
        central = tf.distribute.experimental.CentralStorageStrategy(devices(run), "/cpu:0")
        with central.scope():
            w = tf.get_variable("w", [3], initializer=tf.ones_initializer())

            def step():
                context = tf.distribute.get_replica_context()
                x = tf.constant([1.0, 2.0, 3.0]) * tf.cast(context.replica_id_in_sync_group + 1, tf.float32)
                loss = tf.reduce_sum(w * w * x)
                with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.01).minimize(loss)]):
                    return tf.identity(loss)

            loss = central.reduce(tf.distribute.ReduceOp.SUM, central.run(step), axis=None)
        with session(run) as s:
            s.run(tf.global_variables_initializer())
            run.keep("central", [s.run(loss) for _ in range(4)])
            run.keep("w", s.run(w))


@program
def replica_contexts(run):
    """Reductions inside a replica, sparse gradients, and what is read across replicas."""
    for how in (None, tf.distribute.NcclAllReduce, tf.distribute.HierarchicalCopyAllReduce):
        with tf.Graph().as_default():
            strategy = mirrored(run, how)
            with strategy.scope():
                table = tf.get_variable("table", [6, 2], initializer=tf.ones_initializer())

                def step():
                    context = tf.distribute.get_replica_context()
                    number = context.replica_id_in_sync_group
                    x = tf.cast(number + 1, tf.float32) * [1.0, 10.0]
                    total = context.all_reduce(tf.distribute.ReduceOp.SUM, x)
                    mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, [x, x * x])
                    rows = tf.gather(table, tf.stack([number, 3]))
                    update = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(rows * x))
                    with tf.control_dependencies([update]):
                        return total + 0.0, mean[0] + 0.0, mean[1] + 0.0

                results = [strategy.experimental_local_results(r) for r in strategy.run(step)]
            with session(run) as s:
                s.run(tf.global_variables_initializer())
                run.keep("reduced", s.run([list(r) for r in results]))
                run.keep("table", s.run(table))


@program
def collectives_by_hand(run):
    """Reductions of both versions, gathers, broadcasts; three members, one, none of whose values has elements."""
    graph = iter(range(1, 1000))
    cpus = devices(run)
    values = {"float": [np.array([1., 2, 3], "f"), np.array([10., 20, 40], "f")],
              "int": [np.array([1, -2, 3]), np.array([10, -21, 40])],
              "double": [np.array([[1., 2]]), np.array([[3., 5]])], "scalar": [np.float32(3), np.float32(4)],
              "empty": [np.zeros([0, 2], "f"), np.zeros([0, 2], "f")]}
    with session(run) as s:
        for version in (collective_ops.all_reduce, collective_ops.all_reduce_v2):
            for kind, xs in values.items():
                for merge in ("Add", "Mul", "Min", "Max"):
                    for final in ("Id", "Div"):
                        key, out = next(graph), []
                        for device, x in zip(cpus, xs):
                            with tf.device(device):
                                out.append(version(tf.constant(x), 2, 1, key, merge, final))
                        run.keep(f"{kind} {merge} {final}", s.run(out))
        for version in (collective_ops.all_gather, collective_ops.all_gather_v2):
            key, out = next(graph), []
            for i, device in enumerate(cpus):
                with tf.device(device):
                    out.append(version(tf.constant([[i, 2.0]]), 2, 1, key))
            run.keep("gathered", s.run(out))
        x = tf.constant([True, False, True])
        key = next(graph)
        with tf.device(cpus[0]):
            sent = collective_ops.broadcast_send(x, x.shape, x.dtype, 2, 1, key)
        with tf.device(cpus[1]):
            got = collective_ops.broadcast_recv(x.shape, x.dtype, 2, 1, key)
        run.keep("broadcast", s.run([sent, got]))
        key = next(graph)
        with tf.device(cpus[1]):
            sent = collective_ops.broadcast_send_v2(tf.constant([[1.5], [2.5]]), 2, 1, key)
        with tf.device(cpus[0]):
            got = collective_ops.broadcast_recv_v2([2, 1], tf.float32, 2, 1, key)
        run.keep("broadcast 2", s.run([sent, got]))
        size, key = collective_ops.assign_group_v2([[0, 1], [2, 3]], 2, 100)
        run.keep("assigned", s.run([size, key]))
        with tf.device(cpus[0]):
            run.keep("alone", s.run(collective_ops.all_reduce_v2(tf.constant([2.0]), 1, 50, next(graph), "Add", "Div")))


def failing(run, name, build):
    with tf.Graph().as_default():
        out = build()
        with session(run) as s:
            try:
                s.run(out)
                run.keep(name, "nothing")
            except tf.errors.OpError as error:  # which of the members tells of it is chance
                run.keep(name, type(error).__name__)
            run.keep(f"{name}: the session goes on", s.run(tf.constant(1)))


@program
def collectives_that_fail(run):
    """Members that do not fit together end in errors, of TensorFlow's classes."""
    def pair(xs, sizes=(2, 2), merge=("Add", "Add"), key=1, seconds=0):
        out = []
        for i, x in enumerate(xs):
            with tf.device(devices(run)[i]):
                out.append(collective_ops.all_reduce_v2(tf.constant(x), sizes[i], 10 + key, key, merge[i], timeout=seconds))
        return out

    def gather_and_reduce():
        with tf.device(devices(run)[0]):
            one = collective_ops.all_reduce_v2(tf.constant([1.0]), 2, 20, 1)
        with tf.device(devices(run)[1]):
            return [one, collective_ops.all_gather_v2(tf.constant([1.0]), 2, 20, 1)]

    def shapes():
        with tf.device(devices(run)[0]):
            sent = collective_ops.broadcast_send_v2(tf.constant([1.0]), 2, 30, 1)
        with tf.device(devices(run)[1]):
            return [sent, collective_ops.broadcast_recv_v2([2], tf.float32, 2, 30, 1)]

    failing(run, "shapes", lambda: pair([np.zeros(3, "f"), np.zeros(4, "f")], key=1))
    failing(run, "dtypes", lambda: pair([np.zeros(3, "f"), np.zeros(3)], key=2))
    failing(run, "sizes", lambda: pair([np.zeros(3, "f"), np.zeros(3, "f")], (2, 3), key=3))
    failing(run, "kinds", gather_and_reduce)
    failing(run, "shapes of a broadcast", shapes)


@program
def nccl_by_hand(run):
    """The ops of nccl_ops and their gradients; TensorFlow without a GPU is told what they mean."""
    names = devices(run)
    xs = []
    for i, name in enumerate(names):
        with tf.device(name):
            xs.append(tf.get_variable(f"x{i}", initializer=np.arange(1, 5, dtype="f").reshape(2, 2) * (i + 1)))

    def told(op):
        if not run.in_process:
            return op(located(xs))
        meaning = {nccl_ops.all_sum: tf.add_n, nccl_ops.all_prod: lambda v: v[0] * v[1],
                   nccl_ops.all_min: lambda v: tf.minimum(*v), nccl_ops.all_max: lambda v: tf.maximum(*v)}[op]
        return [meaning([x + 0.0 for x in xs])] * 2

    def located(values):
        out = []
        for name, value in zip(names, values):
            with tf.device(name):
                out.append(value * 1.0)
        return out

    sums = told(nccl_ops.all_sum)
    others = [told(op) for op in (nccl_ops.all_prod, nccl_ops.all_min, nccl_ops.all_max)]
    with tf.device(names[0]):
        reduced = tf.add_n(xs) if run.in_process else gen_nccl_ops.nccl_reduce(input=located(xs), reduction="sum")
        source = xs[0] * 3.0
        everywhere = source if run.in_process else gen_nccl_ops.nccl_broadcast(input=source, shape=source.shape)
    with tf.device(names[1]):
        read = everywhere + xs[1]
    losses = []
    for i, name in enumerate(names):
        with tf.device(name):
            losses.append(tf.reduce_sum(sums[i] * (xs[i] if i else 2.0)))
    grads = tf.gradients(losses, xs, colocate_gradients_with_ops=True)
    with session(run) as s:
        s.run(tf.global_variables_initializer())
        run.keep("sums", s.run(sums))
        run.keep("others", s.run(others))
        run.keep("reduced", s.run(reduced))
        run.keep("broadcast", s.run(read))
        run.keep("gradients", s.run(grads))
