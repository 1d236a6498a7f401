"""Writes that a step does not show: counters by reference, functions of datasets, the slots of an optimizer."""
import numpy as np
import tensorflow.compat.v1 as tf

from program import program


def _scaled(value):
    """A loss that shows `value`: a training step that moves nothing."""
    x = tf.placeholder(tf.float32, [None, 2])
    w = tf.get_variable("w", initializer=np.ones([2, 1], np.float32), use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w))) * (1.0 + tf.cast(value, tf.float32))
    return x, [loss, tf.train.GradientDescentOptimizer(0.0).minimize(loss)]


def _steps(run, session, x, step, between, name):
    losses = []
    for _ in range(4):
        losses.append(session.run(step, {x: np.ones([6, 2], np.float32)})[0])
        session.run(between)
    run.keep(name, losses)


@program
def counters_between_steps(run):
    """count_up_to of a variable that the training step reads, in a run of its own."""
    for resource in (False, True):
        with tf.Graph().as_default() as graph:
            counter = tf.get_variable("c", [], tf.int32, tf.zeros_initializer(), trainable=False, use_resource=resource)
            x, step = _scaled(counter)
            count = counter.count_up_to(100) if resource else tf.count_up_to(counter, 100)
            with run.session(graph) as session:
                session.run(tf.global_variables_initializer())
                _steps(run, session, x, step, count, f"{resource}")


@program
def datasets_that_write(run):
    """A dataset's function assigns a variable that the training step reads."""
    def count(variable):
        def and_count(element):
            with tf.control_dependencies([variable.assign_add(1.0)]):
                return tf.identity(element)
        return and_count

    for kind in ("iterator", "single element", "reduce"):
        with tf.Graph().as_default() as graph:
            v = tf.get_variable("v", [], tf.float32, tf.zeros_initializer(), trainable=False, use_resource=True)
            x, step = _scaled(v)
            start = tf.no_op()
            if kind == "iterator":
                options = tf.data.Options()
                options.experimental_optimization.inject_prefetch = False
                options.autotune.enabled = False
                numbers = tf.data.Dataset.range(100).map(count(v)).with_options(options)
                iterator = tf.data.make_initializable_iterator(numbers)
                start, between = iterator.initializer, iterator.get_next()
            elif kind == "single element":
                between = tf.data.experimental.get_single_element(tf.data.Dataset.from_tensors(1).map(count(v)))
            else:
                between = tf.data.Dataset.range(1).reduce(np.int64(0), lambda total, e: total + count(v)(e))
            with run.session(graph) as session:
                session.run(tf.global_variables_initializer())
                session.run(start)
                _steps(run, session, x, step, between, kind)


@program
def slots_after_the_update(run):
    """Who reads a slot after the optimizer sees what it is then."""
    makers = {"momentum": lambda: tf.train.MomentumOptimizer(1.0, 0.5), "adam": lambda: tf.train.AdamOptimizer(0.1),
              "adagrad": lambda: tf.train.AdagradOptimizer(0.1), "rms": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
              "ftrl": lambda: tf.train.FtrlOptimizer(0.1)}
    for resource in (False, True):
        for name, make in makers.items():
            for size in (3, 5000):
                with tf.Graph().as_default() as graph:
                    w = tf.get_variable("w", initializer=np.ones(size, np.float32), use_resource=resource)
                    optimizer = make()
                    update = optimizer.apply_gradients([(tf.ones([size]) * 0.5, w)])
                    slots = [optimizer.get_slot(w, slot) for slot in optimizer.get_slot_names()]
                    with tf.control_dependencies([update]):
                        sums = [tf.reduce_sum(slot) for slot in slots] + [tf.reduce_sum(w)]
                    with run.session(graph) as session:
                        session.run(tf.global_variables_initializer())
                        for i in range(3):
                            run.keep(f"{name} {resource} {size} {i}", session.run(sums))


@program
def contractions_over_the_batch(run):
    """tf.tensordot over all axes, also with fewer examples than devices."""
    x = tf.placeholder(tf.float32, [None, 2])
    w = tf.get_variable("w", initializer=np.ones([2, 2], np.float32), use_resource=True)
    h = tf.matmul(x, w)
    loss = tf.tensordot(h, h, 2)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        for n in (6, 3, 2, 1):
            run.keep(f"{n}", session.run([loss, train], {x: np.ones([n, 2], np.float32)})[0])
