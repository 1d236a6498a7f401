"""An `argosy serve` to be attacked, what it uses, and an honest client beside it."""
import json
import multiprocessing
import os
import resource
import subprocess
import time

import http2


class Server:
    def __init__(self, program, *args, descriptors=None):
        def limit():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        self.process = subprocess.Popen([program, "serve", "--port", "0", "--http-port", "0", "--json", *args],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limit)
        ready = json.loads(self.process.stdout.readline())
        self.port, self.http_port, self.pid = ready["port"], ready["http_port"], ready["pid"]

    def _status(self, field):
        with open(f"/proc/{self.pid}/status") as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise KeyError(field)

    def rss_mib(self):
        return self._status("VmRSS") / 1024

    def peak_mib(self):
        return self._status("VmHWM") / 1024

    def reset_peak(self):
        with open(f"/proc/{self.pid}/clear_refs", "w") as f:
            f.write("5")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def metrics(self):
        import urllib.request
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=5) as page:
            text = page.read().decode()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                for line in text.splitlines() if line and line[0] != "#"}

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def _calls(port, source, begun, over, to):
    took, failed = [], 0
    client = http2.Honest(port, source)
    client.call()
    begun.set()
    while not over.is_set() and len(took) < 100000:
        try:
            took.append(client.call())
        except (http2.Closed, OSError):
            failed += 1
            time.sleep(0.01)
            try:
                client = http2.Honest(port, source)
            except OSError:
                pass
        time.sleep(0.002)
    to.send((took, failed))


class HonestClient:
    """Calls every two milliseconds from a process of its own while the block runs."""

    def __init__(self, port, source=None):
        self.begun, self.over = multiprocessing.Event(), multiprocessing.Event()
        self.own, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_calls, args=(port, source, self.begun, self.over, theirs))

    def __enter__(self):
        self.process.start()
        self.begun.wait(10)
        return self

    def __exit__(self, *_):
        self.over.set()
        self.took, self.failed = self.own.recv() if self.own.poll(30) else ([], -1)
        self.process.join(10)

    def quantile(self, q):
        ordered = sorted(self.took)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] * 1e3 if ordered else float("inf")
