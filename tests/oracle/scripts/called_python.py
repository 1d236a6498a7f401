"""Scripts whose graphs call their Python, which run_scripts.py runs: what they print must be what TensorFlow prints."""

# tf.py_func: arrays and strings of every kind there and back, no values, errors by their kind, a loop that calls.
PY_FUNC = """
import numpy as np
import tensorflow as tf

kinds = []
def scaled(a, factor):
    kinds.append((type(a).__name__, type(factor).__name__))
    a += 1  # the array is the function's own; in TensorFlow it may be the tensor's memory
    return a * 2, np.float32(factor)

def fails(): raise ValueError('no luck')
def breaks(): raise KeyError('no key')
x = tf.placeholder(tf.float32, [None, 3])
scaled_x, factor = tf.py_func(scaled, [x + 0., tf.constant(3., tf.float64)], [tf.float32, tf.float32])
words = tf.py_func(lambda s: np.array([w.upper() for w in s]), [tf.constant(['a', 'bcd'])], tf.string)
word = tf.py_func(lambda s: s + b'!', [tf.constant('hello')], tf.string)
nothing = tf.py_func(lambda v: kinds.append(int(v)), [tf.constant(7)], [])
half = tf.py_func(lambda a: a + a, [tf.cast(x, tf.float16)], tf.float16, stateful=False)
positive, empty = tf.py_func(lambda a: (a > .5, a[:0]), [x], [tf.bool, tf.float32])
called = lambda i: tf.reshape(tf.py_func(lambda k: np.float32(k * k), [i], tf.float32), [])
squares = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + called(i)), [0, 0.])
wrong = [tf.py_func(lambda: 1., [], tf.float32), tf.py_func(lambda: [1., 2.], [], [tf.float64]),
         tf.py_func(fails, [], tf.float32), tf.py_func(breaks, [], tf.float32), tf.py_func(lambda: next(iter([])), [], tf.float32)]
told = ['is double, but expects float', 'returns 2 values, but expects to see 1 values.', 'ValueError: no luck',
        "KeyError: 'no key'", 'StopIteration: ']
show = lambda *values: print(' '.join('%.6f' % v for value in values for v in np.ravel(value).astype('d')))
with tf.Session() as sess:
    xs = np.random.RandomState(0).rand(4, 3)
    show(*sess.run([scaled_x, factor, half, positive, empty], {x: xs}))
    assert sess.run(words).tolist() == [b'A', b'BCD'] and sess.run(word) == b'hello!'
    sess.run(nothing)
    assert kinds == [('ndarray', 'float64'), 7], kinds
    show(*sess.run(squares))
    for value, expected in zip(wrong, told):
        try:
            sess.run(value)
        except tf.errors.OpError as e:
            assert expected in str(e), str(e)
            print(e.error_code)
"""

# A layer computed in Python with its own gradient, one in TensorFlow itself, batches out of a generator.
TRAINED = """
import numpy as np
import tensorflow as tf

def batches():
    data = np.random.RandomState(2)
    for i in range(22):
        yield data.rand(4).astype('f'), i % 3

@tf.custom_gradient
def cube(v):
    out = tf.py_func(lambda a: a ** 3, [v], tf.float32)
    out.set_shape(v.shape)
    return out, lambda d: d * tf.py_func(lambda a: 3 * a ** 2, [v], tf.float32)

data = tf.data.Dataset.from_generator(batches, (tf.float32, tf.int64), ([4], []))
data = data.map(lambda a, b: (tf.ensure_shape(tf.py_func(lambda q: q * np.float32(2), [a], tf.float32), [4]), b)).batch(6)
iterator = tf.data.make_initializable_iterator(data)
x, y = iterator.get_next()
w = tf.get_variable('w', initializer=np.ones([4, 3], 'f'))
hidden = tf.py_function(lambda a, b: tf.nn.relu(tf.matmul(a, b)), [x, w], tf.float32) if EAGER else cube(tf.matmul(x, w))
hidden.set_shape([None, 3])
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=hidden))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(2):
        sess.run(iterator.initializer)
        try:
            while True:
                print('%.6f' % sess.run([loss, train])[0])
        except tf.errors.OutOfRangeError:
            print(' '.join('%.6f' % v for v in sess.run(w).ravel()))
"""
