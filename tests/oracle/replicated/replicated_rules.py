"""Update rules written by hand, for run_scripts.py: what they make of the gradient needs the global batch's."""

RULES = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 10])
y = tf.placeholder(tf.int64, [None])


def gradients(loss, vs):  # all of them, before any variable changes that another one reads
    return tf.tuple(tf.gradients(loss, vs))


def slot(v):
    return tf.Variable(tf.zeros_like(v), trainable=False)


def accumulated(loss, vs):  # over two batches
    sums = [slot(v) for v in vs]
    optimizer = tf.train.AdamOptimizer(.01)
    add = tf.group(*[a.assign_add(g) for a, (g, _) in zip(sums, optimizer.compute_gradients(loss, vs))])
    apply = optimizer.apply_gradients([(a / 2., v) for a, v in zip(sums, vs)])
    with tf.control_dependencies([apply]):
        return add, tf.group(*[a.assign(tf.zeros_like(a)) for a in sums])


def lars(loss, vs):
    steps = []
    for g, v in zip(gradients(loss, vs), vs):
        length, slope = tf.norm(v), tf.norm(g)
        trust = tf.where(tf.logical_and(length > 0, slope > 0), .1 * length / (slope + .01 * length + 1e-9), 1.)
        m = slot(v)
        steps.append(v.assign_sub(.1 * m.assign(.9 * m + trust * (g + .01 * v))))
    return tf.group(*steps), None


def adam(loss, vs):
    count, steps = tf.Variable(0., trainable=False), []
    t = count.assign_add(1.)
    for g, v in zip(gradients(loss, vs), vs):
        m, s = slot(v), slot(v)
        new_m, new_s = m.assign(.9 * m + .1 * g), s.assign(.99 * s + .01 * tf.square(g))
        steps.append(v.assign_sub(.01 * (new_m / (1 - .9 ** t)) / (tf.sqrt(new_s / (1 - .99 ** t)) + 1e-6)))
    return tf.group(*steps), None


def clipped(loss, vs):  # each by its own length, and the length of all is followed
    gs, length = gradients(loss, vs), tf.Variable(0., trainable=False)
    with tf.control_dependencies([length.assign(.9 * length + .1 * tf.global_norm(gs))]):
        pairs = [(tf.clip_by_norm(g, 1.), v) for g, v in zip(gs, vs)]
        return tf.train.MomentumOptimizer(.05, .9).apply_gradients(pairs), None


def centered(loss, vs):
    gs = [g - tf.reduce_mean(g, 0, keepdims=True) for g in gradients(loss, vs)]
    return tf.train.RMSPropOptimizer(.01, centered=True).apply_gradients(list(zip(gs, vs))), None


first, cases = np.random.RandomState(0), []
for rule in (accumulated, lars, adam, clipped, centered):
    vs = [tf.Variable((first.randn(*size) * .3).astype('f')) for size in ([10, 16], [16], [16, 3])]
    logits = tf.matmul(tf.nn.relu(tf.matmul(x, vs[0]) + vs[1]), vs[2])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    cases.append((loss, vs) + rule(loss, vs))
data = np.random.RandomState(1)
batches = [(data.randn(n, 10).astype('f'), data.randint(0, 3, n)) for n in (30, 30, 17, 30)]
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for loss, vs, train, then in cases:
        for i, (xs, ys) in enumerate(batches):
            print('%.6f' % sess.run([loss, train], {x: xs, y: ys})[0])
            if then is not None and i % 2: sess.run(then)
        print(' '.join('%.5f' % v for part in sess.run(vs) for v in part.reshape(-1)[:20]))
"""
