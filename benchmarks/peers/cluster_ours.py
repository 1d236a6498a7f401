#!/usr/bin/env python3
"""Our side of row C05. cluster_ours.py PROGRAM MODEL BATCH STEPS TASKS DEVICES: `argosy train` over so many processes, each
with so many emulated GPUs; one process with one device gets one core. Prints its rate as the peers print theirs."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from contest import end_with_parent


def main(program, model, batch, steps, tasks, devices):
    words = [program, "train", model, "--batch", batch, "--steps", steps, "--emulate", devices, "--no-verdict",
             "--check-replicas", "0", "--optimizer", "sgd", "--json"]
    cores = sorted(os.sched_getaffinity(0))
    if tasks != "1":
        words = [program, "launch", "--local", tasks, "--", *words]
    elif devices == "1":
        cores = cores[:1]

    def prepare():
        end_with_parent()
        os.sched_setaffinity(0, cores)

    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=prepare)
    if done.returncode != 0:
        sys.exit(done.stderr[-500:])
    rate = json.loads(done.stdout)["samples_per_second"]
    print(json.dumps({"row": model, "unit": "samples/s", "best": rate, "median": rate}))


if __name__ == "__main__":
    main(*sys.argv[1:])
