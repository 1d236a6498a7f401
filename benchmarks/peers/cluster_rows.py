"""What is compared over processes, by the numbers C04 and C05: sums between processes of this machine, and a training on
two processes of a core each. Peer: peer_ranks.py (PyTorch over gloo).
"""
from benchmark_rows import Row
from server_rows import server_rows

FULL = {"tasks": (2, 4, 8), "sizes": ("4KiB", "1MiB", "64MiB"), "mib": 64, "lenet": 128, "steps": 60}
QUICK = FULL | {"tasks": (2, 4), "steps": 30}
TINY = {"tasks": (2,), "sizes": ("4KiB", "1MiB"), "mib": 2, "lenet": 16, "steps": 6}
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}
BYTES = {"4KiB": 4096, "1MiB": 1 << 20, "64MiB": 64 << 20}
NAMES = {"4KiB": "4.0 KiB", "1MiB": "1.0 MiB", "64MiB": "64.0 MiB"}


class ClusterRow(Row):
    def ours_by_name(self):
        return self.variants or super().ours_by_name()

    def script(self, peer):
        return "peer_ranks.py"


def cluster_rows(size):
    """C01 to C12, those of server_rows.py included."""
    sizes = SIZES[size]
    yield from server_rows(size)
    for tasks in sizes["tasks"]:
        for name in sizes["sizes"]:
            ours = (["bench", "tasks", "--json", "--tasks", str(tasks), "--mib", str(sizes["mib"]), "--seconds",
                     "{seconds}"], f"allreduce of {NAMES[name]} on {tasks} tasks")
            yield ClusterRow(f"C04 all-reduce of {name} on {tasks} processes", ours, 1.0,
                             torch=["sum", str(BYTES[name]), "{seconds}", f"ranks={tasks}"])
    batch, steps = sizes["lenet"], sizes["steps"]
    run = ["{python}", "cluster_ours.py", "{program}", "lenet", str(batch), str(steps)]
    yield ClusterRow("C05 lenet on two processes of a core each", ([], "lenet"),
                     targets=[("argosy towers", 0.95), ("peers", 1.2)],
                     variants={"argosy": [*run, "2", "1"], "argosy towers": [*run, "1", "2"],
                               "argosy one core": [*run, "1", "1"]},
                     torch=["train", "lenet", str(batch), "sgd", "{seconds}", "ranks=2"])
