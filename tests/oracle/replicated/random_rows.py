"""Random values of a batch, for random_training.py: each op takes values that fit it, whatever it does to the batch's axis.

A value is a tensor and its dims: numbers, and words for lengths that follow from the batch ("n", "n-1", "n+n"). Values stay in
bounds (tanh, clipping), so that what differs is an op and not an overflow. What jumps (comparisons, floor, a maximum's gradient)
is shifted by APART, lest it tell which of two equal values is the larger one in the last bit.
"""
import collections

import numpy as np
import tensorflow.compat.v1 as tf

APART = 0.01234567
WIDTHS = (4, 6, 8)

Value = collections.namedtuple("Value", "tensor dims")


def floats(tensor):
    return tf.cast(tensor, tf.float32)


def bounded(tensor):
    return tf.clip_by_value(tensor, -20., 20.)


class RandomRows:
    """Random values of the rows of a batch: `floats` and `ints`, with the variables they read and the updates they ask for."""

    def __init__(self, seed, drawn=None):
        """`drawn`: the examples, where they are not fed."""
        self.random = np.random.RandomState(seed)
        self.x, self.y = drawn or (tf.placeholder(tf.float32, [None, 6], name="x"), tf.placeholder(tf.int32, [None], name="y"))
        self.flag = tf.placeholder(tf.bool, [], name="flag")
        self.names, self.updates, self.masks = 0, [], 0
        n = tf.shape(self.x)[0]
        self.floats = [Value(self.x, ("n", 6))]
        self.ints = [Value(self.y, ("n",))]
        self.counts = [n]
        first = Value(tf.nn.tanh(tf.matmul(self.x, self.variable([6, 8]))), ("n", 8))
        self.floats += [first, first]
        self.made = []

    # --- choosing ------------------------------------------------------------------------------------------------------

    def pick(self, items):
        return items[self.random.randint(len(items))]

    def chance(self, share):
        return self.random.rand() < share

    def any_float(self):
        return self.pick(self.floats[-10:])

    def of_rank(self, *ranks):
        fit = [v for v in self.floats[-16:] if len(v.dims) in ranks]
        return self.pick(fit) if fit else self.floats[1]

    def rows(self):
        """Two axes, the second of a known length."""
        fit = [v for v in self.floats[-16:] if len(v.dims) == 2 and isinstance(v.dims[1], int) and v.dims[1] > 1]
        return self.pick(fit) if fit else self.floats[1]

    def axis(self, value):
        return int(self.random.randint(len(value.dims)))

    def by_row(self):
        """Integers, one a row of the batch."""
        return self.pick([v for v in self.ints[-8:] if v.dims == ("n",)] or self.ints[:1])

    def variable(self, shape, trainable=True):
        self.names += 1
        start = np.random.RandomState(self.names).randn(*shape).astype("float32") * .4
        return tf.get_variable(f"v{self.names}", initializer=start if trainable else np.abs(start), trainable=trainable,
                               use_resource=bool(self.names % 2))

    # --- elementwise -----------------------------------------------------------------------------------------------------

    def unary(self):
        v = self.any_float()
        f = self.pick([tf.tanh, tf.sigmoid, lambda x: tf.nn.relu(x - APART), lambda x: tf.abs(x - APART), lambda x: bounded(tf.square(x)),
                       tf.negative, lambda x: tf.sign(x - APART), tf.erf, tf.nn.elu, tf.nn.softplus, tf.sin, tf.ones_like, tf.zeros_like,
                       tf.identity, tf.stop_gradient, lambda x: tf.sqrt(tf.abs(x) + .1), lambda x: tf.exp(tf.tanh(x)),
                       lambda x: x * .5 + .1, lambda x: 1. / (1. + tf.square(x)), lambda x: tf.floor(x * 3. + APART) * .3])
        return f(v.tensor), v.dims

    def binary(self):
        a = self.any_float()
        fit = [v for v in self.floats[-24:] if v.dims == a.dims or v.dims == a.dims[1:] or not v.dims or
               (len(v.dims) == len(a.dims) and all(p in (q, 1) for p, q in zip(v.dims, a.dims)))]
        b = self.pick(fit)
        op = self.pick([tf.add, tf.subtract, tf.multiply, tf.multiply, lambda p, q: tf.maximum(p, q + APART), lambda p, q: p / (1.2 + tf.abs(q)),
                        tf.squared_difference, lambda p, q: tf.where(p > q + tf.zeros_like(p) + APART, p, p * .5),
                        lambda p, q: tf.atan2(p, 1.5 + tf.abs(q))])
        one, other = (a, b) if self.chance(.5) or b.dims != a.dims else (b, a)
        return bounded(op(one.tensor, other.tensor)), a.dims

    def many(self):
        a = self.any_float()
        fit = [v.tensor for v in self.floats[-16:] if v.dims == a.dims]
        return bounded(tf.add_n([self.pick(fit) for _ in range(self.random.randint(2, 5))]) * .4), a.dims

    def scaled(self):
        """By a variable as long as the last axis: a bias or a gain."""
        v = self.any_float()
        if not v.dims or not isinstance(v.dims[-1], int) or v.dims[-1] < 2:
            return None
        gain = self.variable([v.dims[-1]])
        return self.pick([lambda: v.tensor + gain, lambda: bounded(v.tensor * gain)])(), v.dims

    # --- products --------------------------------------------------------------------------------------------------------

    def dense(self):
        v = self.rows()
        m = self.pick(WIDTHS)
        return tf.tanh(tf.matmul(v.tensor, self.variable([v.dims[1], m]))), (v.dims[0], m)

    def pairs(self):
        v = self.rows()
        return tf.tanh(tf.matmul(v.tensor, v.tensor, transpose_b=True) * .3), (v.dims[0], v.dims[0])

    def covariance(self):
        v = self.rows()
        return tf.tanh(tf.matmul(v.tensor, v.tensor, transpose_a=True) * .1), (v.dims[1], v.dims[1])

    def mixed(self):
        """[n, n] times [n, k]: attention over the batch."""
        v = self.rows()
        scores = tf.nn.softmax(tf.matmul(v.tensor, v.tensor, transpose_b=True))
        return tf.matmul(scores, v.tensor), v.dims

    def einsum(self):
        v = self.rows()
        k = v.dims[1]
        return self.pick([lambda: (tf.einsum("ni,ij,nj->n", v.tensor, self.variable([k, k]), v.tensor) * .2, v.dims[:1]),
                          lambda: (tf.tanh(tf.einsum("ni,nj->ij", v.tensor, v.tensor) * .1), (k, k)),
                          lambda: (tf.tanh(tf.einsum("ni,nj->nij", v.tensor, v.tensor)), (v.dims[0], k, k))])()

    # --- along axes --------------------------------------------------------------------------------------------------------

    def reduce(self):
        v = self.any_float()
        if not v.dims:
            return None
        keep = self.chance(.4)
        op = self.pick([tf.reduce_sum, tf.reduce_mean, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_logsumexp,
                        tf.math.reduce_std, lambda x, a, keepdims: tf.reduce_prod(tf.tanh(x) + 1.1, a, keepdims=keepdims)])
        x = v.tensor
        if op is tf.math.reduce_std:
            op = lambda x, a, keepdims: tf.sqrt(tf.math.reduce_variance(x, a, keepdims=keepdims) + .05)
        if self.chance(.3):
            return tf.tanh(op(x, None, keepdims=keep) * .3), (1,) * len(v.dims) if keep else ()
        a = self.axis(v)
        dims = v.dims[:a] + ((1,) if keep else ()) + v.dims[a + 1:]
        return tf.tanh(op(x, a, keepdims=keep) * .5), dims

    def summed(self):
        """A sum or mean as it is: partial values travel on, through branches, loops, slices and calls."""
        v = self.any_float()
        if not v.dims:
            return None
        op = self.pick([lambda *args, **more: tf.reduce_sum(*args, **more) * .05, tf.reduce_mean])
        keep = self.chance(.4)
        a = self.pick([None, 0, 0, self.axis(v)])
        if a is None:
            return op(v.tensor, keepdims=keep), (1,) * len(v.dims) if keep else ()
        return op(v.tensor, a, keepdims=keep), v.dims[:a] + ((1,) if keep else ()) + v.dims[a + 1:]

    def along(self):
        v = self.any_float()
        if not v.dims:
            return None
        a = self.axis(v)
        f = self.pick([lambda x: tf.nn.softmax(x, axis=a), lambda x: tf.nn.log_softmax(x, axis=a), lambda x: tf.tanh(tf.cumsum(x, a)),
                       lambda x: tf.tanh(tf.cumsum(x, a, exclusive=True, reverse=True)), lambda x: tf.reverse(x, [a]),
                       lambda x: tf.roll(x, 1, a), lambda x: tf.sort(x, a), lambda x: tf.nn.l2_normalize(x + .3, a),
                       lambda x: x - tf.reduce_mean(x, a, keepdims=True), lambda x: tf.cumprod(tf.tanh(x), a)])
        return f(v.tensor), v.dims

    def normalised(self):
        v = self.rows()
        mean, variance = tf.nn.moments(v.tensor, [self.pick([0, 0, 1])], keepdims=True)
        return bounded(tf.nn.batch_normalization(v.tensor, mean, variance, None, None, .05)), v.dims

    def fused_norm(self):
        v = self.rows()
        k = v.dims[1]
        out, mean, variance = tf.nn.fused_batch_norm(v.tensor[:, None, None, :], tf.ones([k]) + self.variable([k]) * .1,
                                                     tf.zeros([k]), epsilon=.01)[:3]
        moving = self.variable([k], trainable=False)
        self.updates.append(tf.assign_sub(moving, .1 * (moving - mean)))
        return bounded(tf.reshape(out, tf.shape(v.tensor))), v.dims

    # --- layout ----------------------------------------------------------------------------------------------------------

    def transpose(self):
        v = self.of_rank(2, 3)
        order = list(self.random.permutation(len(v.dims)))
        return tf.transpose(v.tensor, order), tuple(v.dims[i] for i in order)

    def part(self):
        v = self.any_float()
        if not v.dims:
            return None
        a = self.axis(v)
        length = v.dims[a]
        if length in (1, 2) or (isinstance(length, str) and length != "n"):
            return None
        front = (slice(None),) * a
        cut, left = self.pick([(slice(1, None), -1), (slice(None, -1), -1), (slice(0, 2), 2), (slice(None, None, 2), 0), (1, None)])
        if left is None:
            return v.tensor[front + (cut,)], v.dims[:a] + v.dims[a + 1:]
        if isinstance(length, int):
            length = {-1: length - 1, 2: 2, 0: (length + 1) // 2}[left]
        else:
            length = {-1: f"{length}{cut.start or ''}-1", 2: 2, 0: f"{length}/2"}[left]
        return v.tensor[front + (cut,)], v.dims[:a] + (length,) + v.dims[a + 1:]

    def joined(self):
        v = self.any_float()
        if not v.dims:
            return None
        a = self.axis(v)
        other = self.pick([w for w in self.floats[-16:] if w.dims == v.dims])
        length = v.dims[a] * 2 if isinstance(v.dims[a], int) else f"{v.dims[a]}+{v.dims[a]}"
        if len(str(length)) > 12 or (isinstance(length, int) and length > 20):
            return None
        return tf.concat([v.tensor, other.tensor], a), v.dims[:a] + (length,) + v.dims[a + 1:]

    def stacked(self):
        v = self.of_rank(0, 1, 2)
        other = self.pick([w for w in self.floats[-16:] if w.dims == v.dims])
        a = int(self.random.randint(len(v.dims) + 1))
        return tf.stack([v.tensor, other.tensor], a), v.dims[:a] + (2,) + v.dims[a:]

    def expanded(self):
        v = self.of_rank(0, 1, 2)
        a = int(self.random.randint(len(v.dims) + 1))
        return tf.expand_dims(v.tensor, a), v.dims[:a] + (1,) + v.dims[a:]

    def squeezed(self):
        v = self.any_float()
        ones = [i for i, d in enumerate(v.dims) if d == 1]
        if not ones:
            return None
        a = self.pick(ones)
        return tf.squeeze(v.tensor, a), v.dims[:a] + v.dims[a + 1:]

    def reshaped(self):
        v = self.of_rank(2, 3)
        if not all(isinstance(d, int) for d in v.dims[1:]):
            return None
        rest = int(np.prod(v.dims[1:]))
        choices = [lambda: (tf.reshape(v.tensor, [-1, rest]), (v.dims[0], rest)),
                   lambda: (tf.reshape(v.tensor, [tf.shape(v.tensor)[0], rest]), (v.dims[0], rest))]
        if rest % 2 == 0:
            choices += [lambda: (tf.reshape(v.tensor, [-1, 2, rest // 2]), (v.dims[0], 2, rest // 2)),
                        lambda: (tf.reshape(v.tensor, [-1, rest // 2]), (f"{v.dims[0]}*2" if isinstance(v.dims[0], str) else v.dims[0] * 2,
                                                                        rest // 2)),
                        lambda: (tf.reshape(v.tensor, [-1]), (f"{v.dims[0]}*{rest}" if isinstance(v.dims[0], str) else v.dims[0] * rest,))]
        return self.pick(choices)()

    def padded(self):
        v = self.rows()
        if self.chance(.5):
            return tf.pad(v.tensor, [[0, 0], [1, 1]]), (v.dims[0], v.dims[1] + 2)
        return tf.pad(v.tensor, [[1, 0], [0, 0]])[:-1], v.dims

    def tiled(self):
        v = self.of_rank(1, 2)
        a = self.axis(v)
        many = [2 if i == a else 1 for i in range(len(v.dims))]
        length = v.dims[a] * 2 if isinstance(v.dims[a], int) else f"{v.dims[a]}+{v.dims[a]}"
        if len(str(length)) > 12 or (isinstance(length, int) and length > 20):
            return None
        return tf.tile(v.tensor, many), v.dims[:a] + (length,) + v.dims[a + 1:]

    # --- rows by number ----------------------------------------------------------------------------------------------------

    def looked_up(self):
        y = self.by_row()
        return tf.nn.embedding_lookup(self.variable([10, 4]), y.tensor), ("n", 4)

    def one_hot(self):
        y = self.by_row()
        return tf.one_hot(y.tensor, 8, axis=self.pick([-1, -1, 1])), ("n", 8)

    def gathered(self):
        v = self.of_rank(1, 2)
        if v.dims[0] != "n":
            return None
        n = tf.shape(v.tensor)[0]
        return self.pick([lambda: (tf.gather(v.tensor, self.by_row().tensor % n), v.dims),
                          lambda: (tf.gather(v.tensor, (tf.range(n) + 1) % n), v.dims),
                          lambda: (tf.gather(v.tensor, [0, 2, 1]), (3,) + v.dims[1:]),
                          lambda: (tf.gather(v.tensor, tf.argsort(self.x[:, 1])), v.dims)])()

    def chosen_columns(self):
        v = self.rows()
        if v.dims[0] != "n" or v.dims[1] < 4:
            return None
        y = self.by_row()
        at = tf.stack([tf.range(tf.shape(v.tensor)[0]), y.tensor % v.dims[1]], 1)
        return tf.gather_nd(v.tensor, at), ("n",)

    def segments(self):
        v = self.of_rank(1, 2)
        if v.dims[0] != "n":
            return None
        op = self.pick([tf.math.unsorted_segment_sum, tf.math.unsorted_segment_mean, tf.math.unsorted_segment_sqrt_n])
        return tf.tanh(op(v.tensor, self.by_row().tensor, 10)), (10,) + v.dims[1:]

    def masked(self):
        v = self.of_rank(1, 2)
        if v.dims[0] != "n":
            return None
        self.masks += 1
        by = self.pick([w for w in self.floats if w.dims == ("n", 6) or w.dims == ("n", 8)])
        filled = tf.concat([tf.boolean_mask(v.tensor, by.tensor[:, 0] > APART), v.tensor[:1]], 0)
        return filled, (f"m{self.masks}",) + v.dims[1:]

    def top(self):
        v = self.rows()
        if v.dims[1] < 3:
            return None
        return tf.nn.top_k(v.tensor, 2).values, (v.dims[0], 2)

    # --- integers and counts -------------------------------------------------------------------------------------------------

    def integer(self):
        choices = [lambda: (tf.cast(tf.argmax(self.floats[1].tensor, 1), tf.int32), ("n",)),
                   lambda: (tf.floormod(self.by_row().tensor * 3 + 1, 8), ("n",)),
                   lambda: (tf.range(self.counts[0]) % 8, ("n",)),
                   lambda: (tf.cast(tf.reduce_sum(self.x, 1) > APART, tf.int32), ("n",)),
                   lambda: (tf.cumsum(self.by_row().tensor) % 8, ("n",)),
                   lambda: (tf.unique(self.by_row().tensor)[1] % 8, ("n",)),
                   lambda: (tf.cast(tf.clip_by_value(self.x[:, 2] * 2. + APART, 0., 7.), tf.int32), ("n",)),
                   lambda: (tf.maximum(self.by_row().tensor, tf.reduce_min(self.by_row().tensor) + 1) % 8, ("n",))]
        tensor, dims = self.pick(choices)()
        self.ints.append(Value(tensor, dims))
        return None

    def count(self):
        v = self.any_float()
        choices = [lambda: floats(self.counts[0]) * .1, lambda: floats(tf.size(v.tensor)) * .01, lambda: 1. / floats(self.counts[0]),
                   lambda: floats(self.counts[0] % 2), lambda: floats(tf.reduce_max(self.by_row().tensor)) * .1,
                   lambda: tf.reduce_mean(floats(self.by_row().tensor > 3)), lambda: floats(tf.size(tf.unique(self.by_row().tensor)[0])) * .1]
        return self.pick(choices)(), ()

    def cast(self):
        y = self.by_row()
        return floats(y.tensor) * .1, y.dims

    # --- draws, control flow, gradients ----------------------------------------------------------------------------------------

    def dropped(self):
        v = self.any_float()
        return self.pick([lambda: tf.nn.dropout(v.tensor, rate=.3, seed=int(self.random.randint(100))),
                          lambda: v.tensor + .1 * tf.random_normal(tf.shape(v.tensor), seed=int(self.random.randint(100))),
                          lambda: bounded(v.tensor * tf.random_uniform(tf.shape(v.tensor), seed=int(self.random.randint(100))))])(), v.dims

    def condition(self):
        v, w = self.any_float(), self.any_float()
        asked = self.pick([lambda: tf.reduce_mean(w.tensor) > APART, lambda: self.flag, lambda: self.counts[0] > 5,
                           lambda: tf.reduce_sum(self.by_row().tensor) % 2 > 0])()
        return tf.cond(asked, lambda: v.tensor * .5, lambda: tf.sin(v.tensor)), v.dims

    def loop(self):
        v = self.rows()
        k = v.dims[1]
        weights = self.variable([k, k])
        turns = self.pick([lambda: 2, lambda: self.counts[0] % 3, lambda: tf.reduce_max(self.by_row().tensor) % 3])()
        return tf.while_loop(lambda i, u: i < turns, lambda i, u: (i + 1, tf.tanh(tf.matmul(u, weights) + .1)), [0, v.tensor],
                             [tf.TensorShape([]), v.tensor.shape], parallel_iterations=1)[1], v.dims

    def mapped(self):
        v = self.of_rank(2)
        return tf.map_fn(lambda row: tf.nn.softmax(row) * .5, v.tensor, parallel_iterations=1), v.dims

    def scanned(self):
        v = self.of_rank(2)
        if not isinstance(v.dims[1], int):
            return None
        return tf.scan(lambda a, row: tf.tanh(a * .5 + row), v.tensor, tf.zeros([v.dims[1]]), parallel_iterations=1), v.dims

    def slope(self):
        """A gradient inside the loss: second derivatives follow."""
        v = self.any_float()
        by = self.pick(self.floats[1:3] + self.floats[-4:])
        g = tf.gradients(tf.reduce_mean(tf.square(v.tensor)), by.tensor)[0]
        return (tf.tanh(g * 3.), by.dims) if isinstance(g, tf.Tensor) else None

    def average(self):
        """A moving average that a later value reads, before or after its update."""
        v = self.rows()
        moving = self.variable([v.dims[1]], trainable=False)
        update = tf.assign(moving, .8 * moving + .2 * tf.reduce_mean(v.tensor, 0))
        self.updates.append(update)
        return v.tensor - tf.stop_gradient(update), v.dims

    def waiting(self):
        v = self.any_float()
        with tf.control_dependencies([self.any_float().tensor]):
            return tf.identity(v.tensor), v.dims

    MAKERS = ([unary] * 4 + [binary] * 6 + [many, scaled, scaled] + [dense] * 3 + [pairs, covariance, mixed, einsum] + [reduce] * 5 + [summed] * 5 +
              [along] * 4 + [normalised, fused_norm, transpose, transpose, part, part, joined, stacked, expanded, squeezed, reshaped,
                             reshaped, padded, tiled, looked_up, one_hot, gathered, gathered, chosen_columns, segments, segments, masked,
                             masked, top, integer, integer, integer, count, count, cast, dropped, dropped, condition, loop, mapped,
                             scanned, slope, average, waiting])

    def add(self):
        make = self.pick(self.MAKERS)
        try:
            found = make(self)
        except ValueError:  # shapes that do not fit: Python says so
            found = None
        if found is not None:
            self.floats.append(Value(*found))
        self.made.append(make.__name__ + (f" {found[0].name} {found[1]}" if found is not None else ""))
