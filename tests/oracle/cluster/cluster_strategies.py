"""MultiWorkerMirroredStrategy and Estimators' train_and_evaluate, unchanged, under `argosy run` and by TensorFlow alone:
number by number; and what is told where a worker is lost in the middle of it.

  cluster_strategies.py PROGRAM [--only numbers,lost]
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from cluster_harness import free_ports

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
failures = []

def check(what, holds):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    if not holds:
        failures.append(what)


def run(prefix, command, jobs, how="TF_CONFIG", timeout=240):
    """{(job, task): (lines that the script told, exit code, all it said)}; servers that never end have the code None."""
    ports = iter(free_ports(sum(jobs.values())))
    spec = {job: ["127.0.0.1:%d" % next(ports) for _ in range(count)] for job, count in jobs.items() if job != "evaluator"}
    processes, results = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for job, count in jobs.items():
                for task in range(count):
                    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
                    environment.pop("PYTHONPATH", None)
                    front = list(prefix)
                    if how == "TF_CONFIG":
                        environment["TF_CONFIG"] = json.dumps({"cluster": spec, "task": {"type": job, "index": task}})
                    else:
                        environment.pop("TF_CONFIG", None)
                        front = front[:-1] + ["--cluster", json.dumps(spec), "--job", job, "--task", str(task), "--"]
                    processes[job, task] = subprocess.Popen(front + [c.replace("FOLDER", folder) for c in command],
                                                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
            for name in sorted(processes, key=lambda name: name[0] == "ps"):
                try:
                    text = processes[name].communicate(timeout=20 if name[0] == "ps" else timeout)[0].decode(errors="replace")
                    code = processes[name].returncode
                except subprocess.TimeoutExpired:
                    processes[name].kill()
                    text, code = processes[name].communicate()[0].decode(errors="replace"), None
                told = [line for line in text.splitlines() if re.match("(loss|evaluation|weights|replicas)", line)]
                results[name] = (told, code, text)
        finally:
            for process in processes.values():
                if process.poll() is None:
                    process.kill()
                process.wait()
    return results


def same(a, b):
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if NUMBER.sub("#", x) != NUMBER.sub("#", y):
            return False
        if any(abs(float(u) - float(v)) > 1e-5 * max(1, abs(float(v))) for u, v in zip(NUMBER.findall(x), NUMBER.findall(y))):
            return False
    return True


def compare(label, theirs, ours, least):
    for name in theirs:
        if name[0] == "ps":
            check("%s: %s %d ended with its job: %s" % (label, name[0], name[1], ours[name][1]), ours[name][1] == 0)
            continue
        wanted, got = theirs[name][0], ours[name][0]
        if name[0] == "evaluator":  # it looks at the checkpoints that are there when it comes by, and at the last one
            steps = [{line.split()[2]: line for line in told} for told in (wanted, got)]
            common = sorted(set(steps[0]) & set(steps[1]), key=int)
            ended = [max(s, key=int, default="") for s in steps]
            check("%s: the last evaluation is of step %s, TensorFlow's of %s" % (label, ended[1], ended[0]), ended[0] == ended[1] != "")
            wanted, got = [steps[0][s] for s in common], [steps[1][s] for s in common]
        numbers = sum(len(NUMBER.findall(line)) for line in wanted)
        holds = numbers >= (3 if name[0] == "evaluator" else least) and same(wanted, got) and ours[name][1] == 0
        check("%s: %s %d: %d numbers as TensorFlow's" % (label, name[0], name[1], numbers), holds)
        if not holds:
            print("   TensorFlow %s\n   here       %s\n%s" % (wanted, got, ours[name][2][-1500:]), flush=True)


def mirrored(program, label, python):
    command = [python, os.path.join(HERE, "mirrored_script.py"), "12"]
    theirs = run([], command, {"worker": 3})
    for how in ("TF_CONFIG", "--cluster"):
        ours = run([program, "run", "--"], command, {"worker": 3}, how)
        compare("%s, MultiWorkerMirroredStrategy, %s" % (label, how), theirs, ours, 14)
        replicas = {line for told, _, _ in ours.values() for line in told if line.startswith("replicas")}
        check("%s, %s: no world of one: %s" % (label, how, replicas), replicas == {"replicas 3"})


def lost(program, python, victim):
    """kill -9 of a worker, with all that it started, while all three are in steps."""
    ports = iter(free_ports(3))
    spec = {"worker": ["127.0.0.1:%d" % next(ports) for _ in range(3)]}
    command = [program, "run", "--", python, os.path.join(HERE, "mirrored_script.py"), "1000000"]
    processes, logs = [], []
    for task in range(3):
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", TF_CONFIG=json.dumps({"cluster": spec, "task": {"type": "worker", "index": task}}))
        environment.pop("PYTHONPATH", None)
        logs.append(tempfile.NamedTemporaryFile())
        processes.append(subprocess.Popen(command, stdout=logs[task], stderr=subprocess.STDOUT, env=environment, start_new_session=True))

    def told(task):
        with open(logs[task].name, errors="replace") as log:
            return log.read()

    label = "kill -9 of worker %d in MultiWorkerMirroredStrategy's steps" % victim
    try:
        end = time.time() + 120
        while time.time() < end and not all("loss 20 " in told(task) for task in range(3)):
            time.sleep(0.2)
        check("%s: all are in their steps" % label, all("loss 20 " in told(task) for task in range(3)))
        os.killpg(processes[victim].pid, signal.SIGKILL)
        begin, rest = time.time(), [task for task in range(3) if task != victim]
        while time.time() < begin + 60 and not all(" is lost" in told(task) for task in rest):
            time.sleep(0.05)
        took = time.time() - begin
        check("%s: told to the others after %.1f s" % (label, took), took < 6)
        for task in rest:  # TensorFlow's Python takes some 10 s for its own end
            try:
                processes[task].wait(60)
            except subprocess.TimeoutExpired:
                check("%s: worker %d ends" % (label, task), False)
        check("%s: exit codes %s" % (label, [processes[t].returncode for t in rest]), all(processes[t].returncode not in (0, None) for t in rest))
        causes = [set(re.findall(r"/job:worker/replica:0/task:\d+ at [\d.:]+ is lost", told(task))) for task in rest]
        holds = all(len(c) == 1 and "task:%d at" % victim in next(iter(c)) for c in causes)
        check("%s: one cause: %s" % (label, causes), holds)
        if not holds:
            print("\n".join(told(task)[-1500:] for task in rest), flush=True)
    finally:
        for process in processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def estimators(program, python):
    script = os.path.join(HERE, "estimator_script.py")
    front = [program, "run", "--"]
    command = [python, script, "FOLDER", "20", "plain"]
    jobs = {"chief": 1, "ps": 2, "evaluator": 1}
    theirs, ours = run([], command, jobs), run(front, command, jobs)
    compare("train_and_evaluate, chief, two servers and an evaluator", theirs, ours, 9)
    jobs = {"chief": 1, "worker": 1, "ps": 1, "evaluator": 1}
    theirs, ours = run([], command, jobs), run(front, command, jobs)

    def last(results):
        lines = [line for line in results["evaluator", 0][0] if line.startswith("evaluation")]
        return [float(n) for n in NUMBER.findall(lines[-1])] if lines else []

    a, b = last(theirs), last(ours)
    check("train_and_evaluate with a worker that updates when it likes: last evaluation %s, TensorFlow's %s" % (b, a),
          len(a) == len(b) == 3 and 20 <= b[0] <= 22 and b[1] < 1.0 and a[1] < 1.0)
    check("all its tasks ended: %s" % [code for _, code, _ in ours.values()], all(code == 0 for _, code, _ in ours.values()))
    command = [python, script, "FOLDER", "10", "mirrored"]
    compare("train_and_evaluate under MultiWorkerMirroredStrategy", run([], command, {"worker": 2}), run(front, command, {"worker": 2}), 20)


def numbers(options):
    mirrored(options.program, "2.x", sys.executable)
    old = os.environ.get("ARGOSY_TF1_PYTHON")
    if old:
        mirrored(options.program, "1.15", old)
        estimators(options.program, old)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", default="numbers,lost")
    options = parser.parse_args()
    if "lost" in options.only:
        for victim in (1, 0):
            lost(options.program, sys.executable, victim)
    if "numbers" in options.only:
        numbers(options)
    sys.exit(1 if failures else 0)


main()
