"""Servers of one machine, ours or TensorFlow's, under one stock client. peer_cluster.py TASK KIND [key=value]...

Tasks: null, pull, many, script. Kinds: tf; argosy, which wants program=PATH. Keys: seconds, mib (pull), variables and
kib (many), steps and workers (script). The client, and a server of TensorFlow's, run in the environment of the peer tf.
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from contest import LEFT_OUT, PEERS, end_with_parent

HERE = pathlib.Path(__file__).resolve().parent
SERVER = """
import sys
import tensorflow.compat.v1 as tf
spec, job, task = sys.argv[1:]
tf.distribute.Server(eval(spec), job_name=job, task_index=int(task)).join()
"""


def use_tensorflow():
    """Goes on in the peer's Python; without it the row is left out."""
    python = PEERS / "tf/bin/python"
    if not python.exists():
        print(f"not set up: {HERE.name}/setup tf", file=sys.stderr)
        sys.exit(LEFT_OUT)
    if pathlib.Path(sys.prefix).resolve() != (PEERS / "tf").resolve():
        os.execv(python, [str(python), __file__, *sys.argv[1:]])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    """Servers of the jobs, each a process; they end with this one."""

    def __init__(self, kind, program, **tasks):
        self.kind, self.program = kind, program
        self.spec = {job: [f"127.0.0.1:{free_port()}" for _ in range(n)] for job, n in tasks.items()}
        self.processes = []

    def __enter__(self):
        for job, addresses in self.spec.items():
            for task in range(len(addresses)):
                self.start(self.serve(job, task))
        deadline = time.monotonic() + 60
        for address in sum(self.spec.values(), []):
            host, port = address.split(":")
            while True:
                try:
                    socket.create_connection((host, int(port)), timeout=1).close()
                    break
                except OSError:
                    if time.monotonic() > deadline or any(p.poll() is not None for p in self.processes):
                        raise RuntimeError(f"a server of {self.kind} at {address} does not come up: {self.said()}")
                    time.sleep(0.02)
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()

    def serve(self, job, task):
        if self.kind == "tf":
            return [sys.executable, "-c", SERVER, repr(self.spec), job, str(task)]
        return [self.program, "serve", "--cluster", json.dumps(self.spec), "--job", job, "--task", str(task)]

    def start(self, command):
        log = tempfile.TemporaryFile(mode="a+")  # written at its end, wherever it is read
        process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=end_with_parent)
        process.log = log
        self.processes.append(process)
        return process

    def wait_for(self, process, line):
        deadline = time.monotonic() + 120
        while line not in self.text(process):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no '{line}' from {self.kind}: {self.said()}")
            time.sleep(0.02)

    @staticmethod
    def text(process):
        process.log.seek(0)
        return process.log.read()

    def said(self):
        texts = []
        for process in self.processes:
            texts.append(self.text(process).strip()[-300:])
        return " | ".join(filter(None, texts))

    def target(self, job="worker", task=0):
        return f"grpc://{self.spec[job][task]}"


def seconds_each(call, seconds):
    for _ in range(5):
        call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return times


def null(tf, cluster, choices):
    """A step with one operation on another task: what starting it costs."""
    with tf.device("/job:ps/task:0"):
        op = tf.no_op()
    with tf.Session(cluster.target()) as session:
        times = seconds_each(session.make_callable(op), choices["seconds"])
    tell("null step", "us", [t * 1e6 for t in times])


def pull(tf, cluster, choices):
    """A variable of the server read by a worker, and a value of the worker's added to it: bytes both ways a second."""
    elements = int(choices["mib"] * 2**20 // 4)
    with tf.device("/job:ps/task:0"):
        weights = tf.get_variable("weights", [elements], initializer=tf.zeros_initializer())
    with tf.device("/job:worker/task:0"):
        local = tf.get_variable("local", [elements], initializer=tf.ones_initializer())
        pulled = local.assign(weights)
        with tf.control_dependencies([pulled]):
            change = tf.identity(local)
    with tf.device("/job:ps/task:0"):
        pushed = weights.assign_add(change)
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        times = seconds_each(session.make_callable(pushed.op), choices["seconds"])
    tell("pulled and pushed", "GB/s", [2 * 4 * elements / t * 1e-9 for t in times], max)


def many(tf, cluster, choices):
    """Many small variables of the server, each read by a worker and updated."""
    with tf.device("/job:ps/task:0"):
        weights = [tf.get_variable(f"w{i}", [choices["kib"] * 256], initializer=tf.zeros_initializer())
                   for i in range(choices["variables"])]
    updates = []
    for weight in weights:
        with tf.device("/job:worker/task:0"):
            change = weight * 0.5 + 1.0
        with tf.device("/job:ps/task:0"):
            updates.append(weight.assign_add(change).op)
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        times = seconds_each(session.make_callable(updates), choices["seconds"])
    tell("variables updated", "ms", [t * 1e3 for t in times])


def script(_, cluster, choices):
    """A script with tf.train.Server, a server and workers, unchanged: seconds of its steps, told by the script."""
    spec = json.dumps(cluster.spec)
    ends = []
    for job, addresses in cluster.spec.items():
        for task in range(len(addresses)):
            own = [str(HERE / "parameter_server.py"), spec, job, str(task), str(choices["steps"])]
            run = [sys.executable, *own]
            if cluster.kind == "argosy":
                run = [cluster.program, "run", "--cluster", spec, "--job", job, "--task", str(task), "--", *run]
            process = cluster.start(run)
            if job == "worker":
                ends.append(process)
                if task == 0:  # a worker that comes before the variables sleeps for 30 s
                    cluster.wait_for(process, "variables are there")
    deadline = time.monotonic() + 300
    while any(p.poll() is None for p in ends):
        if time.monotonic() > deadline:
            raise RuntimeError(f"the workers do not end: {cluster.said()}")
        time.sleep(0.02)
    rates = []
    for process in ends:
        text = cluster.text(process)
        found = [line for line in text.splitlines() if line.startswith("steps a second")]
        if process.returncode != 0 or not found:
            raise RuntimeError(f"exit code {process.returncode}: {text.strip()[-400:]}")
        rates.append(float(found[0].split()[-1]))
    tell("steps of the script", "steps/s", [sum(rates)], max)


def tell(row, unit, values, best=min):
    values = sorted(values)
    print(json.dumps({"row": row, "unit": unit, "best": best(values), "median": values[len(values) // 2]}), flush=True)


def main():
    use_tensorflow()
    task, kind, *words = sys.argv[1:]
    choices = {"program": "", "seconds": 1.0, "mib": 100.0, "variables": 1000, "kib": 4, "steps": 500, "workers": 2}
    for word in words:
        key, value = word.split("=", 1)
        choices[key] = type(choices[key])(value)  # an unknown key is an error here
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if task == "script":  # its processes make the servers
        cluster = Cluster(kind, choices["program"], ps=1, worker=choices["workers"])
        try:
            return script(None, cluster, choices)
        finally:
            cluster.__exit__()
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    with Cluster(kind, choices["program"], ps=1, worker=1) as cluster:
        {"null": null, "pull": pull, "many": many}[task](tf, cluster, choices)


if __name__ == "__main__":
    main()
