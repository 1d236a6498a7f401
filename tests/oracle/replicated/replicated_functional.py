"""Scripts whose branches, loops and layers are functions, as TensorFlow 2 writes them: `If`, `While` with lists,
`PartitionedCall`. Each is FUNCTIONAL with its own hidden layer."""

FUNCTIONAL = """
import numpy as np
import tensorflow as tf
if not tf.__version__.startswith('1.'):
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
tf.enable_control_flow_v2()
tf.enable_resource_variables()

x, y = tf.placeholder(tf.float32, [ROWS, 5, 4]), tf.placeholder(tf.float32, [ROWS])
weights = lambda name, shape, seed: tf.get_variable(name, shape, initializer=tf.random_uniform_initializer(-.5, .5, seed=seed))
w, u, o = weights('w', [4, 8], 1), weights('u', [8, 8], 2), weights('o', [8, 1], 3)
BODY
loss = tf.reduce_mean(tf.square(tf.matmul(h, o)[:, 0] - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for rows in BATCHES:
        print('%.6f' % sess.run([loss, train], {x: data.rand(rows, 5, 4), y: data.rand(rows)})[0])
    for v in sess.run([w, u, o]):
        print(' '.join('%.5f' % n for n in v.ravel()))
"""

# By name: what the hidden layer is, and what of it is gathered.
HIDDEN = {
    "a branch": ("""
a = tf.matmul(x[:, 0], w)
h = tf.cond(tf.reduce_mean(x) > 0.5, lambda: tf.tanh(tf.matmul(a, u)), lambda: tf.nn.relu(tf.matmul(a, u)) + a)
""", None),
    "a layer called twice": ("""
layer = tf.function(lambda v: tf.tanh(tf.matmul(v, u)))
h = layer(layer(tf.matmul(x[:, 0], w)))
""", 0),
    "dropout in a layer": ("""
layer = tf.function(lambda v: tf.nn.dropout(tf.tanh(tf.matmul(v, u)), rate=0.3, seed=5))
h = layer(layer(tf.matmul(x[:, 0], w)))
""", 0),
    "a recurrent loop": ("""
turn = lambda t, h: (t + 1, tf.tanh(tf.matmul(x[:, t], w) + tf.matmul(h, u)))
_, h = tf.while_loop(lambda t, h: t < 5, turn, [0, tf.zeros([tf.shape(x)[0], 8])])
""", 0),
    "noise of an outer shape in a loop": ("""
size = tf.shape(tf.matmul(x[:, 0], w))
noisy = lambda v: v + .1 * tf.random_normal(size, seed=3)
turn = lambda t, h: (t + 1, tf.tanh(noisy(tf.matmul(x[:, t], w) + tf.matmul(h, u))))
_, h = tf.while_loop(lambda t, h: t < 5, turn, [0, tf.zeros([tf.shape(x)[0], 8])], parallel_iterations=1)
""", 0),
    "scan": ("""
turn = lambda h, v: tf.tanh(tf.matmul(v, w) + tf.matmul(h, u))
h = tf.reduce_mean(tf.scan(turn, tf.transpose(x, [1, 0, 2]), initializer=tf.zeros([tf.shape(x)[0], 8])), 0)
""", 0),
    "arrays of steps": ("""
steps = tf.TensorArray(tf.float32, 5, element_shape=[None, 4]).unstack(tf.transpose(x, [1, 0, 2]))
turn = lambda t, h, kept: (t + 1, tf.tanh(tf.matmul(steps.read(t), w) + tf.matmul(h, u)), kept.write(t, h))
start = [0, tf.zeros([tf.shape(x)[0], 8]), tf.TensorArray(tf.float32, 5, element_shape=[None, 8])]
h = tf.reduce_sum(tf.while_loop(lambda t, h, kept: t < 5, turn, start)[2].stack(), 0)
""", 0),
    "a loop over the examples": ("""
h = tf.map_fn(lambda v: tf.reduce_sum(tf.tanh(tf.matmul(tf.matmul(v, w), u)), 0), x)
""", None),
    "a switch": ("""
a = tf.matmul(x[:, 0], w)
way = tf.cast(tf.reduce_sum(x), tf.int32) % 3
h = tf.switch_case(way, [lambda: tf.tanh(a), lambda: tf.matmul(a, u), lambda: a * 2.])
""", None),
    "a gradient of its own": ("""
@tf.custom_gradient
def clipped(v):
    return tf.identity(v), lambda dy: tf.clip_by_value(dy, -.01, .01)
h = clipped(tf.matmul(tf.matmul(x[:, 0], w), u))
""", None),
}


def functional(body, rows=None, batches=(16, 7, 3, 16)):
    """The script; `rows`: the batch that it is written for, None: any."""
    return FUNCTIONAL.replace("ROWS", str(rows)).replace("BODY", body).replace("BATCHES", str(tuple(batches)))


# An update that only happens where gradients are finite, as with scaled losses.
FINITE = """
import numpy as np
import tensorflow as tf
if not tf.__version__.startswith('1.'):
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
tf.enable_control_flow_v2()
tf.enable_resource_variables()

x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None])
w = tf.get_variable('w', [4, 1], initializer=tf.ones_initializer())
skipped = tf.get_variable('skipped', [], initializer=tf.zeros_initializer(), trainable=False)
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)[:, 0] - y))
optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
grads = optimizer.compute_gradients(loss)
fine = tf.reduce_all([tf.reduce_all(tf.is_finite(g)) for g, _ in grads])
train = tf.cond(fine, lambda: tf.group(optimizer.apply_gradients(grads)), lambda: tf.group(skipped.assign_add(1.)))
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for rows in (16, 7, 3, 16):
        xs = data.rand(rows, 4)
        if rows == 7:
            xs[6, 0] = np.inf
        print('%.6f' % min(1e6, sess.run([loss, train], {x: xs, y: data.rand(rows)})[0]))
    print(sess.run(skipped), ' '.join('%.5f' % n for n in sess.run(w).ravel()))
"""

# Gradients that functions compute: of their losses the graph around them has no name.
TRAINED_IN_FUNCTIONS = """
import numpy as np
import tensorflow as tf
if not tf.__version__.startswith('1.'):
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
tf.enable_resource_variables()
from tensorflow.python.framework.function import Defun

x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int32, [None])
w = tf.get_variable('w', [6, 8], initializer=tf.random_uniform_initializer(-.5, .5, seed=1))
b = tf.get_variable('b', [8], initializer=tf.zeros_initializer())
optimizer = OPTIMIZER
loss_of = lambda x, y, w, b: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(x, w) + b))

def taped(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(x, y, w, b)
    return loss, tape.gradient(loss, [w, b])

BODY
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for rows in (16, 7, 3, 16):
        print('%.6f' % sess.run([loss, train], {x: data.randn(rows, 6), y: data.randint(0, 8, rows)})[0])
    for v in sess.run([w, b]):
        print(' '.join('%.5f' % n for n in v.ravel()))
"""
FUNCTION_BODIES = {
    "gradients come out of a function": """
loss, grads = tf.function(taped)(x, y)
train = optimizer.apply_gradients(zip(grads, [w, b]))
""",
    "the whole step is a function": """
@tf.function
def step(x, y):
    loss, grads = taped(x, y)
    with tf.control_dependencies([optimizer.apply_gradients(zip(grads, [w, b]))]):
        return tf.identity(loss)
loss = train = step(x, y)
""",
    "two updates in a function": """
@tf.function
def step(x, y):
    for _ in range(2):
        loss, grads = taped(x, y)
        w.assign_sub(.1 * grads[0])
        b.assign_sub(.1 * grads[1])
    return loss
loss = train = step(x, y)
""",
    "the step normalises its batch": """
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        h = tf.nn.fused_batch_norm(tf.matmul(x, w)[:, None, None, :], tf.ones([8]), b, epsilon=.01)[0][:, 0, 0, :]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
    grads = tape.gradient(loss, [w, b])
    with tf.control_dependencies([optimizer.apply_gradients(zip(grads, [w, b]))]):
        return tf.identity(loss)
loss = train = step(x, y)
""",
    "tf.gradients in a function of 1.x": """
@Defun(tf.float32, tf.int32, tf.float32, tf.float32)
def losses(x, y, w, b):
    loss = loss_of(x, y, w, b)
    return [loss] + tf.gradients(loss, [w, b])
loss, *grads = losses(x, y, w, b)
train = optimizer.apply_gradients(zip(grads, [w, b]))
""",
}


def trained_in_functions():
    """(what it is, devices, script) of each."""
    for name, body in FUNCTION_BODIES.items():
        for devices in (2, 3):
            yield name, devices, TRAINED_IN_FUNCTIONS.replace("BODY", body).replace("OPTIMIZER", "tf.train.GradientDescentOptimizer(.3)")
    adam = TRAINED_IN_FUNCTIONS.replace("BODY", FUNCTION_BODIES["gradients come out of a function"])
    yield "with Adam", 4, adam.replace("OPTIMIZER", "tf.train.AdamOptimizer(.05)")


# Dropout as nearly everybody writes it: without a seed. No two runs are alike; --check compares them in one.
RANDOM = """
import numpy as np
import tensorflow as tf

x, y = tf.placeholder(tf.float32, [None, 5, 4]), tf.placeholder(tf.float32, [None])
w = tf.get_variable('w', [12, 8], initializer=tf.random_uniform_initializer(-.5, .5, seed=1))
turn = lambda t, h: (t + 1, tf.nn.dropout(tf.tanh(tf.matmul(tf.concat([x[:, t], h], 1), w)), rate=0.5))
h = tf.nn.dropout(tf.while_loop(lambda t, h: t < 5, turn, [0, tf.zeros([tf.shape(x)[0], 8])])[1], rate=0.5)
loss = tf.reduce_mean(tf.square(tf.reduce_sum(h, 1) - y))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
data = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for rows in (16, 7, 16):
        sess.run(train, {x: data.rand(rows, 5, 4), y: data.rand(rows)})
"""
