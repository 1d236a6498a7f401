"""Further ops for random_rows.py: layers over images and sequences, sparse rows, matrices of examples, metrics, averages."""
import tensorflow.compat.v1 as tf

from random_rows import APART, RandomRows, bounded, floats


class RandomLayers(RandomRows):
    """As RandomRows, with what models are made of."""

    # --- images --------------------------------------------------------------------------------------------------------

    def images(self):
        """[n, 4, 4, 2] of some rows."""
        v = self.rows()
        if v.dims[0] != "n":
            return None
        wide = tf.tanh(tf.matmul(v.tensor, self.variable([v.dims[1], 32])))
        return tf.reshape(wide, [-1, 4, 4, 2])

    def image(self):
        x = self.images()
        if x is None:
            return None
        f = self.pick([
            lambda: tf.nn.conv2d(x, self.variable([3, 3, 2, 3]), 1, "SAME"),
            lambda: tf.nn.conv2d(x, self.variable([2, 2, 2, 3]), 2, "VALID"),
            lambda: tf.nn.depthwise_conv2d(x, self.variable([2, 2, 2, 2]), [1, 1, 1, 1], "SAME"),
            lambda: tf.nn.conv2d_transpose(x, self.variable([2, 2, 3, 2]), tf.stack([tf.shape(x)[0], 8, 8, 3]), 2, "SAME"),
            lambda: tf.nn.max_pool2d(x + APART * tf.reshape(tf.range(32, dtype=tf.float32), [4, 4, 2]), 2, 2, "VALID"),
            lambda: tf.nn.avg_pool2d(x, 3, 1, "SAME"), lambda: tf.nn.lrn(x), lambda: tf.image.resize_bilinear(x, [3, 5]),
            lambda: tf.image.flip_left_right(x), lambda: tf.space_to_depth(x, 2), lambda: tf.nn.bias_add(x, self.variable([2])),
            lambda: tf.image.crop_and_resize(x, tf.tile([[0., 0., .5, 1.]], [tf.shape(x)[0], 1]), tf.range(tf.shape(x)[0]), [2, 2])])
        y = tf.tanh(f())
        return tf.reduce_mean(y, [1, 2]), ("n", int(y.shape[3]))

    # --- sequences -----------------------------------------------------------------------------------------------------

    def sequence(self):
        v = self.rows()
        if v.dims[0] != "n" or v.dims[1] % 2:
            return None
        steps = tf.reshape(v.tensor, [-1, 2, v.dims[1] // 2])
        lengths = self.by_row().tensor % 3
        w = self.variable([v.dims[1] // 2 + 4, 4])
        start = tf.zeros([tf.shape(steps)[0], 4])

        def turn(t, h):
            new = tf.tanh(tf.matmul(tf.concat([steps[:, t], h], 1), w))
            return t + 1, tf.where(t < lengths, new, h)
        return tf.while_loop(lambda t, h: t < 2, turn, [0, start], [tf.TensorShape([]), tf.TensorShape([None, 4])],
                             parallel_iterations=1)[1], ("n", 4)

    def masked_sequence(self):
        v = self.rows()
        mask = tf.sequence_mask(self.by_row().tensor, v.dims[1], dtype=tf.float32)
        if v.dims[0] != "n":
            return None
        return v.tensor * mask, v.dims

    def reversed_sequence(self):
        v = self.rows()
        if v.dims[0] != "n":
            return None
        return tf.reverse_sequence(v.tensor, self.by_row().tensor % (v.dims[1] + 1), 1), v.dims

    def arrays(self):
        v = self.rows()
        kept = tf.TensorArray(tf.float32, 3, element_shape=v.tensor.shape)
        kept = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, v.tensor * (.3 + floats(i)))), [0, kept],
                             parallel_iterations=1)[1]
        return tf.reduce_mean(kept.stack(), 0), v.dims

    def condition_in_loop(self):
        v = self.rows()
        turn = lambda i, u: (i + 1, tf.cond(tf.reduce_sum(u) > APART, lambda: u * .5, lambda: tf.sin(u) + .1))
        return tf.while_loop(lambda i, u: i < 3, turn, [0, v.tensor], [tf.TensorShape([]), v.tensor.shape], parallel_iterations=1)[1], v.dims

    def choice(self):
        v = self.any_float()
        way = self.pick([lambda: self.counts[0] % 3, lambda: tf.reduce_sum(self.by_row().tensor) % 3])()
        return tf.switch_case(way, [lambda: v.tensor * .5, lambda: tf.tanh(v.tensor), lambda: v.tensor - .1]), v.dims

    def called(self):
        v = self.any_float()
        layer = tf.function(lambda x: tf.tanh(x * .7) + .1)
        return layer(v.tensor) if self.chance(.5) else layer(layer(v.tensor)), v.dims

    # --- rows by number --------------------------------------------------------------------------------------------------

    def partitioned(self):
        v = self.of_rank(1, 2)
        if v.dims[0] != "n":
            return None
        n, by = tf.shape(v.tensor)[0], self.by_row().tensor % 2
        at = tf.dynamic_partition(tf.range(n), by, 2)
        parts = tf.dynamic_partition(v.tensor, by, 2)
        joined = tf.dynamic_stitch(at, [parts[0] * .5, tf.sin(parts[1])])
        return tf.reshape(joined, tf.shape(v.tensor)), v.dims

    def scattered(self):
        v = self.of_rank(1, 2)
        if v.dims[0] != "n":
            return None
        y = self.by_row().tensor[:, None]
        return self.pick([
            lambda: (tf.tanh(tf.scatter_nd(y, v.tensor, tf.concat([[10], tf.shape(v.tensor)[1:]], 0))), (10,) + v.dims[1:]),
            lambda: (tf.tanh(tf.tensor_scatter_nd_add(tf.zeros(tf.concat([[10], tf.shape(v.tensor)[1:]], 0)), y, v.tensor)), (10,) + v.dims[1:]),
            lambda: (tf.scatter_nd(tf.argsort(self.x[:, 0])[:, None], v.tensor, tf.shape(v.tensor)), v.dims)])()

    def ranked(self):
        v = self.rows()
        if v.dims[0] != "n":
            return None
        return self.pick([
            lambda: (floats(tf.argsort(v.tensor[:, 0])) * .1, ("n",)),
            lambda: (floats(tf.nn.in_top_k(v.tensor, self.by_row().tensor % v.dims[1], 2)), ("n",)),
            lambda: (tf.nn.top_k(tf.transpose(v.tensor), 2).values, (v.dims[1], 2)),
            lambda: (tf.linalg.band_part(v.tensor, 1, 2), v.dims),
            lambda: (tf.one_hot(tf.range(tf.shape(v.tensor)[0]) % 6, 6), ("n", 6))])()

    def counted(self):
        y = self.by_row().tensor
        return self.pick([
            lambda: (floats(tf.math.bincount(y, minlength=10, maxlength=10)) * .1, (10,)),
            lambda: (floats(tf.gather(tf.math.bincount(y, minlength=10), y)) * .1, ("n",)),
            lambda: (floats(tf.histogram_fixed_width(tf.tanh(self.floats[1].tensor), [-1., 1.], 5)) * .05, (5,)),
            lambda: ((lambda u: (floats(tf.gather(u[2], u[1])) * .2))(tf.unique_with_counts(y)), ("n",)),
            lambda: (floats(tf.math.confusion_matrix(y, (y + 1) % 8, 9)) * .1, (9, 9))])()

    # --- sparse rows -----------------------------------------------------------------------------------------------------

    def sparse(self):
        v = self.rows()
        if v.dims[0] != "n":
            return None
        kept = tf.where(v.tensor > APART)
        rows = tf.SparseTensor(kept, tf.gather_nd(v.tensor, kept), tf.shape(v.tensor, out_type=tf.int64))
        return self.pick([
            lambda: (tf.tanh(tf.sparse.sparse_dense_matmul(rows, self.variable([v.dims[1], 4]))), ("n", 4)),
            lambda: (tf.tanh(tf.sparse.reduce_sum(rows, 1)), ("n",)),
            lambda: (tf.sparse.to_dense(rows), v.dims)])()

    def bag_of_words(self):
        y = self.by_row().tensor
        n = tf.shape(y)[0]
        at = tf.stack([tf.range(n), tf.zeros_like(y)], 1)
        words = tf.SparseTensor(tf.cast(at, tf.int64), y, tf.cast(tf.stack([n, 1]), tf.int64))
        combiner = self.pick(["sum", "mean", "sqrtn"])
        return tf.nn.embedding_lookup_sparse(self.variable([10, 4]), words, None, combiner=combiner), ("n", 4)

    # --- matrices, numbers of other kinds ----------------------------------------------------------------------------------

    def matrices(self):
        v = self.rows()
        if v.dims[0] != "n" or v.dims[1] > 8:
            return None
        k = v.dims[1]
        m = tf.einsum("ni,nj->nij", v.tensor * .3, v.tensor * .3) + 1.5 * tf.eye(k)
        return self.pick([
            lambda: (tf.tanh(tf.linalg.inv(m)[:, 0]), v.dims), lambda: (tf.tanh(tf.linalg.cholesky(m)[:, -1]), v.dims),
            lambda: (tf.tanh(tf.linalg.logdet(m)), ("n",)), lambda: (tf.tanh(tf.linalg.matvec(m, v.tensor)), v.dims),
            lambda: (tf.tanh(tf.linalg.solve(m, v.tensor[:, :, None])[:, :, 0]), v.dims),
            lambda: (tf.tanh(tf.linalg.trace(m) * .2), ("n",)), lambda: (tf.tanh(tf.linalg.diag_part(m)), v.dims)])()

    def other_dtype(self):
        v = self.any_float()
        return self.pick([
            lambda: tf.cast(tf.tanh(tf.cast(v.tensor, tf.float64)), tf.float32),
            lambda: tf.real(tf.complex(v.tensor, v.tensor * .5) * tf.complex(v.tensor * .3, 1. + v.tensor)) * .1,
            lambda: tf.abs(tf.complex(v.tensor + .3, v.tensor * .5 - .4)) * .5,
            lambda: floats(tf.strings.to_hash_bucket_fast(tf.as_string(tf.cast(v.tensor * 3. + APART, tf.int32)), 5)) * .1])(), v.dims

    def stateless(self):
        v = self.any_float()
        seed = [int(self.random.randint(9)), 3]
        return self.pick([lambda: v.tensor + .1 * tf.random.stateless_normal(tf.shape(v.tensor), seed),
                          lambda: bounded(v.tensor * tf.random.stateless_uniform(tf.shape(v.tensor), seed))])(), v.dims

    # --- losses, metrics, averages --------------------------------------------------------------------------------------------

    def loss_layer(self):
        v = self.rows()
        if v.dims[0] != "n":
            return None
        k, y = v.dims[1], self.by_row().tensor
        return self.pick([
            lambda: tf.losses.sparse_softmax_cross_entropy(y % k, v.tensor),
            lambda: tf.losses.sparse_softmax_cross_entropy(y % k, v.tensor, weights=floats(y > 3)),
            lambda: tf.losses.mean_squared_error(self.x[:, :4], v.tensor[:, :4]),
            lambda: tf.losses.huber_loss(tf.tanh(self.x[:, 0]), v.tensor[:, 0], weights=floats(y % 2)),
            lambda: tf.losses.sigmoid_cross_entropy(tf.one_hot(y % k, k), v.tensor, label_smoothing=.1),
            lambda: tf.losses.cosine_distance(tf.nn.l2_normalize(self.x[:, :4] + .1, 1), tf.nn.l2_normalize(v.tensor[:, :4] + .1, 1), axis=1),
            lambda: tf.reduce_mean(tf.nn.sampled_softmax_loss(self.variable([10, k]), self.variable([10]), tf.cast(y, tf.int64)[:, None],
                                                              v.tensor, 3, 10, sampled_values=(
                                                                  tf.constant([1, 4, 7], tf.int64), tf.fill([tf.shape(y)[0], 1], .3),
                                                                  tf.fill([3], .3))))])(), ()

    def metric(self):
        """Counted over steps in variables of its own; the value is the one before or after the update."""
        v, y = self.rows(), self.by_row().tensor
        if v.dims[0] != "n":
            return None
        value, update = self.pick([lambda: tf.metrics.mean(v.tensor), lambda: tf.metrics.mean(v.tensor[:, 0], weights=floats(y > 2)),
                                   lambda: tf.metrics.accuracy(y, tf.cast(tf.argmax(v.tensor, 1), tf.int32)),
                                   lambda: tf.metrics.root_mean_squared_error(self.x[:, 0], v.tensor[:, 0])])()
        self.updates.append(update)
        return tf.stop_gradient(update), ()

    def decayed(self):
        """An exponential moving average, as tf.train has it."""
        v = self.of_rank(2)
        mean = tf.reduce_mean(v.tensor) + .1  # what is nothing but rounding has no size that --check could go by
        average = tf.train.ExponentialMovingAverage(.8)
        update = average.apply([mean])
        self.updates.append(update)
        with tf.control_dependencies([update]):
            return tf.identity(average.average(mean)), ()

    MAKERS = RandomRows.MAKERS + [
        image, image, image, sequence, sequence, masked_sequence, reversed_sequence, arrays, condition_in_loop, choice, called, partitioned,
        scattered, scattered, ranked, ranked, counted, counted, sparse, sparse, bag_of_words, matrices, matrices, other_dtype, other_dtype,
        stateless, loss_layer, loss_layer, loss_layer, metric, decayed]
