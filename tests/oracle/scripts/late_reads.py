"""A script that reads reference variables after their updates, which run_scripts.py runs."""

# In branches, in branches of branches, in loops, and where an update in a branch decides what comes next.
LATE_READS = """
import numpy as np
import tensorflow as tf

yes = tf.placeholder_with_default(True, [])
variable = lambda v: tf.get_variable('v%d' % len(tf.global_variables()), initializer=v, use_resource=False)
after = tf.control_dependencies

def branch(update, read, first=0):
    v = variable(first)
    def taken():
        with after([update(v)]): return read(v)
    return tf.cond(yes, taken, lambda: tf.zeros_like(v))

def loop(update, first=0):
    v = variable(first)
    def turn(i, x):
        with after([update(v)]): return i + 1, x * 10 + v
    return tf.while_loop(lambda i, x: i < 3, turn, [0, tf.zeros_like(first)], parallel_iterations=1)[1]

def until():
    v = variable(0)
    def turn(x):
        with after([v.assign_add(1)]): return tf.identity(x + 1)
    with after([v.assign(0)]): none = tf.constant(0)
    return tf.while_loop(lambda x: v < 3, turn, [none], parallel_iterations=1)

one = lambda v: v.assign_add(1)
inner = lambda v: tf.cond(yes, lambda: tf.group(one(v)), tf.no_op)
some = lambda v: tf.cond(v > 1, lambda: v + 10, lambda: v * 1)
last = lambda v: tf.scatter_add(v, [1], [1.])
values = [branch(one, lambda v: v + 10), branch(inner, some), branch(lambda v: v.assign(v * 2), lambda v: v + 10, 1),
          branch(last, lambda v: v * v, [1., 2.]), loop(one), loop(last, [1., 2.]), until(),
          loop(lambda v: tf.cond(yes, lambda: tf.group(one(v)), tf.no_op))]
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(3):
        print(' '.join('%g' % v for value in values for v in np.ravel(sess.run(value))))
"""
