"""The life of a job of several processes that trains the perceptron: ours by `argosy launch`, PyTorch's by torchrun.

  peer_jobs.py begin argosy|torch [tasks=N program=P]   seconds of a job of one step, from its start to its end
  peer_jobs.py killed argosy|torch [tasks=N program=P]  kill -9 of one of its processes between steps: seconds until all of
                                                        the job have ended; until the next step is saved, by whoever starts
                                                        it again: torchrun itself; `argosy launch --resume`, a second time
  peer_jobs.py cable argosy|torch [program=P]           two hosts whose cable is pulled: seconds until both have ended

What does not come in time (a minute; of a killed job four) is told as that time.
"""
import json
import os
import re
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
import job_network
from job_processes import Job, wait_for

BATCH, EVERY = 64, 5
ENDLESS = 10_000_000  # steps
PATIENCE, LONG = 60.0, 240.0  # seconds
DDP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ddp_steps.py")


class Ours:
    def __init__(self, program):
        self.program = program

    def training(self, steps, folder=None):
        words = [self.program, "train", "mlp", "--batch", BATCH, "--steps", steps, "--optimizer", "sgd", "--devices", "cpu:0",
                 "--cpu-threads", 1, "--no-verdict", "--no-progress", "--check-replicas", 0]
        if folder:
            words += ["--checkpoint-dir", folder, "--checkpoint-every", EVERY, "--resume"]
        return [str(w) for w in words]

    def launched(self, tasks, steps, folder=None, restarts=0):
        return [self.program, "launch", "--local", str(tasks), "--", *self.training(steps, folder)]

    def is_rank(self, words):
        return words[1:3] == ["train", "mlp"]

    def saved(self, name):
        found = re.fullmatch(r"model\.ckpt-(\d+)\.index", name)
        return int(found.group(1)) if found else 0


class Torch:
    def training(self, steps, folder=None):
        return [sys.executable, DDP, str(steps), str(BATCH), *([folder] if folder else [])]

    def launched(self, tasks, steps, folder=None, restarts=0):
        return [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={tasks}",
                f"--max-restarts={restarts}", *self.training(steps, folder)[1:]]

    def is_rank(self, words):
        return DDP in words and "torch.distributed.run" not in words

    def saved(self, name):
        found = re.fullmatch(r"step-(\d+)", name)
        return int(found.group(1)) if found else 0


def tell(row, seconds, detail="", most=LONG):
    shown = most if seconds is None else seconds
    said = {"row": row, "unit": "s", "best": shown, "median": shown}
    if seconds is None:
        detail = f"not within {most:.0f} s"
    print(json.dumps(said | ({"detail": detail} if detail else {})), flush=True)


def newest(who, folder):
    return max((who.saved(name) for name in os.listdir(folder)), default=0)


def begin(who, tasks):
    with Job(who.launched(tasks, 1)) as job:
        took = wait_for(lambda: job.process.poll() is not None, LONG)
        if job.process.returncode != 0:
            sys.exit(job.said()[-500:])
    tell("begin", took)


def under_way(who, job, folder):
    if wait_for(lambda: newest(who, folder) >= 2 * EVERY or job.process.poll() is not None, LONG) is None or \
            job.process.poll() is not None:
        sys.exit("no steps: " + job.said()[-500:])


def kill_one(who, job, tasks):
    ranks = job.ranks(who.is_rank)
    if len(ranks) != tasks:
        sys.exit(f"{len(ranks)} processes train, not {tasks}: {job.said()[-300:]}")
    os.kill(ranks[-1], signal.SIGKILL)


def killed(who, tasks):
    with tempfile.TemporaryDirectory() as folder:
        with Job(who.launched(tasks, ENDLESS, folder)) as job:
            under_way(who, job, folder)
            kill_one(who, job, tasks)
            all_ended = wait_for(job.ended, LONG)
            causes = sorted(set(re.findall(r"task \d+ [^\n]*? is gone[^\n;]*", job.said())))
        tell("all ended", all_ended, "; ".join(causes)[:200])
        with_restart = isinstance(who, Torch)
        with Job(who.launched(tasks, ENDLESS, folder, restarts=3)) as job:
            before = newest(who, folder)
            under = wait_for(lambda: newest(who, folder) >= before + 2 * EVERY, LONG)
            if under is None:
                sys.exit("no steps: " + job.said()[-500:])
            kill_one(who, job, tasks)
            last, took = newest(who, folder), 0.0
            if with_restart:
                took = wait_for(lambda: newest(who, folder) > last + EVERY, LONG)
            else:
                took = wait_for(job.ended, LONG)
        if not with_restart and took is not None:
            with Job(who.launched(tasks, ENDLESS, folder)):
                again = wait_for(lambda: newest(who, folder) > last + EVERY, LONG)
            took = None if again is None else took + again
        tell("next step saved", took)


def cable(who):
    with job_network.TwoHosts() as hosts, tempfile.TemporaryDirectory() as folder:
        net = {"MASTER_ADDR": f"{job_network.NETWORK}.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "eth0",
               "ARGOSY_JOB_TOKEN": "a" * 64, "ARGOSY_INSECURE_CLUSTER": f"{job_network.NETWORK}.0/24"}
        words = who.training(ENDLESS, folder)
        with Job(hosts.at(0, words), RANK="0", **net) as first, Job(hosts.at(1, words), RANK="1", **net) as second:
            under_way(who, first, folder)
            first.all(), second.all()
            hosts.unplug()
            told = wait_for(lambda: first.ended() and second.ended(), PATIENCE)
        tell("told", told, most=PATIENCE)


def main(task, who, *words):
    chosen = dict(word.split("=", 1) for word in words)
    contestant = Ours(chosen["program"]) if who == "argosy" else Torch()
    if task == "cable":
        cable(contestant)
    else:
        {"begin": begin, "killed": killed}[task](contestant, int(chosen.get("tasks", 2)))


if __name__ == "__main__":
    main(*sys.argv[1:])
