"""argosy launch by a real ssh: a daemon and keys of the test's own, two addresses of this machine as hosts.

  ssh_test.py --program build/release/bin/argosy --task build/release/bin/job_task
"""
import argparse
import getpass
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from cluster_jobs import clean_environment, family, free_port, temporary

PROGRAM = TASK = ""
HOSTS = {"one": "127.0.1.1", "two": "127.0.1.2"}
TINY = ["train", "lenet", "--steps", "12", "--batch", "32", "--quiet", "--json"]


def daemon_program():
    return shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


class Daemon:
    """sshd at the addresses of HOSTS. A program `ssh` in `folder` takes the test's keys: as a user's own configuration."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        port = free_port(HOSTS["one"])
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized")
        (self.folder / "sshd_config").write_text("\n".join([
            f"Port {port}", *(f"ListenAddress {address}" for address in HOSTS.values()), f"HostKey {self.folder}/host",
            f"AuthorizedKeysFile {self.folder}/authorized", f"PidFile {self.folder}/pid", "PasswordAuthentication no",
            "StrictModes no", "UsePAM no", "PermitRootLogin yes", "AllowAgentForwarding no", ""]))
        known = (self.folder / "host.pub").read_text()
        (self.folder / "known").write_text("".join(f"[{address}]:{port} {known}" for address in HOSTS.values()))
        # A host whose daemon refuses the key, and one where nobody listens.
        hosts = [(name, address, "user") for name, address in HOSTS.items()]
        hosts += [("stranger", "127.0.1.1", "host"), ("gone", "127.0.1.3", "user")]
        text = "".join(f"Host {name}\n  HostName {address}\n  IdentityFile {self.folder}/{key}\n" for name, address, key in hosts)
        text += f"Host *\n  Port {port}\n  User {getpass.getuser()}\n  IdentitiesOnly yes\n  UserKnownHostsFile {self.folder}/known\n"
        (self.folder / "config").write_text(text)
        wrapper = self.folder / "ssh"
        wrapper.write_text(f'#!/bin/sh\necho "$@" >> {self.folder}/calls\nexec {shutil.which("ssh")} -F {self.folder}/config "$@"\n')
        wrapper.chmod(0o755)
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # where it gives up root's rights
        self.log = (self.folder / "log").open("w+")
        self.process = subprocess.Popen([daemon_program(), "-D", "-e", "-f", self.folder / "sshd_config"], stderr=self.log,
                                        stdin=subprocess.DEVNULL)
        self.environment = {"PATH": f"{self.folder}:{os.environ['PATH']}",
                            "ARGOSY_HOST_MAP": ",".join(f"{name}={address}" for name, address in HOSTS.items())}
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                for address in HOSTS.values():
                    socket.create_connection((address, port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(self.said())

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def sessions(self):
        """Processes that the daemon started and that still run."""
        return family(self.process.pid)

    def wait_until_quiet(self, seconds=15):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.sessions():
            time.sleep(0.05)
        return self.sessions()

    def end(self):
        for pid in [*self.sessions(), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.log.close()


class BySsh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = temporary()
        cls.daemon = Daemon(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.end()
        cls.temporary.cleanup()

    def launch(self, *words, timeout=120, **environment):
        return subprocess.run([PROGRAM, "launch", *words], env=clean_environment(**self.daemon.environment, **environment),
                              capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def commands(self):
        """What was typed on the hosts: the ssh of the test writes it down."""
        return (self.daemon.folder / "calls").read_text()

    def tearDown(self):
        self.assertEqual(self.daemon.wait_until_quiet(), [], "left running on a host")

    def test_tasks_come_together(self):
        done = self.launch("--on", "ssh", "-H", "one:2,two", "--", TASK)
        self.assertEqual(done.returncode, 0, done.stderr + self.daemon.said())
        documents = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.assertEqual((documents[0]["joined"], documents[0]["hosts"]), (3, ["one", "one", "two"]))

    def test_output_and_exit_codes(self):
        done = self.launch("--on", "ssh", "-H", "one,two", "--", "sh", "-c", "echo out $RANK; echo err $RANK >&2; exit $((RANK * 7))")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stdout, "out 0\n")
        for line in ("[0] err 0", "[1] err 1", "[1] out 1"):
            self.assertIn(line + "\n", done.stderr)

    def test_training_has_the_bits_of_one_process(self):
        alone = subprocess.run([PROGRAM, *TINY, "--emulate", "2"], env=clean_environment(), capture_output=True, text=True,
                               timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        done = self.launch("--on", "ssh", "-H", "one,two", "--", PROGRAM, *TINY, "--emulate", "1")
        self.assertEqual(done.returncode, 0, done.stderr + self.daemon.said())
        losses = json.loads(alone.stdout)["losses"]
        self.assertEqual(len(losses), 12)
        self.assertEqual(json.loads(done.stdout)["losses"], losses)

    def test_variables_reach_every_host(self):
        script = "echo $RANK own=$ARGOSY_PASSED here=$PASSED_HERE set=$PASSED_SET other=$NOT_PASSED"
        done = self.launch("--on", "ssh", "-H", "one,two", "-x", "PASSED_HERE", "-x", "PASSED_SET=a b", "--", "sh", "-c", script,
                           ARGOSY_PASSED="its-own-value", PASSED_HERE="here", NOT_PASSED="other")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "0 own=its-own-value here=here set=a b other=\n")
        self.assertIn("[1] 1 own=its-own-value here=here set=a b other=\n", done.stderr)
        self.assertNotIn("its-own-value", self.commands())

    def test_killed_task_ends_the_other_host(self):
        began = time.monotonic()
        done = self.launch("--on", "ssh", "-H", "one,two", "--", "sh", "-c", "[ $RANK = 1 ] && kill -9 $$; sleep 600")
        self.assertNotEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - began, 60)

    def test_terminated_launch_ends_both_hosts(self):
        process = subprocess.Popen([PROGRAM, "launch", "--on", "ssh", "-H", "one,two", "--", "sh", "-c", "echo ready; sleep 600"],
                                   env=clean_environment(**self.daemon.environment), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)

    def test_lost_connection_ends_the_job(self):
        process = subprocess.Popen([PROGRAM, "launch", "--on", "ssh", "-H", "one,two", "--", "sh", "-c", "echo ready; sleep 600"],
                                   env=clean_environment(**self.daemon.environment), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), "ready\n")
        ssh = [pid for pid in family(process.pid) if pid != process.pid and pathlib.Path(f"/proc/{pid}/comm").read_text() == "ssh\n"]
        self.assertTrue(ssh, "no ssh was started")
        os.kill(ssh[0], signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)

    def test_refused_key_and_absent_host_are_told(self):
        for host, words in (("stranger", "Permission denied"), ("gone", "Connection refused")):
            done = self.launch("--on", "ssh", "-H", f"one,{host}", "--start-timeout", "20", "--", TASK)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr[done.stderr.rindex("error "):])


def main():
    global PROGRAM, TASK
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--task", required=True)
    args, rest = parser.parse_known_args()
    PROGRAM, TASK = args.program, args.task
    missing = [name for name, found in (("sshd", daemon_program()), ("ssh", shutil.which("ssh")),
                                        ("ssh-keygen", shutil.which("ssh-keygen"))) if not found]
    if missing:
        print(f"skipped: {', '.join(missing)} is not installed (Debian: openssh-server)")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
