"""A script for one GPU, unchanged, over the GPUs of several tasks: `argosy run --cluster … --replicate`. The numbers of one
device, and on 1, 2, 4 or 8 GPUs the bits of one process with as many. On three, oneDNN's sums depend on a process's threads.

  cluster_replicate.py PROGRAM
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import gpus
from cluster_harness import free_ports

HERE = os.path.dirname(os.path.abspath(__file__))


def run_script(python, command):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        environment.pop("PYTHONPATH", None)
        done = subprocess.run(command + ["--", python, os.path.join(HERE, "one_gpu_script.py"), folder], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    text, notes = done.stdout.decode(), done.stderr.decode()
    lines = [line for line in text.splitlines() if line.startswith("RESULT ")]
    if done.returncode != 0 or not lines:
        raise RuntimeError("%s ended with %d: %s %s" % (command, done.returncode, text[-2000:], notes[-2000:]))
    report = json.loads(text.splitlines()[-1])
    return json.loads(lines[0][len("RESULT "):]), report


def over_tasks(program, python, counts):
    ports = free_ports(len(counts))
    spec = json.dumps({"worker": ["127.0.0.1:%d" % port for port in ports]})
    others = []
    try:
        for task, count in list(enumerate(counts))[1:]:
            others.append(subprocess.Popen([program, "serve", "--cluster", spec, "--job", "worker", "--task", str(task),
                                            *gpus.flags(count)], stdout=subprocess.PIPE))
            if b"serving" not in others[-1].stdout.readline():
                raise RuntimeError("task %d did not start" % task)
        found, report = run_script(python, [program, "run", "--cluster", spec, "--job", "worker", "--task", "0",
                                            *gpus.flags(counts[0]), "--replicate", "--strategy", "dp", "--json"])
        return found, report
    finally:
        for process in others:
            process.kill()
            process.wait()


def close(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=2e-5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    options = parser.parse_args()
    failures = []
    for python in [sys.executable] + [p for p in [os.environ.get("ARGOSY_TF1_PYTHON")] if p]:
        one, _ = run_script(python, [options.program, "run", *gpus.flags(1), "--json"])
        for counts in ([2, 2], [1, 1, 1]):
            alone, report = run_script(python, [options.program, "run", *gpus.flags(sum(counts)), "--replicate", "--strategy", "dp", "--json"])
            many, over = over_tasks(options.program, python, counts)
            name = "%s, %s GPUs" % (os.path.basename(os.path.dirname(os.path.dirname(python))), counts)
            print("%s: %d steps replicated: %s" % (name, over["replicated_steps"], over["replicas"]), flush=True)
            if over["replicated_steps"] != report["replicated_steps"] or over["replicated_steps"] < 8:
                failures.append("%s: %s replicated steps, in one process %s: %s" %
                                (name, over["replicated_steps"], report["replicated_steps"], over["not_replicated"]))
            if many != alone and sum(counts) in (1, 2, 4, 8):
                failures.append("%s: other bits than in one process: losses %s and %s" % (name, many["losses"], alone["losses"]))
            for key in one:
                if not close(many[key], one[key]):
                    failures.append(("%s: %s %s, on one device %s" % (name, key, many[key][:8], one[key][:8]))[:1000])
    for failure in failures:
        print("FAILED", failure)
    sys.exit(1 if failures else 0)


main()
