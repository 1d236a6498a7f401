"""Small losses of a batch, for replicated_graphs.py: what models do with rows, and what treats examples otherwise than apart.

Every pattern is a function of g, a graph's tensors: g.x [n, 6] and g.y [n] are fed, g.h = tanh(x w) is [n, 8], g.n the number of
rows, g.var(name, shape) a trained variable. It gives a loss.
"""
import numpy as np
import tensorflow.compat.v1 as tf


def mean_square(value):
    return tf.reduce_mean(tf.square(value))


def cross_entropy(g, logits=None):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=g.y, logits=g.h if logits is None else logits)


def by_row(g, rows):
    """Rows that are computed with, trained or not."""
    return tf.reduce_mean(tf.reduce_sum(g.h * rows, 1)) + mean_square(g.h)


def table(g, size=40, depth=8):
    return g.var("table", [size, depth])


def embedding_column(g, combiner, words=1):
    """As tf.feature_column.input_layer looks up what an embedding_column holds: words of each example, some of them none."""
    ids = tf.stack([(g.y + k) % 12 - 1 - k for k in range(words)], 1)
    there = tf.where(ids >= 0)
    sparse = tf.SparseTensor(there, tf.cast(tf.gather_nd(ids, there), tf.int64), tf.cast(tf.shape(ids), tf.int64))
    found = tf.nn.safe_embedding_lookup_sparse([table(g)], sparse, combiner=combiner)
    return tf.reshape(found, [-1, 8])


def floats(value):
    return tf.cast(value, tf.float32)


# Of the class that was wrong before: taken for free of cross-example ops.
FOUND = {
    "cond on a mean": lambda g: tf.cond(tf.reduce_mean(g.x) > 0.0, lambda: mean_square(g.h), lambda: tf.reduce_mean(tf.abs(g.h))),
    "cond on the size": lambda g: tf.cond(g.n > 5, lambda: mean_square(g.h), lambda: tf.reduce_mean(tf.abs(g.h))),
    "band part": lambda g: mean_square(tf.linalg.band_part(g.h, 2, 2)),
    "positions looked up": lambda g: by_row(g, tf.nn.embedding_lookup(table(g), tf.range(g.n))),
    "positions one hot": lambda g: by_row(g, tf.one_hot(tf.range(g.n), 8)),
    "class weights": lambda g: tf.reduce_mean(cross_entropy(g) / tf.gather(floats(tf.math.bincount(g.y, minlength=8)) + 1., g.y)),
    # Ten more of the class.
    "remainder of the size": lambda g: mean_square(g.h) * (1. + floats(g.n % 2)),
    "the smaller of the size and 10": lambda g: tf.reduce_sum(tf.square(g.h)) / floats(tf.minimum(g.n, 10)),
    "size cast before it is sliced": lambda g: mean_square(g.h / floats(tf.shape(g.h))[0]),
    "labels compared with the largest": lambda g: tf.reduce_mean(cross_entropy(g) * (1. + floats(tf.equal(g.y, tf.reduce_max(g.y))))),
    "rows by segment and back": lambda g: mean_square(g.h - tf.gather(tf.math.unsorted_segment_mean(g.h, g.y, 8), g.y)),
    "scattered by fed numbers": lambda g: mean_square(
        tf.scatter_nd(tf.expand_dims(tf.argsort(g.x[:, 0]), 1), g.h, tf.shape(g.h)) * g.x[:, :1]),
    "sorted by an op": lambda g: tf.reduce_mean(tf.sort(g.h[:, 0]) * g.x[:, 0]),
    "pairs by tile and repeat": lambda g: mean_square(
        tf.tile(g.h, [2, 1]) - tf.reshape(tf.tile(g.h[:, None], [1, 2, 1]), [-1, 8])),
    "the first half of them": lambda g: tf.reduce_mean(tf.reshape(g.x[:, :2], [-1])[:g.n] * g.h[:, 0]),
    "matrix of the batch inverted": lambda g: tf.reduce_mean(tf.square(tf.linalg.lstsq(g.x, g.h, l2_regularizer=0.1))),
    "an integer mean": lambda g: by_row(g, tf.one_hot((g.y + tf.reduce_max(g.y)) % 8, 8)),
    "unique's own numbers": lambda g: by_row(g, tf.one_hot(tf.unique(g.y)[1], 8)),
    "take by numbers of the first": lambda g: mean_square(g.h - tf.gather(g.h, tf.zeros_like(g.y))),
    "case of a sum": lambda g: tf.case([(tf.reduce_sum(g.y) > 30, lambda: mean_square(g.h))], default=lambda: 2. * mean_square(g.h)),
}

# Which follow from the documents: replicated, or on one device by name.
DOCUMENTED = {
    "mean": lambda g: mean_square(g.h),
    "sum": lambda g: tf.reduce_sum(tf.square(g.h)),
    "cross entropy": lambda g: tf.reduce_mean(cross_entropy(g)),
    "dense cross entropy": lambda g: tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot(g.y, 8), logits=g.h)),
    "weighted mean": lambda g: tf.losses.sparse_softmax_cross_entropy(g.y, g.h, weights=floats(g.y > 3)),
    "weights divided by their sum": lambda g: tf.reduce_sum(cross_entropy(g) * tf.square(g.x[:, 0])) / tf.reduce_sum(tf.square(g.x[:, 0])),
    "with decay": lambda g: tf.reduce_mean(cross_entropy(g)) + 0.1 * tf.nn.l2_loss(g.w),
    "total loss": lambda g: (tf.losses.mean_squared_error(g.x, g.h[:, :6]), tf.losses.add_loss(0.1 * tf.nn.l2_loss(g.w)),
                             tf.losses.get_total_loss())[-1],
    "root of a mean": lambda g: tf.sqrt(mean_square(g.h - 1.)),
    "dice": lambda g: 1. - 2. * tf.reduce_sum(g.h * g.h[:, ::-1]) / (tf.reduce_sum(tf.square(g.h)) + 1.),
    "norm": lambda g: tf.norm(g.h - 0.3),
    "largest": lambda g: tf.reduce_max(tf.square(g.h)),
    "log of a sum": lambda g: tf.reduce_logsumexp(g.h),
    "mean of means": lambda g: tf.reduce_mean(tf.reduce_mean(tf.square(g.h), 1)),
    "less the mean": lambda g: mean_square(g.h - tf.reduce_mean(g.h, 0)),
    "over the deviation": lambda g: mean_square(g.h / (0.1 + tf.math.reduce_std(g.h))),
    "less a stopped mean": lambda g: tf.reduce_mean(tf.abs(g.h - tf.stop_gradient(tf.reduce_mean(g.h, 0)))),
    "advantages": lambda g: tf.reduce_mean(cross_entropy(g) * (g.x[:, 0] - tf.reduce_mean(g.x[:, 0])) /
                                           (0.1 + tf.math.reduce_std(g.x[:, 0]))),
    "clipped by norm": lambda g: tf.reduce_mean(tf.abs(tf.clip_by_norm(g.h, 2.))),
    "covariance": lambda g: mean_square(tf.matmul(g.h, g.h, transpose_a=True) / floats(g.n)),
    "pairs": lambda g: mean_square(tf.matmul(g.h, g.h, transpose_b=True)),
    "softmax along": lambda g: mean_square(tf.nn.softmax(g.h, axis=0)),
    "cumsum along": lambda g: mean_square(tf.cumsum(g.h)),
    "cumsum across": lambda g: mean_square(tf.cumsum(g.h, axis=1)),
    "cumsum of ones": lambda g: by_row(g, tf.cumsum(tf.ones_like(g.h))),
    "reversed": lambda g: tf.reduce_mean(g.x[:, :1] * tf.reverse(g.h, [0])),
    "reversed columns": lambda g: mean_square(g.x - tf.reverse(g.h, [1])[:, :6]),
    "rolled": lambda g: tf.reduce_mean(g.x[:, :1] * tf.roll(g.h, 1, 0)),
    "rolled columns": lambda g: tf.reduce_mean(g.x[:, :1] * tf.roll(g.h, 1, 1)),
    "shuffled": lambda g: mean_square(g.h - tf.random_shuffle(g.h, seed=3)),
    "neighbours": lambda g: mean_square(g.h[1:] - g.h[:-1]),
    "first row": lambda g: mean_square(g.h - g.h[:1]),
    "every other row": lambda g: mean_square(g.h[::2]),
    "back to front": lambda g: tf.reduce_mean(g.x[:, :1] * g.h[::-1]),
    "top of each": lambda g: tf.reduce_mean(tf.nn.top_k(g.h, 3).values),
    "top of all": lambda g: tf.reduce_mean(tf.nn.top_k(tf.transpose(g.h), 3).values),
    "actions": lambda g: mean_square(tf.gather_nd(g.h, tf.stack([tf.range(g.n), g.y], 1)) - 1.),
    "actions side by side": lambda g: mean_square(tf.gather_nd(
        g.h, tf.concat([tf.expand_dims(tf.range(g.n), 1), tf.expand_dims(g.y, 1)], 1)) - 1.),
    "actions the other way": lambda g: mean_square(tf.gather_nd(tf.concat([g.h] * 2, 1), tf.stack([g.y % g.n, tf.range(g.n)], 1)) - 1.),
    "flat actions": lambda g: mean_square(tf.gather(tf.reshape(g.h, [-1]), tf.range(g.n) * 8 + g.y)),
    "diagonal": lambda g: mean_square(tf.gather(tf.reshape(g.h, [-1]), tf.range(g.n) * 8 + tf.range(g.n) % 8)),
    "own rows": lambda g: mean_square(tf.gather(g.h, tf.range(g.n))),
    "the next row": lambda g: tf.reduce_mean(g.x[:, :1] * tf.gather(g.h, (tf.range(g.n) + 1) % g.n)),
    "by fed numbers": lambda g: mean_square(g.h - tf.gather(g.h, g.y % tf.maximum(g.n, 1))),
    "masked mean": lambda g: tf.reduce_mean(tf.boolean_mask(g.h, g.x[:, 0] > 0)),
    "masked sum": lambda g: tf.reduce_sum(tf.boolean_mask(tf.square(g.h), g.x[:, 0] > 0)) + mean_square(g.h),
    "masked by product": lambda g: tf.reduce_sum(floats(g.x[:, 0] > 0)[:, None] * tf.square(g.h)) / tf.reduce_sum(floats(g.x[:, 0] > 0)),
    "how many are above": lambda g: mean_square(g.h) * tf.reduce_sum(floats(g.x[:, 0] > 0)),
    "how many are found": lambda g: mean_square(g.h) * (1. + floats(tf.shape(tf.where(g.x[:, 0] > 0))[0])),
    "share of a label": lambda g: tf.reduce_mean(tf.square(g.h[:, 0]) / (0.1 + tf.reduce_mean(floats(g.y > 3)))),
    "embedding": lambda g: tf.reduce_mean(tf.reduce_sum(g.h * tf.nn.embedding_lookup(table(g), g.y), 1)) + mean_square(g.h),
    "embedding column": lambda g: by_row(g, embedding_column(g, "mean")),
    "embedding column of several": lambda g: by_row(g, embedding_column(g, "sqrtn", 3)),
    "heads along the batch": lambda g: (lambda h: mean_square(h - .5 * h[:1]))(
        tf.concat(tf.split(tf.tile(g.h[:, None], [1, 2 + tf.reduce_max(g.y) % 3, 1]), 4, 2), 0)),
    "embedding of unique words": lambda g: (lambda u: mean_square(g.h - tf.gather(tf.gather(table(g), u[0]), u[1])))(tf.unique(g.y)),
    "unique words less their mean": lambda g: (lambda u: (lambda e: mean_square(g.h - tf.gather(e - tf.reduce_mean(e, 0), u[1])))(
        tf.gather(table(g), u[0])))(tf.unique(g.y)),
    "how often words are met": lambda g: (lambda u: tf.reduce_mean(cross_entropy(g) / floats(tf.gather(u[2], u[1]))))(
        tf.unique_with_counts(g.y)),
    "number of unique words": lambda g: mean_square(g.h) * floats(tf.size(tf.unique(g.y)[0])),
    "dropout": lambda g: mean_square(tf.nn.dropout(g.h, rate=0.4, seed=5)),
    "noise": lambda g: mean_square(g.h + tf.random.normal(tf.shape(g.h), seed=4)),
    "stateless noise": lambda g: mean_square(g.h + tf.random.stateless_normal(tf.shape(g.h), [3, 4])),
    "stateless integers": lambda g: by_row(g, tf.one_hot(tf.random.stateless_uniform([g.n], [3, 4], 0, 8, tf.int32), 8)),
    "moments of what is fed": lambda g: (lambda m: mean_square(tf.matmul((g.x - m[0]) / tf.sqrt(m[1] + .1), g.w)))(tf.nn.moments(g.x, [0])),
    "layer norm": lambda g: (lambda m: mean_square((g.h - m[0]) / tf.sqrt(m[1] + .1) - 0.5))(tf.nn.moments(g.h, [1], keepdims=True)),
    "reshaped": lambda g: mean_square(tf.reduce_max(tf.reshape(g.h, [-1, 2, 4]), 1)),
    "reshaped unevenly": lambda g: mean_square(tf.reduce_max(tf.reshape(g.h, [8, -1]), 1)),
    "two rows as one": lambda g: mean_square(tf.reduce_max(tf.reshape(tf.tile(g.h, [2, 1]), [-1, 16]), 1)),
    "time before batch": lambda g: mean_square(tf.reshape(tf.transpose(tf.reshape(g.h, [-1, 4, 2]), [1, 0, 2]), [-1, 2]) - 0.3),
    "time before batch, with others": lambda g: mean_square(
        tf.reshape(tf.transpose(tf.reshape(g.h, [-1, 4, 2]), [1, 0, 2]), [-1, 2]) -
        tf.reshape(tf.transpose(tf.reshape(tf.square(g.h), [-1, 4, 2]), [1, 0, 2]), [-1, 2])),
    "time beside batch": lambda g: mean_square(
        tf.reshape(tf.transpose(tf.reshape(g.h, [-1, 4, 2]), [1, 0, 2]), [-1, 2]) - tf.reshape(g.h, [-1, 2])),
    "convolution": lambda g: mean_square(tf.nn.conv2d(tf.reshape(g.h, [-1, 4, 2, 1]), g.var("f", [2, 2, 1, 3]), strides=1, padding="SAME")),
    "convolution along": lambda g: mean_square(tf.nn.conv2d(tf.reshape(g.h, [1, -1, 8, 1]), g.var("f", [2, 2, 1, 3]), strides=1, padding="SAME")),
    "dilated": lambda g: mean_square(tf.batch_to_space(tf.nn.relu(tf.space_to_batch(
        tf.reshape(g.h, [-1, 4, 2, 1]), [[0, 0], [0, 0]], block_size=2)), [[0, 0], [0, 0]], block_size=2) - 0.2),
    "pooled": lambda g: mean_square(tf.nn.max_pool2d(tf.reshape(g.h, [-1, 4, 2, 1]), 2, 2, "SAME")),
    "resized": lambda g: mean_square(tf.image.resize_bilinear(tf.reshape(g.h, [-1, 4, 2, 1]), [3, 3])),
    "loop": lambda g: mean_square(tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, g.u))), [0, g.h])[1]),
    "loop as long as the batch": lambda g: mean_square(tf.while_loop(lambda i, v: i < g.n, lambda i, v: (i + 1, v * .9), [0, g.h])[1]),
    "loop by what is in it": lambda g: mean_square(tf.while_loop(
        lambda i, v: tf.logical_and(i < 5, tf.reduce_sum(tf.abs(v)) > 5.), lambda i, v: (i + 1, v * .7), [0, g.h])[1]),
    "map over examples": lambda g: tf.reduce_mean(tf.map_fn(lambda row: tf.reduce_sum(tf.square(row)), g.h)),
    "scan over examples": lambda g: mean_square(tf.scan(lambda a, row: .5 * a + row, g.h)),
    "cond on what is fed": lambda g: tf.cond(g.flag, lambda: mean_square(g.h), lambda: tf.reduce_mean(tf.abs(g.h))),
    "cond of rows on a sum": lambda g: mean_square(tf.cond(tf.reduce_sum(g.x) > 0., lambda: g.h * 2., lambda: g.h - 1.)),
    "cond on a trained mean": lambda g: mean_square(tf.cond(tf.reduce_mean(g.h) > 0.1, lambda: g.h * 2., lambda: g.h - 1.)),
    "cond on the largest": lambda g: mean_square(tf.cond(tf.reduce_max(g.x) > 1.9, lambda: g.h * 2., lambda: g.h - 1.)),
    "select by the mean": lambda g: mean_square(tf.where(g.h > tf.reduce_mean(g.h), g.h * 2., g.h)),
    "select rows": lambda g: mean_square(tf.where(g.y > 3, g.h * 2., g.h)),
    "partitioned and stitched": lambda g: (lambda part: mean_square(tf.dynamic_stitch(
        part(tf.range(g.n)), [p * s for p, s in zip(part(g.h), (2., 1.))])))(
            lambda rows: tf.dynamic_partition(rows, tf.cast(g.y > 3, tf.int32), 2)),
    "sums by label": lambda g: mean_square(tf.math.unsorted_segment_sum(g.h, g.y, 8)),
    "means by label": lambda g: mean_square(tf.math.unsorted_segment_mean(g.h, g.y, 8)),
    "largest by label": lambda g: mean_square(tf.math.unsorted_segment_max(g.h, g.y % 2, 2)),
    "sequence mask": lambda g: tf.reduce_sum(tf.square(g.h) * floats(tf.sequence_mask(g.y, 8))) / tf.reduce_sum(floats(g.y)),
    "triplets of halves": lambda g: mean_square(g.h[:g.n // 2] - g.h[g.n - g.n // 2:]),
    "centre loss": lambda g: tf.nn.l2_loss(g.h - tf.gather(g.var("centres", [8, 8]), g.y)) / floats(g.n),
    "focal": lambda g: -tf.reduce_mean(tf.square(1. - tf.nn.softmax(g.h)) * tf.nn.log_softmax(g.h) * tf.one_hot(g.y, 8)),
    "attention of an example": lambda g: (lambda q: mean_square(tf.matmul(tf.nn.softmax(tf.matmul(q, q, transpose_b=True)), q)))(
        tf.reshape(g.h, [-1, 4, 2])),
    "attention of examples": lambda g: mean_square(tf.matmul(tf.nn.softmax(tf.matmul(g.h, g.u)), g.x[:, :1] * g.h, transpose_a=True)),
    "memory": lambda g: mean_square(tf.matmul(tf.nn.softmax(tf.matmul(g.h, g.u)), g.u)),
    "einsum": lambda g: mean_square(tf.einsum("nd,de->ne", g.h, g.u)),
    "einsum over the batch": lambda g: mean_square(tf.einsum("nd,ne->de", g.h, g.x) / 10.),
    "einsum with a mean": lambda g: tf.einsum("nd,d->", g.h, tf.reduce_mean(g.h, 0)),
    "string keys": lambda g: by_row(g, tf.one_hot(tf.strings.to_hash_bucket_fast(tf.as_string(g.y), 8), 8)),
    "position as a string": lambda g: by_row(g, tf.one_hot(tf.strings.to_hash_bucket_fast(tf.as_string(tf.range(g.n)), 8), 8)),
    "square of the mean": lambda g: tf.square(tf.reduce_mean(g.h)) + mean_square(g.h),
    "triangular weights": lambda g: mean_square(g.h * tf.linspace(0., 1., 8)),
    "plus the size": lambda g: by_row(g, tf.linspace(0., 1., 8) + floats(g.n)),
    "linspace over the batch": lambda g: by_row(g, tf.linspace(0., 1., g.n)[:, None]),
    "times the largest": lambda g: mean_square(g.h) * (1. + tf.reduce_max(g.x)),
    "eye": lambda g: mean_square(tf.matmul(g.h, g.h, transpose_a=True) - tf.eye(8) * floats(g.n)),
    "eye of the batch": lambda g: mean_square(tf.matmul(tf.eye(g.n), g.h)),
    "accuracy beside": lambda g: tf.reduce_mean(cross_entropy(g)) * (1. + tf.reduce_mean(floats(tf.equal(tf.argmax(g.h, 1, output_type=tf.int32), g.y)))),
}

# What reaches variables beside the loss: (updates, fetches).
BESIDE = {
    "largest kept": lambda g: [g.kept([], lambda v: v.assign(tf.maximum(v, tf.reduce_max(g.x))))],
    "mean kept": lambda g: [g.kept([8], lambda v: v.assign(.9 * v + .1 * tf.reduce_mean(g.h, 0)))],
    "sum kept": lambda g: [g.kept([8], lambda v: v.assign_add(tf.reduce_sum(g.h, 0)))],
    "size counted": lambda g: [g.kept([], lambda v: v.assign_add(floats(g.n)))],
    "odd sizes counted": lambda g: [g.kept([], lambda v: v.assign_add(floats(g.n % 2)))],
    "small sizes kept": lambda g: [g.kept([], lambda v: v.assign_add(floats(tf.minimum(g.n, 5))))],
    "labels counted": lambda g: [g.kept([8], lambda v: v.assign_add(floats(tf.math.bincount(g.y, minlength=8, maxlength=8))))],
    "different labels": lambda g: [g.kept([], lambda v: v.assign_add(floats(tf.size(tf.unique(g.y)[0]))))],
    "rows scattered": lambda g: [g.kept([8, 8], lambda v: tf.scatter_update(v, tf.range(2), g.h[:2]))],
    "labels scattered": lambda g: [g.kept([8, 8], lambda v: tf.scatter_add(v, g.y, g.h))],
    "tensor scatter": lambda g: [g.kept([8, 8], lambda v: v.assign(tf.tensor_scatter_nd_add(v, g.y[:, None], g.h)))],
    "tensor scatter by place": lambda g: [g.kept([16, 8], lambda v: v.assign(tf.tensor_scatter_nd_update(v, tf.range(g.n)[:, None], g.h)))],
    "sorted kept": lambda g: [g.kept([3], lambda v: v.assign(tf.nn.top_k(g.h[:, 0], 3).values))],
    "band kept": lambda g: [g.kept([], lambda v: v.assign(tf.reduce_sum(tf.linalg.band_part(g.h, 1, 1))))],
    "median kept": lambda g: [g.kept([], lambda v: v.assign(tf.sort(g.h[:, 0])[g.n // 2]))],
    "kept on a condition": lambda g: [g.kept([], lambda v: tf.cond(
        tf.reduce_mean(g.x) > 0., lambda: v.assign_add(1.), lambda: v.assign_add(0.)))],
    "kept on the size": lambda g: [g.kept([], lambda v: tf.cond(g.n > 5, lambda: v.assign_add(1.), lambda: v.assign_add(0.)))],
    "gradient's mean kept": lambda g: [g.kept([8], lambda v: v.assign(tf.reduce_mean(tf.gradients(g.loss, g.h)[0], 0)))],
    "gradient's largest kept": lambda g: [g.kept([8], lambda v: v.assign(tf.reduce_max(tf.gradients(g.loss, g.h)[0], 0)))],
    "gradient's band kept": lambda g: [g.kept([8], lambda v: v.assign(tf.reduce_sum(
        tf.linalg.band_part(tf.gradients(g.loss, g.h)[0], 1, 1), 0)))],
    "gradient's rows": lambda g: [tf.gradients(g.loss, g.h)[0]],
    "gradient's rows summed up": lambda g: [tf.cumsum(tf.gradients(g.loss, g.h)[0])],
    "gradient's band": lambda g: [tf.linalg.band_part(tf.gradients(g.loss, g.h)[0], 1, 1)],
    "rows fetched": lambda g: [g.h, g.h * 2.],
    "band fetched": lambda g: [tf.linalg.band_part(g.h, 1, 1)],
    "cumsum fetched": lambda g: [tf.cumsum(g.h)],
    "positions fetched": lambda g: [tf.gather(table(g), tf.range(g.n))],
    "positions counted": lambda g: [tf.range(g.n)],
    "size fetched": lambda g: [g.n, g.n % 2, tf.minimum(g.n, 5), tf.shape(g.h)],
    "found fetched": lambda g: [tf.where(g.x[:, 0] > 0)],
    "unique fetched": lambda g: list(tf.unique(g.y)),
    "ordered fetched": lambda g: [tf.argsort(g.h[:, 0])],
    "condition fetched": lambda g: [tf.cond(tf.reduce_mean(g.x) > 0., lambda: g.h * 2., lambda: g.h)],
    "counts fetched": lambda g: [tf.math.bincount(g.y, minlength=8)],
    "confusion fetched": lambda g: [tf.math.confusion_matrix(g.y, tf.argmax(g.h, 1), 8)],
    "largest fetched": lambda g: [tf.reduce_max(g.h), tf.argmax(g.h[:, 0])],
    "joined fetched": lambda g: [tf.strings.reduce_join(tf.as_string(g.y), separator=" ")],
    "inverse fetched": lambda g: [tf.linalg.inv(tf.matmul(g.h, g.h, transpose_a=True) + tf.eye(8))],
}


# --- whole programs: what happens once a step -----------------------------------------------------------------------

def trained(x, scale=1.):
    w = tf.get_variable("w", initializer=(np.random.RandomState(1).randn(6, 8) * .5).astype("float32"))
    loss = mean_square(tf.nn.tanh(tf.matmul(x, w)) - .3) * scale
    return loss, tf.train.GradientDescentOptimizer(.2).minimize(loss)


def of_a_queue(make):
    """64 rows in a queue of (number, x, y): what the step gives, and how many are left."""
    def program(target):
        random = np.random.RandomState(3)
        rows = [np.arange(64, dtype="i"), random.randn(64, 6).astype("f"), random.randint(0, 8, 64).astype("i")]
        queue = tf.FIFOQueue(100, [tf.int32, tf.float32, tf.int32], shapes=[[], [6], []])
        filled, left = queue.enqueue_many(rows), queue.size()
        step = make(queue)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            session.run(filled)
            values = []
            for _ in range(4):
                values += [np.asarray(v) for v in session.run(step) if v is not None]
            return values + [np.asarray(session.run(left))] + session.run(tf.global_variables())
    return program


def fetched_beside(queue):
    number, x, y = queue.dequeue_many(8)
    loss, train = trained(x)
    return [loss, number, train]


def fetched_up_to(queue):
    number, x, y = queue.dequeue_up_to(8)
    loss, train = trained(x)
    return [loss, y, train]


def all_fetched(queue):
    parts = queue.dequeue_many(8)
    loss, train = trained(parts[1])
    return [loss] + parts + [train]


def waited_for(queue):
    number, x, y = queue.dequeue_many(8)
    loss, train = trained(x)
    with tf.control_dependencies([number.op]):
        return [loss, tf.constant(2.), train]


def counted_with_it(queue):
    count = tf.get_variable("count", initializer=0, trainable=False)
    with tf.control_dependencies([count.assign_add(1)]):
        number, x, y = queue.dequeue_many(8)
    loss, train = trained(x)
    return [loss, count.assign_add(0), train]


def counted_and_fetched(queue):
    count = tf.get_variable("count", initializer=0, trainable=False)
    more = count.assign_add(1)
    with tf.control_dependencies([more]):
        number, x, y = queue.dequeue_many(8)
    loss, train = trained(x)
    return [loss, more, train]


def paced_by_count(queue):
    """What brings the batch counts, and the loss is computed with the count."""
    count = tf.get_variable("count", initializer=np.float32(0), trainable=False, use_resource=True)
    with tf.control_dependencies([count.assign_add(.25)]):
        number, x, y = queue.dequeue_many(8)
    with tf.control_dependencies([x]):
        pace = count.read_value()
    loss, train = trained(x, 1. + pace)
    return [loss, number, train]


def count_put_in(queue):
    """One device takes what an update gives; the loss of the next step is computed with it."""
    count = tf.get_variable("count", initializer=np.float32(0), trainable=False, use_resource=True)
    counts = tf.FIFOQueue(100, [tf.float32], shapes=[[]])
    number, x, y = queue.dequeue_many(8)
    before = count.read_value()
    loss, train = trained(x, 1. + before)
    with tf.control_dependencies([before]):
        after = count.assign_add(.25)
    return [loss, number, train, counts.enqueue(after)]


def put_back(queue):
    number, x, y = queue.dequeue_many(8)
    loss, train = trained(x)
    return [loss, number, train, queue.enqueue_many([number[:2], x[:2], y[:2]])]


def two_of_one_queue(queue):
    _, x, _ = queue.dequeue_many(4)
    with tf.control_dependencies([x]):
        number, _, _ = queue.dequeue_many(4)
    loss, train = trained(x)
    return [loss, number, train]


def of_an_iterator(make):
    def program(target):
        random = np.random.RandomState(3)
        rows = (np.arange(64, dtype="i"), random.randn(64, 6).astype("f"))
        batches = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(rows).batch(8))
        step = make(batches)
        with tf.Session(target) as session:
            session.run([tf.global_variables_initializer(), batches.initializer])
            values = [np.asarray(v) for _ in range(4) for v in session.run(step) if v is not None]
            return values + [np.asarray(session.run(step[1]))]
    return program


def element_fetched(batches):
    number, x = batches.get_next()
    loss, train = trained(x)
    return [loss, number, train]


def element_waited_for(batches):
    number, x = batches.get_next()
    loss, train = trained(x)
    with tf.control_dependencies([number]):
        return [loss, tf.identity(number) + 1, train]


def drawn_between(target):
    """Steps that do not train draw from the generator that training draws from."""
    generator = tf.random.Generator.from_seed(5)
    x, random = tf.placeholder(tf.float32, [None, 6]), np.random.RandomState(3)
    w = tf.get_variable("w", initializer=(np.random.RandomState(1).randn(6, 8) * .5).astype("float32"))
    loss = mean_square(tf.nn.tanh(tf.matmul(x, w)) * generator.normal([tf.shape(x)[0], 8]))
    train, drawn = tf.train.GradientDescentOptimizer(.2).minimize(loss), generator.normal([3])
    with tf.Session(target) as session:
        session.run([tf.global_variables_initializer(), generator.state.initializer])
        values = []
        for _ in range(3):
            values += [session.run([loss, train], {x: random.randn(8, 6)})[0], session.run(drawn)]
        return [np.asarray(v) for v in values + session.run([w])]


def most_rows(target):
    """The first 60,000 rows of a larger batch, and all of a small one."""
    x, random = tf.placeholder(tf.float32, [None, 6]), np.random.RandomState(3)
    loss, train = trained(x[:60000])
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        values = [session.run([loss, tf.shape(x[:60000]), train], {x: random.randn(n, 6)})[:2] for n in (12, 60200, 12)]
        return [np.asarray(v) for step in values for v in step] + session.run(tf.global_variables())


PROGRAMS = {
    **{f"queue: {make.__name__}": of_a_queue(make) for make in (
        fetched_beside, fetched_up_to, all_fetched, waited_for, counted_with_it, counted_and_fetched, paced_by_count, count_put_in, put_back,
        two_of_one_queue)},
    **{f"iterator: {make.__name__}": of_an_iterator(make) for make in (element_fetched, element_waited_for)},
    "generator: drawn_between": drawn_between,
    "slice: most_rows": most_rows,
}
