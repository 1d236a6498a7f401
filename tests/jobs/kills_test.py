"""kill -9 of any process of a training over tasks, at any time: the job ends with one cause, leaves nothing running, and
its newest checkpoint loads. The next run resumes from it, on another number of tasks.

  kills_test.py --program build/release/bin/argosy [--kills 200] [--seed N]      or ARGOSY_KILLS=200
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time

from cluster_jobs import alive, clean_environment, family, temporary

MODEL = ["train", "mlp", "--image-size", "6", "--batch", "24", "--no-verdict"]


def start(program, tasks, folder):
    # More than one launch lives through: it ends by the kill alone.
    training = [program, *MODEL, "--emulate", str(random.choice((1, 2))), "--steps", "1000000", "--checkpoint-dir", folder,
                "--checkpoint-every", "7"]
    if os.path.exists(os.path.join(folder, "checkpoint")):
        training.append("--resume")
    return subprocess.Popen([program, "launch", "--local", str(tasks), "--", *training], env=clean_environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


def wait_until_gone(pids, seconds):
    deadline = time.time() + seconds
    while any(alive(pid) for pid in pids) and time.time() < deadline:
        time.sleep(0.02)
    return [pid for pid in pids if alive(pid)]


def newest_step(program, folder):
    """The step of the newest checkpoint, as a training that loads it says; 0: there is none."""
    if not os.path.exists(os.path.join(folder, "checkpoint")):
        return 0
    done = subprocess.run([program, *MODEL, "--devices", "cpu:0", "--steps", "1", "--checkpoint-dir", folder, "--resume"],
                          env=clean_environment(), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    found = re.search(r"is at step (\d+) of 1: nothing is left to train", done.stdout + done.stderr)
    assert done.returncode == 0 and found, (done.returncode, done.stdout, done.stderr)
    return int(found.group(1))


def killed_once(program, folder, before):
    """Kills one process of a training. Returns what it was, how long the job took to end, and the newest step."""
    job = start(program, random.choice((2, 2, 3)), folder)
    try:
        if random.random() < 0.8:  # in the steps; else while tasks come together
            deadline = time.time() + 30
            while newest(folder) <= before and job.poll() is None and time.time() < deadline:
                time.sleep(0.02)
        time.sleep(random.random() * 0.5)
        assert job.poll() is None, (job.returncode, job.communicate())
        pids = [job.pid, *family(job.pid)]
        victim = random.choice(pids)
        since = time.time()
        os.kill(victim, signal.SIGKILL)
        out, errors = job.communicate(timeout=30)
        ended = time.time() - since
        left = wait_until_gone([pid for pid in pids if pid != job.pid], 10)
        assert not left, (left, errors)
        kind = "launch" if victim == job.pid else "another"
        # A launch that is killed says nothing. Otherwise a peer is gone, whoever it was.
        assert job.returncode == (-signal.SIGKILL if kind == "launch" else 5), (job.returncode, out, errors)
        return kind, ended
    finally:
        for pid in [job.pid, *family(job.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def newest(folder):
    try:
        with open(os.path.join(folder, "checkpoint"), encoding="utf-8") as file:
            return int(re.search(r"model\.ckpt-(\d+)", file.read()).group(1))
    except (FileNotFoundError, AttributeError):
        return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--kills", type=int, default=int(os.environ.get("ARGOSY_KILLS", "6")))
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    random.seed(options.seed)
    program = os.path.abspath(options.program)
    step, slowest, kinds = 0, 0.0, {"launch": 0, "another": 0}
    with temporary() as folder:
        for n in range(options.kills):
            kind, ended = killed_once(program, folder, step)
            kinds[kind] += 1
            slowest = max(slowest, ended)
            now = newest_step(program, folder)
            assert now >= step, (n, now, step)
            step = now
    print(f"{options.kills} kills: {kinds['another']} of tasks and agents, {kinds['launch']} of launch itself; nothing was "
          f"left running, every checkpoint loaded, the last at step {step}; the slowest end took {slowest:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
