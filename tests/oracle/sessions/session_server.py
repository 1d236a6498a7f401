#!/usr/bin/env python3
"""A stock TensorFlow client against `argosy serve` in a process of its own (ctest -L tf): what comes back, and which
exceptions, beside what TensorFlow's own server gives.

  session_server.py PROGRAM [--cycles N] [--killed N]     N cycles of create, run, close (10,000 once in a while)
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf1 = tf.compat.v1
tf1.disable_eager_execution()

failures = []


def check(name, good, what=""):
    if not good:
        failures.append(name)
        print(f"FAILED {name}: {what}", flush=True)


def attempt(work):
    """What Python sees: a value, or the exception's class and the operation it names."""
    try:
        return ("value", work())
    except Exception as e:  # noqa: BLE001: whatever it is, is compared
        return (type(e).__name__, getattr(getattr(e, "op", None), "name", None))


class Server:
    def __init__(self, program, *flags):
        self.process = subprocess.Popen([program, "serve", "--port", "0", "--http-port", "0", "--json", *flags],
                                        stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.process.stdout.readline())
        self.target, self.http, self.pid = ready["target"], ready["http_port"], ready["pid"]

    def page(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=10).read().decode()

    def metric(self, name):
        return next(float(line.split()[1]) for line in self.page("/metrics").splitlines() if line.startswith(name + " "))

    def resources(self):
        """Resident bytes, descriptors, threads."""
        with open(f"/proc/{self.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return (int(fields["VmRSS"].split()[0]) * 1024, len(os.listdir(f"/proc/{self.pid}/fd")), int(fields["Threads"]))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        check("SIGTERM", self.process.wait(timeout=20) == 0, f"exit code {self.process.returncode}")


def fresh():
    tf1.reset_default_graph()


# --- what comes back --------------------------------------------------------------------------------------------------


def dtypes(server):
    values = [
        np.array([1.5, -2, np.inf], np.float32), np.array([[1e300]]), np.array([1, -2], np.int32),
        np.array(7, np.int64), np.array([0, 255], np.uint8), np.array([-128], np.int8), np.array([-5], np.int16),
        np.array([65535], np.uint16), np.array([2**32 - 1], np.uint32), np.array([2**64 - 1], np.uint64),
        np.array([True, False]), np.array([1 + 2j], np.complex64), np.array([1 - 2j], np.complex128),
        np.array([0.5, 65504], np.float16), np.array([1.5], tf.bfloat16.as_numpy_dtype),
        np.array([b"a", b"", b"\x00\xff" * 5000], object), np.array("text", object),
        np.zeros([0, 3], np.float32), np.zeros([2, 0], object), np.arange(300000, dtype=np.float32),
    ]
    for value in values:
        fresh()
        dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
        x = tf1.placeholder(dtype, name="x")
        y = tf.identity(x)
        with tf1.Session(server.target) as session:
            kind, back = attempt(lambda: session.run(y, {x: value}))
        name = f"{dtype.name}{list(value.shape)}"
        check(name, kind == "value", (kind, back))
        if kind == "value":
            back = np.asarray(back)
            wanted = np.array([s.encode() if isinstance(s, str) else s for s in value.ravel()], object).reshape(
                value.shape) if value.dtype == object else value
            check(name, back.shape == wanted.shape and (back.astype(wanted.dtype) == wanted).all(), back)


def calls(server):
    fresh()
    x = tf1.placeholder(tf.float32, [None], name="x")
    y = tf.multiply(x, 2.0, name="y")
    z = tf.add(y, 1.0, name="z")
    v = tf1.get_variable("v", initializer=1.0, use_resource=True)
    more = v.assign_add(1.0)
    with tf1.Session(server.target) as session:
        check("list_devices", [d.name for d in session.list_devices()] ==
              ["/job:localhost/replica:0/task:0/device:CPU:0"], session.list_devices())
        f = session.make_callable([y, z], [x])
        check("make_callable", [list(o) for o in f(np.ones(2, np.float32))] == [[2, 2], [3, 3]])
        options = tf1.RunOptions  # only to be sure that they are sent
        from tensorflow.core.protobuf import config_pb2
        made = session._make_callable_from_options(
            config_pb2.CallableOptions(feed=["x:0"], fetch=["z:0", "y:0"]))
        check("RunCallable", [list(o) for o in made(np.ones(1, np.float32))] == [[3], [2]])
        del made
        handle = session.partial_run_setup([y, z], [x])
        first = session.partial_run(handle, y, {x: [4.0]})
        check("partial_run", (list(first), list(session.partial_run(handle, z))) == ([8], [9]))
        session.run(v.initializer)
        metadata = tf1.RunMetadata()
        session.run(z, {x: [1.0]}, options=options(trace_level=options.FULL_TRACE, output_partition_graphs=True),
                    run_metadata=metadata)
        check("step_stats", metadata.step_stats.dev_stats[0].node_stats, metadata)
        check("partition_graphs", metadata.partition_graphs[0].node, metadata)
        from tensorflow.python.client import timeline
        check("timeline", "traceEvents" in timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
        threads = [threading.Thread(target=lambda: [session.run(more) for _ in range(25)]) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check("threads", session.run(v) == 201, session.run(v))
        w = tf.add(z, 1.0)  # extends the session's graph
        check("extend", list(session.run(w, {x: [1.0]})) == [4])
    session = tf1.Session(server.target)
    check("variables outlive sessions", session.run(v) == 201)
    tf1.Session.reset(server.target)
    check("reset ends sessions", attempt(lambda: session.run(v))[0] == "AbortedError")
    check("closing what is gone", attempt(session.close)[0] == "AbortedError")
    with tf1.Session(server.target) as session:
        check("reset empties containers", attempt(lambda: session.run(v))[0] == "FailedPreconditionError")
    alone = tf1.ConfigProto(isolate_session_state=True)
    with tf1.Session(server.target) as one, tf1.Session(server.target, config=alone) as other:
        one.run(v.initializer)
        check("isolate_session_state", attempt(lambda: other.run(v))[0] == "FailedPreconditionError")


# --- exceptions, beside TensorFlow's server -------------------------------------------------------------------------------


def exceptions(target):
    seen = {}
    fresh()
    x = tf1.placeholder(tf.float32, [None, 2], name="x")
    m = tf.matmul(x, x, name="m")
    old = tf1.get_variable("old", initializer=1.0, use_resource=False)
    new = tf1.get_variable("new", initializer=1.0, use_resource=True)
    check_ = tf1.Assert(tf.less(tf.reduce_sum(x), 1.0, name="less"), [x], name="check")
    with tf1.Session(target) as session:
        seen["not fed"] = attempt(lambda: session.run(m))
        seen["uninitialised"] = attempt(lambda: session.run(new))
        seen["uninitialised, by reference"] = attempt(lambda: session.run(old))[:1]  # TensorFlow names no node
        seen["shapes"] = attempt(lambda: session.run(m, {x: np.ones((3, 2))}))
        seen["assertion"] = attempt(lambda: session.run(check_, {x: np.ones((2, 2))}))[:1]
        seen["usable after"] = attempt(lambda: session.run(m, {x: np.ones((2, 2))}).tolist())
    fresh()
    with tf.device("/gpu:7"):
        a = tf.constant(1.0, name="a")
    with tf1.Session(target) as session:
        seen["no such device"] = attempt(lambda: session.run(a))[:1]
    with tf1.Session(target, config=tf1.ConfigProto(allow_soft_placement=True)) as session:
        seen["no such device, soft"] = attempt(lambda: float(session.run(a)))
    for name, config in {"per session threads": tf1.ConfigProto(use_per_session_threads=True)}.items():
        with tf1.Session(target, config=config) as session:
            seen[name] = attempt(lambda: session.run(a))[:1]
    return seen


def queue_exceptions(target):
    seen = {}
    fresh()
    queue = tf1.FIFOQueue(2, [tf.float32], shapes=[[]], name="queue")
    put, take, size = queue.enqueue(1.0, name="put"), queue.dequeue(name="take"), queue.size(name="size")
    close = queue.close(name="close")
    with tf1.Session(target) as session:
        seen["deadline"] = attempt(lambda: session.run(take, options=tf1.RunOptions(timeout_in_ms=100)))
        attempt(lambda: session.run(put))
        seen["a late dequeue ate nothing"] = attempt(lambda: session.run(size))
        seen["dequeue"] = attempt(lambda: session.run(take))
        waiting = []
        thread = threading.Thread(target=lambda: waiting.append(attempt(lambda: session.run(take))))
        thread.start()
        time.sleep(0.2)
        attempt(lambda: session.run(close))
        thread.join()
        seen["queue closed while waiting"] = waiting[0]
        seen["queue closed"] = attempt(lambda: session.run(take))
        seen["enqueue on a closed queue"] = attempt(lambda: session.run(put))
    session = tf1.Session(target)
    again = tf1.FIFOQueue(2, [tf.float32], shapes=[[]], name="again")
    wait = again.dequeue(name="wait")
    waiting = []
    thread = threading.Thread(target=lambda: waiting.append(attempt(lambda: session.run(wait))))
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join()
    seen["session closed under a step"] = waiting[0][:1]
    return seen


def iterators(target):
    """Iterators without a shared name are a session's own; those with one, and texts, cross sessions."""
    fresh()
    numbers = tf.data.Dataset.range(9)
    once = tf1.data.make_one_shot_iterator(numbers).get_next()
    own, shared = (tf1.data.make_initializable_iterator(numbers, shared_name=name) for name in (None, "it"))
    nexts = {"one shot": once, "own": own.get_next(), "shared": shared.get_next()}
    text, which = own.string_handle(), tf1.placeholder(tf.string, [])
    named = tf1.data.Iterator.from_string_handle(which, tf.int64, []).get_next()
    seen = {}
    with tf1.Session(target) as b:
        with tf1.Session(target) as a:
            a.run([own.initializer, shared.initializer])
            for name, step in nexts.items():
                seen[name] = [attempt(lambda s=s: int(s.run(step))) for s in (a, b, a)]
            b.run(own.initializer)
            seen["initialized by the other"] = [attempt(lambda s=s: int(s.run(nexts["own"]))) for s in (a, b)]
            first = a.run(text)
            seen["by text"] = [attempt(lambda s=s: int(s.run(named, {which: first}))) for s in (a, b)]
        seen["of a closed session"] = attempt(lambda: b.run(named, {which: first}))[:1]
        seen["goes on"] = [attempt(lambda step=step: int(b.run(step))) for step in nexts.values()]
    with tf1.Session(target) as c:
        seen["begins anew"] = [attempt(lambda step=step: int(c.run(step))) for step in nexts.values()]
    return seen


def compare_exceptions(server):
    theirs = tf1.train.Server.create_local_server()
    for probe in (exceptions, queue_exceptions, iterators):
        wanted, got = probe(theirs.target), probe(server.target)
        for name, want in wanted.items():
            check(name, got[name] == want, f"{got[name]}, TensorFlow: {want}")
        print(f"{len(wanted)} exceptions and values beside TensorFlow's server")


# --- steps sharded over all GPUs ------------------------------------------------------------------------------------------


def replicated(program):
    """`serve --replicate --check`: what was sharded, compared and left on one device, in /statusz and /metrics; and a step
    that is another than on one device."""

    def train(server):
        fresh()
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        w = tf1.get_variable("w", initializer=np.ones([4, 1], np.float32))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="loss")
        step = tf1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        # A maximum over the examples in a loop.
        square = lambda i, most: (i + 1, most + tf.reduce_max(tf.square(tf.matmul(x, w))))
        worst = tf.identity(tf1.while_loop(lambda i, most: i < 2, square, [0, 0.0])[1], name="worst")
        alone = tf1.train.GradientDescentOptimizer(0.1).minimize(worst)
        data = np.random.RandomState(0)
        with tf1.Session(server.target) as session:
            session.run(tf1.global_variables_initializer())
            for _ in range(4):
                session.run([loss, step], {x: data.rand(6, 4)})
            for _ in range(3):
                session.run([worst, alone], {x: data.rand(6, 4)})

    server = Server(program, "--emulate", "2", "--replicate", "--check", "2")
    try:
        ended = attempt(lambda: train(server))
        check("replicated", ended[0] == "value", ended)
        for name, want in {"argosy_replicated_steps_total": 4, 'argosy_checked_steps_total{result="same"}': 2,
                           'argosy_checked_steps_total{result="other"}': 0}.items():
            check(name, server.metric(name) == want, server.page("/metrics"))
        lines = [line for line in server.page("/metrics").splitlines()
                 if line.startswith("argosy_not_replicated_steps_total{reason=")]
        check("reasons", len(lines) == 1 and "'while/body/Max' (Max)" in lines[0] and 'node="while/body/Max"' in lines[0] and
              lines[0].endswith(" 3"), lines)
        status = server.page("/statusz")
        check("statusz", "4 steps replicated: 2 devices" in status and "3 on one device: " in status and
              "2 checked, as on one device" in status, status)
    finally:
        server.process.kill()
    told = []
    for at in range(2, 30, 3):
        os.environ["ARGOSY_FAULTS"] = f"gpu:1:flip={at}"
        try:
            server = Server(program, "--emulate", "2", "--replicate", "--check")
            kind, _ = attempt(lambda: train(server))
            told.append((kind, server.metric('argosy_checked_steps_total{result="other"}')))
            check("a step that differs fails", told[-1] in (("value", 0), ("InternalError", 1)), told[-1])
        finally:
            del os.environ["ARGOSY_FAULTS"]
            server.process.kill()
    check("faults are found", sum(kind == "InternalError" for kind, _ in told) >= 3, told)
    print(f"replicated: {sum(kind == 'InternalError' for kind, _ in told)} of {len(told)} single wrong bits told")


# --- cycles and clients that die ------------------------------------------------------------------------------------------

CLIENT = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
tf1 = tf.compat.v1
tf1.disable_eager_execution()
again = tf1.placeholder(tf.bool, [])
with tf1.Session(sys.argv[1]) as session:
    tf1.disable_control_flow_v2()
    loop = tf1.while_loop(lambda i: again, lambda i: i + 1, [0])
    session.run(loop, {again: False})
    print("ready", flush=True)
    session.run(loop, {again: True})
"""


def cycles(server, count):
    tf1.Session.reset(server.target)  # sessions of the clients that were killed
    fresh()
    x = tf1.placeholder(tf.float32, name="x")
    y = tf.add(x, 1.0)
    z = tf.matmul(tf.ones([20, 20]), tf.fill([20, 20], y))

    def cycle():
        with tf1.Session(server.target) as session:
            session.run([y, z], {x: 1.0})

    for _ in range(max(20, count // 4)):
        cycle()
    before = server.resources()
    for _ in range(count):
        cycle()
    after = server.resources()
    grown = [b - a for a, b in zip(before, after)]
    # A page here and there is the allocator's; a session is far more than 2 KiB.
    check("memory of cycles", grown[0] <= max(0.01 * before[0], 2048 * count), f"{before} -> {after}")
    check("descriptors of cycles", grown[1] <= 2, f"{before} -> {after}")
    check("threads of cycles", grown[2] <= 4, f"{before} -> {after}")  # gRPC's own come and go; a leak has one a cycle
    check("sessions left", server.metric("argosy_sessions") == 0)
    print(f"{count} cycles: resident bytes, descriptors, threads {before} -> {after}")


def killed_clients(server, count):
    for _ in range(count):
        client = subprocess.Popen([sys.executable, "-c", CLIENT, server.target], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL)
        check("client", client.stdout.readline() == "ready\n")
        time.sleep(0.2)
        before = server.metric('argosy_errors_total{code="CANCELLED"}')
        client.kill()
        client.wait()
        begin = time.time()
        while server.metric('argosy_errors_total{code="CANCELLED"}') == before and time.time() < begin + 10:
            time.sleep(0.01)
        check("the step of a killed client", time.time() < begin + 2, f"ran on for {time.time() - begin:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--killed", type=int, default=2)
    args = parser.parse_args()
    server = Server(args.program)
    try:
        dtypes(server)
        calls(server)
        compare_exceptions(server)
        killed_clients(server, args.killed)
        cycles(server, args.cycles)
        replicated(args.program)
        server.stop()
    finally:
        server.process.kill()
    print("session server:", f"{len(failures)} failures: {failures}" if failures else "all as TensorFlow's")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
