"""Small steps of TensorFlow 1.15 that train one layer, loss or optimizer each. Usage: layers_of_tf1.py FILE

Writes FILE: by name, the losses of three steps and of one more call with `training` off. Each builds its own graph, under a
variable scope of its name, so that reports name it.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
layers, contrib, cells, keras, losses = tf.layers, tf.contrib.layers, tf.nn.rnn_cell, tf.keras.layers, tf.losses
rnn, metric = tf.contrib.rnn, tf.contrib.losses.metric_learning
BATCH = 8
STEPS = {}  # by name: shape of an example, and how a loss is made of examples and the flag of training


def square(rows):
    return tf.reduce_mean(tf.square(rows - .3))


def add(shape, **layers_of):
    """The mean square of what each gives."""
    for name, layer in layers_of.items():
        STEPS[name] = (shape, lambda x, training, layer=layer: square(layer(x)))


def conv(x, filters=4):
    return layers.conv2d(x, filters, 3)


add([5], dense=lambda x: layers.dense(x, 6, tf.nn.relu), fully_connected=lambda x: contrib.fully_connected(x, 6),
    layer_norm=lambda x: contrib.layer_norm(layers.dense(x, 6)), unit_norm=lambda x: contrib.unit_norm(layers.dense(x, 6), 1),
    softmax=lambda x: contrib.softmax(layers.dense(x, 6)), bias_add=lambda x: contrib.bias_add(layers.dense(x, 6)),
    crelu=lambda x: tf.nn.crelu(layers.dense(x, 6)), selu=lambda x: tf.nn.selu(layers.dense(x, 6)),
    prelu=lambda x: keras.PReLU()(layers.dense(x, 6)), top_k=lambda x: tf.nn.top_k(layers.dense(x, 6), 3)[0],
    l2_normalize=lambda x: tf.nn.l2_normalize(layers.dense(x, 6), 1),
    moments=lambda x: tf.nn.moments(layers.dense(x, 6), [1])[1])
add([8], maxout=lambda x: contrib.maxout(layers.dense(x, 8), 4))
add([9, 3], conv1d=lambda x: layers.conv1d(x, 4, 3), separable_conv1d=lambda x: layers.separable_conv1d(x, 4, 3),
    max_pooling1d=lambda x: layers.max_pooling1d(layers.conv1d(x, 4, 3), 2, 2))
add([8, 8, 3], conv2d=conv, conv2d_strides=lambda x: layers.conv2d(x, 4, 3, 2, "same"),
    conv2d_dilated=lambda x: layers.conv2d(x, 4, 3, dilation_rate=2), separable_conv2d=lambda x: layers.separable_conv2d(x, 4, 3),
    max_pooling2d=lambda x: layers.max_pooling2d(conv(x), 2, 2), average_pooling2d=lambda x: layers.average_pooling2d(conv(x), 2, 2),
    contrib_conv2d=lambda x: contrib.conv2d(x, 4, 3), contrib_separable=lambda x: contrib.separable_conv2d(x, 4, 3, 1),
    flatten=lambda x: layers.dense(layers.flatten(x), 3))
add([5, 5, 3], conv2d_transpose=lambda x: layers.conv2d_transpose(x, 4, 3, 2),
    contrib_transpose=lambda x: contrib.conv2d_transpose(x, 4, 3, 2))
add([6, 6, 6, 2], conv3d=lambda x: layers.conv3d(x, 3, 3), conv3d_transpose=lambda x: layers.conv3d_transpose(x, 3, 3, 2),
    max_pooling3d=lambda x: layers.max_pooling3d(layers.conv3d(x, 3, 3), 2, 2))
add([6, 6, 3], layer_norm_images=lambda x: contrib.layer_norm(conv(x)), instance_norm=lambda x: contrib.instance_norm(conv(x)),
    group_norm=lambda x: contrib.group_norm(conv(x, 6), groups=3), spatial_softmax=lambda x: contrib.spatial_softmax(conv(x)),
    gdn=lambda x: contrib.gdn(conv(x)), lrn=lambda x: tf.nn.lrn(conv(x)),
    resize_bilinear=lambda x: tf.image.resize_bilinear(conv(x), [8, 8]),
    resize_nearest=lambda x: tf.image.resize_nearest_neighbor(conv(x), [8, 8]),
    depth_to_space=lambda x: tf.depth_to_space(conv(x, 8), 2),
    pad=lambda x: tf.pad(conv(x), [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"))

for name, norm in {
        "layers": lambda h, t: layers.batch_normalization(h, training=t),
        "layers_always": lambda h, t: layers.batch_normalization(h, training=True),
        "layers_plain": lambda h, t: layers.batch_normalization(h, training=t, fused=False),
        "layers_renorm": lambda h, t: layers.batch_normalization(h, training=t, renorm=True),
        "layers_virtual": lambda h, t: layers.batch_normalization(h, training=True, virtual_batch_size=4),
        "layers_deep": lambda h, t: layers.batch_normalization(
            conv(tf.nn.relu(layers.batch_normalization(h, training=t))), training=t),
        "contrib": lambda h, t: contrib.batch_norm(h, is_training=t),
        "contrib_in_place": lambda h, t: contrib.batch_norm(h, is_training=t, updates_collections=None),
        "contrib_always": lambda h, t: contrib.batch_norm(h, is_training=True, updates_collections=None),
        "contrib_zero_debias": lambda h, t: contrib.batch_norm(h, is_training=t, zero_debias_moving_mean=True),
        "keras": lambda h, t: keras.BatchNormalization()(h, training=t)}.items():
    STEPS["batch_norm_" + name] = ([6, 6, 3], lambda x, t, norm=norm: square(tf.nn.relu(norm(conv(x), t))))

for name, cell in {
        "basic": lambda: cells.BasicRNNCell(4), "lstm": lambda: cells.LSTMCell(4), "basic_lstm": lambda: cells.BasicLSTMCell(4),
        "lstm_peepholes": lambda: cells.LSTMCell(4, use_peepholes=True, num_proj=3), "gru": lambda: cells.GRUCell(4),
        "multi": lambda: cells.MultiRNNCell([cells.GRUCell(4), cells.GRUCell(3)]),
        "residual": lambda: cells.ResidualWrapper(cells.GRUCell(3)), "lstm_block": lambda: rnn.LSTMBlockCell(4),
        "layer_norm": lambda: rnn.LayerNormBasicLSTMCell(4), "ugrnn": lambda: rnn.UGRNNCell(4), "nas": lambda: rnn.NASCell(4),
        "attention": lambda: rnn.AttentionCellWrapper(cells.GRUCell(4), 2, state_is_tuple=True),
        "groups": lambda: rnn.GLSTMCell(4), "indy": lambda: rnn.IndRNNCell(4)}.items():
    add([5, 3], **{"cell_" + name: lambda x, cell=cell: tf.nn.dynamic_rnn(cell(), x, dtype=tf.float32)[0]})


def lengths(x):
    return tf.cast(tf.abs(x[:, 0, 0]), tf.int32) + 1


def decoder(x, training):
    cell = tf.contrib.seq2seq.AttentionWrapper(cells.GRUCell(4), tf.contrib.seq2seq.LuongAttention(4, layers.dense(x, 4)), 4)
    helper = tf.contrib.seq2seq.TrainingHelper(x, tf.fill([tf.shape(x)[0]], 5))
    state = cell.zero_state(tf.shape(x)[0], tf.float32)
    logits = tf.contrib.seq2seq.dynamic_decode(tf.contrib.seq2seq.BasicDecoder(cell, helper, state, layers.Dense(3)))[0].rnn_output
    return tf.contrib.seq2seq.sequence_loss(logits, tf.zeros(tf.shape(logits)[:2], tf.int32), tf.ones(tf.shape(logits)[:2]))


def both_ways(x, **more):
    return tf.concat(tf.nn.bidirectional_dynamic_rnn(cells.GRUCell(4), cells.LSTMCell(4), x, dtype=tf.float32, **more)[0], 2)


add([5, 3], dynamic_rnn_lengths=lambda x: tf.nn.dynamic_rnn(cells.GRUCell(4), x, sequence_length=lengths(x), dtype=tf.float32)[0],
    static_rnn=lambda x: tf.nn.static_rnn(cells.GRUCell(4), tf.unstack(x, axis=1), dtype=tf.float32)[0][-1],
    bidirectional=both_ways, bidirectional_lengths=lambda x: both_ways(x, sequence_length=lengths(x)),
    last_output=lambda x: tf.gather_nd(tf.nn.dynamic_rnn(cells.GRUCell(4), x, dtype=tf.float32)[0],
                                       tf.stack([tf.range(tf.shape(x)[0]), lengths(x) - 1], 1)),
    time_major=lambda x: tf.nn.dynamic_rnn(cells.GRUCell(4), tf.transpose(x, [1, 0, 2]), time_major=True, dtype=tf.float32)[0],
    lstm_fused=lambda x: rnn.LSTMBlockFusedCell(4)(tf.transpose(x, [1, 0, 2]), dtype=tf.float32)[0],
    keras_lstm=lambda x: keras.LSTM(4, return_sequences=True)(x), keras_gru=lambda x: keras.GRU(4)(x),
    keras_time_distributed=lambda x: keras.TimeDistributed(keras.Dense(3))(x),
    keras_bidirectional=lambda x: keras.Bidirectional(keras.LSTM(4))(x),
    keras_attention=lambda x: keras.Attention()([layers.dense(x, 4), layers.dense(x, 4)]))
add([3, 6, 6, 2], keras_conv_lstm=lambda x: keras.ConvLSTM2D(3, 3)(x))
add([3], embed_sequence=lambda x: contrib.embed_sequence(tf.cast(tf.abs(x) * 3, tf.int32), 12, 4),
    embedding_lookup_sparse=lambda x: tf.nn.embedding_lookup_sparse(
        tf.get_variable("t", [12, 4]), contrib.dense_to_sparse(tf.cast(tf.abs(x) * 3, tf.int64)), None, combiner="mean"))
STEPS["attention_decoder"] = ([5, 3], decoder)
STEPS["regularized"] = ([5], lambda x, training: square(
    layers.dense(x, 6, kernel_regularizer=contrib.l2_regularizer(.1))) + losses.get_regularization_loss())


def one_hot(labels):
    return tf.one_hot(labels, 4)


def sampled(loss, logits, labels, **more):
    table, bias = tf.get_variable("table", [20, 4]), tf.get_variable("bias", [20])
    return tf.reduce_mean(loss(table, bias, tf.cast(labels, tf.int64)[:, None], logits, 5, 20, **more))


def focal(y, labels):
    rows = tf.pow(1 - tf.nn.softmax(y), 2) * one_hot(labels) * -tf.nn.log_softmax(y)
    return tf.reduce_sum(rows) / tf.cast(tf.shape(y)[0], tf.float32)


def dice(y, labels):
    p, wanted = tf.nn.softmax(y), one_hot(labels)
    return 1 - 2 * tf.reduce_sum(p * wanted) / (tf.reduce_sum(p) + tf.reduce_sum(wanted))


def cross_entropy(y, labels):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y)


for name, loss in {  # of logits [batch, 4] and labels
        "sparse_cross_entropy": lambda y, c: losses.sparse_softmax_cross_entropy(c, y),
        "weighted": lambda y, c: losses.sparse_softmax_cross_entropy(c, y, weights=tf.cast(c, tf.float32)),
        "sum": lambda y, c: losses.sparse_softmax_cross_entropy(c, y, reduction=losses.Reduction.SUM),
        "smoothed": lambda y, c: losses.softmax_cross_entropy(one_hot(c), y, label_smoothing=.1),
        "hinge": lambda y, c: losses.hinge_loss(one_hot(c), y), "huber": lambda y, c: losses.huber_loss(one_hot(c), y),
        "log": lambda y, c: losses.log_loss(one_hot(c), tf.nn.sigmoid(y)),
        "absolute": lambda y, c: losses.absolute_difference(one_hot(c), y),
        "cosine": lambda y, c: losses.cosine_distance(one_hot(c), tf.nn.l2_normalize(y, 1), axis=1),
        "pairwise": lambda y, c: losses.mean_pairwise_squared_error(one_hot(c), y),
        "sigmoid": lambda y, c: losses.sigmoid_cross_entropy(one_hot(c), y),
        "weighted_sigmoid": lambda y, c: tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(one_hot(c), y, 2.)),
        "sampled_softmax": lambda y, c: sampled(tf.nn.sampled_softmax_loss, y, c, seed=3),
        "nce": lambda y, c: sampled(tf.nn.nce_loss, y, c), "npairs": lambda y, c: metric.npairs_loss(c, y, y * .5),
        "triplets": lambda y, c: metric.triplet_semihard_loss(c, tf.nn.l2_normalize(y, 1)),
        "contrastive": lambda y, c: metric.contrastive_loss(tf.cast(c > 1, tf.int32), y, y * .5 + .1),
        "lifted": lambda y, c: metric.lifted_struct_loss(c, y), "focal": focal, "dice": dice,
        "crf": lambda y, c: -tf.reduce_mean(tf.contrib.crf.crf_log_likelihood(
            tf.stack([y, y * .5, y * .1], 1), tf.stack([c, c, c], 1), tf.fill(tf.shape(c), 3))[0]),
        "hard_examples": lambda y, c: tf.reduce_mean(tf.nn.top_k(cross_entropy(y, c), 3)[0]),
        "masked": lambda y, c: tf.reduce_mean(tf.boolean_mask(y, c > 1)),
        "centers": lambda y, c: tf.nn.l2_loss(y - tf.gather(tf.get_variable("centers", [4, 4]), c)),
        "discrepancy": lambda y, c: tf.reduce_mean(tf.exp(-tf.reduce_sum(tf.square(y[:, None] - y[None]), 2))),
        "divergence": lambda y, c: tf.reduce_mean(tf.distributions.kl_divergence(
            tf.distributions.Normal(y, 1.), tf.distributions.Normal(0., 1.))),
        "categorical": lambda y, c: -tf.reduce_mean(tf.distributions.Categorical(logits=y).log_prob(c)),
        "covariance": lambda y, c: tf.reduce_mean(tf.square(
            tf.matmul(y, y, transpose_a=True) / tf.cast(tf.shape(y)[0], tf.float32)))}.items():
    STEPS["loss_" + name] = ([5], lambda x, t, loss=loss: loss(layers.dense(x, 4), tf.cast(tf.abs(x[:, 0]) * 2, tf.int32) % 4))

# Decoupled decay (AdamW) is left out: TensorFlow does not order it behind the loss, and its numbers differ between runs.
train, contrib_train = tf.train, tf.contrib.opt
OPTIMIZERS = {
    "adam": lambda step: train.AdamOptimizer(.01), "momentum": lambda step: train.MomentumOptimizer(.1, .9, use_nesterov=True),
    "rmsprop": lambda step: train.RMSPropOptimizer(.01, centered=True), "adagrad": lambda step: train.AdagradOptimizer(.1),
    "adadelta": lambda step: train.AdadeltaOptimizer(1.), "adagrad_da": lambda step: train.AdagradDAOptimizer(.1, step),
    "ftrl": lambda step: train.FtrlOptimizer(.1), "proximal_adagrad": lambda step: train.ProximalAdagradOptimizer(.1),
    "proximal": lambda step: train.ProximalGradientDescentOptimizer(.1), "nadam": lambda step: contrib_train.NadamOptimizer(.01),
    "lazy_adam": lambda step: contrib_train.LazyAdamOptimizer(.01), "power_sign": lambda step: contrib_train.PowerSignOptimizer(.1),
    "add_sign": lambda step: contrib_train.AddSignOptimizer(.1), "adamax": lambda step: contrib_train.AdaMaxOptimizer(.01),
    "average": lambda step: contrib_train.MovingAverageOptimizer(train.GradientDescentOptimizer(.1)),
    "lars": lambda step: contrib_train.LARSOptimizer(.1), "shampoo": lambda step: contrib_train.ShampooOptimizer(step),
    "ggt": lambda step: contrib_train.GGTOptimizer(.01)}
for name in OPTIMIZERS:
    STEPS["optimizer_" + name] = STEPS["dense"]


def losses_of(name):
    shape, make_loss = STEPS[name]
    tf.reset_default_graph()
    tf.set_random_seed(1)
    with tf.variable_scope(name):
        x, training = tf.placeholder(tf.float32, [None] + shape), tf.placeholder_with_default(True, [])
        loss = make_loss(x, training)
    step = train.get_or_create_global_step()
    make = OPTIMIZERS.get(name.partition("optimizer_")[2], lambda step: train.GradientDescentOptimizer(.1))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        update = make(step).minimize(loss, global_step=step, name=name + "/train")
    data = np.random.RandomState(5)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        trained = [session.run([loss, update], {x: data.randn(BATCH, *shape)})[0] for _ in range(3)]
        return [float(n) for n in trained + [session.run(loss, {x: data.randn(BATCH, *shape), training: False})]]


if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        json.dump({name: losses_of(name) for name in STEPS}, out)
