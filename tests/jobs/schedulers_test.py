"""Real launchers and schedulers: each starts two tasks, and they come together. What is not installed is skipped aloud.

  schedulers_test.py --program build/release/bin/argosy --task build/release/bin/job_task
Others than those in PATH: ARGOSY_MPICH (a folder with mpiexec), ARGOSY_TORCHRUN, ARGOSY_KUBERNETES_VALIDATE (programs).
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import slurm_cluster
from cluster_jobs import clean_environment, temporary

PROGRAM = TASK = ""


def run(*words, timeout=120, **environment):
    return subprocess.run(words, env=clean_environment(**environment), capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)


OTHER_HOST = """#!/bin/sh
# Starts what a launcher starts by ssh: on this host, with an environment of its own. It has files of its own, too: daemons
# of Open MPI that make one folder at the same time may fail.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
mkdir -p "$0.$host"
exec env -i PATH="$PATH" HOME="$HOME" TMPDIR="$0.$host" STARTED_ON="$host" sh -c "$*"
"""
TELL = ["sh", "-c", 'echo "$STARTED_ON $GREETING $LISTED $ARGOSY_THREADS ${ARGOSY_JOB_TOKEN:+token} $UNLISTED"']
TOLD = ["node-a hello there 3 token", "node-b hello there 3 token"]


def other_hosts(folder):
    """A program in place of ssh."""
    program = pathlib.Path(folder) / "other_host"
    program.write_text(OTHER_HOST)
    program.chmod(0o755)
    return str(program)


def launch_on_other_hosts(**environment):
    """What `argosy launch --on mpi` gives to tasks on other hosts, as two of them tell it."""
    done = run(PROGRAM, "launch", "--on", "mpi", "-H", "node-a:1,node-b:1", "-x", "GREETING=hello", "-x", "LISTED",
               "--insecure-cluster", "10.0.0.0/8", "--", *TELL, LISTED="there", UNLISTED="kept",
               ARGOSY_THREADS="3", **environment)
    return sorted(line.strip() for line in done.stdout.splitlines()), done.stderr


def joined(done):
    """The sizes that tasks printed when they had joined."""
    documents = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return sorted((d["rank"], d["joined"]) for d in documents if "joined" in d)


TRAINING = ["train", "lenet", "--steps", "6", "--batch", "32", "--seed", "3", "--no-verdict", "--json", "-q"]


class Trains:
    """argosy train by this launcher: two tasks of an emulated GPU end with the losses of one process with two."""

    def assert_trained(self, done):
        alone = run(PROGRAM, *TRAINING, "--emulate", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)  # task 0's, and nothing else
        self.assertEqual(len(document["tasks"]), 2)
        self.assertEqual(document["losses"], json.loads(alone.stdout)["losses"])


class OpenMpi(Trains, unittest.TestCase):
    def setUp(self):
        version = run("mpirun", "--version") if shutil.which("mpirun") else None
        if version is None or "Open MPI" not in version.stdout:
            self.skipTest("Open MPI's mpirun is not installed")
        self.root = ["--allow-run-as-root"] if os.geteuid() == 0 else []

    def test_mpirun(self):
        done = run("mpirun", *self.root, "--oversubscribe", "-np", "3", TASK)
        self.assertEqual(joined(done), [(0, 3), (1, 3), (2, 3)], done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("OMPI_COMM_WORLD_RANK", done.stdout)

    def test_training(self):
        self.assert_trained(run("mpirun", *self.root, "--oversubscribe", "--bind-to", "none", "-np", "2", PROGRAM,
                                *TRAINING, "--emulate", "1"))

    def test_pmix(self):
        # As on several hosts: the launcher does not say that all tasks are here, so its exchange tells the address.
        script = 'OMPI_COMM_WORLD_LOCAL_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 exec "$0"'
        address = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
        if not address:
            self.skipTest("this host has no address beyond loopback")
        done = run("mpirun", *self.root, "--oversubscribe", "-np", "2", "sh", "-c", script, TASK,
                   ARGOSY_INSECURE_CLUSTER=address[0])
        self.assertEqual(joined(done), [(0, 2), (1, 2)], done.stderr)
        self.assertIn(f'"address":"{address[0]}:', done.stdout)

    def test_launch(self):
        done = run(PROGRAM, "launch", "--on", "mpi", "--local", "2", "--", TASK)
        self.assertEqual(joined(done), [(0, 2), (1, 2)], done.stderr)

    def test_variables_reach_other_hosts(self):
        with temporary() as folder:
            # Two of Open MPI's daemons on one machine write the same file of its topology, and one may crash.
            told, errors = launch_on_other_hosts(OMPI_MCA_plm_rsh_agent=other_hosts(folder), OMPI_MCA_rtc="^hwloc")
        self.assertEqual(told, TOLD, errors)

    def test_failed_task_ends_the_job(self):
        done = run("mpirun", *self.root, "--oversubscribe", "-np", "2", TASK, "--fail-at", "3", "--fail-rank", "1", "--steps", "10000")
        self.assertNotEqual(done.returncode, 0)


class Mpich(Trains, unittest.TestCase):
    def setUp(self):
        self.program = shutil.which("mpiexec.hydra", path=os.environ.get("ARGOSY_MPICH") or None)
        if not self.program:
            self.skipTest("MPICH is not installed; ARGOSY_MPICH names its folder")
        self.path = f"{pathlib.Path(self.program).parent}:{os.environ['PATH']}"  # its mpirun comes first

    def test_launch(self):
        done = run(PROGRAM, "launch", "--on", "mpi", "--local", "2", "--", TASK, PATH=self.path)
        self.assertEqual(joined(done), [(0, 2), (1, 2)], done.stderr)

    def test_variables_reach_other_hosts(self):
        with temporary() as folder:
            told, errors = launch_on_other_hosts(PATH=self.path, HYDRA_LAUNCHER="ssh",
                                                 HYDRA_LAUNCHER_EXEC=other_hosts(folder))
        self.assertEqual(told, [f"{line} kept" for line in TOLD], errors)  # MPICH hands over all of them

    def test_training(self):
        self.assert_trained(run(self.program, "-n", "2", PROGRAM, *TRAINING, "--emulate", "1"))

    def test_mpiexec(self):
        done = run(self.program, "-n", "2", TASK)
        self.assertEqual(joined(done), [(0, 2), (1, 2)], done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("PMI_RANK", done.stdout)


class Torchrun(Trains, unittest.TestCase):
    def setUp(self):
        program = os.environ.get("ARGOSY_TORCHRUN") or shutil.which("torchrun")
        if not program:
            self.skipTest("torchrun is not installed; ARGOSY_TORCHRUN names it")
        self.words = [program, "--no-python", "--standalone", "--nproc-per-node", "2"]

    def test_training(self):
        self.assert_trained(run(*self.words, PROGRAM, *TRAINING, "--emulate", "1"))

    def test_torchrun(self):
        done = run(*self.words, TASK)
        self.assertEqual(joined(done), [(0, 2), (1, 2)], done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)


class Slurm(Trains, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or slurm_cluster.missing():
            raise unittest.SkipTest(f"a Slurm of the test's own needs root and {', '.join(slurm_cluster.missing()) or 'nothing else'}")
        cls.temporary = temporary()
        cls.slurm = slurm_cluster.Slurm(cls.temporary.name)
        cls.slurm.__enter__()

    @classmethod
    def tearDownClass(cls):
        if hasattr(cls, "slurm"):
            cls.slurm.__exit__()
            cls.temporary.cleanup()

    def test_srun(self):
        done = self.slurm.run("srun", "-N", "2", "--ntasks-per-node=1", TASK)
        self.assertEqual(joined(done), [(0, 2), (1, 2)], done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("SLURM_PROCID", done.stdout)

    def test_training(self):
        self.assert_trained(self.slurm.run("srun", "-N", "2", "--ntasks-per-node=1", PROGRAM, *TRAINING, "--emulate", "1"))

    def test_several_tasks_a_node(self):
        done = self.slurm.run("srun", "-N", "2", "--ntasks-per-node=2", TASK)
        self.assertEqual(joined(done), [(rank, 4) for rank in range(4)], done.stderr)

    def test_launch(self):
        done = self.slurm.run(PROGRAM, "launch", "--on", "slurm", "--nnodes", "2", "--", TASK)
        self.assertEqual(joined(done), [(0, 2), (1, 2)], done.stderr)

    def test_variables_reach_the_nodes(self):
        done = self.slurm.run("env", "LISTED=there", "ARGOSY_THREADS=3", PROGRAM, "launch", "--on", "slurm", "--nnodes", "2",
                              "-x", "GREETING=hello", "-x", "LISTED", "--", "sh", "-c",
                              'echo "$SLURMD_NODENAME $GREETING $LISTED $ARGOSY_THREADS ${ARGOSY_JOB_TOKEN:+token}"')
        self.assertEqual(sorted(done.stdout.splitlines()), ["node1 hello there 3 token", "node2 hello there 3 token"],
                         done.stderr)

    def test_batch_script_without_srun_is_alone_and_told(self):
        script = pathlib.Path(self.temporary.name) / "job.sh"
        out = pathlib.Path(self.temporary.name) / "out"
        script.write_text(f"#!/bin/sh\n{TASK}\n")
        done = self.slurm.run("sbatch", "--wait", "-N", "2", "-n", "2", "-o", str(out), str(script))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"joined":1', out.read_text())
        self.assertIn("type srun", out.read_text())

    def test_hosts_as_scontrol_has_them(self):
        done = self.slurm.run("srun", "-N", "2", "--ntasks-per-node=2", "-m", "block", "sh", "-c",
                              "echo $SLURM_PROCID $SLURMD_NODENAME")
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 node1", "1 node1", "2 node2", "3 node2"], done.stderr)


class Kubernetes(unittest.TestCase):
    def test_manifest_is_valid(self):
        program = os.environ.get("ARGOSY_KUBERNETES_VALIDATE") or shutil.which("kubernetes-validate")
        if not program:
            self.skipTest("kubernetes-validate is not installed; ARGOSY_KUBERNETES_VALIDATE names it")
        done = run(PROGRAM, "launch", "--on", "kubernetes", "--nnodes", "2", "--nproc-per-node", "4", "--name", "lenet", "--image",
                   "registry.example/argosy:0.2", "--", "argosy", "train", "lenet", "--batch", "512")
        self.assertEqual(done.returncode, 0, done.stderr)
        with temporary() as folder:
            path = pathlib.Path(folder) / "job.yaml"
            path.write_text(done.stdout)
            valid = run(program, "--strict", str(path))
            self.assertEqual(valid.returncode, 0, valid.stdout + valid.stderr)

    def test_pods_find_each_other(self):
        # The variables that the manifest gives, with names as the cluster's DNS has them.
        environment = {"ARGOSY_TASKS": 2, "ARGOSY_SERVICE": "lenet", "MASTER_PORT": 24571, "ARGOSY_JOB_TOKEN": "ab" * 32,
                       "ARGOSY_HOST_MAP": "lenet-0.lenet=127.0.2.1,lenet-1.lenet=127.0.2.2"}
        pods = [subprocess.Popen([TASK], env=clean_environment(JOB_COMPLETION_INDEX=n, HOSTNAME=f"lenet-{n}", **environment),
                                 stdout=subprocess.PIPE, text=True) for n in (0, 1)]
        try:
            self.assertEqual([pod.wait(60) for pod in pods], [0, 0])
            self.assertIn("ARGOSY_TASKS", pods[0].stdout.read())
        finally:
            for pod in pods:
                pod.kill()
                pod.communicate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--task", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM, TASK = os.path.abspath(options.program), os.path.abspath(options.task)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
