"""argosy launch: output, exit codes, signals, causes, and that nothing is left running, whoever is killed.

  launch_test.py --program build/release/bin/argosy --task build/release/bin/job_task
"""
import argparse
import json
import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys
import time
import unittest

from cluster_jobs import alive, clean_environment, family, temporary

PROGRAM = TASK = ""
PYTHON = sys.executable


def launch(*words, timeout=90, most_file_bytes=None, **environment):
    full = None if most_file_bytes is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_file_bytes,) * 2)
    done = subprocess.run([PROGRAM, "launch", *words], env=clean_environment(**environment), capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL, preexec_fn=full)
    return done


class Started:
    """A launch that runs on, ended whatever happens."""

    def __init__(self, *words, **environment):
        self.process = subprocess.Popen([PROGRAM, "launch", *words], env=clean_environment(**environment),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in [self.process.pid, *family(self.process.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.communicate()

    def wait_for_family(self, least, seconds=30):
        deadline = time.time() + seconds
        while time.time() < deadline:
            pids = family(self.process.pid)
            if len(pids) >= least:
                return pids
            time.sleep(0.05)
        raise AssertionError(f"{family(self.process.pid)} after {seconds} s")


def wait_until_gone(pids, seconds=10):
    deadline = time.time() + seconds
    while time.time() < deadline and any(alive(pid) for pid in pids):
        time.sleep(0.05)
    return [pid for pid in pids if alive(pid)]


class Output(unittest.TestCase):
    def test_standard_output_is_task_0s_alone(self):
        done = launch("--local", "3", "--", "sh", "-c", "echo out $RANK; echo err $RANK >&2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "out 0\n")
        for line in ("[0] err 0", "[1] err 1", "[2] err 2", "[1] out 1", "[2] out 2"):
            self.assertIn(line + "\n", done.stderr)

    def test_bytes_are_passed_as_they_are(self):
        code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 5000)"
        done = subprocess.run([PROGRAM, "launch", "--local", "2", "--redirects", "1:3", "--log-dir", self.folder, "--", PYTHON,
                               "-c", code], env=clean_environment(), capture_output=True, timeout=90)
        self.assertEqual(done.stdout, bytes(range(256)) * 5000)
        self.assertEqual((pathlib.Path(self.folder) / "task-1/stdout").read_bytes(), bytes(range(256)) * 5000)
        self.assertEqual(done.stderr, b"")

    def test_logs_of_each_task(self):
        done = launch("--local", "2", "--output-filename", self.folder, "--", "sh", "-c",
                      "echo out $RANK; echo err $RANK >&2; exit $RANK")
        self.assertEqual(done.returncode, 1)
        for rank in (0, 1):
            own = pathlib.Path(self.folder) / f"task-{rank}"
            self.assertEqual((own / "stdout").read_text(), f"out {rank}\n")
            self.assertEqual((own / "stderr").read_text(), f"err {rank}\n")
        self.assertFalse((pathlib.Path(self.folder) / "task-0/error.json").exists())
        error = json.loads((pathlib.Path(self.folder) / "task-1/error.json").read_text())
        self.assertEqual((error["task"], error["exit"], error["signal"]), (1, 1, 0))
        self.assertEqual(error["last_output"], "err 1\n")

    def test_logs_on_a_full_disk_are_told_and_the_output_goes_on(self):
        script = "echo out $RANK; echo err $RANK >&2"
        for redirects in ([], ["--redirects", "3"]):  # those too have nowhere else to go
            done = launch("--local", "2", "--log-dir", self.folder, *redirects, "--", "sh", "-c", script, most_file_bytes=0)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "out 0\n")
            for line in ("[0] err 0", "[1] err 1", "[1] out 1"):
                self.assertIn(line + "\n", done.stderr)
            for rank in (0, 1):
                for stream in ("stdout", "stderr"):
                    told = f"output of task {rank} is not kept: write {self.folder}/task-{rank}/{stream}: "
                    self.assertEqual(done.stderr.count(told), 1, done.stderr)
        done = launch("--local", "1", "--log-dir", self.folder, "--", "sh", "-c", "exit 4", most_file_bytes=0)
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"the error of task 0 is not kept: write {self.folder}/task-0/error.json: ", done.stderr)

    def test_variables_of_other_launchers(self):
        names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR TF_CONFIG"
        done = launch("-H", "127.0.1.1:2,127.0.1.2:1", "--", "sh", "-c", f"for n in {names}; do eval echo $n=\\$$n; done")
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("RANK=0", "WORLD_SIZE=3", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=127.0.1.1"):
            self.assertIn(part + "\n", done.stdout)
        self.assertIn("[2] LOCAL_RANK=0\n", done.stderr)

    def test_outer_launchers_are_hidden(self):
        done = launch("--local", "2", "--", TASK, OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=7, RANK=3, WORLD_SIZE=9)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"joined":2', done.stdout)

    def test_what_a_scheduler_would_not_get_is_refused(self):
        for words, said in (
                (("--on", "mpi", "-H", "a:4,b:4", "-np", "6"), "-np 6 beside 2 hosts of 4: 8 tasks"),
                (("--on", "slurm", "--nnodes", "2", "-np", "3"), "-np 3 beside 2 hosts"),
                (("--on", "mpi", "-H", "a:4,b:2"), "their slots differ"),
                (("--on", "slurm", "-H", "a,b", "--log-dir", "logs"), "--log-dir is of tasks that argosy launch starts itself"),
                (("--on", "mpi", "-H", "a,b", "--tee", "3"), "--tee is of tasks"),
                (("-H", "a,b", "--local", "2"), "-H, --hostfile and --local each say where"),
                (("--local", "2", "--nproc-per-node", "4"), "--nproc-per-node beside -H, --hostfile or --local")):
            done = launch(*words, "--dry-run", "--", "true")
            self.assertEqual(done.returncode, 2, (words, done.stdout))
            self.assertIn(said, done.stderr)
        done = launch("--on", "mpi", "-H", "a:2,b:2", "--dry-run", "--", "argosy", "train", "lenet")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("mpirun tells no task its number of devices", done.stderr)

    def test_dry_run_starts_nothing_and_hides_the_token(self):
        done = launch("-H", "gpu-a:4,gpu-b:4", "--dry-run", "--", "argosy", "train", "lenet", ARGOSY_JOB_TOKEN="ab" * 32)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("abab", done.stdout)
        self.assertIn("ssh -o BatchMode=yes gpu-b", done.stdout)
        self.assertEqual(done.stdout.count("argosy train lenet"), 2)

    def setUp(self):
        self.temporary = temporary()
        self.folder = self.temporary.name
        self.addCleanup(self.temporary.cleanup)


class Ends(unittest.TestCase):
    def test_one_cause_with_followers_folded(self):
        done = launch("-H", "127.0.1.1,127.0.1.2,127.0.1.3", "--", TASK, "--steps", "100000", "--fail-at", "5", "--fail-rank", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        last = done.stderr[done.stderr.rindex("error "):]
        self.assertIn("the loss is nan at step 5; 2 others stopped because of it", last)
        self.assertIn("task 1 (127.0.1.2)", last)
        self.assertIn("--lr 0.1", last)

    def test_killed_task(self):
        with Started("-H", "127.0.1.1,127.0.1.2", "--", TASK, "--steps", "1000000") as job:
            victim = json.loads(job.process.stdout.readline())
            pids = job.wait_for_family(4)
            os.kill(victim["pid"], signal.SIGKILL)
            out, err = job.process.communicate(timeout=30)
            self.assertEqual(job.process.returncode, 5, err)
            self.assertIn("task 0 (127.0.1.1) was ended by signal 9 (SIGKILL); 1 other stopped because of it", err)
            self.assertEqual(wait_until_gone(pids), [])

    def test_exit_code_is_that_of_the_first_to_fail(self):
        started = time.time()
        done = launch("--local", "2", "--", "sh", "-c", "[ $RANK = 1 ] && exit 7; sleep 60")
        self.assertEqual(done.returncode, 7)
        self.assertLess(time.time() - started, 20)
        self.assertIn("task 1 (localhost) ended with exit code 7", done.stderr)

    def test_program_that_is_not_there(self):
        done = launch("--local", "2", "--", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-program: No such file or directory", done.stderr)

    def test_interrupted(self):
        script = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(75))\nprint('ready', flush=True)\ntime.sleep(60)"
        with Started("--local", "2", "--", PYTHON, "-c", script) as job:
            self.assertEqual(job.process.stdout.readline(), "ready\n")
            time.sleep(0.5)
            job.process.send_signal(signal.SIGTERM)
            _, err = job.process.communicate(timeout=30)
            self.assertEqual(job.process.returncode, 75, err)
            self.assertNotIn("error ", err)

    def test_tasks_that_ignore_the_end_are_killed(self):
        script = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(600)"
        with Started("--local", "2", "--", PYTHON, "-c", script) as job:
            self.assertEqual(job.process.stdout.readline(), "ready\n")
            time.sleep(0.5)
            job.process.send_signal(signal.SIGTERM)
            job.process.communicate(timeout=60)
            self.assertNotEqual(job.process.returncode, 0)

    def test_an_interrupt_prints_no_empty_lines(self):
        with Started("--local", "2", "--", "argosy", "serve", "--emulate", "1") as job:  # at the ports of TF_CONFIG
            self.assertTrue(job.process.stdout.readline().startswith("serving "))
            time.sleep(2)
            job.process.send_signal(signal.SIGINT)
            _, err = job.process.communicate(timeout=60)
            self.assertIn("[1] closing the sessions", err)
            self.assertNotIn("[1] \n", err)
            self.assertNotIn("[0] \n", err)

    def test_second_signal_ends_the_deaf(self):
        script = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(600)"
        with Started("--local", "2", "--", PYTHON, "-c", script) as job:
            self.assertEqual(job.process.stdout.readline(), "ready\n")
            pids = job.wait_for_family(4)
            job.process.send_signal(signal.SIGINT)
            time.sleep(1)
            self.assertIsNone(job.process.poll())
            job.process.send_signal(signal.SIGINT)
            job.process.communicate(timeout=30)
            self.assertEqual(wait_until_gone(pids), [])

    def test_deaf_tasks_end_after_a_failure(self):
        script = ("import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                  "sys.exit(3) if os.environ['RANK'] == '1' else time.sleep(600)")
        started = time.time()
        done = launch("--local", "2", "--", PYTHON, "-c", script)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertLess(time.time() - started, 20)


class Unread(unittest.TestCase):
    """Output that nobody reads holds the tasks that write it, and nobody else."""

    FLOOD = "\nwhile True: sys.stdout.write('x' * 100 + '\\n')"

    def seconds_of_end(self, code, signals):
        with Started("--local", "2", "--", PYTHON, "-c", "import os, signal, sys" + code + self.FLOOD) as job:
            pids = job.wait_for_family(4)
            time.sleep(3)
            self.assertIsNone(job.process.poll())
            begin = time.time()
            for pause in range(signals):
                time.sleep(pause)
                job.process.send_signal(signal.SIGTERM)
            code = job.process.wait(30)
            self.assertEqual(wait_until_gone(pids), [])
            return code, time.time() - begin

    def test_a_signal_ends_the_job(self):
        code, seconds = self.seconds_of_end("", 1)
        self.assertEqual(code, 143)
        self.assertLess(seconds, 10)

    def test_a_signal_reaches_a_task_that_saves(self):
        code, seconds = self.seconds_of_end("\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(75))", 1)
        self.assertEqual(code, 75)
        self.assertLess(seconds, 10)

    def test_a_second_signal_ends_the_deaf(self):
        code, seconds = self.seconds_of_end("\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)", 2)
        self.assertEqual(code, 137)
        self.assertLess(seconds, 10)

    def test_a_late_reader_gets_all(self):
        code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 60000)"
        with subprocess.Popen([PROGRAM, "launch", "--local", "2", "--", PYTHON, "-c", code], env=clean_environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as late:
            time.sleep(3)
            self.assertEqual(late.stdout.read(), bytes(range(256)) * 60000)
            self.assertEqual(late.wait(30), 0)


class Orphans(unittest.TestCase):
    # A child in a session of its own, and the task itself, both deaf to everything but SIGKILL.
    SCRIPT = ("import signal, subprocess, sys, time\n"
              "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\n"
              "child = subprocess.Popen([sys.executable, '-c', 'import time\\nwhile True: time.sleep(1)'], start_new_session=True)\n"
              "print('ready', flush=True)\ntime.sleep(600)")

    def test_launch_killed(self):
        with Started("--local", "2", "--", PYTHON, "-c", self.SCRIPT) as job:
            self.assertEqual(job.process.stdout.readline(), "ready\n")
            pids = job.wait_for_family(6)
            job.process.kill()
            self.assertEqual(wait_until_gone(pids), [])

    def test_agent_killed(self):
        with Started("--local", "2", "--", PYTHON, "-c", self.SCRIPT) as job:
            self.assertEqual(job.process.stdout.readline(), "ready\n")
            pids = job.wait_for_family(6)
            os.kill(pids[0], signal.SIGKILL)  # the first of its children: an agent
            job.process.communicate(timeout=30)
            self.assertEqual(job.process.returncode, 5)
            self.assertEqual(wait_until_gone(pids), [])

    def test_what_a_task_leaves_behind_ends_with_it(self):
        script = "import subprocess, sys\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nprint('done')"
        with Started("--local", "1", "--", PYTHON, "-c", script + "\nimport time; time.sleep(1)") as job:
            pids = job.wait_for_family(3)
            job.process.communicate(timeout=30)
            self.assertEqual(job.process.returncode, 0)
            self.assertEqual(wait_until_gone(pids), [])


class BySsh(unittest.TestCase):
    """A program named ssh that runs the command here, as a host that nobody else is."""

    def setUp(self):
        self.temporary = temporary()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.calls = self.folder / "calls"
        fake = self.folder / "ssh"
        fake.write_text(f"""#!/bin/sh
echo "$@" >> {self.calls}
[ "$1 $2" = "-o BatchMode=yes" ] || exit 255
case $3 in
  dead) echo "ssh: connect to host dead port 22: No route to host" >&2; exit 255;;
  noisy) echo "Welcome to noisy";;
  silent) exec sleep 600;;
esac
exec sh -c "$4"
""")
        fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
        self.environment = {"PATH": f"{self.folder}:{os.environ['PATH']}", "ARGOSY_HOST_MAP": "one=127.0.1.1,two=127.0.1.2"}

    def test_joins_and_says_the_token_to_nobody(self):
        done = launch("--on", "ssh", "-H", "one,two", "--", TASK, ARGOSY_JOB_TOKEN="cd" * 32, **self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"hosts":["one","two"]', done.stdout)
        self.assertNotIn("cdcd", self.calls.read_text())
        self.assertEqual(len(self.calls.read_text().splitlines()), 2)

    def test_host_that_is_not_there(self):
        done = launch("--on", "ssh", "-H", "one,dead", "--start-timeout", "20", "--", TASK, **self.environment)
        self.assertEqual(done.returncode, 3, done.stderr)
        told = done.stderr[done.stderr.rindex("error "):]
        self.assertIn("host dead is not reached by ssh: ssh: connect to host dead port 22: No route to host", told)
        self.assertIn("try    ssh -o BatchMode=yes dead true", told)

    def test_host_without_the_program(self):
        done = launch("--on", "ssh", "-H", "one", "--remote-argosy", "/no/such/argosy", "--", "true", **self.environment)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("argosy cannot be started on host one", done.stderr)
        self.assertIn("--remote-argosy PATH", done.stderr)

    def test_host_that_never_answers_does_not_hold_a_signal_up(self):
        with Started("--on", "ssh", "-H", "silent", "--", "true", **self.environment) as job:
            pids = job.wait_for_family(1)
            time.sleep(0.5)
            begin = time.time()
            job.process.send_signal(signal.SIGTERM)
            self.assertEqual(job.process.wait(20), 143)
            self.assertLess(time.time() - begin, 10)
            self.assertEqual(wait_until_gone(pids), [])

    def test_host_that_falls_silent_ends_with_the_second_signal(self):
        with Started("--on", "ssh", "-H", "one", "--", "sh", "-c", "echo ready; exec sleep 600", **self.environment) as job:
            self.assertEqual(job.process.stdout.readline(), "ready\n")
            pids = job.wait_for_family(2)
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            for _ in range(2):
                job.process.send_signal(signal.SIGTERM)
                time.sleep(1)
            self.assertNotEqual(job.process.wait(20), 0)
            for pid in filter(alive, pids):
                os.kill(pid, signal.SIGCONT)
            self.assertEqual(wait_until_gone(pids), [])

    def test_host_that_talks(self):
        done = launch("--on", "ssh", "-H", "noisy", "--", "true", **self.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Welcome to noisy", done.stderr[done.stderr.rindex("error "):])

    def test_launch_killed(self):
        with Started("--on", "ssh", "-H", "one,two", "--", "sh", "-c", "echo ready; sleep 600", **self.environment) as job:
            self.assertEqual(job.process.stdout.readline(), "ready\n")
            pids = job.wait_for_family(5)
            job.process.kill()
            self.assertEqual(wait_until_gone(pids), [])


class TorchrunsWords(unittest.TestCase):
    def test_typed_once_on_each_host(self):
        token = {"ARGOSY_JOB_TOKEN": "ef" * 32}
        words = ("--nnodes", "2", "--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", "21000")
        with Started(*words, "--node-rank", "1", "--", TASK, **token) as second:
            done = launch(*words, "--node-rank", "0", "--", TASK, **token)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('"joined":4', done.stdout)
            self.assertEqual(second.process.wait(30), 0)

    def test_needs_a_token_and_an_address(self):
        for words, environment in ((("--nnodes", "2", "--node-rank", "0", "--master-addr", "a"), {}),
                                   (("--nnodes", "2"), {"ARGOSY_JOB_TOKEN": "ef" * 32})):
            done = launch(*words, "--", TASK, **environment)
            self.assertEqual(done.returncode, 2, done.stderr)


class StatusAndCheck(unittest.TestCase):
    def test_status_names_who_is_waited_for(self):
        with Started("-H", "127.0.1.1,127.0.1.2,127.0.1.3", "--", TASK, "--steps", "1000", "--slow-rank", "2") as job:
            address = json.loads(job.process.stdout.readline())["address"]
            time.sleep(2.5)
            done = subprocess.run([PROGRAM, "status", address, "--json"], env=clean_environment(), capture_output=True, text=True,
                                  timeout=30)
            self.assertEqual(done.returncode, 0, done.stderr)
            status = json.loads(done.stdout)
            self.assertEqual([task["state"] for task in status["tasks"]], ["running"] * 3)
            self.assertTrue(status["waits"].startswith("tasks 0, 1 wait for task 2 (127.0.1.3)"), status["waits"])
            text = subprocess.run([PROGRAM, "status", address], env=clean_environment(), capture_output=True, text=True, timeout=30)
            self.assertIn("127.0.1.2", text.stdout)
            other = subprocess.run([PROGRAM, "status", address], env=clean_environment(ARGOSY_JOB_TOKEN="00" * 31 + "01"),
                                   capture_output=True, text=True, timeout=30)
            self.assertEqual(other.returncode, 3)
            self.assertIn("ARG-CLUSTER-034", other.stderr)

    def test_status_of_another_server(self):
        server = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--emulate", "1", "--json"], env=clean_environment(),
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            port = json.loads(server.stdout.readline())["port"]
            done = subprocess.run([PROGRAM, "status", f"127.0.0.1:{port}"], env=clean_environment(), capture_output=True, text=True,
                                  timeout=30)
        finally:
            server.kill()
            server.communicate()
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"is no coordinator of a job(: \S.*)?\n")

    def test_status_of_nothing(self):
        done = subprocess.run([PROGRAM, "status", "127.0.0.1:1"], env=clean_environment(), capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 3)
        self.assertIn("connection refused", done.stderr)

    def test_check(self):
        done = launch("-H", "127.0.1.1,127.0.1.2,127.0.1.3", "--", "argosy", "cluster", "check", "--json")
        self.assertEqual(len(json.loads(done.stdout)["pairs"]), 6, done.stderr)
        self.assertEqual([p["error"] for p in json.loads(done.stdout)["pairs"]], [""] * 6)

    def test_check_alone(self):
        done = subprocess.run([PROGRAM, "cluster", "check"], env=clean_environment(), capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 2)
        self.assertIn("ARG-CLUSTER-055", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--task", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM, TASK = os.path.abspath(options.program), os.path.abspath(options.task)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
