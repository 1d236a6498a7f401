"""Tasks that die, stop, lie or come twice: every other task ends with one cause, in time, and nothing is left running.

  failure_test.py --task build/release/bin/job_task [--kills 200] [name …]
"""
import argparse
import json
import os
import signal
import socket
import sys
import time

from cluster_jobs import Job, alive, free_port, free_ports, seed

CLOSED_SECONDS = float(os.environ.get("ARGOSY_CLOSED_SECONDS", "0.2"))
SILENT_SECONDS = 3.5


def causes(job, but=()):
    """The error of every task that ended with one; all of them must be the same."""
    errors = {}
    for key, task in job.tasks.items():
        if key not in but:
            task.end(20)
            errors[key] = (task.json("ended") or {}).get("error")
    texts = {json.dumps(error, sort_keys=True) for error in errors.values()}
    assert len(texts) == 1 and None not in errors.values(), errors
    return next(iter(errors.values()))


def seconds_until_told(job, since, but=()):
    times = [task.wait_for("aborted")["aborted"] - since for key, task in job.tasks.items() if key not in but]
    return max(times)


def kill(job, rank, number=signal.SIGKILL):
    since = time.time()
    job.tasks[rank].signal(number)
    return since


def any_order(options):
    for order in ((2, 0, 1), (1, 2, 0), (0, 2, 1)):
        with Job(options.task, 3) as job:
            for rank in order:
                job.start(rank)
                time.sleep(0.15)
            for task in job.tasks.values():
                assert task.end() == 0, task.errors
            assert job.tasks[1].json("joined")["hosts"] == ["h0", "h1", "h2"], job.tasks[1].lines


def killed_member(options):
    with Job(options.task, 3, ["--steps", "10000"]).start_all() as job:
        job.joined()
        time.sleep(0.3)
        took = seconds_until_told(job, kill(job, 1), but=[1])
        error = causes(job, but=[1])
        assert error["id"] == "ARG-CLUSTER-044" and "task 1 (h1)" in error["message"], error
        assert all(job.tasks[rank].process.returncode == 5 for rank in (0, 2))
        print(f"  kill -9 of a member: told everywhere after {took * 1000:.0f} ms")
        assert took <= CLOSED_SECONDS, took


def killed_coordinator(options):
    with Job(options.task, 3, ["--steps", "10000"]).start_all() as job:
        job.joined()
        time.sleep(0.3)
        took = seconds_until_told(job, kill(job, 0), but=[0])
        error = causes(job, but=[0])
        assert error["id"] == "ARG-CLUSTER-044" and "task 0 (h0)" in error["message"], error
        print(f"  kill -9 of the coordinator: told everywhere after {took * 1000:.0f} ms")
        assert took <= CLOSED_SECONDS, took


def stopped_member(options):
    with Job(options.task, 3, ["--steps", "100000"]).start_all() as job:
        job.joined()
        time.sleep(1.2)
        took = seconds_until_told(job, kill(job, 2, signal.SIGSTOP), but=[2])
        print(f"  SIGSTOP of a member: told everywhere after {took:.2f} s")
        assert took <= SILENT_SECONDS, took
        job.tasks[2].signal(signal.SIGCONT)
        error = causes(job, but=[2])
        assert error["id"] == "ARG-CLUSTER-045" and "task 2 (h2)" in error["message"], error
        assert job.tasks[2].end() == 5, job.tasks[2].lines


def stopped_coordinator(options):
    with Job(options.task, 3, ["--steps", "100000"]).start_all() as job:
        job.joined()
        time.sleep(1.2)
        took = seconds_until_told(job, kill(job, 0, signal.SIGSTOP), but=[0])
        print(f"  SIGSTOP of the coordinator: told everywhere after {took:.2f} s")
        assert took <= SILENT_SECONDS, took
        for rank in (1, 2):
            assert job.tasks[rank].end() == 5
            assert "task 0 (h0)" in job.tasks[rank].json("ended")["error"]["message"]


def own_error(options):
    with Job(options.task, 3, ["--steps", "1000", "--fail-at", "5", "--fail-rank", "1"]).start_all() as job:
        error = causes(job)
        assert error["message"] == "the loss is nan at step 5" and error["where"] == "node 'loss', task 1 (h1)", error
        assert error["next"] == "--lr 0.1", error
        assert {task.process.returncode for task in job.tasks.values()} == {1}


def task_without_progress(options):
    # Its heartbeats go on; the others wait in a barrier.
    with Job(options.task, 3, ["--steps", "1000", "--slow-rank", "1", "--stuck-after-ms", "1500"]).start_all() as job:
        job.joined()
        since = time.time()
        took = seconds_until_told(job, since)
        for rank in (0, 2):
            assert job.tasks[rank].end() == 5, job.tasks[rank].lines
        error = causes(job, but=[1])
        assert error["id"] == "ARG-CLUSTER-125" and error["where"] == "task 1 (h1)", error
        assert "task 1 (h1) makes no progress" in error["message"], error
        assert 'tasks 0, 2 wait for it, at step 0, barrier "step 0"' in error["message"], error
        print(f"  a task without progress for 1.5 s: told everywhere after {took:.2f} s")
        assert took <= 5, took


def wrong_token(options):
    with Job(options.task, 2) as job:
        job.start(0)
        time.sleep(0.5)
        stranger = job.start(1, token="b" * 64, key="stranger")
        # Eight ports are tried: other jobs may have them. So a wrong token is an error after ten seconds.
        assert stranger.end(20) == 3, stranger.errors
        assert stranger.json("ended")["error"]["id"] == "ARG-CLUSTER-034", stranger.lines
        job.start(1)
        assert job.tasks[0].end() == 0 and job.tasks[1].end() == 0, job.tasks[0].errors


def other_version(options):
    with Job(options.task, 2, task_words={1: ["--version", "2"]}).start_all() as job:
        error = causes(job)
        assert error["id"] == "ARG-CLUSTER-035" and error["where"] == "task 1 (h1)", error


def other_option(options):
    with Job(options.task, 2, task_words={1: ["--option", "32"]}).start_all() as job:
        error = causes(job)
        assert error["id"] == "ARG-CLUSTER-036" and "--option is 32 there and 1 on task 0" in error["message"], error


def second_process_of_a_rank(options):
    with Job(options.task, 3) as job:
        job.start(0), job.start(1)
        time.sleep(0.5)
        second = job.start(1, key="second")
        assert second.end() == 3 and second.json("ended")["error"]["id"] == "ARG-CLUSTER-037", second.lines
        job.start(2)
        assert all(job.tasks[rank].end() == 0 for rank in range(3))


def restarted_member_is_refused(options):
    # It may come after the job's end: then it waits for another one, as long as it was told to.
    with Job(options.task, 2, ["--steps", "100000"], environment={"ARGOSY_START_TIMEOUT": 8}).start_all() as job:
        job.joined()
        since = kill(job, 1)
        again = job.start(1, key="again")
        seconds_until_told(job, since, but=[1, "again"])
        assert again.end(40) in (3, 5), again.lines
        assert job.tasks[0].end() == 5


def restarted_before_the_start(options):
    with Job(options.task, 3) as job:
        job.start(0), job.start(1)
        time.sleep(0.5)
        job.tasks[1].process.kill()
        job.tasks[1].process.wait()
        job.start(1, key="again")
        time.sleep(0.3)
        job.start(2)
        assert job.tasks[0].end() == 0 and job.tasks[2].end() == 0 and job.tasks["again"].end() == 0


def taken_port(options):
    with socket.socket() as taken, Job(options.task, 2) as job:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.1.1", job.port))
        taken.listen()
        job.start_all()
        assert job.tasks[0].end() == 0 and job.tasks[1].end() == 0, job.tasks[1].errors
        assert job.tasks[1].json("joined")["address"] != f"127.0.1.1:{job.port}"


def missing_task(options):
    with Job(options.task, 3, environment={"ARGOSY_START_TIMEOUT": 3}) as job:
        job.start(0), job.start(1)
        error = causes(job)
        assert error["id"] == "ARG-CLUSTER-038" and "task 2" in error["message"], error
        assert any("for 1 of 3 tasks" in line for line in job.tasks[0].errors), job.tasks[0].errors


def many_jobs(options):
    # Another task's listener may have taken a job's port. The job takes the next one then, perhaps another job's.
    jobs = [Job(options.task, 2, ["--steps", "20"], port=port, token=f"{i:064x}")
            for i, port in enumerate(free_ports(20, "127.0.1.1"), 1)]
    try:
        since = time.time()
        for job in jobs:
            job.start_all()
        for job in jobs:
            for task in job.tasks.values():
                assert task.end(120) == 0, task.errors
        print(f"  20 jobs of two tasks at once: {time.time() - since:.1f} s")
    finally:
        for job in jobs:
            job.__exit__()


def jobs_at_one_port(options):
    """Jobs that were given the same port take the next ones; tokens keep them apart."""
    port = free_port("127.0.1.1")
    jobs = [Job(options.task, 2, ["--steps", "20"], port=port, token=f"{i:064x}") for i in range(1, 5)]
    try:
        for job in jobs:
            job.start_all(order=(1, 0))
        for job in jobs:
            for task in job.tasks.values():
                assert task.end(60) == 0, task.errors
    finally:
        for job in jobs:
            job.__exit__()


def random_kills(options):
    random = seed()
    slowest = 0.0
    for n in range(options.kills):
        size = random.choice((2, 2, 3, 4))
        victim = random.randrange(size)
        with Job(options.task, size, ["--steps", "100000", "--step-ms", "2"]).start_all() as job:
            when = random.random() * 0.6
            if random.random() < 0.7:
                job.joined()
                when *= 0.5
            time.sleep(when)
            pids = [task.process.pid for task in job.tasks.values()]
            together = all(task.json("joined") for task in job.tasks.values())
            since = kill(job, victim)
            if not together:  # the others wait for it, or were told already
                continue
            for key, task in job.tasks.items():
                if key != victim:
                    assert task.end(10) == 5, (n, key, task.process.returncode, task.lines, task.errors)
            error = causes(job, but=[victim])
            assert f"task {victim} (h{victim})" in error["message"], (n, victim, error)
            slowest = max(slowest, seconds_until_told(job, since, but=[victim]))
        assert not any(alive(pid) for pid in pids), n
    print(f"  {options.kills} random kills: one cause each time, slowest {slowest * 1000:.0f} ms")


TESTS = [any_order, killed_member, killed_coordinator, stopped_member, stopped_coordinator, own_error,
         task_without_progress, wrong_token,
         other_version, other_option, second_process_of_a_rank, restarted_member_is_refused, restarted_before_the_start,
         taken_port, missing_task, many_jobs, jobs_at_one_port, random_kills]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", required=True)
    parser.add_argument("--kills", type=int, default=int(os.environ.get("ARGOSY_KILLS", "10")))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.task = os.path.abspath(options.task)
    failed = []
    for test in TESTS:
        if options.names and test.__name__ not in options.names:
            continue
        print(test.__name__, flush=True)
        try:
            test(options)
        except AssertionError as error:
            print(f"  FAILED: {error}", flush=True)
            failed.append(test.__name__)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
