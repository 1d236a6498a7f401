"""Clusters of tasks as processes, each task TensorFlow's or Argosy's: for the tests beside this file.

"A" is Argosy's, "T" TensorFlow's of this Python, "O" TensorFlow 1.15's of $ARGOSY_TF1_PYTHON.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

JOBS = ("ps", "worker")

TF_SERVER = """
import json, os, sys
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
config = tf.compat.v1.ConfigProto()
config.experimental.collective_group_leader = sys.argv[4]
spec = {job: t if isinstance(t, list) else {int(i): a for i, a in t.items()} for job, t in json.loads(sys.argv[1]).items()}
server = tf.compat.v1.train.Server(spec, job_name=sys.argv[2], task_index=int(sys.argv[3]), config=config)
print("serving", flush=True)
server.join()
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """`roles`: {("ps", 0): "A", ("worker", 0): "T"}: who serves each task, Argosy or TensorFlow. `leader`: of groups of
    collectives, for TensorFlow's servers; sessions tell it to ours."""

    def __init__(self, program, roles, leader=""):
        self.program, self.roles, self.processes, self.leader = program, dict(roles), {}, leader
        self.log = tempfile.TemporaryFile()
        ports = iter(free_ports(len(self.roles)))
        self.spec = {}
        for job, task in sorted(self.roles):
            self.spec.setdefault(job, {})[task] = "127.0.0.1:%d" % next(ports)
        for job, tasks in self.spec.items():  # as a list where the numbers have no gap
            if sorted(tasks) == list(range(len(tasks))):
                self.spec[job] = [tasks[task] for task in sorted(tasks)]
        for name in self.roles:
            self.start(name)
        for name in self.roles:
            self.wait_ready(name)

    def start(self, name):
        job, task = name
        if self.roles[name] == "A":
            command = [self.program, "serve", "--cluster", json.dumps(self.spec), "--job", job, "--task", str(task)]
        else:
            python = sys.executable if self.roles[name] == "T" else os.environ["ARGOSY_TF1_PYTHON"]
            command = [python, "-c", TF_SERVER, json.dumps(self.spec), job, str(task), self.leader]
        self.processes[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log)

    def wait_ready(self, name):
        line = self.processes[name].stdout.readline()
        if b"serving" not in line:
            self.stop()
            self.log.seek(0)
            raise RuntimeError("%s %d did not start: %s" % (name[0], name[1], self.log.read().decode()[-2000:]))

    def kill(self, name, number=signal.SIGKILL):
        self.processes[name].send_signal(number)
        if number == signal.SIGKILL:
            self.processes[name].wait()

    def restart(self, name):
        self.start(name)
        self.wait_ready(name)

    def target(self, job, task):
        return "grpc://" + self.spec[job][task]

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def run_programs(python, cluster, names, master, timeout=300):
    """Runs cluster_programs.py with a client's Python; {program: result}."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster_programs.py")
    with tempfile.NamedTemporaryFile("r", suffix=".json") as results:
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        environment.pop("PYTHONPATH", None)
        done = subprocess.run([python, script, json.dumps(cluster.spec), master, results.name] + list(names),
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
        text = results.read()
    if not text:
        raise RuntimeError("the client ended with %d: %s" % (done.returncode, done.stdout.decode()[-3000:]))
    return json.loads(text)


def wait_until(what, seconds):
    end = time.time() + seconds
    while time.time() < end:
        if what():
            return True
        time.sleep(0.05)
    return False
