"""Groups of collectives over tasks of TensorFlow and of Argosy, in every mixture, with either as leader: the bits of
TensorFlow's own cluster; its sentences where members do not agree; one cause on every member where one is lost.

  cluster_collectives.py PROGRAM [--roles AAA,TAT] [--only bits,order,words,lost,again]
"""
import argparse
import os
import signal
import subprocess
import sys
import time

import numpy as np

import collective_programs as programs
from cluster_harness import Cluster

tf = programs.tf
WORKERS = 3
TASKS = [("worker", i) for i in range(WORKERS)]
ROLES = ["AAA", "ATA", "TAA", "TAT"]
GAPS = [1, 2, 10]  # numbers of tasks: as text 10 comes before 2
failures = []


def check(what, holds):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    if not holds:
        failures.append(what)


def cluster_of(program, roles, tasks=range(WORKERS)):
    return Cluster(program, {("worker", t): role for t, role in zip(tasks, roles)}, leader=programs.leader(tasks[0]))


def sessions(cluster, leader=0):
    return lambda task: tf.Session(cluster.target("worker", task), config=programs.config(leader))


def run_all(program, roles):
    with cluster_of(program, roles) as cluster:
        of = sessions(cluster)
        found = {}
        for p in programs.PROGRAMS:
            found[p.__name__] = programs.at_once(range(WORKERS), lambda task: programs.plain(p, task, WORKERS, of))
        # The leader's own member comes last: what others tell it of an instance is what it has.
        found["late_leader"] = programs.at_once(range(WORKERS), lambda task: late(task, of))
        found["training"] = programs.at_once(range(WORKERS), lambda task: programs.trained(task, WORKERS, of))
        return found


def late(task, of):
    time.sleep(1.0 if task == 0 else 0.0)
    return programs.plain(programs.rings, task, WORKERS, of)


def in_order(program):
    """Which member is next to which does not depend on who it is asked for by."""
    def run(roles):
        with cluster_of(program, roles, GAPS) as cluster:
            of = sessions(cluster, GAPS[0])
            return programs.at_once(GAPS, lambda task: programs.plain(programs.rings, task, WORKERS, of), 60)

    oracle = run("TTT")
    for roles in ("AAA", "ATA", "TAA"):
        found = run(roles)
        agree = [not isinstance(oracle[t], Exception) and same(oracle[t], found[t], 0) for t in GAPS]
        check("%s tasks %s: the bits of TensorFlow's cluster: %s" % (roles, GAPS, [told(found[t])[-40:] for t in GAPS]), all(agree))


# Other kernels than collectives have a say in these numbers.
TOLERANCES = {"dependent": 1e-5, "training": 1e-5}


def same(a, b, tolerance):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, Exception) or isinstance(b, Exception) or type(a) is not type(b):
        return False
    if tolerance:
        return np.allclose(a, b, rtol=tolerance, atol=tolerance)
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")


def told(value):
    return "%s: %s" % (type(value).__name__, str(value)[:300]) if isinstance(value, Exception) else str(value)[:200]


def compare(roles, oracle, found):
    for name, wanted in oracle.items():
        got = found[name]
        for task in range(WORKERS):
            if isinstance(wanted[task], Exception) or not same(wanted[task], got[task], TOLERANCES.get(name, 0)):
                check("%s %s of worker %d: %s, TensorFlow %s" % (roles, name, task, told(got[task]), told(wanted[task])), False)
                break
        else:
            check("%s %s: %s TensorFlow's cluster" % (roles, name, "the numbers of" if name in TOLERANCES else "the bits of"), True)


def reduce_step(task, workers, dtype=np.float32, timeout=0.0, op="reduce"):
    x = tf.constant(programs.values(task, 40, dtype))
    if op == "receive":
        return programs.raw.CollectiveBcastRecv(T=tf.float32, group_size=workers, group_key=7, instance_key=1, shape=[40])
    return programs.reduce1(x, workers, 1, timeout_seconds=timeout)


def one_step(cluster, task, **how):
    with tf.Graph().as_default(), tf.device(programs.device(task)):
        op = reduce_step(task, **how)
        with sessions(cluster)(task) as session:
            return session.run(op)


DISAGREEMENTS = {
    "other sizes": (lambda task: dict(workers=3 if task < 2 else 2), "is joining a group with size", ", but that group has size "),
    "other dtypes": (lambda task: dict(workers=3, dtype=np.float32 if task < 2 else np.float64), "Collective instance 1 expected type",
                     "but got type"),
    "no sender": (lambda task: dict(workers=3, op="receive"), "found no source for broadcast", "no BcastSend"),
    "nobody else": (lambda task: dict(workers=4, timeout=2.0), "Collective has timed out waiting for other workers.", ""),
}


def disagreements(program, roles):
    """TensorFlow gives these up for good, so each has a cluster of its own."""
    for name, (how, first, last) in DISAGREEMENTS.items():
        with cluster_of(program, roles) as cluster:
            found = programs.at_once(range(WORKERS), lambda task: one_step(cluster, task, **how(task)), 60)
            texts = [str(found[task]) for task in range(WORKERS)]
            # Whose time is over first tells the others that it gave up.
            told_it = [isinstance(found[t], tf.errors.OpError) and ((first in texts[t] and last in texts[t])
                                                                    or "a member gave up when" in texts[t]) for t in range(WORKERS)]
            said = any(told_it) if roles == "TTT" else all(told_it)  # not each of TensorFlow's workers hears of it
            check("%s %s: is told: %s" % (roles, name, [texts[t][-170:] for t in range(WORKERS)]), said)
            if roles == "AAA" and name != "no sender":
                again = programs.at_once(range(WORKERS), lambda task: one_step(cluster, task, workers=3), 60)
                check("AAA %s: the next program of that group works: %s" % (name, [told(again[t])[:60] for t in again]),
                      all(isinstance(again[t], np.ndarray) for t in again))


def lost(program, roles, victim, number, seconds, label):
    """The others wait for the victim, whose client never runs its step, or is in a step with it."""
    with cluster_of(program, roles) as cluster:
        rest = [t for t in range(WORKERS) if t != victim]
        begin = {}

        def wait(task):
            if task == victim:
                time.sleep(2.0)
                begin["at"] = time.time()
                cluster.kill(("worker", victim), number)
                return None
            try:
                # The first step makes the group; of the second the victim's client knows nothing.
                with tf.Graph().as_default(), tf.device(programs.device(task)):
                    op = reduce_step(task, WORKERS)
                    with sessions(cluster)(task) as session:
                        session.run(op)
            finally:
                begin.setdefault("took", {})[task] = time.time()

        with tf.Graph().as_default(), tf.device(programs.device(victim)):
            op = reduce_step(victim, WORKERS)
            holding = tf.Session(cluster.target("worker", victim), config=programs.config())
            first = programs.at_once(range(WORKERS), lambda t: holding.run(op) if t == victim else one_step(cluster, t, workers=WORKERS), 60)
            check("%s: a first step works" % label, all(isinstance(v, np.ndarray) for v in first.values()))
            found = programs.at_once(range(WORKERS), wait, 60)
        texts = [str(found[t]) for t in rest]
        took = [begin["took"].get(t, 1e9) - begin["at"] for t in rest]
        right = all(isinstance(found[t], (tf.errors.UnavailableError, tf.errors.AbortedError)) for t in rest)
        check("%s: told after %s s (at most %.1f): %s" % (label, ["%.2f" % t for t in took], seconds, [x.replace("\n", " ")[:150] for x in texts]),
              right and max(took) <= seconds)
        if roles == "AAA":
            causes = {x.split("From /job")[-1].split(" is lost")[0].rsplit("/job", 1)[-1] for x in texts}
            check("%s: one cause: %s" % (label, causes), len(causes) == 1 and all("is lost" in x for x in texts))
        cluster.kill(("worker", victim), signal.SIGCONT)


def goes_on_after_restart(program):
    with cluster_of(program, "AAA") as cluster:
        first = programs.at_once(range(WORKERS), lambda t: one_step(cluster, t, workers=WORKERS), 60)
        cluster.kill(("worker", 1))
        cluster.restart(("worker", 1))
        for tries in range(6):
            again = programs.at_once(range(WORKERS), lambda t: one_step(cluster, t, workers=WORKERS), 60)
            if all(isinstance(v, np.ndarray) for v in again.values()):
                break
        check("a group goes on with a member that was started again, after %d failed steps: %s" % (tries, [told(v)[:80] for v in again.values()]),
              all(isinstance(first[t], np.ndarray) and isinstance(again[t], np.ndarray) and np.array_equal(first[t], again[t]) for t in range(WORKERS)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--roles", default=",".join(ROLES))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    parts = options.only.split(",") if options.only else ["bits", "order", "words", "lost", "again"]
    if "bits" in parts:
        oracle = run_all(options.program, "TTT")
        for roles in options.roles.split(","):
            compare(roles, oracle, run_all(options.program, roles))
    if "order" in parts:
        in_order(options.program)
    if "words" in parts:
        for roles in ("TTT", "AAA"):
            disagreements(options.program, roles)
    if "lost" in parts:
        lost(options.program, "AAA", 1, signal.SIGKILL, 4, "kill -9 of a worker")
        lost(options.program, "AAA", 0, signal.SIGKILL, 4, "kill -9 of the leader")
        lost(options.program, "AAA", 2, signal.SIGSTOP, 8, "SIGSTOP of a worker")
        lost(options.program, "ATA", 1, signal.SIGKILL, 4, "kill -9 of TensorFlow's worker")
    if "again" in parts:
        goes_on_after_restart(options.program)
    sys.stdout.flush()
    os._exit(1 if failures else 0)  # threads of TensorFlow's may still wait for servers that are gone


main()
