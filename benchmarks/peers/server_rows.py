"""What is compared of servers, by the numbers C01, C02, C03 and C12: those of this machine under one stock client.

Both sides have the same client, TensorFlow's: peer_cluster.py starts the servers, ours or TensorFlow's.
"""
from benchmark_rows import Row

FULL = {"mib": 100, "variables": 1000, "steps": 1000}
SIZES = {"full": FULL, "quick": FULL | {"steps": 300}, "tiny": {"mib": 1, "variables": 10, "steps": 5}}


class ServerRow(Row):
    def __init__(self, name, task, row, targets=(), **choices):
        words = ["seconds={seconds}", *(f"{key}={value}" for key, value in choices.items())]
        super().__init__(name, ([], row), targets=targets, peer_row=row, tf=[task, "tf", *words])
        self.command = ["{python}", "peer_cluster.py", task, "argosy", "program={program}", *words]

    def ours_by_name(self):
        return {"argosy": self.command}

    def script(self, peer):
        return "peer_cluster.py"


def server_rows(size):
    sizes = SIZES[size]
    return [
        ServerRow("C01 null step on another task", "null", "null step", targets=[("most", 200), ("peers", 1)]),
        ServerRow(f"C02 {sizes['mib']} MiB pulled and pushed", "pull", "pulled and pushed",
                  targets=[("least", 2.6), ("peers", 1)], mib=sizes["mib"]),
        ServerRow(f"C03 {sizes['variables']} variables of 4 KiB pulled and updated", "many", "variables updated",
                  targets=[("peers", 5)], variables=sizes["variables"]),
        ServerRow("C12 a script with one server and two workers", "script", "steps of the script",
                  targets=[("peers", 1.5)], steps=sizes["steps"]),
    ]
