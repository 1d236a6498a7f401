"""Scripts with tf.train.Server, unchanged, under `argosy run` and by TensorFlow alone: numbers, ends, and the time.

  cluster_scripts.py PROGRAM [--steps N]
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from cluster_harness import free_ports

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../jobs"))
from own_address import own_address  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
RESULT = re.compile(r"worker (\d) steps (\d+) seconds ([\d.]+) loss ([\d.]+)")


def run(prefix, workers, steps, environments=None, timeout=240, host="127.0.0.1"):
    """Starts one ps and the workers; {worker: (seconds, loss)} and how the ps ended. `prefix`: of hosts, job, task, folder."""
    ports = free_ports(1 + workers)
    hosts = ["%s:%d" % (host, p) for p in ports]
    ended = {}
    with tempfile.TemporaryDirectory() as folder:
        processes = {}
        tasks = [("ps", 0)] + [("worker", i) for i in range(workers)]
        for job, task in tasks:
            script = [sys.executable, os.path.join(HERE, "ps_script.py"), hosts[0], ",".join(hosts[1:]), job, str(task), str(steps), folder]
            command = prefix(hosts, job, task, folder) + script
            environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", **((environments or (lambda *_: {}))(hosts, job, task)))
            processes[job, task] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        texts = {}
        try:
            for i in range(workers):
                texts["worker", i] = processes["worker", i].communicate(timeout=timeout)[0].decode()
            try:
                texts["ps", 0] = processes["ps", 0].communicate(timeout=20)[0].decode()
            except subprocess.TimeoutExpired:
                texts["ps", 0] = "never ended"
        finally:
            for process in processes.values():
                if process.poll() is None:
                    process.kill()
                process.wait()
    for i in range(workers):
        found = RESULT.search(texts["worker", i])
        if not found:
            raise RuntimeError("worker %d: %s" % (i, texts["worker", i][-2000:]))
        step = "%d\n" % steps if workers == 1 else ""  # the others' steps count, too, and may have been before the end
        if i == 0 and "saved model.ckpt-" + step not in texts["worker", i]:
            raise RuntimeError("no checkpoint: %s" % texts["worker", i][-2000:])
        for text in texts.values():
            if "no TensorFlow session came here" in text:
                raise RuntimeError("the report of a task that did its part: %s" % text[-2000:])
        ended[i] = (float(found.group(3)), float(found.group(4)))
    return ended, texts["ps", 0], processes["ps", 0].returncode


def spec(hosts):
    return json.dumps({"ps": hosts[:1], "worker": hosts[1:]})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    failures = []

    def check(what, holds):
        print(("ok      " if holds else "FAILED  ") + what, flush=True)
        if not holds:
            failures.append(what)

    plain, _, _ = run(lambda *_: [], 1, options.steps)
    ways = {
        "argosy run": (lambda *_: [options.program, "run", "--"], None),
        "argosy run --cluster": (lambda hosts, job, task, _: [options.program, "run", "--cluster", spec(hosts), "--job", job, "--task",
                                                              str(task), "--"], None),
        "TF_CONFIG": (lambda *_: [options.program, "run", "--"],
                      lambda hosts, job, task: {"TF_CONFIG": json.dumps({"cluster": json.loads(spec(hosts)),
                                                                         "task": {"type": job, "index": task}})}),
    }
    for name, (prefix, environments) in ways.items():
        ours, ps, code = run(prefix, 1, options.steps, environments)
        check("%s: one worker's loss %g, TensorFlow's %g" % (name, ours[0][1], plain[0][1]),
              abs(ours[0][1] - plain[0][1]) <= 1e-5 + 1e-4 * abs(plain[0][1]))
        check("%s: the parameter server ended by itself with its job: code %s" % (name, code), code == 0 and "ps ended" in ps)
    host = own_address()
    if host is None:
        print("skipped: tasks beyond this host, which has no such address")
    else:
        for name, told in (("the script's cluster", False), ("--cluster", True)):
            def beyond(hosts, job, task, folder):
                cluster = ["--cluster", spec(hosts), "--job", job, "--task", str(task)] if told else []
                return [options.program, "run", *cluster, "--insecure-cluster", host + "/32", "--allow-files", folder, "--"]

            ours, ps, code = run(beyond, 1, options.steps, host=host)
            check("beyond this host, %s: one worker's loss %g, TensorFlow's %g" % (name, ours[0][1], plain[0][1]),
                  abs(ours[0][1] - plain[0][1]) <= 1e-5 + 1e-4 * abs(plain[0][1]))
            check("beyond this host, %s: the parameter server ended by itself: code %s" % (name, code), code == 0 and "ps ended" in ps)
    theirs, _, _ = run(lambda *_: [], 2, options.steps)
    ours, ps, code = run(ways["argosy run"][0], 2, options.steps)
    check("two workers: losses %s, TensorFlow's %s" % ([l for _, l in ours.values()], [l for _, l in theirs.values()]),
          all(abs(ours[i][1]) < 2 * abs(theirs[i][1]) + 1e-2 for i in ours))
    print("time    two workers, %d steps: %.2f s, TensorFlow %.2f s" % (options.steps, max(s for s, _ in ours.values()),
                                                                        max(s for s, _ in theirs.values())))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
