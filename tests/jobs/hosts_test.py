"""Jobs over hosts that are network namespaces of this machine: cables out, one-way cuts, bad pairs. Needs root.

  hosts_test.py --program build/release/bin/argosy --task build/release/bin/job_task
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from cluster_jobs import Task, clean_environment, skip

PROGRAM = TASK = ""
NETWORK = "10.77.0"
SILENT_SECONDS = 3.5


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class Hosts:
    """Namespaces with one address each, all at one bridge."""

    def __init__(self, size):
        self.prefix = f"argosy{os.getpid() % 10000}"
        self.size = size
        self.switch = f"{self.prefix}s"
        self.remove()
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for n in range(size):
            ip("netns", "add", self.name(n))
            ip("link", "add", "eth0", "netns", self.name(n), "type", "veth", "peer", "name", f"port{n}", "netns", self.switch)
            ip("-n", self.switch, "link", "set", f"port{n}", "master", "bridge", "up")
            ip("-n", self.name(n), "addr", "add", f"{NETWORK}.{n + 1}/24", "dev", "eth0")
            ip("-n", self.name(n), "link", "set", "eth0", "up")
            ip("-n", self.name(n), "link", "set", "lo", "up")

    def name(self, n):
        return f"{self.prefix}h{n}"

    def remove(self):
        for name in [self.switch, *(self.name(n) for n in range(self.size))]:
            ip("netns", "del", name, check=False)

    def run(self, n, *words):
        return subprocess.run(["ip", "netns", "exec", self.name(n), *words], check=True, capture_output=True, text=True)

    def unplug(self, n):
        ip("-n", self.switch, "link", "set", f"port{n}", "down")

    def drop(self, n, rule):
        """A filter on what comes in at a host."""
        self.run(n, "nft", "add table inet cut; add chain inet cut in { type filter hook input priority 0; }; add rule inet cut in "
                 + rule + " drop")


class OverHosts(unittest.TestCase):
    def setUp(self):
        self.tasks = []
        self.hosts = Hosts(3)
        self.addCleanup(self.end)

    def end(self):
        for task in self.tasks:
            if task.process.poll() is None:
                task.process.send_signal(signal.SIGCONT)
                task.process.kill()
            task.close()
        self.hosts.remove()

    def start(self, n, words, **more):
        environment = clean_environment(**{"RANK": n, "WORLD_SIZE": 3, "MASTER_ADDR": f"{NETWORK}.1", "MASTER_PORT": 29500,
                                           "ARGOSY_JOB_TOKEN": "a" * 64, "ARGOSY_INSECURE_CLUSTER": f"{NETWORK}.0/24",
                                           "ARGOSY_HOST_NAME": f"h{n}", **more})
        task = Task(["ip", "netns", "exec", self.hosts.name(n), *words], environment)
        self.tasks.append(task)
        return task

    def job(self, *words):
        tasks = [self.start(n, [TASK, "--steps", "1000000", *words]) for n in range(3)]
        for task in tasks:
            task.wait_for("joined")
        time.sleep(1.2)
        return tasks

    def test_trains_over_hosts(self):
        tasks = [self.start(n, [TASK]) for n in range(3)]
        for task in tasks:
            self.assertEqual(task.end(), 0, task.errors)

    def test_cable_out(self):
        tasks = self.job()
        since = time.time()
        self.hosts.unplug(2)
        told = [task.wait_for("aborted")["aborted"] - since for task in tasks]
        print(f"  cable out: told after {', '.join(f'{t:.2f}' for t in told)} s", flush=True)
        self.assertLessEqual(max(told), SILENT_SECONDS)
        for task in tasks[:2]:
            self.assertEqual(task.end(), 5)
            self.assertIn("task 2 (h2) is gone: no heartbeat", task.json("ended")["error"]["message"])
        # The side without the coordinator says what it can know.
        self.assertEqual(tasks[2].end(), 5)
        self.assertIn("task 0 (h0) is gone: no answer", tasks[2].json("ended")["error"]["message"])

    def one_way(self, n, rule):
        tasks = self.job()
        since = time.time()
        self.hosts.drop(n, rule)
        told = [task.wait_for("aborted")["aborted"] - since for task in tasks]
        print(f"  one-way cut: told after {', '.join(f'{t:.2f}' for t in told)} s", flush=True)
        self.assertLessEqual(max(told), SILENT_SECONDS)
        for task in tasks:
            self.assertEqual(task.end(), 5)
        for task in tasks[:2]:
            self.assertIn("task 2 (h2) is gone", task.json("ended")["error"]["message"])

    def test_one_way_cut_towards_the_coordinator(self):
        self.one_way(0, f"ip saddr {NETWORK}.3")

    def test_one_way_cut_from_the_coordinator(self):
        self.one_way(2, f"ip saddr {NETWORK}.1")

    def test_half_open_peer(self):
        """A host that is reset: its peers' connections stand, and nobody answers at the other end."""
        tasks = self.job()
        self.hosts.drop(0, f"ip saddr {NETWORK}.3")
        tasks[2].process.kill()
        since = time.time()
        told = [task.wait_for("aborted")["aborted"] - since for task in tasks[:2]]
        self.assertLessEqual(max(told), SILENT_SECONDS)

    def test_check_names_the_bad_pair(self):
        self.hosts.drop(2, f"ip saddr {NETWORK}.2")
        tasks = [self.start(n, [PROGRAM, "cluster", "check", "--json"]) for n in range(3)]
        self.assertEqual([task.end(60) for task in tasks], [1, 0, 0], tasks[0].errors)
        document = json.loads("\n".join(tasks[0].lines))
        self.assertEqual(document["bad"], ["task 1 (h1) to task 2 (h2): no answer in 2 s",
                                           "task 2 (h2) to task 1 (h1): no answer in 2 s"])

    def test_waiting_names_the_networks_error(self):
        self.hosts.unplug(0)
        task = self.start(1, [TASK], ARGOSY_START_TIMEOUT=4)
        self.assertEqual(task.end(), 5)
        message = task.json("ended")["error"]["message"]
        self.assertTrue("no route to host" in message or "no answer" in message, message)

    def test_needs_a_named_network(self):
        task = self.start(0, [TASK], ARGOSY_INSECURE_CLUSTER="")
        self.assertEqual(task.end(), 3)
        self.assertEqual(task.json("ended")["error"]["id"], "ARG-CLUSTER-042")
        task = self.start(0, [TASK], ARGOSY_JOB_TOKEN="")
        self.assertEqual(task.end(), 3)
        self.assertEqual(task.json("ended")["error"]["id"], "ARG-CLUSTER-043")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--task", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM, TASK = os.path.abspath(options.program), os.path.abspath(options.task)
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nft"):
        skip("network namespaces need root, ip and nft")
    if ip("netns", "add", "argosytry", check=False).returncode != 0:
        skip("network namespaces are not allowed here")
    ip("netns", "del", "argosytry")
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
