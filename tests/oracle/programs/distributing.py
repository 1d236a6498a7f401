"""Programs of the chapter on distributing TensorFlow: placement, control dependencies, queues, readers, parameter servers."""
import os
import threading
import time

import numpy as np
import tensorflow.compat.v1 as tf

from program import program, train


@program
def placement(run):
    """Simple and dynamic placement; an op without a kernel for where it was put."""
    with tf.device("/cpu:0"):
        a = tf.Variable(3.0)
        b = tf.constant(4.0)
    c = a * b

    def variables_on_cpu(op):
        return "/cpu:0" if op.type == "VariableV2" else "/gpu:0"

    with tf.device(variables_on_cpu):
        d = tf.Variable(2.0)
        e = c * d
        whole = tf.Variable(7)  # an integer variable: there is none on a GPU
        f = tf.cast(whole, tf.float32) + e
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        run.keep("values", session.run([c, e, f]))


@program
def control_dependencies(run):
    log = tf.Variable(1.0)
    doubled = log.assign(log * 2)
    with tf.control_dependencies([doubled]):
        plus = log.assign_add(3.0)
    with tf.control_dependencies([plus]):
        z = log.read_value() * 10
    with run.session(inter_op_parallelism_threads=2) as session:
        session.run(log.initializer)
        run.keep("values", [session.run(z) for _ in range(5)])


@program
def queues(run):
    """FIFO, random-shuffle and padding queues, tuples, many at once, closing."""
    with run.session() as session:
        q = tf.FIFOQueue(10, [tf.float32], shapes=[[2]], name="q", shared_name="shared_q")
        datum = tf.placeholder(tf.float32, [2])
        enqueue, size = q.enqueue([datum]), q.size()
        for i in range(4):
            session.run(enqueue, {datum: [i, i + 1.0]})
        many = q.enqueue_many([tf.constant([[7., 8.], [9., 10.]])])
        session.run(many)
        run.keep("size", session.run(size))
        run.keep("one", session.run(q.dequeue()))
        run.keep("three", session.run(q.dequeue_many(3)))
        session.run(q.close())
        run.keep("rest", session.run(q.dequeue_up_to(5)))
        with run.raises("drained"):
            session.run(q.dequeue())
        with run.raises("enqueue on closed"):
            session.run(enqueue, {datum: [0, 0]})
        pairs = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], [3]], names=["number", "words"])
        session.run(pairs.enqueue({"number": 5, "words": ["a", "b", "c"]}))
        run.keep("tuple", list(session.run(pairs.dequeue()).items()))
        shuffled = tf.RandomShuffleQueue(50, 10, [tf.int64], shapes=[[]], seed=3)
        session.run(shuffled.enqueue_many([np.arange(30, dtype=np.int64)]))
        first = session.run(shuffled.dequeue_many(20))
        session.run(shuffled.close())
        run.keep("shuffled", sorted([*first, *session.run(shuffled.dequeue_up_to(100))]))
        padded = tf.PaddingFIFOQueue(10, [tf.float32], shapes=[[None, None]])
        for n in (1, 2, 3):
            session.run(padded.enqueue([np.full([n, n + 1], n, "float32")]))
        run.keep("padded", session.run(padded.dequeue_many(3)))


@program
def blocked(run):
    """Steps that wait for ever, a time-out among them; nothing is lost."""
    q = tf.FIFOQueue(2, [tf.int32], shapes=[[]])
    take, put = q.dequeue(), q.enqueue(tf.placeholder_with_default(1, []))
    with run.session() as session:
        with run.raises("time-out"):
            session.run(take, options=tf.RunOptions(timeout_in_ms=100))
        taken = []
        threads = [threading.Thread(target=lambda: taken.append(int(session.run(take)))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for _ in range(6):
            session.run(put)
        for thread in threads:
            thread.join()
        run.keep("taken", taken)
        run.keep("left", session.run(q.size()))
        session.run(put)
        with run.raises("full"):
            session.run(put, options=tf.RunOptions(timeout_in_ms=100))
        run.keep("still two", session.run(q.size()))


@program
def readers(run):
    """CSV files through a reader, a Coordinator and queue runners, into batches."""
    os.makedirs(run.folder, exist_ok=True)
    names = []
    for f in range(3):
        names.append(os.path.join(run.folder, f"part{f}.csv"))
        with open(names[-1], "w") as file:
            file.write("x1,x2,target\n")
            for i in range(5):
                file.write(f"{f}.{i},,{f * 5 + i}\n" if i % 2 else f"{f}.{i},{i}.5,{f * 5 + i}\n")
    filenames = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    reader = tf.TextLineReader(skip_header_lines=1)
    key, value = reader.read(filenames)
    x1, x2, target = tf.decode_csv(value, record_defaults=[[-1.0], [-1.0], [-1]])
    features = tf.stack([x1, x2])
    batch_x, batch_y = tf.train.batch([features, target], 4, allow_smaller_final_batch=True)
    with run.session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        rows = []
        try:
            while not coordinator.should_stop():
                x, y = session.run([batch_x, batch_y])
                rows += [(*a, b) for a, b in zip(x.tolist(), y.tolist())]
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
        run.keep("rows", np.array(sorted(rows)))


@program
def shuffled_records(run):
    """TFRecords of Examples through shuffle_batch: parsed, decoded, every one once."""
    os.makedirs(run.folder, exist_ok=True)
    path = os.path.join(run.folder, "examples.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(40):
            feature = {"image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes([i, i + 1, i + 2, i + 3])])),
                       "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    names = tf.train.string_input_producer([path], num_epochs=1)
    _, serialized = tf.TFRecordReader().read(names)
    parsed = tf.parse_single_example(serialized, {"image": tf.FixedLenFeature([], tf.string),
                                                  "label": tf.FixedLenFeature([], tf.int64)})
    image = tf.reshape(tf.cast(tf.decode_raw(parsed["image"], tf.uint8), tf.float32), [4])
    images, labels = tf.train.shuffle_batch([image, parsed["label"]], 8, capacity=30, min_after_dequeue=10, seed=1)
    with run.session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        seen = []
        try:
            while True:
                x, y = session.run([images, labels])
                seen += [(int(b), float(a[3])) for a, b in zip(x, y)]
        except tf.errors.OutOfRangeError:
            pass
        coordinator.request_stop()
        coordinator.join(threads)
        run.keep("seen", np.array(sorted(seen)))


@program
def parameter_servers(run):
    """Variables spread over parameter servers, some in parts; on one machine soft placement brings them home."""
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        with tf.variable_scope("layer", partitioner=tf.fixed_size_partitioner(3)):
            weights = tf.get_variable("weights", [10, 4], initializer=tf.glorot_uniform_initializer())
        biases = tf.get_variable("biases", [4], initializer=tf.zeros_initializer())
        x = tf.placeholder(tf.float32, [None, 10])
        looked = tf.nn.embedding_lookup(weights, [0, 5, 9], partition_strategy="div")
        y = tf.matmul(x, weights) + biases
        loss = tf.reduce_mean(tf.square(y - 1.0)) + tf.reduce_sum(looked) * 0.01
    step = tf.train.AdamOptimizer(0.01).minimize(loss)
    start = tf.global_variables_initializer()
    graph = tf.get_default_graph()
    here = tf.Graph()
    with here.as_default():  # a session without a cluster knows only its own job
        definition = graph.as_graph_def()
        for node in definition.node:
            node.device = ""
        found = tf.import_graph_def(definition, name="", return_elements=[x.name, loss.name, step.name, start.name])
        data = run.random.rand(30, 8, 10)
        with run.session(here) as session:
            session.run(found[3])
            train(run, session, 30, found[1], found[2], lambda i: {found[0]: data[i]})


@program
def synchronous_replicas(run):
    """Accumulators and a token queue, as SyncReplicasOptimizer makes them, with two workers in threads."""
    number = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=np.zeros(4, "float32"), use_resource=True)
    x = tf.placeholder(tf.float32, [4])
    loss = tf.reduce_sum(tf.square(w - x))
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=2,
                                               total_num_replicas=2)
    step = optimizer.minimize(loss, global_step=number)
    tokens = optimizer.get_init_tokens_op(2)
    runner = optimizer.get_chief_queue_runner()
    with run.session() as session:
        session.run(tf.global_variables_initializer())
        session.run([optimizer.chief_init_op, optimizer.local_step_init_op])
        session.run(tokens)
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, daemon=True, start=True)

        def worker(k):
            try:
                while True:  # a gradient that comes too late is dropped: nobody can count on a number of steps
                    session.run(step, {x: np.full(4, k + 1.0)})
            except tf.errors.OpError:
                pass

        workers = [threading.Thread(target=worker, args=(k,)) for k in range(2)]
        for thread in workers:
            thread.start()
        while session.run(number) < 4:
            time.sleep(0.01)
        run.keep("within", bool(np.all((session.run(w) > 0.2) & (session.run(w) < 2.0))))
        coordinator.request_stop()
        session.run(optimizer._sync_token_queue.close(cancel_pending_enqueues=True))
        for thread in workers:
            thread.join()
    coordinator.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)


@program
def accumulators(run):
    acc = tf.ConditionalAccumulator(tf.float32, shape=[2], shared_name="acc")
    value, at = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int64, [])
    apply, take = acc.apply_grad(value, at), acc.take_grad(2)
    with run.session() as session:
        for i in range(3):
            session.run(apply, {value: [i, 1.0], at: 0})
        run.keep("count", session.run(acc.num_accumulated()))
        run.keep("mean", session.run(take))
        session.run(apply, {value: [100, 100], at: 0})   # stale: the step went on
        run.keep("stale ones dropped", session.run(acc.num_accumulated()))
        session.run(acc.set_global_step(tf.constant(5, tf.int64)))
        session.run(apply, {value: [1, 2], at: 5})
        session.run(apply, {value: [3, 4], at: 7})
        run.keep("mean again", session.run(take))


@program
def shared_state(run):
    """Variables outlive a session and are seen by another; containers are cleared by name."""
    graph = tf.Graph()
    with graph.as_default(), tf.container("experiment"):
        v = tf.Variable(1.0, name="kept")
        more = v.assign_add(1.0)
    if run.in_process:  # without a server, a session takes its variables with it
        run.keep("first", np.float32(2.0))
        run.keep("second", np.float32(3.0))
        run.keep("cleared", "FailedPreconditionError at None")
        return
    first = run.session_of(tf.ConfigProto(), graph, shared=True)
    first.run(v.initializer)
    run.keep("first", first.run(more))
    second = run.session_of(tf.ConfigProto(), graph, shared=True)
    run.keep("second", second.run(more))
    tf.Session.reset(run.target, ["experiment"])
    third = run.session_of(tf.ConfigProto(), graph, shared=True)
    with run.raises("cleared"):
        third.run(v)
    third.close()


@program
def one_name_on_two_devices(run):
    """Each device has its own variables: a shared name on two of them names two things."""
    kind = "cpu" if run.in_process else "gpu"
    count = {"device_count": {"CPU": 2}} if run.in_process else {}
    fill, read = [], []
    for i in range(2):
        with tf.device(f"/{kind}:{i}"):
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="one_variable")
            fill.append(tf.raw_ops.AssignVariableOp(resource=handle, value=float(i + 2)))
            read.append(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32))
            old = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, shared_name="old_variable")
            fill.append(tf.raw_ops.Assign(ref=old, value=float(i + 8)))
            read.append(old)
    for order in (slice(None), slice(None, None, -1)):
        with run.session(**count) as session:
            for f in fill[order]:
                session.run(f)
            run.keep(f"values {order.step}", [session.run(r) for r in read])


@program
def big_graph_extended(run):
    """A graph that grows between runs, with devices by scope."""
    x = tf.constant(np.ones([4, 4], "float32"))
    with run.session() as session:
        for i in range(20):
            with tf.device(f"/gpu:{i % 2}"), tf.name_scope(f"grown{i}"):
                x = tf.tanh(tf.matmul(x, x) * 0.3)
            if i % 5 == 4:
                run.keep(f"after {i}", session.run(x))
