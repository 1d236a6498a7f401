"""Parameter-server programs in the patterns of tutorials (tutorials.py), number by number: under `argosy run`, and by
TensorFlow's servers. With ARGOSY_TF1_PYTHON both versions of TensorFlow.

  cluster_tutorials.py PROGRAM [--only a,b]
"""
import argparse
import ast
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

from cluster_harness import free_ports

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "tutorials.py")
TOLERANCE = 1e-5
AT_ONCE = 2


def programs():
    """{name: (servers, workers)}, as the file says; it is not imported, for it starts servers."""
    with open(SCRIPT) as file:
        tree = ast.parse(file.read())
    table = next(n.value for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "PROGRAMS")
    return {key.id: tuple(ast.literal_eval(value)) for key, value in zip(table.keys, table.values)}


def run(prefix, python, name, servers, workers, timeout=240):
    """What each task told, by job and number, and how the servers ended."""
    ports = iter(free_ports(servers + workers))
    spec = {"ps": ["127.0.0.1:%d" % next(ports) for _ in range(servers)],
            "worker": ["127.0.0.1:%d" % next(ports) for _ in range(workers)]}
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    environment.pop("PYTHONPATH", None)
    processes, told, codes = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for job in spec:
                for task in range(len(spec[job])):
                    command = prefix + [python, SCRIPT, name, job, str(task), json.dumps(spec), folder]
                    processes[job, task] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
            for job in ("worker", "ps"):
                for task in range(len(spec[job])):
                    process = processes[job, task]
                    try:
                        # TensorFlow's servers never end.
                        text = process.communicate(timeout=timeout if job == "worker" else 20 if prefix else 2)[0].decode(errors="replace")
                    except subprocess.TimeoutExpired:
                        process.kill()
                        text = process.communicate()[0].decode(errors="replace") + "\nnever ended"
                    codes[job, task] = process.returncode
                    lines = [line[7:] for line in text.splitlines() if line.startswith("result ")]
                    if lines:
                        told[job, task] = json.loads(lines[-1])
                    elif job == "worker" and process.returncode != 0:
                        raise RuntimeError("%s %s, %s %d ended with %s: %s" % (name, "under argosy run" if prefix else "in TensorFlow alone", job, task,
                                                                          process.returncode, text[-1500:]))
        finally:
            for process in processes.values():
                if process.poll() is None:
                    process.kill()
                process.wait()
    return told, codes


def in_tensorflow(python, name, servers, workers):
    """Its servers give up a connection that was refused before the other one was there: on a busy machine, again."""
    for left in (2, 1, 0):
        try:
            return run([], python, name, servers, workers)[0]
        except RuntimeError as error:
            if left == 0 or "Connection refused" not in str(error):
                raise


def same(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return a == b


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    wanted = {n: c for n, c in programs().items() if not options.only or n in options.only.split(",")}
    pythons = {"TensorFlow 2.x": sys.executable}
    if os.environ.get("ARGOSY_TF1_PYTHON"):
        pythons["TensorFlow 1.15"] = os.environ["ARGOSY_TF1_PYTHON"]
    failures = 0

    def one(version, name):
        theirs = in_tensorflow(pythons[version], name, *wanted[name])
        ours, codes = run([options.program, "run", "--"], pythons[version], name, *wanted[name])
        ended = all(code == 0 for code in codes.values())
        return version, name, theirs, ours, ended, codes

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [pool.submit(one, version, name) for version in pythons for name in wanted]
        for job in concurrent.futures.as_completed(jobs):
            try:
                version, name, theirs, ours, ended, codes = job.result()
                numbers = sum(len(v) for task in theirs.values() for v in task)
                holds = numbers > 0 and theirs.keys() == ours.keys() and all(same(theirs[k], ours[k]) for k in theirs) and ended
                print("%s %s, %s: %d numbers of %d tasks; ended with %s" % ("ok     " if holds else "FAILED ", name, version, numbers,
                                                                            len(theirs), sorted(set(codes.values()))), flush=True)
                if not holds:
                    print("   TensorFlow %s\n   here       %s\n   %s" % (str(theirs)[:1500], str(ours)[:1500], codes), flush=True)
            except Exception as error:
                holds = False
                print("FAILED  %s" % str(error)[:2000], flush=True)
            failures += not holds
    sys.exit(1 if failures else 0)


main()
