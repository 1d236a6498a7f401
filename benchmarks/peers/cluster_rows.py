"""What is compared over processes: C04, sums between processes of this machine; C05, a training on two processes of a core
each; C07 to C09, the life of a job. Peers: peer_ranks.py (PyTorch over gloo), peer_mpi.py (Open MPI and MPICH),
peer_jobs.py (torchrun).
"""
from benchmark_rows import Row
from server_rows import server_rows

FULL = {"tasks": (2, 4, 8), "sizes": ("4KiB", "1MiB", "64MiB"), "mib": 64, "lenet": 128, "steps": 60, "jobs": (2, 16)}
QUICK = FULL | {"tasks": (2, 4), "steps": 30}
TINY = {"tasks": (2,), "sizes": ("4KiB", "1MiB"), "mib": 2, "lenet": 16, "steps": 6, "jobs": (2,)}
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}
BYTES = {"4KiB": 4096, "1MiB": 1 << 20, "64MiB": 64 << 20}
NAMES = {"4KiB": "4.0 KiB", "1MiB": "1.0 MiB", "64MiB": "64.0 MiB"}


class ClusterRow(Row):
    def ours_by_name(self):
        return self.variants or super().ours_by_name()

    def script(self, peer):
        return "peer_ranks.py" if peer == "torch" else "peer_mpi.py"


class JobRow(Row):
    """A job that peer_jobs.py starts, ours or PyTorch's."""

    def __init__(self, name, task, row, targets, **choices):
        words = [f"{key}={value}" for key, value in choices.items()]
        super().__init__(name, ([], row), targets=targets, peer_row=row, torch=[task, "torch", *words])
        self.command = ["{python}", "peer_jobs.py", task, "argosy", "program={program}", *words]

    def ours_by_name(self):
        return {"argosy": self.command}

    def script(self, peer):
        return "peer_jobs.py"


def job_rows(sizes):
    for tasks in sizes["jobs"]:
        yield JobRow(f"C07 start to first step, {tasks} processes", "begin", "begin",
                     [("most", 0.5 if tasks == 2 else 1.5), ("peers", 1 / 0.3)], tasks=tasks)
    yield JobRow("C08 kill -9 until all of 3 have ended", "killed", "all ended", [("most", 0.5), ("peers", 1)], tasks=3)
    yield JobRow("C08 kill -9 until the next saved step", "killed", "next step saved", [("most", 5), ("peers", 1)], tasks=3)
    yield JobRow("C09 cable out until both hosts end", "cable", "told", [("most", 3.5), ("peers", 1)])


def cluster_rows(size):
    """C01 to C12, those of server_rows.py included."""
    sizes = SIZES[size]
    yield from server_rows(size)
    for tasks in sizes["tasks"]:
        for name in sizes["sizes"]:
            ours = (["bench", "tasks", "--json", "--tasks", str(tasks), "--mib", str(sizes["mib"]), "--seconds",
                     "{seconds}"], f"allreduce of {NAMES[name]} on {tasks} tasks")
            peer = ["sum", str(BYTES[name]), "{seconds}", f"ranks={tasks}"]
            yield ClusterRow(f"C04 all-reduce of {name} on {tasks} processes", ours, 1.0, torch=peer, openmpi=peer, mpich=peer)
    batch, steps = sizes["lenet"], sizes["steps"]
    run = ["{python}", "cluster_ours.py", "{program}", "lenet", str(batch), str(steps)]
    yield ClusterRow("C05 lenet on two processes of a core each", ([], "lenet"),
                     targets=[("argosy towers", 0.95), ("peers", 1.2)], peer_row="rate",
                     variants={"argosy": [*run, "2", "1"], "argosy towers": [*run, "1", "2"],
                               "argosy one core": [*run, "1", "1"]},
                     torch=["train", "lenet", str(batch), "sgd", "{seconds}", "ranks=2"])
    yield from job_rows(sizes)
