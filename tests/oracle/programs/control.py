"""Control flow in every form that Python writes: conditions, loops, functions, arrays, and gradients through them."""
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function

from program import program


def _both(run, body):
    """The program with dataflow control flow and with the functional form."""
    for functional in (False, True):
        (tf.enable_control_flow_v2 if functional else tf.disable_control_flow_v2)()
        try:
            with tf.Graph().as_default() as graph:
                tf.set_random_seed(3)
                body(graph, "functional" if functional else "dataflow")
        finally:
            tf.disable_control_flow_v2()


@program
def conditions(run):
    def body(graph, form):
        x = tf.placeholder(tf.float32, [])
        inner = lambda: tf.cond(x > 10, lambda: x * x, lambda: x + 1)
        y = tf.cond(x > 0, inner, lambda: -x)
        dx = tf.gradients(y, x)[0]
        case = tf.case([(x < 0, lambda: tf.constant(-1)), (x < 5, lambda: tf.constant(0))], default=lambda: tf.constant(1))
        switched = tf.switch_case(tf.cast(x, tf.int32), [lambda: tf.constant("a"), lambda: tf.constant("b")])
        with run.session(graph) as session:
            for value in (-3.0, 0.0, 1.0, 20.0):
                run.keep(f"{form} {value}", session.run([y, dx, case], {x: value}))
            run.keep(f"{form} switch", [session.run(switched, {x: v}) for v in (0, 1, 7)])

    _both(run, body)


@program
def branches_of_other_shapes(run):
    """Shapes of a fed value that fit one branch alone: what a step does not reach is no error of it."""
    def body(graph, form):
        x = tf.placeholder(tf.float32, [None, None, 3])
        flag = tf.placeholder(tf.bool, [])
        sums = lambda: tf.reduce_sum(x, [1, 2])
        inside = {
            "squeeze": lambda: tf.reduce_sum(tf.squeeze(x, [1]), 1),
            "reshape": lambda: tf.reduce_sum(tf.reshape(x, [2, 1, 3]), [1, 2]),
            "add": lambda: tf.reduce_sum(x + tf.ones([1, 2, 3]), [1, 2]),
            "concat": lambda: tf.reduce_sum(tf.concat([x, tf.ones([2, 1, 4])[:, :, :tf.shape(x)[1] + 2]], 1), [1, 2]),
            "matmul": lambda: tf.reduce_sum(tf.matmul(tf.reshape(x, [tf.shape(x)[0], -1]), tf.ones([3, 2])), 1),
            "split": lambda: tf.reduce_sum(tf.split(x, 2, 1)[1], [1, 2]),
            "unstack": lambda: tf.reduce_sum(tf.unstack(x, 2)[1]) + tf.zeros([2]),
        }
        with run.session(graph) as session:
            for name, branch in inside.items():
                by_flag = tf.cond(flag, branch, sums)
                in_loop = tf.while_loop(lambda i, y: tf.logical_and(flag, i < 1), lambda i, y: (i + 1, y + branch()),
                                        [0, sums()])[1]
                dx = tf.gradients(by_flag, x)[0]
                for length in (5, 1, 4):
                    fed = {x: np.ones((2, length, 3)), flag: False}
                    run.keep(f"{form} {name} {length}", session.run([by_flag, in_loop, dx], fed))
                    with run.raises(f"{form} {name} {length} taken", anywhere=True):
                        run.keep(f"{form} {name} {length} value", session.run(by_flag, {**fed, flag: True}))
            short = tf.cond(tf.equal(tf.shape(x)[1], 1), inside["squeeze"], sums)
            for length in (5, 1):
                run.keep(f"{form} by shape {length}", session.run(short, {x: np.ones((2, length, 3))}))

    _both(run, body)


@program
def reads_of_grown_variables(run):
    """A read of a reference stays as it was where an update gives the variable new memory, and follows it where not."""
    for size in ([4, 3], [3, 2], [2, 3], [6]):
        with tf.Graph().as_default() as graph:
            v = tf.Variable(tf.ones([2, 3]), validate_shape=False, use_resource=False)
            old = v.value()

            def grow():
                with tf.control_dependencies([old]):
                    new = tf.assign(v, tf.zeros(size), validate_shape=False)
                with tf.control_dependencies([new]):
                    return tf.reduce_sum(old * 1.0), tf.shape(tf.identity(old) * 1.0)

            direct, branch = grow(), tf.cond(tf.placeholder_with_default(True, []), grow, lambda: (tf.constant(0.0), tf.constant([0])))
            with run.session(graph) as session:
                for name, values in (("direct", direct), ("branch", branch)):
                    session.run(v.initializer)
                    run.keep(f"{size} {name}", session.run(values))
                    run.keep(f"{size} {name} left", session.run(v.value()))


@program
def loops(run):
    def body(graph, form):
        n = tf.placeholder(tf.int32, [])
        x = tf.placeholder(tf.float32, [2])
        _, y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.sin(v) * x + v), [0, x])
        dx = tf.gradients(y, x)[0]
        grid = tf.while_loop(lambda i, t: i < 3,
                             lambda i, t: (i + 1, tf.while_loop(lambda j, u: j < i + 1, lambda j, u: (j + 1, u * 2), [0, t])[1]),
                             [0, tf.constant(1.0)])[1]
        rows = tf.map_fn(lambda r: tf.reduce_sum(r * r), tf.reshape(tf.range(12.0), [4, 3]))
        scanned = tf.scan(lambda a, v: a + v, tf.range(5.0))
        folded = tf.foldl(lambda a, v: a * 2 + v, tf.range(5.0))
        with run.session(graph) as session:
            for count in (0, 1, 7):
                run.keep(f"{form} {count}", session.run([y, dx], {n: count, x: [0.5, -1.5]}))
            for name, value in (("grid", grid), ("rows", rows), ("scanned", scanned), ("folded", folded)):
                run.keep(f"{form} {name}", session.run(value))

    _both(run, body)


@program
def arrays(run):
    def body(graph, form):
        x = tf.placeholder(tf.float32, [None, 3])
        array = tf.TensorArray(tf.float32, tf.shape(x)[0], dynamic_size=True, clear_after_read=False, element_shape=[3])
        array = array.unstack(x)
        _, array = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i + 3, a.read(i) * 2)), [0, array])
        stacked = array.stack()
        loss = tf.reduce_sum(stacked * stacked)
        dx = tf.gradients(loss, x)[0]
        with run.session(graph) as session:
            run.keep(form, session.run([stacked, dx], {x: np.arange(9).reshape(3, 3)})[0])
            run.keep(f"{form} gradient", session.run(dx, {x: np.arange(9).reshape(3, 3)}))

    _both(run, body)


@program
def functions(run):
    """tf.function, Defun with gradients of its own and with SymbolicGradient, variables captured."""
    v = tf.get_variable("v", initializer=2.0, use_resource=True)

    @tf.function
    def square(x):
        return x * x * v

    @function.Defun(tf.float32, tf.float32)
    def product(a, b):
        return a * b + tf.sin(a)

    @function.Defun(tf.float32, tf.float32)
    def halves_gradient(x, dy):
        return dy * 0.25

    @function.Defun(tf.float32, grad_func=halves_gradient)
    def halves(x):
        return x * 0.5

    x = tf.placeholder(tf.float32, [])
    y, z, h = square(x), product(x, x + 1.0), halves(x)
    gradients = [tf.gradients(out, x)[0] for out in (y, z, h)]
    with run.session() as session:
        session.run(v.initializer)
        run.keep("values", session.run([y, z, h], {x: 3.0}))
        run.keep("gradients", session.run(gradients, {x: 3.0}))


@program
def loops_over_devices(run):
    """A loop whose body spans two devices, with a condition on the CPU."""
    with tf.device("/cpu:0"):
        i = tf.constant(0)
        a = tf.constant(np.eye(3, dtype="float32") * 0.5)

    def body(i, a):
        with tf.device("/gpu:0"):
            b = tf.matmul(a, a)
        with tf.device("/gpu:1"):
            c = tf.matmul(b, a) + 1.0
        return i + 1, c / tf.reduce_max(c)

    _, out = tf.while_loop(lambda i, a: i < 6, body, [i, a], parallel_iterations=2)
    with run.session() as session:
        run.keep("out", session.run(out))


@program
def random_numbers(run):
    """The same seeds, the same numbers."""
    values = {"uniform": tf.random_uniform([7], seed=1), "normal": tf.random_normal([7], seed=2),
              "truncated": tf.truncated_normal([7], seed=3), "whole": tf.random_uniform([7], 0, 100, tf.int32, seed=4),
              "double": tf.random_normal([3], dtype=tf.float64, seed=5), "shuffled": tf.random_shuffle(tf.range(9), seed=6),
              "multinomial": tf.multinomial(tf.log([[0.2, 0.3, 0.5]]), 6, seed=7),
              "gamma": tf.random_gamma([4], 2.0, seed=8), "poisson": tf.random_poisson(3.0, [4], seed=9),
              "stateless": tf.random.stateless_normal([5], [1, 2]),
              "stateless whole": tf.random.stateless_uniform([5], [3, 4], 0, 50, tf.int32)}
    with run.session() as session:
        for name, value in values.items():
            run.keep(name, [session.run(value) for _ in range(2)])
        run.keep("dropout", session.run(tf.nn.dropout(tf.ones([20]), rate=0.4, seed=11)))


@program
def random_streams(run):
    """A session's random op goes on drawing, whatever it is run together with and in whatever shapes."""
    rows = tf.placeholder(tf.float32, [None, 2])
    shape, n = tf.shape(rows), tf.shape(rows)[0]
    labels = tf.cast(tf.fill([n, 1], 3), tf.int64)
    values = {"uniform": tf.random_uniform(shape, seed=1), "normal": tf.random_normal(shape, seed=2),
              "truncated": tf.truncated_normal(shape, seed=3), "whole": tf.random_uniform(shape, 0, 99, tf.int32, seed=4),
              "shuffled": tf.random_shuffle(tf.range(3 * n), seed=5), "poisson": tf.random_poisson(3.0, shape, seed=6),
              "gamma": tf.random_gamma(shape, 2.0, seed=7), "dropout": tf.nn.dropout(tf.ones([n, 9]), rate=0.4, seed=8),
              "multinomial": tf.multinomial(tf.log([[0.2, 0.3, 0.5]]), 2 * n, seed=9),
              "learned": tf.nn.learned_unigram_candidate_sampler(labels, 1, 4, False, 50, seed=11).sampled_candidates,
              "candidates": tf.nn.log_uniform_candidate_sampler(labels, 1, 4, True, 50, seed=10).sampled_candidates}
    with run.session() as session:
        for several in (2, 3, 2, 1):
            feed = {rows: np.zeros([several, 2])}
            for name, value in values.items():
                run.keep(name, session.run(value, feed))
            run.keep("all", [np.asarray(value, np.float64) for value in session.run(list(values.values()), feed)])
    with run.session() as other:
        run.keep("another session's", other.run(values["uniform"], {rows: np.zeros([2, 2])}))


@program
def text_and_images(run):
    """Strings, decoding, images: what input pipelines of TensorFlow 1.x are made of."""
    words = tf.constant(["Hello", "grüß Gott", "", "a,b,c"])
    pixels = tf.constant(np.arange(8 * 8 * 3, dtype=np.uint8).reshape(8, 8, 3))
    image = tf.cast(pixels, tf.float32)[None] / 255
    values = {"join": tf.string_join([words, "!"], "-"), "split": tf.string_split(words, ",").values,
              "hash": tf.string_to_hash_bucket_fast(words, 97), "strong": tf.string_to_hash_bucket_strong(words, 97, [1, 2]),
              "number": tf.string_to_number(["1.5", "-2e3"]), "substr": tf.substr(words, 0, 0),
              "replaced": tf.strings.regex_replace(words, "[aeiou]", "_"), "matches": tf.strings.regex_full_match(words, ".*,.*"),
              "base64": tf.decode_base64(tf.encode_base64(words)), "as_string": tf.as_string([1.5, 2.25], precision=2),
              "raw": tf.decode_raw(["abcd"], tf.uint8), "length": tf.strings.length(words),
              "csv": tf.stack(tf.decode_csv(["1,2", "3,"], [[0], [7]])), "png": tf.image.decode_png(tf.image.encode_png(pixels)),
              "resized": tf.image.resize_bilinear(image, [5, 11]), "nearest": tf.image.resize_nearest_neighbor(image, [3, 3]),
              "cubic": tf.image.resize_bicubic(image, [12, 12]), "hsv": tf.image.rgb_to_hsv(image),
              "contrast": tf.image.adjust_contrast(image, 2.0), "hue": tf.image.adjust_hue(image, 0.1),
              "cropped": tf.image.crop_and_resize(image, [[0.1, 0.1, 0.9, 0.8]], [0], [4, 4]),
              "patches": tf.extract_image_patches(image, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
              "kept": tf.image.non_max_suppression([[0., 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]], [0.9, 0.8, 0.7], 3, 0.5)}
    with run.session() as session:
        for name, value in values.items():
            found = session.run(value)
            run.keep(name, found.tolist() if found.dtype == object else found)
        jpeg = tf.image.encode_jpeg(pixels, quality=95)
        run.keep("jpeg", np.float32(session.run(tf.image.decode_jpeg(jpeg))), 8.0)


@program
def sparse_and_linear(run):
    """Sparse tensors, segment sums, linear algebra, Fourier transforms."""
    sparse = tf.SparseTensor([[0, 1], [1, 0], [2, 3]], [1.0, 2.0, 3.0], [3, 4])
    dense = tf.constant(run.random.rand(4, 2).astype("float32"))
    square = run.random.rand(3, 4, 4)
    spd = tf.constant(square @ square.transpose(0, 2, 1) + 4 * np.eye(4))
    signal = tf.constant(run.random.rand(2, 16).astype("float32"))
    cholesky = tf.linalg.cholesky(spd)
    values = {"product": tf.sparse_tensor_dense_matmul(sparse, dense), "dense": tf.sparse_tensor_to_dense(sparse),
              "sum": tf.sparse_reduce_sum(sparse, 1), "embedding": tf.nn.embedding_lookup_sparse(
                  dense, tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 3, 2], [2, 2]), None, combiner="mean"),
              "segments": tf.unsorted_segment_sum(dense, [0, 1, 0, 2], 3), "cholesky": cholesky,
              "solved": tf.linalg.solve(spd, tf.ones([3, 4, 1], tf.float64)), "determinant": tf.linalg.det(spd),
              "inverse": tf.linalg.inv(spd), "eigenvalues": tf.linalg.eigvalsh(spd), "singular": tf.linalg.svd(spd, compute_uv=False),
              "gradient": tf.gradients(tf.reduce_sum(cholesky), spd)[0], "fourier": tf.abs(tf.signal.rfft(signal)),
              "and back": tf.signal.irfft(tf.signal.rfft(signal)), "complex": tf.abs(tf.signal.fft(tf.complex(signal, signal))),
              "einsum": tf.einsum("bij,bjk->bik", spd, spd), "top": tf.nn.top_k(signal, 3).values,
              "unique": tf.unique([3, 1, 3, 2]).y, "cumulative": tf.cumsum(signal, axis=1, exclusive=True),
              "band": tf.matrix_band_part(spd, 1, 0), "sorted": tf.sort(signal, axis=1)}
    with run.session() as session:
        for name, value in values.items():
            run.keep(name, session.run(value), 1e-4)


def _nested_loops(gradients):
    """A meta graph of loops two deep, with the gradient through them or without."""
    with tf.Graph().as_default():
        n, x = tf.placeholder(tf.int32, [], "n"), tf.placeholder(tf.float32, [2], "x")

        def row(i, v):
            inner = tf.while_loop(lambda j, u: j <= i, lambda j, u: (j + 1, tf.sin(u) * x + u), [0, v])[1]
            return i + 1, inner * tf.cond(i > 1, lambda: 0.5, lambda: 2.0)

        y = tf.while_loop(lambda i, v: i < n, row, [0, x * 1.5])[1]
        tf.identity(y, "y")
        if gradients:
            tf.identity(tf.gradients(y, x)[0], "dx")
        return tf.train.export_meta_graph()


@program
def nested_loops_of_a_meta_graph(run):
    """Loops of TensorFlow 1.x two deep, exported and imported with their contexts; gradients made before and after."""
    for gradients in (True, False):
        meta = _nested_loops(gradients)
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(meta)
            n, x, y = (graph.get_tensor_by_name(name + ":0") for name in "nxy")
            dx = graph.get_tensor_by_name("dx:0") if gradients else tf.gradients(y, x)[0]
            with run.session(graph) as session:
                for count in (0, 1, 4):
                    run.keep(f"{gradients} {count}", session.run([y, dx], {n: count, x: [0.5, -1.5]}), 1e-4)


@program
def counted_loops(run):
    """functional_ops.For: up, down, in steps that do not divide the way, not at all, around another loop, in a branch."""
    from tensorflow.python.ops import functional_ops

    @function.Defun(tf.int32, tf.float32)
    def double(i, v):
        return v * 2.0 + tf.cast(i, tf.float32)

    @function.Defun(tf.int32, tf.float32, tf.float32)
    def around(i, v, w):
        return functional_ops.For(0, i, 1, [v], double)[0] + w, w * 0.5

    start, limit, delta = (tf.placeholder(tf.int32, []) for _ in range(3))
    one = functional_ops.For(start, limit, delta, [tf.constant(1.0)], double)[0]
    two = functional_ops.For(start, limit, delta, [tf.constant(1.0), tf.constant([4.0, 3.0])], around)[0]
    branch = tf.cond(limit > 2, lambda: functional_ops.For(start, limit, delta, [tf.constant(3.0)], double)[0], lambda: tf.constant(-1.0))
    with run.session() as session:
        for way in ((0, 3, 1), (5, 0, -2), (0, 0, 1), (0, 7, 3), (0, 0, 0)):
            for name, fetch in (("one", one), ("two", two), ("branch", branch)):
                run.keep(f"{name} {way}", session.run(fetch, dict(zip((start, limit, delta), way))))
        for way in ((3, 0, 1), (0, 3, 0), (0, 3, -1)):
            with run.raises(f"{way}", anywhere=True):
                session.run(one, dict(zip((start, limit, delta), way)))


def _made_inside(functional):
    """What a branch or a loop does with a resource whose handle it makes itself, and that is filled outside: name, value."""
    raw = tf.raw_ops
    queue = lambda: raw.FIFOQueueV2(component_types=[tf.float32], shapes=[[]], shared_name="queue")
    iterator = lambda: raw.IteratorV2(shared_name="iterator", container="", output_types=[tf.float32], output_shapes=[[]])
    variable = lambda: raw.VarHandleOp(dtype=tf.int32, shape=[], shared_name="variable")
    table = lambda: raw.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.float32, shared_name="table")
    reference = lambda: raw.VariableV2(dtype=tf.int32, shape=[], shared_name="reference")
    old_queue = lambda: raw.FIFOQueue(component_types=[tf.float32], shapes=[[]], shared_name="old_queue")
    values = np.arange(60, dtype=np.float32)
    setup = [raw.QueueEnqueueManyV2(handle=queue(), components=[values]),
             raw.MakeIterator(dataset=tf.data.Dataset.from_tensor_slices(values)._variant_tensor, iterator=iterator()),
             raw.AssignVariableOp(resource=variable(), value=7),
             raw.LookupTableInsertV2(table_handle=table(), keys=tf.constant(3, tf.int64), values=2.0)]
    inside = {
        "dequeue": lambda: raw.QueueDequeueV2(handle=queue(), component_types=[tf.float32])[0],
        "queue size": lambda: tf.cast(raw.QueueSizeV2(handle=queue()), tf.float32),
        "next": lambda: raw.IteratorGetNext(iterator=iterator(), output_types=[tf.float32], output_shapes=[[]])[0],
        "read": lambda: tf.cast(raw.ReadVariableOp(resource=variable(), dtype=tf.int32), tf.float32),
        "count": lambda: tf.cast(raw.ResourceCountUpTo(resource=variable(), limit=100, T=tf.int32), tf.float32),
        "table size": lambda: tf.cast(raw.LookupTableSizeV2(table_handle=table()), tf.float32),
    }
    if not functional:
        setup += [raw.Assign(ref=reference(), value=8).op, raw.QueueEnqueueMany(handle=old_queue(), components=[values])]
        inside["read of a reference"] = lambda: tf.cast(tf.identity(reference()), tf.float32)
        inside["count of a reference"] = lambda: tf.cast(raw.CountUpTo(ref=reference(), limit=100), tf.float32)
        inside["dequeue by reference"] = lambda: raw.QueueDequeue(handle=old_queue(), component_types=[tf.float32])[0]
    return setup, inside


@program
def resources_named_inside(run):
    """Handles that branches and loops make: nothing happens in the branch that is not taken, and once an iteration."""
    for functional in (False, True):
        (tf.enable_control_flow_v2 if functional else tf.disable_control_flow_v2)()
        try:
            for name in _made_inside(functional)[1]:
                with tf.Graph().as_default() as graph:
                    setup, inside = _made_inside(functional)
                    take, flag = inside[name], tf.placeholder(tf.bool, [])
                    first = tf.cond(flag, take, lambda: tf.constant(-1.0))
                    second = tf.cond(flag, lambda: tf.constant(-1.0), take)
                    third = tf.cond(flag, lambda: tf.cond(tf.logical_not(flag), take, lambda: tf.constant(-2.0)), take)
                    loop = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + take()), [0, tf.cast(flag, tf.float32)],
                                         shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])[1]
                    with run.session(graph) as session:
                        session.run(setup)
                        for at, value in enumerate((first, second, third, loop)):
                            run.keep(f"{functional} {name} {at}", [session.run(value, {flag: f}) for f in (True, False, False, True, False)])
        finally:
            tf.disable_control_flow_v2()


@program
def resources_that_wait(run):
    """A handle made under control dependencies: who uses it comes after them."""
    raw = tf.raw_ops
    queue = lambda: raw.FIFOQueueV2(component_types=[tf.float32], shapes=[[]], shared_name="queue")
    variable = lambda: raw.VarHandleOp(dtype=tf.float32, shape=[], shared_name="variable")
    big = tf.random.stateless_normal([300, 300], [1, 2])
    late = tf.reduce_sum(tf.matmul(big, big)) * 0.0 + 5.0  # so that whoever does not wait is first
    with tf.control_dependencies([raw.QueueEnqueueV2(handle=queue(), components=[late])]):
        size = raw.QueueSizeV2(handle=queue())
    with tf.control_dependencies([raw.AssignVariableOp(resource=variable(), value=late)]):
        handle = variable()
    read = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
    with tf.control_dependencies([handle.op]):
        also = raw.ReadVariableOp(resource=variable(), dtype=tf.float32)
    with run.session() as session:
        session.run(raw.AssignVariableOp(resource=variable(), value=1.0))
        for step in range(3):
            run.keep(f"{step}", session.run([size, read, also]))
            session.run(raw.AssignVariableOp(resource=variable(), value=1.0))
        run.keep("target", session.run(handle.op))
        run.keep("after", session.run(raw.ReadVariableOp(resource=variable(), dtype=tf.float32)))
