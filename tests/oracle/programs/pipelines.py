"""tf.data as TensorFlow 1.x uses it: one-shot, initialisable, re-initialisable and feedable iterators."""
import os

import numpy as np
import tensorflow.compat.v1 as tf

from program import program


def _drain(session, element):
    rows = []
    try:
        while True:
            rows.append(session.run(element))
    except tf.errors.OutOfRangeError:
        return rows


@program
def one_shot(run):
    numbers = tf.data.Dataset.range(20).map(lambda v: v * v).filter(lambda v: v % 3 > 0).batch(4)
    element = tf.data.make_one_shot_iterator(numbers).get_next()
    with run.session() as session:
        run.keep("batches", np.concatenate(_drain(session, element)))
        with run.raises("at the end"):
            session.run(element)


@program
def initialisable(run):
    features = tf.placeholder(tf.float32, [None, 2])
    labels = tf.placeholder(tf.int32, [None])
    data = tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(10, seed=3).repeat(2).batch(4).prefetch(2)
    iterator = tf.data.make_initializable_iterator(data)
    element = iterator.get_next()
    with run.session() as session:
        for n in (5, 7):
            session.run(iterator.initializer, {features: np.arange(2 * n).reshape(n, 2), labels: np.arange(n)})
            rows = _drain(session, element)
            run.keep(f"sizes of {n}", [len(y) for _, y in rows])
            run.keep(f"all of {n}", np.concatenate([y for _, y in rows]))


@program
def feedable(run):
    first, second = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 14)
    handle = tf.placeholder(tf.string, [])
    iterator = tf.data.Iterator.from_string_handle(handle, tf.data.get_output_types(first), tf.data.get_output_shapes(first))
    element = iterator.get_next()
    a, b = tf.data.make_one_shot_iterator(first), tf.data.make_initializable_iterator(second)
    structure = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    switched, to_first, to_second = structure.get_next(), structure.make_initializer(first), structure.make_initializer(second)
    with run.session() as session:
        session.run(b.initializer)
        handles = session.run([a.string_handle(), b.string_handle()])
        run.keep("in turn", [int(session.run(element, {handle: handles[i % 2]})) for i in range(6)])
        session.run(to_first)
        run.keep("first", _drain(session, switched))
        session.run(to_second)
        run.keep("second", _drain(session, switched))


@program
def from_files(run):
    os.makedirs(run.folder, exist_ok=True)
    paths = []
    for f in range(2):
        paths.append(os.path.join(run.folder, f"numbers{f}.txt"))
        with open(paths[-1], "w") as file:
            file.write("".join(f"{f},{i}\n" for i in range(4)))
    lines = tf.data.TextLineDataset(paths)
    parsed = lines.map(lambda line: tf.stack(tf.decode_csv(line, [[0], [0]])), num_parallel_calls=2)
    padded = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n)).padded_batch(2, [None])
    zipped = tf.data.Dataset.zip((parsed.batch(3), padded.repeat()))
    element = tf.data.make_one_shot_iterator(zipped).get_next()
    flat = tf.data.Dataset.range(3).flat_map(lambda n: tf.data.Dataset.range(n + 1)).take(5).skip(1)
    woven = tf.data.Dataset.range(4).interleave(lambda n: tf.data.Dataset.from_tensors(n).repeat(3), cycle_length=2, block_length=2)
    with run.session() as session:
        for i, (a, b) in enumerate(_drain(session, element)):
            run.keep(f"row {i}", a)
            run.keep(f"padded {i}", b)
        run.keep("flat", _drain(session, tf.data.make_one_shot_iterator(flat).get_next()))
        run.keep("woven", _drain(session, tf.data.make_one_shot_iterator(woven).get_next()))


@program
def training_from_a_dataset(run):
    xs, ys = run.random.rand(40, 5).astype("float32"), run.random.rand(40, 1).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((xs, ys)).repeat().batch(8)
    x, y = tf.data.make_one_shot_iterator(data).get_next()
    w = tf.get_variable("w", [5, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        run.keep("losses", np.array([session.run([loss, step])[0] for _ in range(50)]), 1e-4)


@program
def a_pipeline_saved_with_its_model(run):
    """Where an iterator is goes into the checkpoint: the same elements come after it is restored, here and in a new session."""
    data = tf.data.Dataset.range(20).shuffle(7, seed=3).repeat(3).map(lambda x: x * 2).batch(3).prefetch(2)
    iterator = tf.data.make_initializable_iterator(data)
    element = iterator.get_next()
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator))
    steps = tf.get_variable("steps", initializer=0.0)
    count = steps.assign_add(1.0)
    saver, path = tf.train.Saver(), os.path.join(run.folder, "model")
    os.makedirs(run.folder, exist_ok=True)
    with run.session() as session:
        session.run([iterator.initializer, tf.global_variables_initializer()])
        for _ in range(4):
            session.run([element, count])
        saver.save(session, path)
        left = _drain(session, element)
        saver.restore(session, path)
        again = _drain(session, element)
    run.keep("as many as before", len(again) == len(left) > 10)
    for i, (first, second) in enumerate(zip(left, again)):
        run.keep(f"left {i}", first)
        run.keep(f"again {i}", second)
    with run.session() as session:
        with run.raises("an iterator that is not initialized"):
            saver.restore(session, path)
    with run.session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        run.keep("steps", session.run(steps))
        for i, third in enumerate(_drain(session, element)):
            run.keep(f"in a new session {i}", third)
    run.keep("saved", sorted(name for name, _ in tf.train.list_variables(path)))
