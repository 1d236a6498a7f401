"""An all-reduce between processes of this machine by an MPI, each as its mpirun starts it (shared memory):

  peer_mpi.py sum BYTES SECONDS ranks=N

This Python's environment has one MPI, its mpirun and mpi4py.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True


def launched(words, ranks):
    mpirun = pathlib.Path(sys.executable).parent / "mpirun"
    command = [str(mpirun), "-n", ranks, sys.executable, __file__, "rank", *words]
    environment = dict(os.environ)
    if "Open MPI" in subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout:
        command[1:1] = ["--allow-run-as-root", "--oversubscribe"]
    return subprocess.run(command, env=environment).returncode


def rank(size, seconds):
    import numpy as np
    from mpi4py import MPI

    group, size = MPI.COMM_WORLD, int(size)
    repeats = 100 if size < 1 << 16 else 10 if size < 8 << 20 else 1
    value, total = np.zeros(size // 4, np.float32), np.empty(size // 4, np.float32)
    times, began, more = [], time.perf_counter(), True
    while more:
        group.Barrier()
        start = time.perf_counter()
        for _ in range(repeats):
            group.Allreduce(value, total)
        times.append(group.allreduce((time.perf_counter() - start) / repeats, MPI.MAX))
        more = group.bcast(time.perf_counter() - began < float(seconds) or len(times) < 5)
    if group.Get_rank() == 0:
        times = sorted(1e6 * t for t in times[1:])
        print(json.dumps({"row": "sum", "unit": "us", "best": times[0], "median": times[len(times) // 2]}), flush=True)


if __name__ == "__main__":
    task, *given = sys.argv[1:]
    if task == "rank":
        rank(*given)
    else:
        sys.exit(launched(given[:2], dict(word.split("=", 1) for word in given[2:])["ranks"]))
