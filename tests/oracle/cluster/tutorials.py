"""Programs with parameter servers in the patterns that tutorials for TensorFlow 1.x have, one a function. Nothing here
knows of Argosy.

  tutorials.py NAME JOB TASK CLUSTER_JSON FOLDER     FOLDER: checkpoints, and where workers take turns

Each task makes its own tf.train.Server. Workers print "result JSON"; numbers do not depend on who is faster.
"""
import json
import os
import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

NAME, JOB, TASK, SPEC, FOLDER = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]), sys.argv[5]
CLUSTER = tf.train.ClusterSpec(SPEC)
WORKERS = len(SPEC["worker"])
CHIEF = TASK == 0


def tell(*values):
    def plain(v):
        return [x if isinstance(x, str) else float(x) for x in np.asarray(v).ravel().tolist()]

    print("result " + json.dumps([plain(v) for v in values]), flush=True)


def server(join=True, **options):
    made = tf.train.Server(CLUSTER, job_name=JOB, task_index=TASK, **options)
    if join and JOB == "ps":
        made.join()
        sys.exit(0)
    return made


def mark(name):
    open(os.path.join(FOLDER, name), "w").close()


def wait_for(*names):
    end = time.time() + 120
    while not all(os.path.exists(os.path.join(FOLDER, n)) for n in names):
        if time.time() > end:
            raise RuntimeError("nobody made %s" % (names,))
        time.sleep(0.005)


def meet(name):
    """All workers are here."""
    mark("%s.%d" % (name, TASK))
    wait_for(*["%s.%d" % (name, i) for i in range(WORKERS)])


def my_turn(turn):
    """Workers go one after the other."""
    if turn * WORKERS + TASK > 0:
        wait_for("turn%d" % (turn * WORKERS + TASK - 1))


def turn_over(turn):
    mark("turn%d" % (turn * WORKERS + TASK))


def batches(count, size=16, features=12, classes=4, seed=None):
    random = np.random.RandomState(TASK if seed is None else seed)
    centers = np.random.RandomState(77).randn(classes, features)
    for _ in range(count):
        labels = random.randint(classes, size=size)
        yield (centers[labels] + 0.5 * random.randn(size, features)).astype(np.float32), np.eye(classes, dtype=np.float32)[labels]


def weights(name, shape):
    """Initial values that no generator of random numbers has a say in."""
    made = np.random.RandomState(sum(map(ord, name))).randn(*shape) / np.sqrt(shape[0])
    return tf.get_variable(name, initializer=made.astype(np.float32))


def classifier():
    x, y = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.float32, [None, 4])
    hidden = tf.nn.relu(tf.nn.xw_plus_b(x, weights("hid_w", (12, 20)), tf.get_variable("hid_b", [20], initializer=tf.zeros_initializer())))
    logits = tf.nn.xw_plus_b(hidden, weights("sm_w", (20, 4)), tf.get_variable("sm_b", [4], initializer=tf.zeros_initializer()))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
    return x, y, loss, accuracy


def setter(**options):
    return tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % TASK, cluster=CLUSTER, **options))


def supervised_replica():
    """A Supervisor, a session config with device filters, Adam."""
    target = server().target
    with setter(ps_device="/job:ps/cpu:0"):
        step = tf.Variable(0, name="global_step", trainable=False)
        x, y, loss, accuracy = classifier()
        train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
        init = tf.global_variables_initializer()
    supervisor = tf.train.Supervisor(is_chief=CHIEF, logdir=FOLDER, init_op=init, recovery_wait_secs=1, global_step=step)
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False,
                            device_filters=["/job:ps", "/job:worker/task:%d" % TASK])
    session = supervisor.prepare_or_wait_for_session(target, config=config)
    losses = []
    for a, b in batches(25):
        _, at, value = session.run([train, step, loss], {x: a, y: b})
        losses.append(value)
    a, b = next(batches(1, size=200, seed=5))
    tell(losses, session.run(accuracy, {x: a, y: b}), at)
    supervisor.stop()


def supervised_sync_replicas():
    """SyncReplicasOptimizer by hand: its queue runner, its init tokens, its init ops in a Supervisor."""
    target = server().target
    with setter():
        step = tf.Variable(0, name="global_step", trainable=False)
        x, y, loss, _ = classifier()
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=WORKERS,
                                                   total_num_replicas=WORKERS, name="mnist_sync_replicas")
        train = optimizer.minimize(loss, global_step=step)
        local_init = optimizer.chief_init_op if CHIEF else optimizer.local_step_init_op
        runner, tokens = optimizer.get_chief_queue_runner(), optimizer.get_init_tokens_op(num_tokens=0)
        init = tf.global_variables_initializer()
    supervisor = tf.train.Supervisor(is_chief=CHIEF, logdir=FOLDER, init_op=init, local_init_op=local_init,
                                     ready_for_local_init_op=optimizer.ready_for_local_init_op, recovery_wait_secs=1, global_step=step)
    session = supervisor.prepare_or_wait_for_session(target)
    if CHIEF:
        session.run(tokens)
        supervisor.start_queue_runners(session, [runner])
    losses = []
    for i, (a, b) in enumerate(batches(12)):
        meet("step%d" % i)
        losses.append(session.run([loss, train], {x: a, y: b})[0])
    meet("end")
    tell(losses, session.run(step))
    meet("told")
    supervisor.request_stop()


def monitored_sync_replicas():
    """The same by make_session_run_hook, Momentum, two servers."""
    target = server().target
    with setter():
        x, y, loss, _ = classifier()
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.05, 0.9), replicas_to_aggregate=WORKERS,
                                                   total_num_replicas=WORKERS)
        train = optimizer.minimize(loss, global_step=step)
    hook = optimizer.make_session_run_hook(CHIEF, num_tokens=0)
    losses = []
    with tf.train.MonitoredTrainingSession(target, is_chief=CHIEF, hooks=[hook], stop_grace_period_secs=5, save_summaries_steps=None,
                                           save_summaries_secs=None) as session:
        for i, (a, b) in enumerate(batches(12)):
            meet("step%d" % i)
            losses.append(session.run([loss, train], {x: a, y: b})[0])
        meet("end")
        tell(losses)
        meet("told")
        os._exit(0)  # TensorFlow's chief waits for its queue runner, which waits for gradients


class Recorder(tf.train.SessionRunHook):
    def __init__(self, loss):
        self.loss, self.seen = loss, []

    def before_run(self, _):
        return tf.train.SessionRunArgs({"loss": self.loss, "step": tf.train.get_global_step()})

    def after_run(self, _, values):
        self.seen.append(float(values.results["loss"]))


def monitored_hooks_and_restore():
    """Hooks that stop, save, log and watch for NaN; a second session goes on from the checkpoint of the first."""
    target = server().target
    with setter():
        x, y, loss, _ = classifier()
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.05, step, 5, 0.9, staircase=True)
        train = tf.train.AdagradOptimizer(rate).minimize(loss, global_step=step)
        tf.summary.scalar("loss", loss)
    told, data = [], list(batches(40))
    for last in (10, 25):
        recorder = Recorder(loss)
        hooks = [tf.train.StopAtStepHook(last_step=last), tf.train.NanTensorHook(loss), recorder,
                 tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=5), tf.train.StepCounterHook(every_n_steps=5)]
        with tf.train.MonitoredTrainingSession(target, is_chief=CHIEF, checkpoint_dir=FOLDER, hooks=hooks, save_checkpoint_steps=5,
                                               save_summaries_steps=5, log_step_count_steps=None) as session:
            begin = session.run_step_fn(lambda step_context: step_context.session.run(step))
            while not session.should_stop():
                a, b = data[len(recorder.seen) + int(begin)]
                session.run(train, {x: a, y: b})
        told += [recorder.seen, int(begin)]
    tell(*told)


def partitioned_embeddings():
    """Tables in parts over the servers, rows of them looked up and updated."""
    target = server().target
    with setter():
        ids, y = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 3])
        with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(3)):
            table = tf.get_variable("table", [30, 6], initializer=tf.constant_initializer(0.3))
            slope = tf.get_variable("slope", [6, 3], initializer=tf.constant_initializer(0.2), partitioner=tf.fixed_size_partitioner(2))
        rows = tf.nn.embedding_lookup(table, ids, partition_strategy="mod")
        loss = tf.reduce_mean(tf.square(tf.matmul(rows, slope) - y))
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdagradOptimizer(0.3).minimize(loss, global_step=step)
        whole = tf.reduce_sum(tf.convert_to_tensor(table) * np.arange(180, dtype=np.float32).reshape(30, 6))
        places = sorted({v.device for v in tf.global_variables()})
    random, losses = np.random.RandomState(1), []
    with tf.train.MonitoredTrainingSession(target, is_chief=CHIEF) as session:
        for _ in range(15):
            i = random.randint(30, size=8)
            losses.append(session.run([loss, train], {ids: i, y: np.stack([np.sin(i), np.cos(i), i / 30.0], 1)})[0])
        tell(losses, session.run(whole), places)


def finished_by_queues():
    """Servers that wait for a token of every worker, not for ever: a queue on each."""
    made = server(join=False)
    queues = []
    for i in range(len(SPEC["ps"])):
        with tf.device("/job:ps/task:%d" % i):
            queues.append(tf.FIFOQueue(WORKERS, tf.int32, shared_name="done_queue%d" % i))
    if JOB == "ps":
        with tf.Session(made.target) as session:
            for _ in range(WORKERS):
                session.run(queues[TASK].dequeue())
        tell([TASK])
        return
    with setter():
        x, y, loss, _ = classifier()
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step=step)
        ends = [q.enqueue(1) for q in queues]
        init = tf.global_variables_initializer()
    losses = []
    with tf.Session(made.target) as session:
        if CHIEF:
            session.run(init)
            mark("made")
        wait_for("made")
        for turn, (a, b) in enumerate(batches(10)):
            my_turn(turn)
            losses.append(session.run([loss, train], {x: a, y: b})[0])
            turn_over(turn)
        tell(losses)
        session.run(ends)


def asynchronous_in_turns():
    """Workers update without waiting for each other; here they take turns, so the order is known."""
    target = server().target
    with setter():
        x, y, loss, _ = classifier()
        step = tf.train.get_or_create_global_step()
        train = tf.train.RMSPropOptimizer(0.005).minimize(loss, global_step=step)
    losses = []
    with tf.train.MonitoredTrainingSession(target, is_chief=CHIEF, save_summaries_steps=None, save_summaries_secs=None) as session:
        meet("in")
        for turn, (a, b) in enumerate(batches(12)):
            my_turn(turn)
            losses.append(session.run([loss, step, train], {x: a, y: b})[:2])
            turn_over(turn)
        tell([v for v, _ in losses])
        meet("told")


def in_graph_towers():
    """One client and one graph: towers on every worker, their gradients averaged on the server."""
    target = server().target
    if not CHIEF:
        wait_for("over")
        return
    optimizer, towers, losses = tf.train.MomentumOptimizer(0.1, 0.5), [], []
    x, y = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.float32, [None, 4])
    with tf.device("/job:ps/task:0"):
        w = weights("w", (12, 4))
        b = tf.get_variable("b", [4], initializer=tf.zeros_initializer())
    for i in range(WORKERS):
        with tf.device("/job:worker/task:%d" % i), tf.name_scope("tower%d" % i):
            rows = slice(8 * i, 8 * i + 8)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y[rows], logits=tf.matmul(x[rows], w) + b))
            towers.append(optimizer.compute_gradients(loss))
            losses.append(loss)
    with tf.device("/job:ps/task:0"):
        train = optimizer.apply_gradients([(tf.add_n([g for g, _ in pair]) / WORKERS, pair[0][1]) for pair in zip(*towers)])
        total = tf.add_n(losses) / WORKERS
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        tell([session.run([total, train], {x: a, y: c})[0] for a, c in batches(15)])
    mark("over")


def queue_runners():
    """Input by queues and a Coordinator, as before tf.data."""
    target = server().target
    random = np.random.RandomState(4)
    examples, labels = random.randn(40, 5).astype(np.float32), random.randn(40, 1).astype(np.float32)
    with setter():
        with tf.device("/job:worker/task:%d" % TASK):
            one, label = tf.train.slice_input_producer([tf.constant(examples), tf.constant(labels)], shuffle=False)
            x, y = tf.train.batch([one, label], batch_size=8, num_threads=1)
        w = weights("w", (5, 1))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session(target) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        tell([session.run([loss, train])[0] for _ in range(12)])
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10, ignore_live_threads=True)


def balanced_servers():
    """A ps_strategy that counts bytes, and a scaffold with local variables."""
    loads = [0] * len(SPEC["ps"])

    def least_loaded(op):
        shape = op.get_attr("shape") if op.type in ("VariableV2", "VarHandleOp") else None
        size = int(np.prod([d.size for d in shape.dim])) if shape is not None else 1
        at = loads.index(min(loads))
        loads[at] += size
        return at

    target = server().target
    with setter(ps_strategy=least_loaded):
        x, y, loss, accuracy = classifier()
        step = tf.train.get_or_create_global_step()
        train = tf.train.FtrlOptimizer(0.1).minimize(loss, global_step=step)
        with tf.device("/job:worker/task:%d" % TASK):
            seen = tf.get_variable("seen", initializer=0.0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
            count = tf.assign_add(seen, 1.0)
        places = sorted("%s %s" % (v.op.name, v.device) for v in tf.global_variables())
        scaffold = tf.train.Scaffold(local_init_op=tf.local_variables_initializer())
    losses = []
    with tf.train.MonitoredTrainingSession(target, is_chief=CHIEF, scaffold=scaffold) as session:
        for a, b in batches(15):
            losses.append(session.run([loss, train, count], {x: a, y: b})[0])
        tell(losses, session.run(seen), places)


def recurrent_with_averages():
    """A loop over time, its weights on the server, and moving averages of them.

    Resource variables: what is read of a reference variable on another task after its update is either value in TensorFlow.
    """
    target = server().target
    with setter(), tf.variable_scope("model", use_resource=True):
        x, y = tf.placeholder(tf.float32, [None, 7, 4]), tf.placeholder(tf.float32, [None, 1])
        kernel = tf.identity(weights("kernel", (12, 8)))  # 2.x cannot place a loop that reads it on another task
        bias = tf.identity(tf.get_variable("bias", [8], initializer=tf.zeros_initializer()))
        end = tf.while_loop(lambda t, h: t < 7, lambda t, h: (t + 1, tf.tanh(tf.matmul(tf.concat([x[:, t], h], 1), kernel) + bias)),
                            (0, tf.zeros([tf.shape(x)[0], 8])))[1]
        loss = tf.reduce_mean(tf.square(tf.matmul(end, weights("out", (8, 1))) - y))
        step = tf.train.get_or_create_global_step()
        averages = tf.train.ExponentialMovingAverage(0.9, step)
        with tf.control_dependencies([tf.train.AdamOptimizer(0.02).minimize(loss, global_step=step)]):
            train = averages.apply(tf.trainable_variables())
    random, losses = np.random.RandomState(3), []
    with tf.train.MonitoredTrainingSession(target, is_chief=CHIEF) as session:
        for _ in range(12):
            a = random.randn(9, 7, 4)
            losses.append(session.run([loss, train], {x: a, y: a[:, :, 0].sum(1)[:, None]})[0])
        tell(losses, *[session.run([v, averages.average(v)]) for v in tf.trainable_variables()])


PROGRAMS = {supervised_replica: (1, 1), supervised_sync_replicas: (1, 2), monitored_sync_replicas: (2, 2),
            monitored_hooks_and_restore: (1, 1), partitioned_embeddings: (2, 1), finished_by_queues: (2, 2),
            asynchronous_in_turns: (2, 2), in_graph_towers: (1, 2), queue_runners: (1, 1),
            balanced_servers: (3, 1), recurrent_with_averages: (1, 1)}

if __name__ == "__main__":
    next(p for p in PROGRAMS if p.__name__ == NAME)()
