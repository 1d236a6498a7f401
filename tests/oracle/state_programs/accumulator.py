"""Accumulators of gradients."""

import tensorflow as tf


def step(n):
    return tf.constant(n, tf.int64)


def dense(p):
    r = p.raw
    for kind, form in (("", "MEAN"), ("Resource", "MEAN"), ("", "SUM")):
        op = lambda name: getattr(r, kind + name)
        handle = op("ConditionalAccumulator")(dtype=tf.float32, shape=[2], reduction_type=form)
        apply = lambda n, g: op("AccumulatorApplyGradient")(handle=handle, local_step=step(n), gradient=g)
        take = lambda n: op("AccumulatorTakeGradient")(handle=handle, num_required=n, dtype=tf.float32)
        count = op("AccumulatorNumAccumulated")(handle=handle)
        set_step = lambda n: op("AccumulatorSetGlobalStep")(handle=handle, new_global_step=step(n))
        p.run(count)
        p.run(apply(0, [1.0, 2.0]))
        p.run(apply(0, [3.0, 5.0]))
        p.run(count)
        p.run(take(1))
        p.run(count)
        p.run(apply(0, [1.0, 2.0]))
        p.run(count)
        p.run(set_step(5))
        p.run(set_step(3))
        p.run(apply(4, [1.0, 2.0]))
        p.run(count)
        p.run(apply(5, [1.0, 2.0]))
        p.run(apply(5, [1.0, 2.0, 3.0]))
        p.run(apply(5, 1.0))
        p.run(count)
        p.run(take(0))
        p.run(take(-1))
        p.run(take(2))
        p.within(200, take(1))
        p.start("take", take(2))
        p.run(apply(7, [1.0, 4.0]))
        p.run(apply(7, [3.0, 1.0]))
        p.join("take")
        p.run(count)


def shapeless(p):
    r = p.raw
    handle = r.ConditionalAccumulator(dtype=tf.float64, shape=None)
    apply = lambda n, g: r.AccumulatorApplyGradient(handle=handle, local_step=step(n), gradient=tf.constant(g, tf.float64))
    take = r.AccumulatorTakeGradient(handle=handle, num_required=1, dtype=tf.float64)
    p.run(apply(0, [1.0, 2.0]))
    p.run(apply(0, [1.0]))
    p.run(take)
    p.run(apply(1, [1.0]))
    p.run(take)


def sparse(p):
    r = p.raw
    for form in ("MEAN", "SUM"):
        handle = r.SparseConditionalAccumulator(dtype=tf.float32, shape=[None, 2], reduction_type=form)

        def apply(n, indices, values, shape=None):
            return r.SparseAccumulatorApplyGradient(
                handle=handle, local_step=step(n), gradient_indices=tf.constant(indices, tf.int64), gradient_values=values,
                gradient_shape=tf.constant(shape or [], tf.int64), has_known_shape=shape is not None)
        take = lambda n: r.SparseAccumulatorTakeGradient(handle=handle, num_required=n, dtype=tf.float32)
        p.run(apply(0, [0, 2], [[1.0, 2.0], [3.0, 4.0]], [4, 2]))
        p.run(apply(0, [2, 3], [[10.0, 20.0], [30.0, 40.0]], [4, 2]))
        p.run(r.AccumulatorNumAccumulated(handle=handle))
        p.run(take(2))
        p.run(apply(0, [0, 2], [[1.0, 2.0], [3.0, 4.0]]))
        p.run(r.AccumulatorNumAccumulated(handle=handle))
        p.run(apply(1, [0, 2], [[1.0, 2.0], [3.0, 4.0]]))
        p.run(take(1))
        p.run(apply(2, [0, 2], [[1.0, 2.0], [3.0, 4.0]], [5, 3]))
        p.run(apply(2, [0], [[1.0, 2.0], [3.0, 4.0]], [5, 2]))
        p.run(apply(2, [[0]], [[1.0, 2.0]], [5, 2]))
        p.run(apply(2, [0], 1.0, [5, 2]))
        p.run(apply(2, [0], [[1.0, 2.0, 3.0]], [5, 3]))
        p.run(apply(3, [3, 1, 3], [[1.0, 2.0], [3.0, 4.0], [1.0, 1.0]], [5, 2]))
        p.run(apply(3, [2, 3], [[1.0, 2.0], [3.0, 4.0]], [5, 2]))
        p.run(r.AccumulatorSetGlobalStep(handle=handle, new_global_step=step(9)))
        p.run(take(1))
        p.within(200, take(1))


def sparse_shapes(p):
    """An accumulator's shape names the first axes of the gradients."""
    r = p.raw
    for shape in ([], [4], [4, 2], [None, 2], [4, 2, 2], [5, 2], [None, 3], [1], None):
        for given in (None, [4, 2]):
            handle = r.SparseConditionalAccumulator(dtype=tf.float32, shape=shape)
            for indices in ([0, 3], [1, 9]):
                p.run(r.SparseAccumulatorApplyGradient(
                    handle=handle, local_step=step(0), gradient_indices=tf.constant(indices, tf.int64),
                    gradient_values=[[1.0, 2.0], [3.0, 4.0]], gradient_shape=tf.constant(given or [], tf.int64),
                    has_known_shape=given is not None))
            count = r.AccumulatorNumAccumulated(handle=handle)
            p.run(count)
            p.within(200, r.SparseAccumulatorTakeGradient(handle=handle, num_required=1, dtype=tf.float32))


PROGRAMS = [dense, shapeless, sparse, sparse_shapes]
