"""Staging areas and stacks by reference: order, parts, limits, errors."""

import tensorflow as tf

TYPES = [tf.int32, tf.float32]


def first_in_first_out(p):
    area = dict(dtypes=TYPES, shared_name="area")
    put = p.raw.Stage(values=[tf.constant(4), tf.constant([1.5, 2.5])], shared_name="area")
    other = p.raw.Stage(values=[tf.constant(5), tf.constant([3.5])], shared_name="area")
    size, take = p.raw.StageSize(**area), p.raw.Unstage(**area)
    p.run(put)
    p.run(other)
    p.run(size)
    p.run(p.raw.StagePeek(index=1, **area))
    p.run(take)
    p.run(take)
    p.run(size)
    p.run(put)
    p.run(p.raw.StageClear(**area))
    p.run(size)
    p.run(p.raw.Stage(values=[tf.zeros([10])], shared_name="small", memory_limit=8))


def by_key(p):
    for kind in ("Map", "OrderedMap"):
        area = dict(dtypes=TYPES, shared_name=kind)
        op = lambda name: getattr(p.raw, kind + name)
        put = lambda key, at, values: op("Stage")(key=tf.constant(key, tf.int64), indices=at, values=values, **area)
        some = lambda name, key, at, types: op(name)(key=tf.constant(key, tf.int64), indices=at, dtypes=types, shared_name=kind)
        size, incomplete = op("Size")(**area), op("IncompleteSize")(**area)
        one, two = tf.constant(1), tf.constant(2.0)
        p.run(put(7, [0, 1], [one, two]))
        p.run(put(7, [0, 1], [one, two]))
        p.run(size)
        p.run(put(2, [0], [one]))
        p.run(put(2, [0], [one]))
        p.run(put(3, [5], [one]))
        p.run(size)
        p.run(incomplete)
        p.run(put(2, [1], [two]))
        p.run(some("Peek", 2, [0, 1], TYPES))
        p.run(some("Unstage", 2, [1], [tf.float32]))
        p.run(some("Unstage", 2, [1], [tf.float32]))
        p.run(some("Unstage", 2, [0], [tf.int32]))
        p.run(size)
        p.run(op("UnstageNoKey")(indices=[0, 1], **area))
        p.run(size)
        p.run(put(4, [0], [one]))
        p.run(op("Clear")(**area))
        p.run(incomplete)
        # One element above memory_limit is not compared: TensorFlow's maps take it, though its queues of tuples do not.


def stack_by_reference(p):
    stack = p.raw.Stack(elem_type=tf.float32)
    p.run(p.raw.StackPush(handle=stack, elem=tf.constant([1.0, 2.0])))


PROGRAMS = (first_in_first_out, by_key, stack_by_reference)
