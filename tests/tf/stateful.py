"""Programs over things that live from step to step, drawn from a source of numbers: KINDS[name](draw) builds into the
default graph and gives the steps. Bad steps (indices outside, shapes that do not fit, closed queues) are drawn, too.
"""
import dataclasses

import numpy as np
import tensorflow.compat.v1 as tf

raw = tf.raw_ops
FLOATS = [tf.float32, tf.float64, tf.float16, tf.bfloat16]
NUMBERS = FLOATS + [tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.complex64, tf.complex128]
SCATTERED = [tf.float32, tf.float64, tf.float16, tf.int8, tf.int32, tf.int64, tf.uint8]


@dataclasses.dataclass
class Step:
    name: str
    fetches: object
    feeds: dict = dataclasses.field(default_factory=dict)
    patience: int = 0  # milliseconds; 0: for ever
    compared: bool = True


def pick(draw, of):
    return of[draw.randint(len(of))]


def numbers(draw, dtype, shape):
    values = draw.randint(1, 9, shape) if dtype.is_integer else np.round(draw.rand(*shape) * 4 + 0.25, 2)
    if dtype.is_complex:
        values = values + 1j * np.round(draw.rand(*shape), 2)
    return np.asarray(values).astype(dtype.as_numpy_dtype)


def hidden(value):
    """A constant of which the client knows no shape: it is the step that finds out."""
    return tf.placeholder_with_default(value, None)


def shape(draw, least=1):
    return [int(n) for n in draw.randint(1, 5, draw.randint(least, 4))]


# --- variables --------------------------------------------------------------------------------------------------------


def variables(draw):
    """Assignments, scatters, slices and counters on variables by reference and by resource."""
    ref, steps = bool(draw.randint(2)), []
    dtype, sizes = pick(draw, NUMBERS), shape(draw)
    first = numbers(draw, dtype, sizes)
    v = tf.Variable(first, use_resource=not ref, name="v")
    read = v.read_value()
    steps.append(Step("before it has a value", read))
    steps.append(Step("initializer", v.initializer))
    for _ in range(8):
        kind = draw.randint(6)
        bad = draw.rand() < 0.15
        wrong = [n + 1 for n in sizes] if bad else sizes
        value = hidden(numbers(draw, dtype, wrong))
        if kind < 2:
            name = pick(draw, ["Assign", "AssignAdd", "AssignSub"])
            if ref:
                op = raw.Assign(ref=v._ref(), value=value) if name == "Assign" else getattr(raw, name)(ref=v._ref(), value=value)
            else:
                op = getattr(raw, {"Assign": "AssignVariableOp", "AssignAdd": "AssignAddVariableOp",
                                   "AssignSub": "AssignSubVariableOp"}[name])(resource=v.handle, value=value)
        elif kind < 4:
            name = pick(draw, ["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"])
            if dtype not in SCATTERED:
                name = "Update"
            count = draw.randint(0, 4)
            indices = draw.randint(0, sizes[0], [count])
            if bad and count:
                indices[0] = sizes[0]
            if name in ("Update", "Div") and len(set(indices.tolist())) < count:
                indices, count = indices[:1], 1  # of equal ones, any may win
            updates = hidden(numbers(draw, dtype, [count] + sizes[1:]))
            index = hidden(indices.astype(pick(draw, [np.int32, np.int64])))
            if ref:
                op = getattr(raw, "Scatter" + name)(ref=v._ref(), indices=index, updates=updates)
            else:
                op = getattr(raw, "ResourceScatter" + name)(resource=v.handle, indices=index, updates=updates)
            name = "Scatter" + name
        elif kind == 4:
            name = "ScatterNdUpdate"
            row = draw.randint(0, sizes[0] + (1 if bad else 0), [1, 1])
            updates = hidden(numbers(draw, dtype, [1] + sizes[1:]))
            if ref:
                op = raw.ScatterNdUpdate(ref=v._ref(), indices=hidden(row), updates=updates)
            else:
                op = raw.ResourceScatterNdUpdate(ref=v.handle, indices=hidden(row), updates=updates)
        else:
            name = "Gather"
            indices = tf.constant(draw.randint(0, sizes[0] + (1 if bad else 0), [3]))
            op = tf.gather(v._ref(), indices) if ref else raw.ResourceGather(resource=v.handle, indices=indices, dtype=dtype)
        steps.append(Step(name, op, compared=name == "Gather"))
        steps.append(Step("read", read))
    if dtype in (tf.int32, tf.int64):
        counter = tf.Variable(tf.constant(0, dtype), use_resource=not ref, name="counter")
        limit = int(draw.randint(1, 4))
        up = raw.CountUpTo(ref=counter._ref(), limit=limit) if ref else raw.ResourceCountUpTo(
            resource=counter.handle, limit=limit, T=dtype)
        steps.append(Step("initializer", counter.initializer))
        steps += [Step("count up", up)] * (limit + 2)
    return steps


OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "AdagradDA": lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    "Adadelta": lambda: tf.train.AdadeltaOptimizer(0.5),
    "Adam": lambda: tf.train.AdamOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "CenteredRMSProp": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "Ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "ProximalAdagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
    "ProximalGradientDescent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, l2_regularization_strength=0.01),
}


def optimizers(draw):
    """Some steps of an optimizer, its gradients dense and sparse; slots are read, too."""
    name = pick(draw, sorted(OPTIMIZERS))
    dtype = pick(draw, [tf.float32] if name.startswith("Proximal") else [tf.float32, tf.float64])
    use_resource = bool(draw.randint(2))
    table = tf.Variable(numbers(draw, dtype, [5, 3]), use_resource=use_resource, name="table")
    weights = tf.Variable(numbers(draw, dtype, [3, 2]), use_resource=use_resource, name="weights")
    ids = tf.placeholder(tf.int32, [None], "ids")
    loss = tf.reduce_sum(tf.square(tf.matmul(tf.nn.embedding_lookup(table, ids), weights)))
    optimizer = OPTIMIZERS[name]()
    global_step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(loss, global_step=global_step)
    state = [v.read_value() for v in tf.global_variables()]
    steps = [Step("initializer", tf.global_variables_initializer())]
    for _ in range(5):
        rows = draw.randint(0, 5, draw.randint(1, 5))
        if draw.rand() < 0.5:
            rows = np.unique(rows)
        steps += [Step(f"{name}", [train, loss], {ids: rows}, compared=False), Step("variables", state)]
    steps.append(Step("an id outside", train, {ids: [7]}))
    return steps


# --- queues, accumulators, staging areas ---------------------------------------------------------------------------------


def queues(draw):
    """Enqueues and dequeues that never wait for long: what would wait is given 300 ms."""
    kind = pick(draw, ["fifo", "shuffle", "padding", "priority"])
    dtypes = [pick(draw, [tf.float32, tf.int32, tf.string, tf.bool, tf.complex64])]
    capacity = int(draw.randint(2, 7))
    if kind == "fifo":
        q = tf.FIFOQueue(capacity, dtypes, shapes=[[2]], name="q")
    elif kind == "shuffle":
        q = tf.RandomShuffleQueue(capacity, int(draw.randint(0, 2)), dtypes, shapes=[[2]], seed=int(draw.randint(1, 99)), name="q")
    elif kind == "padding":
        q = tf.PaddingFIFOQueue(capacity, dtypes, shapes=[[None]], name="q")
    else:
        q = tf.PriorityQueue(capacity, dtypes, shapes=[[2]], name="q")
    value = [tf.placeholder(t, None) for t in dtypes]
    order = [tf.placeholder(tf.int64, None)] if kind == "priority" else []
    n = tf.placeholder(tf.int32, [])

    def drawn(shape):
        if dtypes[0] == tf.string:
            return np.array([b"w%d" % i for i in draw.randint(0, 99, int(np.prod(shape)))], object).reshape(shape)
        if dtypes[0] == tf.bool:
            return draw.rand(*shape) < 0.5
        return numbers(draw, dtypes[0], shape)

    enqueue, many = q.enqueue(order + value), q.enqueue_many(order + value)
    dequeue, dequeue_many, up_to = q.dequeue(), q.dequeue_many(n), q.dequeue_up_to(n)
    size, closed = q.size(), q.is_closed()
    steps = []
    most = 2 if kind == "padding" else 4  # elements that a step had when its time was over are lost in TensorFlow's padding queue
    for _ in range(14):
        what = draw.randint(8)
        width = int(draw.randint(1, 4)) if kind == "padding" else 2 if draw.rand() < 0.9 else 3
        wait = 300
        if what < 2:
            feeds = {value[0]: drawn([width])}
            if order:
                feeds[order[0]] = int(draw.randint(0, 9))
            steps.append(Step("enqueue", enqueue, feeds, wait))
        elif what < 4:
            count = int(draw.randint(0, 4))
            feeds = {value[0]: drawn([count, width])}
            if order:
                feeds[order[0]] = draw.permutation(9)[:count] + 10 * len(steps)
            steps.append(Step("enqueue_many", many, feeds, wait))
        elif what == 4:
            steps.append(Step("dequeue", dequeue, {}, wait))
        elif what == 5:
            steps.append(Step("dequeue_many", dequeue_many, {n: int(draw.randint(-1, most))}, wait))
        elif what == 6:
            steps.append(Step("dequeue_up_to", up_to, {n: int(draw.randint(0, most))}, wait))
        elif draw.rand() < 0.3:
            steps.append(Step("close", q.close(cancel_pending_enqueues=bool(draw.randint(2)))))
        steps.append(Step("size", [size, closed]))
    return steps


def accumulators(draw):
    """Conditional accumulators, dense and sparse."""
    dtype, sparse = pick(draw, [tf.float32, tf.float64, tf.float16]), bool(draw.randint(2))
    make = tf.SparseConditionalAccumulator if sparse else tf.ConditionalAccumulator
    a = make(dtype, shape=[3, 2], reduction_type=pick(draw, ["MEAN", "SUM"]), name="a")
    stamp, count = tf.placeholder(tf.int64, []), tf.placeholder(tf.int32, [])
    steps = []
    for _ in range(12):
        what = draw.randint(6)
        bad = draw.rand() < 0.1
        if what < 3 and sparse:
            rows = np.sort(draw.permutation(3)[:draw.randint(1, 4)])
            op = a.apply_grad(tf.constant(rows, tf.int64), hidden(numbers(draw, dtype, [len(rows), 3 if bad else 2])),
                              local_step=stamp)
            steps.append(Step("apply", op, {stamp: int(draw.randint(0, 3))}))
        elif what < 3:
            op = a.apply_grad(tf.constant(numbers(draw, dtype, [3, 2])), local_step=stamp)
            steps.append(Step("apply", op, {stamp: int(draw.randint(0, 3))}))
        elif what == 3:
            steps.append(Step("take", a.take_grad(count), {count: int(draw.randint(0, 3))}, 300))
        elif what == 4:
            steps.append(Step("global step", a.set_global_step(stamp), {stamp: int(draw.randint(0, 4))}))
        steps.append(Step("count", a.num_accumulated()))
    return steps


def staging(draw):
    """Stage and MapStage, by keys and by index; nothing that would wait, since TensorFlow's never ends then."""
    steps, dtypes, held = [], [tf.float32, tf.int32], []
    plain = dict(dtypes=dtypes, shared_name="s")
    x = [tf.placeholder(t, None) for t in dtypes]
    index, key = tf.placeholder(tf.int32, []), tf.placeholder(tf.int64, [])
    kind = pick(draw, ["", "Map", "OrderedMap"])
    op = lambda name: getattr(raw, kind + name)
    if kind:
        stage = op("Stage")(key=key, indices=[0, 1], values=x, **plain)
        unstage = op("Unstage")(key=key, indices=[0, 1], **plain)
        peek = op("Peek")(key=key, indices=[1], **{**plain, "dtypes": [tf.int32]})
        last = op("UnstageNoKey")(indices=[0, 1], **plain)
    else:
        stage, unstage = raw.Stage(values=x, shared_name="s"), raw.Unstage(**plain)
        peek = raw.StagePeek(index=index, **plain)
    size, clear = op("Size" if kind else "StageSize")(**plain), op("Clear" if kind else "StageClear")(**plain)
    for _ in range(12):
        what = draw.randint(4) if held else 0
        if what < 2:
            new = int(draw.randint(99))
            feeds = {x[0]: numbers(draw, tf.float32, [2]), x[1]: int(draw.randint(9))}
            steps.append(Step("stage", stage, {**feeds, key: new} if kind else feeds))  # a key twice is refused
            held += [new] if new not in held or not kind else []
        elif what == 2:
            at = draw.randint(len(held))
            steps.append(Step("peek", peek, {key: held[at]} if kind else {index: at}))
        elif kind == "OrderedMap" and draw.rand() < 0.5:
            steps.append(Step("unstage the least key", last))
            held.remove(min(held))
        else:
            at = draw.randint(len(held)) if kind else 0
            steps.append(Step("unstage", unstage, {key: held[at]} if kind else {}))
            del held[at]
        steps.append(Step("size", size))
    return steps + [Step("clear", clear), Step("size", size)]


# --- tables, tensor arrays, stacks -----------------------------------------------------------------------------------------


def tables(draw):
    """Mutable tables, dense and by key; tables that are filled once."""
    keys = pick(draw, [tf.int64, tf.string])
    values = pick(draw, [tf.int64, tf.float32] if keys == tf.string else [tf.float32, tf.int64, tf.string])
    word = lambda n: b"k%d" % n if keys == tf.string else int(n)
    key = lambda n: np.array([word(i) for i in n] + [None], object)[:-1] if keys == tf.string else np.array(n, np.int64)

    def value(n):
        if values == tf.string:
            return np.array([b"v%d" % i for i in draw.randint(0, 99, n)] + [None], object)[:-1]
        return numbers(draw, values, [n])

    kind = pick(draw, ["MutableHashTable", "MutableDenseHashTable", "HashTable"])
    if kind == "MutableDenseHashTable" and values == tf.string:
        values = tf.float32
    k, v = tf.placeholder(keys, None), tf.placeholder(values, None)
    missing = tf.constant(b"none" if values == tf.string else -1, values)
    if kind == "HashTable":
        t = raw.HashTableV2(key_dtype=keys, value_dtype=values, shared_name="t")
        fill = raw.InitializeTableV2(table_handle=t, keys=k, values=v)
    elif kind == "MutableHashTable":
        t = raw.MutableHashTableV2(key_dtype=keys, value_dtype=values, shared_name="t")
    else:
        t = raw.MutableDenseHashTableV2(empty_key=tf.constant(word(90), keys), deleted_key=tf.constant(word(91), keys),
                                        value_dtype=values, initial_num_buckets=4, shared_name="t")
    find = raw.LookupTableFindV2(table_handle=t, keys=k, default_value=missing)
    size = raw.LookupTableSizeV2(table_handle=t)
    steps = [Step("find in an empty table", find, {k: key([1])})]
    for _ in range(8):
        n = draw.randint(0, 6, draw.randint(1, 4))
        if draw.rand() < 0.1:
            n[0] = 90
        several = value(len(n) if draw.rand() < 0.9 else len(n) + 1)
        if kind == "HashTable":
            steps.append(Step("initialize", fill, {k: key(np.unique(n)), v: value(len(np.unique(n)))}))
        else:
            insert = raw.LookupTableInsertV2(table_handle=t, keys=k, values=v)
            remove = raw.LookupTableRemoveV2(table_handle=t, keys=k)
            steps.append(Step("insert", insert, {k: key(n), v: several}) if draw.rand() < 0.7 else
                         Step("remove", remove, {k: key(n)}))
        steps += [Step("find", find, {k: key(draw.randint(0, 7, 4))}), Step("size", size)]
    if keys == tf.int64 and values != tf.string and kind == "MutableHashTable":
        out = raw.LookupTableExportV2(table_handle=t, Tkeys=keys, Tvalues=values)
        at = tf.argsort(out.keys)
        steps.append(Step("export", [tf.gather(out.keys, at), tf.gather(out.values, at)]))
    return steps


def tensor_arrays(draw):
    """Writes and reads, scatters, gathers, splits and joins of a tensor array, and gradients through them."""
    steps = []
    for _ in range(4):
        dtype, n = pick(draw, [tf.float32, tf.float64, tf.int32, tf.complex64]), int(draw.randint(1, 5))
        x = tf.constant(numbers(draw, dtype, [n, 3]))
        a = tf.TensorArray(dtype, size=n if draw.rand() < 0.7 else 0, dynamic_size=bool(draw.randint(2)),
                           clear_after_read=bool(draw.randint(2)), infer_shape=False)
        how = draw.randint(3)
        if how == 0:
            for i in draw.permutation(n + (draw.rand() < 0.1)):
                a = a.write(int(i), x[min(int(i), n - 1)])
        elif how == 1:
            a = a.unstack(x)
        else:
            lengths = np.full(n, 1)
            a = a.split(x, tf.constant(lengths, tf.int32))
        out = pick(draw, ["stack", "concat", "gather", "read", "size"])
        y = {"stack": a.stack, "concat": a.concat, "size": a.size, "read": lambda: a.read(int(draw.randint(0, n))),
             "gather": lambda: a.gather(tf.constant(draw.randint(0, n, 2), tf.int32))}[out]()
        fetches = [y]
        if dtype.is_floating and out in ("stack", "gather", "concat"):
            fetches += [tf.gradients(y * y, x)[0]]
        steps.append(Step(f"{how} {out}", fetches))
    return steps


def stacks(draw):
    """Pushes and pops in one step, ordered by control edges."""
    dtype = pick(draw, [tf.float32, tf.int32, tf.string])
    s = raw.StackV2(max_size=tf.constant(int(draw.randint(2, 6))), elem_type=dtype, stack_name="s")
    last, popped = s, []
    for i in range(6):
        with tf.control_dependencies([last] if i else []):
            if draw.rand() < 0.6:
                x = tf.constant(b"w%d" % i if dtype == tf.string else i, dtype)
                last = raw.StackPushV2(handle=s, elem=x)
            else:
                last = raw.StackPopV2(handle=s, elem_type=dtype)
                popped.append(last)
    with tf.control_dependencies([last]):
        close = raw.StackCloseV2(handle=s)
    with tf.control_dependencies([close] if isinstance(close, tf.Operation) else [close.op]):
        end = tf.constant(1)
    return [Step("push and pop", popped + [end]), Step("once more", popped + [end])]


# --- datasets --------------------------------------------------------------------------------------------------------------


def pipeline(draw, depth=0):
    n = int(draw.randint(1, 9))
    source = draw.randint(4)
    if source == 0:
        data = tf.data.Dataset.range(n)
    elif source == 1:
        data = tf.data.Dataset.from_tensor_slices(draw.randint(0, 20, [n]).astype(np.int64))
    elif source == 2:
        data = tf.data.Dataset.from_tensors(np.int64(n))
    else:
        data = tf.data.Dataset.from_tensor_slices((draw.randint(0, 20, [n]).astype(np.int64), np.arange(n, dtype=np.int64)))
        data = data.map(lambda a, b: a * b)
    for _ in range(draw.randint(1, 5)):
        what = draw.randint(15)
        k = int(draw.randint(1, 5))
        if what == 0:
            data = data.map(lambda x: x * k + 1)
        elif what == 1:
            data = data.filter(lambda x: tf.not_equal(x % 3, k % 3))
        elif what == 2:
            data = data.take(k)
        elif what == 3:
            data = data.skip(k)
        elif what == 4:
            data = data.repeat(k % 3 + 1)
        elif what == 5:
            data = data.shuffle(k, seed=k)
        elif what == 6:
            data = data.shard(k, k - 1)
        elif what == 7:
            data = data.scan(np.int64(k), lambda s, x: (s + x, s * x))
        elif what == 8:
            data = data.flat_map(lambda x: tf.data.Dataset.range(x % 3))
        elif what == 9:
            data = data.interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=k, block_length=2)
        elif what == 10:
            data = data.batch(k, drop_remainder=bool(k % 2)).unbatch()
        elif what == 11:
            data = data.cache()
        elif what == 12:
            data = data.prefetch(k)
        elif what == 13 and depth < 2:
            data = data.concatenate(pipeline(draw, depth + 1))
        elif what == 14 and depth < 2:
            data = tf.data.Dataset.zip((data, pipeline(draw, depth + 1))).map(lambda a, b: a - b)
    return data


def datasets(draw):
    """A pipeline of tf.data through an iterator that is made, read to its end, and made again."""
    data = pipeline(draw)
    last = draw.randint(4)
    if last == 0:
        data = data.batch(int(draw.randint(1, 4)), drop_remainder=bool(draw.randint(2)))
    elif last == 1:
        data = data.map(lambda x: tf.fill([x % 4], x)).padded_batch(int(draw.randint(1, 4)), [None])
    elif last == 2:
        data = data.enumerate()
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    iterator = tf.data.make_initializable_iterator(data.with_options(options))
    element = iterator.get_next()
    steps = [Step("before it is made", element), Step("make", iterator.initializer)]
    steps += [Step("next", element)] * int(draw.randint(3, 20))
    return steps + [Step("make again", iterator.initializer), Step("next", element), Step("next", element)]


KINDS = {"variables": variables, "optimizers": optimizers, "queues": queues, "accumulators": accumulators,
         "staging": staging, "tables": tables, "tensor_arrays": tensor_arrays, "stacks": stacks, "datasets": datasets}
