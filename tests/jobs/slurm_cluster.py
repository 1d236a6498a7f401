"""A Slurm of two nodes on this host: munged, a controller and two daemons, in a folder that is removed at the end."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

from cluster_jobs import free_ports

PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "scontrol")


def missing():
    return [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]


class Slurm:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = []
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"),
                            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin",
                            "ARGOSY_HOST_MAP": "node1=127.0.0.1,node2=127.0.0.1"}

    def spawn(self, *words, user=None):
        with open(self.folder / f"{pathlib.Path(words[0]).name}{len(self.processes)}.log", "w") as log:
            self.processes.append(subprocess.Popen(words, stdout=log, stderr=log, env=self.environment, user=user, group=user,
                                                   extra_groups=[] if user else None))

    def __enter__(self):
        # munged's socket and key belong to its own user, and no folder above them may be writable by others.
        self.munge = pathlib.Path("/run/argosy-munge-test")
        shutil.rmtree(self.munge, ignore_errors=True)
        self.munge.mkdir(mode=0o755)
        (self.munge / "key").write_bytes(os.urandom(128))
        (self.munge / "key").chmod(0o400)
        for path in (self.munge, self.munge / "key"):
            shutil.chown(path, "munge", "munge")
        self.folder.chmod(0o755)
        controller, *nodes = free_ports(3)
        host = socket.gethostname()
        for name in ("state", "spool-node1", "spool-node2"):
            (self.folder / name).mkdir()
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        rows = "\n".join(f"NodeName=node{n + 1} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=500"
                         for n, port in enumerate(nodes))
        (self.folder / "slurm.conf").write_text(f"""
ClusterName=argosytest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self.munge}/socket
CredType=cred/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool-%n
SlurmctldPidFile={self.folder}/ctld.pid
SlurmdPidFile={self.folder}/slurmd-%n.pid
SlurmctldLogFile={self.folder}/ctld.log
SlurmdLogFile={self.folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SlurmdParameters=config_overrides
SwitchType=switch/none
ReturnToService=2
{rows}
PartitionName=p Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
""")
        self.spawn("munged", "--foreground", "--key-file", f"{self.munge}/key", "--socket", f"{self.munge}/socket", "--pid-file",
                   f"{self.munge}/pid", "--log-file", f"{self.munge}/log", "--seed-file", f"{self.munge}/seed", user="munge")
        self.wait(lambda: (self.munge / "socket").exists(), "munged's socket")
        self.spawn("slurmctld", "-D")
        for n in (1, 2):
            self.spawn("slurmd", "-D", "-N", f"node{n}")
        self.wait(lambda: self.run("sinfo", "-h", "-o", "%t %D").stdout.strip() == "idle 2", "two idle nodes")
        return self

    def wait(self, ready, what, seconds=60):
        deadline = time.time() + seconds
        while not ready():
            if time.time() > deadline:
                logs = "\n".join(f"{p.name}: {p.read_text()[-600:]}" for p in self.folder.glob("*.log"))
                self.__exit__()
                raise RuntimeError(f"{what}: not after {seconds} s\n{logs}")
            time.sleep(0.2)

    def run(self, *words, timeout=90, **environment):
        return subprocess.run(words, env={**self.environment, **environment}, capture_output=True, text=True, timeout=timeout)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.munge, ignore_errors=True)
