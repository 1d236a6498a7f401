"""Jobs of several processes for the tests of this folder: started by hand, watched, and never left behind."""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LAUNCHER_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG",
                      "ARGOSY_CLUSTER", "ARGOSY_JOB_TOKEN", "ARGOSY_COORDINATOR")


def clean_environment(**more):
    environment = {k: v for k, v in os.environ.items()
                   if k not in LAUNCHER_VARIABLES and not k.startswith(("OMPI_", "PMI", "SLURM_", "TORCHELASTIC"))}
    environment.update({k: str(v) for k, v in more.items()})
    return environment


def free_ports(count, host="127.0.0.1"):
    """All of them others: two jobs at one port would wait for each other's tasks."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind((host, 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def free_port(host="127.0.0.1"):
    return free_ports(1, host)[0]


class Task:
    """One process and the lines of JSON that it printed."""

    def __init__(self, words, environment, cwd=None):
        self.lines, self.errors = [], []
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        cwd=cwd)
        self.threads = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def read(stream, to):
        for line in stream:
            to.append(line.rstrip("\n"))

    def json(self, key):
        """The first line that has this key, or None."""
        for line in list(self.lines):
            if line.startswith("{"):
                document = json.loads(line)
                if key in document:
                    return document
        return None

    def wait_for(self, key, seconds=30):
        deadline = time.time() + seconds
        while time.time() < deadline:
            found = self.json(key)
            if found:
                return found
            if self.process.poll() is not None and not any(t.is_alive() for t in self.threads):
                break
            time.sleep(0.005)
        raise AssertionError(f"no {key} in {seconds} s: exit {self.process.poll()}, {self.lines} {self.errors}")

    def end(self, seconds=30):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end in {seconds} s: {self.lines} {self.errors}") from None
        for thread in self.threads:
            thread.join(5)
        return self.process.returncode

    def close(self):
        """After its process was told to end."""
        self.process.wait()
        for thread in self.threads:
            thread.join(5)
        self.process.stdout.close()
        self.process.stderr.close()

    def signal(self, number):
        self.process.send_signal(number)


class Job:
    """Tasks on "hosts" 127.0.1.N, by torchrun's variables. Ends what is left when it is left."""

    def __init__(self, program, size, words=(), port=None, token="a" * 64, environment=None, task_words=None):
        self.program, self.size, self.words = program, size, list(words)
        self.port = port or free_port("127.0.1.1")
        self.token, self.environment, self.task_words = token, environment or {}, task_words or {}
        self.tasks = {}

    def start(self, rank, token=None, key=None, words=None):
        environment = clean_environment(RANK=rank, WORLD_SIZE=self.size, MASTER_ADDR="127.0.1.1", MASTER_PORT=self.port,
                                        ARGOSY_JOB_TOKEN=token or self.token, ARGOSY_HOST_NAME=f"h{rank}", **self.environment)
        task = Task([self.program, *self.words, *self.task_words.get(rank, []), *(words or [])], environment)
        self.tasks[rank if key is None else key] = task
        return task

    def start_all(self, order=None):
        for rank in order or range(self.size):
            self.start(rank)
        return self

    def joined(self):
        for task in list(self.tasks.values()):
            task.wait_for("joined")
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for task in self.tasks.values():
            if task.process.poll() is None:
                task.process.send_signal(signal.SIGCONT)
                task.process.kill()
            task.close()


def family(pid):
    """Live descendants of a process, by /proc."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                children.setdefault(int(fields[1]), []).append(int(name))
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def seed():
    """Printed first, so that a failure can be tried again."""
    number = int(os.environ.get("ARGOSY_SEED") or random.SystemRandom().randrange(1 << 30))
    print(f"ARGOSY_SEED={number}", flush=True)
    return random.Random(number)


def skip(why):
    print(f"SKIPPED: {why}", flush=True)
    sys.exit(77)


def temporary():
    return tempfile.TemporaryDirectory(prefix="argosy_cluster_")
