"""Programs of stateful.py over queues, accumulators and staging areas."""
import numpy as np
import tensorflow.compat.v1 as tf

from stateful_steps import Step, hidden, numbers, pick

raw = tf.raw_ops


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
