"""Gradients of gradients, as TensorFlow's Python builds them: whatever a graph of tf.gradients of tf.gradients holds."""
import numpy as np
import tensorflow.compat.v1 as tf

from program import program

IMAGES = np.random.RandomState(0).randn(3, 4, 4, 2).astype(np.float32)
VOLUMES = np.random.RandomState(1).randn(2, 4, 4, 4, 2).astype(np.float32)


def _derived(run, name, value, build, orders=2):
    """build(x) -> (y, xs): keeps the gradient of y^3 in xs, and of the square of each gradient before."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder_with_default(value, value.shape)
        y, xs = build(x)
        kept, derived = [], y * y * y
        for _ in range(orders):
            gradients = [g for g in tf.gradients(derived, xs) if g is not None]
            kept += gradients
            derived = tf.add_n([tf.reduce_sum(tf.square(g)) for g in gradients])
        with run.session(graph) as session:
            for i, g in enumerate(session.run(kept)):
                run.keep(f"{name} {i}", g)


@program
def curvature_of_normalisation(run):
    for version in ("", "V2", "V3"):
        for training in (False, True):
            for dtype in (tf.float32,) if version == "" else (tf.float32, tf.bfloat16):
                def build(x):
                    scale, offset = tf.constant([1.5, 0.5]), tf.constant([0.1, 0.2])
                    mean, variance = (tf.zeros([0]), tf.zeros([0])) if training else (tf.constant([0.1, 0.2]), tf.constant([1.0, 2.0]))
                    y = getattr(tf.raw_ops, "FusedBatchNorm" + version)(
                        x=tf.cast(x, dtype), scale=scale, offset=offset, mean=mean, variance=variance, is_training=training,
                        epsilon=0.1)[0]
                    return tf.cast(y, tf.float32), [x, scale, offset]
                _derived(run, f"{version} {training} {dtype.name}", IMAGES, build)


@program
def curvature_of_pooling(run):
    four, five = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1]), dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1])
    for padding in ("SAME", "VALID"):
        pools = {"max": (IMAGES, lambda x: tf.raw_ops.MaxPool(input=x, padding=padding, **four)),
                 "average": (IMAGES, lambda x: tf.raw_ops.AvgPool(value=x, padding=padding, **four)),
                 "max of volumes": (VOLUMES, lambda x: tf.raw_ops.MaxPool3D(input=x, padding=padding, **five)),
                 "average of volumes": (VOLUMES, lambda x: tf.raw_ops.AvgPool3D(input=x, padding=padding, **five))}
        for name, (value, pool) in pools.items():
            _derived(run, f"{name} {padding}", value, lambda x: (pool(x), [x]), orders=3)
        # The third order of this one has no gradient in Python.
        _derived(run, f"max, window as input {padding}", IMAGES,
                 lambda x: (tf.raw_ops.MaxPoolV2(input=x, padding=padding, **four), [x]))


@program
def curvature_of_convolutions(run):
    def convolution(op, filter_shape, rank):
        def build(x):
            w = tf.constant(np.random.RandomState(2).randn(*filter_shape).astype(np.float32))
            return op(x, w, [1] * rank, "SAME"), [x, w]
        return build
    _derived(run, "images", IMAGES, convolution(tf.nn.conv2d, [2, 2, 2, 2], 4))
    _derived(run, "channel by channel", IMAGES, convolution(tf.nn.depthwise_conv2d, [2, 2, 2, 2], 4))
    _derived(run, "volumes", VOLUMES, convolution(tf.nn.conv3d, [2, 2, 2, 2, 3], 5))


@program
def curvature_of_activations(run):
    for name in ("relu", "relu6", "elu", "selu", "softplus", "tanh", "sigmoid", "leaky_relu", "softmax", "log_softmax"):
        _derived(run, name, IMAGES, lambda x: (getattr(tf.nn, name)(x), [x]), orders=3)
    classes = np.arange(24) % 4
    rows = IMAGES.reshape(24, 4)
    _derived(run, "cross entropy", rows, lambda x: (tf.nn.softmax_cross_entropy_with_logits(
        labels=np.eye(4, dtype=np.float32)[classes], logits=x), [x]))
    _derived(run, "sparse cross entropy", rows,
             lambda x: (tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=x), [x]))
