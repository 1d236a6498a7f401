"""Saving, watching, checking: Savers, summaries, Print, Assert, traces, tables, callables, partial runs; and what errors say."""
import glob
import os

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import config_pb2

from program import dense, program


@program
def savers(run):
    """Save, change, restore; partitioned variables; the checkpoint read by TensorFlow's own reader."""
    os.makedirs(run.folder, exist_ok=True)
    tf.get_variable("parts", [7, 3], initializer=tf.random_normal_initializer(seed=2),
                    partitioner=tf.fixed_size_partitioner(2))
    plain = tf.get_variable("plain", initializer=np.arange(6, dtype="float64").reshape(2, 3))
    words = tf.get_variable("words", initializer=["one", "zwei", ""])
    resource = tf.get_variable("resource", initializer=np.array([True, False]), use_resource=True)
    half = tf.get_variable("half", initializer=tf.cast([1.5, 2.5], tf.bfloat16))
    saver = tf.train.Saver(max_to_keep=2)
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run([plain, words, resource])
        paths = [saver.save(session, os.path.join(run.folder, "model"), global_step=i) for i in range(3)]
        session.run(plain.assign(plain * 0))
        saver.restore(session, paths[-1])
        run.keep("restored", session.run([plain, words, resource])[0])
        run.keep("before", before[0])
        run.keep("words", session.run(words).tolist())
        run.keep("half", np.float32(session.run(half)))
        run.keep("kept", sorted(os.path.basename(p) for p in glob.glob(os.path.join(run.folder, "model-*.index"))))
        reader = tf.train.load_checkpoint(paths[-1])
        run.keep("names", sorted(reader.get_variable_to_shape_map().items()))
        run.keep("parts", reader.get_tensor("parts"))
        sharded = tf.train.Saver(sharded=True)
        path = sharded.save(session, os.path.join(run.folder, "sharded"))
        run.keep("sharded", tf.train.load_checkpoint(path).get_tensor("plain"))
        with run.raises("not there"):
            saver.restore(session, os.path.join(run.folder, "nothing"))


@program
def old_savers(run):
    """Checkpoints of version 1."""
    os.makedirs(run.folder, exist_ok=True)
    v = tf.get_variable("v", initializer=np.linspace(0, 1, 10).astype("float32"))
    saver = tf.train.Saver(write_version=tf.train.SaverDef.V1)
    with run.session() as session:
        session.run(v.initializer)
        path = saver.save(session, os.path.join(run.folder, "old"), write_meta_graph=False)
        session.run(v.assign(v * 0))
        saver.restore(session, path)
        run.keep("restored", session.run(v))


@program
def summaries(run):
    x = tf.placeholder(tf.float32, [None])
    tf.summary.scalar("mean", tf.reduce_mean(x))
    tf.summary.histogram("values", x)
    tf.summary.image("picture", tf.reshape(x[:48], [1, 4, 4, 3]), 1)
    tf.summary.text("note", tf.constant("hello"))
    merged = tf.summary.merge_all()
    with run.session() as session:
        summary = tf.Summary.FromString(session.run(merged, {x: np.linspace(-3, 3, 100)}))
        for value in summary.value:
            if value.HasField("simple_value"):
                run.keep(value.tag, value.simple_value)
            elif value.HasField("histo"):
                run.keep(value.tag, np.array([value.histo.num, value.histo.sum, value.histo.sum_squares]), 1e-4)
                run.keep("buckets", np.array(value.histo.bucket))
            elif value.HasField("image"):
                decoded = tf.image.decode_png(value.image.encoded_image_string)
                run.keep(value.tag, session.run(decoded))
            else:
                run.keep(value.tag, value.tensor.string_val[0])


@program
def checks(run):
    """tf.Print, tf.Assert, check_numerics, verify_tensor_all_finite, tf.print."""
    x = tf.placeholder(tf.float32, [None])
    printed = tf.Print(x, [x, tf.shape(x)], "x is ", first_n=2, summarize=4)
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0), [x], name="positive")]):
        asserted = tf.identity(printed)
    checked = tf.check_numerics(tf.log(x), "log of x", name="finite")
    said = tf.print("x:", x)
    with tf.control_dependencies([said]):
        told = tf.identity(x)
    with run.session() as session:
        run.keep("good", session.run([asserted, checked, told], {x: [1, 2, 3]}))
        with run.raises("assert"):
            session.run(asserted, {x: [-1]})
        with run.raises("nan"):
            session.run(checked, {x: [-1]})


@program
def errors(run):
    """What Python sees when something is wrong: the class, and the op it names."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    v = tf.Variable([1.0, 2.0], name="v")
    r = tf.get_variable("r", initializer=1.0, use_resource=True)
    product = tf.matmul(x, tf.placeholder(tf.float32, [None, None], name="w"), name="product")
    index = tf.placeholder(tf.int32, [], name="index")
    picked = tf.gather([1, 2, 3], index, name="picked")
    shaped = tf.reshape(x, tf.placeholder(tf.int32, [None], name="sizes"), name="shaped")
    whole = tf.floordiv(tf.constant([4, 5]), tf.placeholder(tf.int32, [], name="divisor"), name="whole")
    with run.session() as session:
        with run.raises("uninitialised variable"):
            session.run(v)
        with run.raises("uninitialised resource"):
            session.run(r)
        with run.raises("no feed"):
            session.run(product, {x: [[1, 2]]})
        with run.raises("shapes of a product"):
            session.run(product, {x: [[1, 2]], "w:0": [[1, 2, 3]]})
        with run.raises("out of range"):
            session.run(picked, {index: 7})
        with run.raises("reshape"):
            session.run(shaped, {x: [[1, 2]], "sizes:0": [3, 3]})
        with run.raises("division by zero"):
            session.run(whole, {"divisor:0": 0})
        with run.raises("shape of a feed"):
            session.run(x, {x: [1, 2, 3]})
        other = tf.Graph()
        with other.as_default():
            stranger = tf.constant(1)
        with run.raises("of another graph"):
            session.run(stranger)
        run.keep("still there", session.run(picked, {index: 1}))
    with run.raises("closed"):
        session.run(picked, {index: 1})


@program
def bad_placement(run):
    """Without soft placement, a device that is not there is an error that names the op."""
    with tf.device("/device:GPU:77"):
        nowhere = tf.add(tf.constant(1.0), 2.0, name="nowhere")
    session = run.session_of(tf.ConfigProto(allow_soft_placement=False))
    with run.raises("no such device"):
        session.run(nowhere)
    session.close()
    with run.session() as soft:
        run.keep("soft", soft.run(nowhere))


@program
def calling(run):
    """Callables, partial runs, fetches of every shape, devices."""
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    total, product = a + b, a * b
    with run.session() as session:
        nested = session.run({"t": [total, (product,)], "p": product}, {a: 2, b: 5})
        run.keep("nested", [nested["t"][0], nested["t"][1][0], nested["p"]])
        call = session.make_callable(product, feed_list=[a, b])
        run.keep("callable", [call(i, 3.0) for i in range(4)])
        options = config_pb2.CallableOptions()
        options.feed.extend([a.name, b.name])
        options.fetch.extend([total.name, product.name])
        call = session._make_callable_from_options(options)
        run.keep("from options", call(np.float32(3), np.float32(4)))
        handle = session.partial_run_setup([total, product], [a, b])
        with run.raises("not yet"):
            session.partial_run(handle, product, feed_dict={a: 4.0})
        handle = session.partial_run_setup([total, tf.negative(total, name="negated")], [a, b])
        run.keep("partly", session.partial_run(handle, total, feed_dict={a: 1.0, b: 2.0}))
        run.keep("the rest", session.partial_run(handle, "negated:0"))
        run.keep("cpu there", any(d.device_type == "CPU" for d in session.list_devices()))
        sparse = tf.sparse_placeholder(tf.float32)
        fed = tf.SparseTensorValue([[0, 1], [2, 0]], [1.0, 2.0], [3, 2])
        run.keep("sparse", session.run(tf.sparse_tensor_to_dense(sparse), {sparse: fed}))
        for dtype in (np.float16, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint32,
                      np.uint64, np.bool_, np.complex64, np.complex128):
            p = tf.placeholder(dtype, [2])
            run.keep(f"echo of {np.dtype(dtype).name}", session.run(tf.identity(p), {p: np.array([0, 1], dtype)}))
        s = tf.placeholder(tf.string, [None])
        run.keep("strings", session.run(tf.string_join([s, s], "-"), {s: ["a", b"\x00\xff", ""]}).tolist())


@program
def traces(run):
    """RunMetadata: timelines and partitions name the nodes and devices."""
    with tf.device("/cpu:0"):
        x = tf.random_uniform([64, 64], seed=1)
        y = tf.matmul(x, x, name="squared")
    with run.session() as session:
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        session.run(y, options=options, run_metadata=metadata)
        nodes = {s.node_name for d in metadata.step_stats.dev_stats for s in d.node_stats}
        run.keep("timed", any(name.startswith("squared") for name in nodes))
        run.keep("device", any("CPU:0" in d.device for d in metadata.step_stats.dev_stats))
        run.keep("partitions", run.in_process or any(n.op == "MatMul" for g in metadata.partition_graphs for n in g.node))


@program
def tables(run):
    keys, values = tf.constant(["a", "b", "c"]), tf.constant([1, 2, 3], tf.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    words = tf.placeholder(tf.string, [None])
    found = table.lookup(words)
    with run.session() as session:
        with run.raises("not initialised"):
            session.run(found, {words: ["a"]})
        session.run(tf.tables_initializer())
        run.keep("found", session.run(found, {words: ["c", "x", "a"]}))
        run.keep("size", session.run(table.size()))


@program
def supervised(run):
    """MonitoredTrainingSession with hooks, a checkpoint folder and summaries; then again from where it stopped."""
    folder = os.path.join(run.folder, "monitored")
    for start, end in ((0, 10), (10, 15)):
        graph = tf.Graph()
        with graph.as_default():
            tf.set_random_seed(5)
            number = tf.train.get_or_create_global_step()
            x = tf.constant(np.linspace(0, 1, 12).reshape(4, 3).astype("float32"))
            loss = tf.reduce_mean(tf.square(dense(x, 1, "layer") - 1.0))
            tf.summary.scalar("loss", loss)
            step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=number)
            hooks = [tf.train.StopAtStepHook(last_step=end), tf.train.NanTensorHook(loss)]
            run.graphs.append(graph)
            losses = []
            with tf.train.MonitoredTrainingSession(run.target, checkpoint_dir=folder, hooks=hooks,
                                                   save_checkpoint_steps=5, save_summaries_steps=2,
                                                   log_step_count_steps=100) as session:
                while not session.should_stop():
                    losses.append(session.run([loss, step])[0])
            run.keep(f"losses from {start}", np.array(losses), 1e-4)
    run.keep("latest", os.path.basename(tf.train.latest_checkpoint(folder)))
