"""A script of large feeds, which run_scripts.py runs: under `argosy run` most of them go through shared memory."""

# Every dtype, arrays that are not contiguous, values that outlive their step, calls from threads and after a fork, errors.
LENT_FEEDS = """
import os
import threading
import numpy as np
import tensorflow as tf

data = np.random.RandomState(0)
def shared():
    # Of this process: how many pieces of memory it lends from.
    names = [os.readlink('/proc/self/fd/' + f) for f in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + f)]
    return sum(name.startswith('/memfd:argosy-feed-') for name in names)

show = lambda *values: print(' '.join('%.7g' % float(v) for value in values for v in np.ravel(value).astype('d')))
sess = tf.Session()

for kind in ('f2', 'f4', 'f8', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'c8', 'c16', 'bool', '>f4'):
    values = (data.rand(300, 1000) * 100).astype(kind)
    x = tf.placeholder(tf.as_dtype(np.dtype(kind.strip('>'))), [None, 1000])
    for array in (values, values[::2], np.asfortranarray(values), values[:0]):
        back = sess.run(tf.identity(x), {x: array})
        assert back.dtype == np.dtype(kind.strip('>')) and np.array_equal(back, array), kind
    show(back.shape)
words = tf.placeholder(tf.string, [None])
assert sess.run(words[-1], {words: [b'%d' % i for i in range(50000)] if str is not bytes else map(str, range(50000))}) == b'49999'

# Feeds that stay: in variables, queues, lists of handles and partial runs, while the next ones are written.
x = tf.placeholder(tf.float32, [None, 1000])
kept = [tf.get_variable('kept%d' % i, initializer=np.zeros((100, 1000), 'f'), use_resource=i % 2 == 1) for i in range(4)]
keeps = [tf.assign(v, x) for v in kept]
queue = tf.FIFOQueue(20, tf.float32)
put, get = queue.enqueue(x), queue.dequeue()
sess.run(tf.global_variables_initializer())
arrays = [data.rand(100, 1000).astype('f') for _ in range(12)]
handles = []
handle = tf.get_session_handle(tf.identity(x))
for i, array in enumerate(arrays):
    sess.run(keeps[i % 4].op, {x: array})
    sess.run(put, {x: array})
    handles.append(sess.run(handle, {x: array}))
for array, one in zip(arrays, handles):
    assert np.array_equal(sess.run(get), array)
    holder, value = tf.get_session_tensor(one.handle, tf.float32)
    assert np.array_equal(sess.run(value, {holder: one.handle}), array)
for v, array in zip(kept, arrays[8:]):
    assert np.array_equal(sess.run(v), array)
sums = tf.reduce_sum(x, 1)
twice = sums * 2
partial = sess.partial_run_setup([sums, twice], [x])
show(sess.partial_run(partial, sums, {x: arrays[0]})[:5], sess.partial_run(partial, twice)[:5])
call = sess.make_callable(twice, [x])
show(call(arrays[1])[:5], call(arrays[2][::2])[:5])
changed = arrays[3].copy()
given = sess.run(tf.identity(x), {x: changed})
changed[:] = 0
assert np.array_equal(given, arrays[3])

# Steps of eight threads at once.
wrong = []
def work(seed):
    own = np.random.RandomState(seed)
    for _ in range(20):
        array = own.rand(20 + own.randint(100), 1000).astype('f')
        if not np.allclose(sess.run(sums, {x: array}), array.sum(1), rtol=1e-4):
            wrong.append(seed)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not wrong, wrong

# Errors are TensorFlow's, and leave nothing behind.
for bad, feed in (('shape', np.ones((100, 999), 'f')), ('check', -arrays[0])):
    positive = tf.Assert(tf.reduce_all(x >= 0), ['negative'], name='positive') if bad == 'check' else sums
    try:
        sess.run(positive, {x: feed})
        print('no error')
    except (ValueError, tf.errors.InvalidArgumentError) as e:
        print(-1 if isinstance(e, ValueError) else e.error_code)
before = shared()
for _ in range(30):
    try:
        sess.run(positive, {x: -arrays[0]})
    except tf.errors.InvalidArgumentError:
        pass
    sess.run(positive, {x: arrays[0]})
assert shared() == before, (before, shared())
assert (shared() > 0) == LENT, shared()
"""
