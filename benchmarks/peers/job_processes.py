"""A job of several processes that a benchmark starts, looks into and hurts."""
import os
import signal
import subprocess
import tempfile
import time

from contest import end_with_parent


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def state_of(pid):
    """The parent, and whether the process still runs."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0, False
    return int(fields[1]), fields[0] not in "ZX"


def descendants(root):
    """Of a process, itself included, those that run."""
    parents = {int(name): state_of(name) for name in os.listdir("/proc") if name.isdigit()}
    found, open_ids = set(), [root]
    while open_ids:
        pid = open_ids.pop()
        found.add(pid)
        open_ids += [child for child, (parent, _) in parents.items() if parent == pid and child not in found]
    return {pid for pid in found if parents.get(pid, (0, False))[1]}


class Job:
    """`with Job(words) as job`: a process group of its own, of which nothing is left behind."""

    def __init__(self, words, **environment):
        self.words, self.environment = words, dict(os.environ, **environment)

    def __enter__(self):
        self.output = tempfile.TemporaryFile("w+")
        self.known = set()
        self.process = subprocess.Popen(self.words, stdout=self.output, stderr=subprocess.STDOUT, env=self.environment,
                                        start_new_session=True, preexec_fn=end_with_parent)
        return self

    def __exit__(self, *_):
        for pid in self.all() | self.known:
            if state_of(pid)[1]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.process.wait()

    def all(self):
        """Every process that belongs to it and runs, also those whose parent is gone."""
        found = descendants(self.process.pid)
        for pid in self.known:
            found |= descendants(pid)
        self.known |= found
        return found

    def ranks(self, is_rank):
        return sorted(pid for pid in self.all() if is_rank(words_of(pid)))

    def ended(self):
        self.process.poll()
        return not any(state_of(pid)[1] for pid in self.known)

    def said(self):
        self.output.seek(0)
        return self.output.read()


def wait_for(what, seconds):
    """The seconds until it holds; None: it does not."""
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        if what():
            return time.perf_counter() - began
        time.sleep(0.005)
    return None
