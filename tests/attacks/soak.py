"""A session server under clients that come, train, fail and vanish, for an hour: what it uses stays flat.

    python3 tests/attacks/soak.py --program build/release/bin/argosy [--minutes 60] [--seed 1] [--python PYTHON]

PYTHON has TensorFlow (ARGOSY_TF_PYTHON by default). Beside one client that trains all the time:
  - clients train and close, are killed in the middle of a step, leave steps blocked at a queue, give up after a timeout;
  - clients send graphs that fail: no memory, a wrong dtype, a loop without end, a file out of the folder;
  - one of the attacks of attacks.py a minute.
Every client that is to succeed checks its numbers. Prints memory, threads and descriptors as time goes by. Fails where the
last third of the run uses 1 % more than the second third does, where the honest client has an error, or the server ends.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))


# --- clients, in processes with TensorFlow -------------------------------------------------------------------------------

def training(tf, np, seed):
    """A small network; its loss after 20 steps is the same every time."""
    rng = np.random.RandomState(seed)
    data = rng.randn(32, 16).astype("float32")
    x = tf.placeholder(tf.float32, [None, 16])
    w = tf.get_variable("w", initializer=rng.randn(16, 16).astype("float32") * .3)
    v = tf.get_variable("v", initializer=rng.randn(16, 1).astype("float32") * .3)
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w)), v) - 1))
    return x, data, loss, tf.train.MomentumOptimizer(.05, .9).minimize(loss)


def beside(tf, session, fetch):
    """Runs it in a thread; it is to be cut off."""
    def run():
        try:
            session.run(fetch)
        except (tf.errors.OpError, RuntimeError):
            pass
    threading.Thread(target=run, daemon=True).start()


def close_to(a, b):
    if not abs(a - b) <= 1e-4 * abs(b):
        raise AssertionError(f"a loss of {a}, not {b}")


def train(tf, np, target, steps, expected=None):
    x, data, loss, step = training(tf, np, 3)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            value = session.run([loss, step], {x: data})[0]
    if expected is not None:
        close_to(value, expected)
    return value


def trains(tf, np, target, rng, expected):
    train(tf, np, target, 20, expected)


def is_killed(tf, np, target, rng, expected):
    x, data, _, step = training(tf, np, 3)
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    for _ in range(rng.randrange(5)):
        session.run(step, {x: data})
    a = tf.random_normal([600, 600], seed=1)
    for _ in range(60):
        a = tf.tanh(tf.matmul(a, a))
    beside(tf, session, a)
    time.sleep(rng.random() * .2)
    os.kill(os.getpid(), 9)


def blocks(tf, np, target, rng, expected):
    queue = tf.FIFOQueue(3, tf.float32, shared_name=f"q{rng.randrange(200)}")
    session, taken = tf.Session(target), queue.dequeue()
    for _ in range(4):
        beside(tf, session, taken)
    time.sleep(.3)
    if rng.random() < .5:
        os.kill(os.getpid(), 9)
    if rng.random() < .1:
        session.run(queue.close(cancel_pending_enqueues=True))
    session.close()


def gives_up(tf, np, target, rng, expected):
    n = tf.while_loop(lambda i: i >= 0, lambda i: tf.constant(1) + i * 0, [tf.constant(0)])
    with tf.Session(target) as session:
        try:
            session.run(n, options=tf.RunOptions(timeout_in_ms=200))
        except tf.errors.DeadlineExceededError:
            return
    raise AssertionError("a loop without end has ended")


def fails(tf, np, target, rng, expected):
    p = tf.placeholder(tf.float32, name="p")
    flag = tf.Variable(True, use_resource=False, name="flag")
    graphs = [
        lambda: tf.zeros([1 << 20, 1 << 20]) + p,
        lambda: tf.reshape(tf.zeros([6]), tf.cast(tf.fill([2], p), tf.int32)),
        lambda: tf.read_file("/etc/shadow"),
        lambda: tf.gather(tf.zeros([3]), tf.cast(p, tf.int32) + 7),
        lambda: tf.image.decode_png(tf.constant("not an image")),
        lambda: tf.linalg.inv(tf.zeros([4, 4]) * p),
        lambda: tf.strings.to_number("one" + tf.as_string(p)),
        lambda: tf.py_func(lambda: np.float32(0), [], tf.float32) + p,
        lambda: tf.cond(p > 0, lambda: tf.assign(flag, False), lambda: flag.read_value()),
    ]
    graph = rng.choice(graphs)()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        try:
            session.run(graph, {p: 3.})
        except (tf.errors.OpError, TypeError):
            pass


CLIENTS = [trains, trains, is_killed, blocks, gives_up, fails, fails]


def start_tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import numpy as np
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf, np


def be_honest(target, minutes):
    """Trains all the time; prints what each step took."""
    tf, np = start_tensorflow()
    with tf.variable_scope("honest"):
        x, data, loss, step = training(tf, np, 5)
    end, took = time.time() + 60 * minutes, []
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        before = float("inf")
        while time.time() < end:
            begin = time.time()
            value = session.run([loss, step], {x: data})[0]
            took.append(time.time() - begin)
            if not value <= before + 1:
                raise AssertionError(f"the loss went from {before} to {value}")
            before = value
            time.sleep(.05)
    took.sort()
    print(json.dumps({"steps": len(took), "p50": took[len(took) // 2], "p99": took[int(len(took) * .99)],
                      "worst": took[-1]}))


def churn(target, minutes, seed):
    """One client after the other, each in a process forked from this one, which has no session of its own."""
    tf, np = start_tensorflow()
    rng, end = random.Random(seed), time.time() + 60 * minutes
    expected, name = None, f"churn{seed}"
    count, bad = {}, []
    while time.time() < end:
        client = trains if expected is None else rng.choice(CLIENTS)
        seed, begin = rng.randrange(1 << 30), time.time()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                # Variables of one name are one variable on a server, whoever uses them.
                with tf.Graph().as_default(), tf.variable_scope(f"{name}_{client.__name__}"):
                    if expected is None:
                        os.write(write, json.dumps(float(train(tf, np, target, 20))).encode())
                    else:
                        client(tf, np, target, random.Random(seed), expected)
                os._exit(0)
            except BaseException as e:  # told to the parent
                os.write(write, f"{client.__name__}: {type(e).__name__}: {e}"[:500].encode())
                os._exit(1)
        os.close(write)
        text = os.read(read, 1000).decode()
        os.close(read)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == 9 and client in (is_killed, blocks)
        if status != 0 and not killed:
            bad.append(f"{text or status} after {time.time() - begin:.1f} s")
        elif expected is None:
            expected = json.loads(text)
        count[client.__name__] = count.get(client.__name__, 0) + 1
        time.sleep(.5)
    print(json.dumps({"clients": count, "bad": bad[:20], "bad_count": len(bad)}))


# --- the soak ------------------------------------------------------------------------------------------------------------

def sample(server):
    return {"rss_mib": server.rss_mib(), "threads": server._status("Threads"), "descriptors": server.descriptors()}


def flat(samples, name):
    """The last third against the second one."""
    third = len(samples) // 3
    middle = statistics.median(s[name] for s in samples[third:2 * third])
    last = statistics.median(s[name] for s in samples[2 * third:])
    return middle, last, last <= middle * 1.01


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--program")
    args.add_argument("--minutes", type=float, default=60)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--python", default=os.environ.get("ARGOSY_TF_PYTHON", sys.executable))
    args.add_argument("--client", help="honest or churn: one of this program's own processes")
    args.add_argument("--target")
    args = args.parse_args()
    if args.client:
        return be_honest(args.target, args.minutes) if args.client == "honest" else churn(args.target, args.minutes,
                                                                                         args.seed)
    import attacks
    from server import Server
    rng, samples = random.Random(args.seed), []
    # Other hosts' clients may be silent for an hour before their sessions are closed: here they are gone.
    with Server(args.program, "--emulate", "2", "--client-lease", "20", *attacks.OPEN) as server:
        def client(kind, seed=0):
            return subprocess.Popen([args.python, os.path.abspath(__file__), "--client", kind, "--seed", str(seed),
                                     "--target", f"grpc://127.0.0.1:{server.port}", "--minutes", str(args.minutes)],
                                    stdout=subprocess.PIPE, text=True)
        idle = sample(server)
        clients = [client("honest"), client("churn", args.seed), client("churn", args.seed + 1)]
        begin, end = time.time(), time.time() + 60 * args.minutes
        done = []
        print(f"{'minute':>6} {'MiB':>8} {'threads':>8} {'descriptors':>12}")
        while time.time() < end and server.alive():
            time.sleep(min(20, args.minutes * 60 / 12))
            samples.append(sample(server))
            s = samples[-1]
            print(f"{(time.time() - begin) / 60:6.1f} {s['rss_mib']:8.1f} {s['threads']:8} {s['descriptors']:12}", flush=True)
            if len(samples) % 3 == 0:
                attack = rng.choice([a for a, options, descriptors in attacks.ATTACKS if not descriptors])
                attack(server, False)
                done.append(attack.__name__)
        answers = []
        for c in clients:
            try:
                answers.append(c.communicate(timeout=120)[0])
            except subprocess.TimeoutExpired:
                c.kill()
                answers.append("")
        alive = server.alive()
        time.sleep(30)  # leases of clients that are gone
        after = sample(server) if alive else {}
    print(f"attacks: {len(done)}")
    for text in answers:
        print(text.strip() or "a client of the soak did not end")
    print("idle before:", idle, "and after:", after)
    bad = not alive or any(not a.strip() for a in answers) or any('"bad_count": 0' not in a for a in answers[1:])
    for name in idle:
        middle, last, ok = flat(samples, name)
        bad = bad or not ok
        print(f"{name}: {middle:.1f} in the second third, {last:.1f} in the last{'' if ok else '  <- BAD'}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
