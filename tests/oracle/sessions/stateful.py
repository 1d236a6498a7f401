"""Programs over things that live from step to step, drawn from a source of numbers: KINDS[name](draw) builds into the
default graph and gives the steps. Bad steps (indices outside, shapes that do not fit, closed queues) are drawn, too.
"""
import numpy as np
import tensorflow.compat.v1 as tf

from stateful_containers import stacks, tables, tensor_arrays
from stateful_queues import accumulators, queues, staging
from stateful_steps import Step
from stateful_variables import optimizers, variables


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
