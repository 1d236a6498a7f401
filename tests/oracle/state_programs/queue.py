"""Queues: order, batches, closing, waiting."""

import tensorflow as tf

KINDS = ("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue")


def life_of(kind, version):
    def build(p):
        priority = kind == "PriorityQueue"
        queue = getattr(p.raw, kind + version)(component_types=[tf.float32], shapes=[[]])
        op = lambda name, **arguments: getattr(p.raw, name + version)(handle=queue, **arguments)
        element = [tf.constant(1, tf.int64), tf.constant(1.0)] if priority else [tf.constant(1.0)]
        types = [tf.int64, tf.float32] if priority else [tf.float32]
        enqueue, size = op("QueueEnqueue", components=element), op("QueueSize")
        one = op("QueueDequeue", component_types=types)
        three = op("QueueDequeueMany", n=3, component_types=types)
        some = op("QueueDequeueUpTo", n=3, component_types=types)
        close, closed = op("QueueClose"), op("QueueIsClosed")
        p.run(enqueue)
        p.run(size)
        p.run(op("QueueDequeueMany", n=0, component_types=types))
        p.run(closed)
        p.run(one)
        p.within(200, three)  # with elements in it TensorFlow would lose them
        p.run(size)
        p.run(enqueue)
        p.run(enqueue)
        p.run(close)
        p.run(close)
        p.run(op("QueueClose", cancel_pending_enqueues=True))
        p.run(closed)
        p.run(enqueue)
        p.run(three)
        p.run(one)
        p.run(op("QueueDequeue", component_types=[tf.int32]))
        p.run(op("QueueDequeue", component_types=[tf.float32] * 3))
        p.run(op("QueueEnqueue", components=[tf.constant(1)]))
        if not priority:  # TensorFlow's own loses elements when a batch of this queue comes too late
            p.run(some)
            p.run(some)
        p.run(one)
    build.__name__ = f"life_of_{kind}{version}"
    return build


def random_order(p):
    for seeds in ((3, 5), (87654321, 7), (0, 9)):
        queue = p.raw.RandomShuffleQueueV2(component_types=[tf.int32], shapes=[[]], seed=seeds[0], seed2=seeds[1])
        p.run(p.raw.QueueEnqueueManyV2(handle=queue, components=[list(range(20))]))
        p.run(p.raw.QueueDequeueManyV2(handle=queue, n=6, component_types=[tf.int32]))
        p.run(p.raw.QueueEnqueueManyV2(handle=queue, components=[list(range(20, 40))]))
        one = p.raw.QueueDequeueV2(handle=queue, component_types=[tf.int32])
        for _ in range(5):
            p.run(one)


def padding(p):
    types = [tf.int32, tf.string]
    queue = p.raw.PaddingFIFOQueueV2(component_types=types, shapes=[[None], [None, 2]])
    p.run(p.raw.QueueEnqueueV2(handle=queue, components=[[1, 2], [["a", "b"]]]))
    p.run(p.raw.QueueEnqueueV2(handle=queue, components=[[1, 2, 3], [["a", "b"], ["c", "d"]]]))
    p.run(p.raw.QueueEnqueueV2(handle=queue, components=[tf.zeros([0], tf.int32), tf.constant([], tf.string, [0, 2])]))
    p.run(p.raw.QueueDequeueManyV2(handle=queue, n=0, component_types=types))
    p.run(p.raw.QueueDequeueManyV2(handle=queue, n=3, component_types=types))
    p.run(p.raw.QueueEnqueueV2(handle=queue, components=[[[1]], [["a", "b"]]]))
    p.run(p.raw.QueueEnqueueManyV2(handle=queue, components=[[[1], [2]], [[["a", "b"]], [["c", "d"]]]]))
    p.run(p.raw.QueueDequeueUpToV2(handle=queue, n=2, component_types=types))


def priorities(p):
    queue = p.raw.PriorityQueueV2(component_types=[tf.string], shapes=[[]])
    keys = tf.constant([5, 3, 9, -1, 7], tf.int64)
    p.run(p.raw.QueueEnqueueManyV2(handle=queue, components=[keys, ["five", "three", "nine", "minus", "seven"]]))
    one = p.raw.QueueDequeueV2(handle=queue, component_types=[tf.int64, tf.string])
    p.run(one)
    p.run(p.raw.QueueEnqueueV2(handle=queue, components=[tf.constant(0, tf.int64), "zero"]))
    p.run(p.raw.QueueDequeueManyV2(handle=queue, n=4, component_types=[tf.int64, tf.string]))
    p.run(one)


def refusals(p):
    r, f32 = p.raw, [tf.float32]
    p.run(r.RandomShuffleQueueV2(component_types=f32, min_after_dequeue=-1).op)
    p.run(r.RandomShuffleQueueV2(component_types=f32, min_after_dequeue=5, capacity=5).op)
    p.run(r.FIFOQueueV2(component_types=f32, shapes=[[], []]).op)
    p.run(r.FIFOQueueV2(component_types=f32, shapes=[[None]]).op)
    p.run(r.PaddingFIFOQueueV2(component_types=f32, shapes=[None]).op)
    p.run(r.PaddingFIFOQueueV2(component_types=f32, shapes=[]).op)
    p.run(r.PriorityQueueV2(component_types=f32, shapes=[]).op)
    p.run(r.PriorityQueueV2(component_types=f32, shapes=[[], []]).op)
    two = r.FIFOQueueV2(component_types=f32 * 2)
    shaped = r.FIFOQueueV2(component_types=f32 * 2, shapes=[[], [2]])
    p.run(r.QueueEnqueueManyV2(handle=two, components=[[1.0], [1.0, 2]]))
    p.run(r.QueueEnqueueManyV2(handle=shaped, components=[[1.0], [1.0, 2]]))
    p.run(r.QueueEnqueueV2(handle=shaped, components=[1.0, [1.0]]))
    p.run(r.QueueEnqueueV2(handle=shaped, components=[1.0]))
    p.run(r.QueueDequeueManyV2(handle=two, n=2, component_types=f32 * 2))
    p.run(r.QueueDequeueUpToV2(handle=two, n=2, component_types=f32 * 2))
    for a, b in (({}, {"capacity": 4}), ({}, {"shapes": [[1]]}), ({"capacity": 3}, {"capacity": 3})):
        name = f"x{len(p.steps)}"
        p.run(r.FIFOQueueV2(component_types=f32, shared_name=name, **a).op)
        p.run(r.FIFOQueueV2(component_types=f32, shared_name=name, **b).op)
    p.run(r.RandomShuffleQueueV2(component_types=f32, shared_name="s", seed=1).op)
    p.run(r.RandomShuffleQueueV2(component_types=f32, shared_name="s", seed=2).op)
    p.run(r.RandomShuffleQueueV2(component_types=f32, shared_name="s").op)


def waiting(p):
    r, ints = p.raw, [tf.int32]
    queue = r.FIFOQueueV2(component_types=ints, shapes=[[]], capacity=2)
    size = r.QueueSizeV2(handle=queue)
    p.start("four", r.QueueEnqueueManyV2(handle=queue, components=[[1, 2, 3, 4]]))
    p.run(size)
    p.run(r.QueueDequeueV2(handle=queue, component_types=ints))
    p.run(size)
    p.run(r.QueueCloseV2(handle=queue, cancel_pending_enqueues=True))
    p.join("four")
    p.run(r.QueueDequeueManyV2(handle=queue, n=5, component_types=ints))
    p.run(r.QueueDequeueUpToV2(handle=queue, n=5, component_types=ints))
    other = r.FIFOQueueV2(component_types=ints, shapes=[[]], capacity=2)
    size = r.QueueSizeV2(handle=other)
    p.start("three", r.QueueDequeueManyV2(handle=other, n=3, component_types=ints))
    p.run(r.QueueEnqueueV2(handle=other, components=[7]))
    p.run(size)
    p.start("some", r.QueueDequeueUpToV2(handle=other, n=3, component_types=ints))
    p.run(r.QueueCloseV2(handle=other))
    p.join("three")
    p.join("some")
    p.run(size)


PROGRAMS = [*(life_of(kind, version) for kind in KINDS for version in ("", "V2")), random_order, padding, priorities,
            refusals, waiting]
