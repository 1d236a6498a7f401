"""Programs on clusters whose tasks are TensorFlow's and Argosy's in every mixture of roles: equal numbers.

  cluster_roles.py PROGRAM [--roles AAAA,TATA] [--programs a,b]     the four: ps:0 ps:1 worker:0 worker:1
"""
import argparse
import math
import os
import sys

from cluster_harness import Cluster, run_programs

TASKS = [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
# The master is worker:0. All of one kind, each kind alone in one role, and both ways mixed.
ROLES = ["AAAA", "TTAT", "AATT", "TTTA", "ATTT", "TTAA", "AAAT"]
TOLERANCE = 1e-5
OLD_SERVERS = ["gradient_descent", "adam_resource_variables", "momentum", "partitioned_variables", "loop_on_one_worker",
               "values_change_their_readers"]


def same(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, (float, int)):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return a == b


def compare(name, oracle, found, failures):
    for program, wanted in oracle.items():
        got = found.get(program, "did not run")
        if str(wanted).startswith("raised") or not same(wanted, got):
            failures.append("%s %s: TensorFlow %s\n   here %s" % (name, program, wanted, got))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--roles", default=",".join(ROLES))
    parser.add_argument("--programs", default="")
    options = parser.parse_args()
    names = [n for n in options.programs.split(",") if n]
    failures = []
    with Cluster(options.program, dict(zip(TASKS, "TTTT"))) as cluster:
        oracle = run_programs(sys.executable, cluster, names, "worker:0")
    for program, value in oracle.items():
        print("oracle %s: %s" % (program, str(value)[-400:] if str(value).startswith("raised") else value), flush=True)
    for roles in options.roles.split(","):
        with Cluster(options.program, dict(zip(TASKS, roles))) as cluster:
            found = run_programs(sys.executable, cluster, names, "worker:0")
        before = len(failures)
        compare(roles, oracle, found, failures)
        print("%s: %d of %d programs as TensorFlow's" % (roles, len(oracle) - len(failures) + before, len(oracle)), flush=True)
    old = os.environ.get("ARGOSY_TF1_PYTHON")
    # Servers of 1.15 do not know all attributes of ops that a master of ours completes.
    for roles, some in [("AAAA", names), ("OOAO", [n for n in OLD_SERVERS if not names or n in names])] if old else []:
        if roles != "AAAA" and not some:
            continue
        with Cluster(options.program, dict(zip(TASKS, roles))) as cluster:
            found = run_programs(old, cluster, some, "worker:0")
        wanted = {n: value for n, value in oracle.items() if not some or n in some}
        before = len(failures)
        compare(roles + ", client TensorFlow 1.15,", wanted, found, failures)
        print("%s, client 1.15: %d of %d" % (roles, len(wanted) - len(failures) + before, len(wanted)), flush=True)
    for failure in failures:
        print("FAILED", failure)
    sys.exit(1 if failures else 0)


main()
