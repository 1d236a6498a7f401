#!/usr/bin/env python3
"""What `argosy run` leaves in its program's environment (ctest "cli_run_environment"): the command of a server that the
program starts has this run's flags, and `argosy serve` takes them. And what it does where that cannot be.
"""
import argparse
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/jobs"))
from own_address import own_address  # noqa: E402

PROGRAM = "argosy"
FLAGS = [["--replicate", "2"], ["--strategy", "dp,accumulate=2"], ["--sync-batch-norm"], ["--check", "2"]]


def run(*words, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ARGOSY_") and k != "TF_CONFIG"}
    environment.update(more.pop("environment", {}))
    return subprocess.run([PROGRAM, "run", "--emulate", "1", *words], capture_output=True, text=True, timeout=60, env=environment,
                          **more)


def command_of_server(*flags):
    script = "import os; print(os.environ['ARGOSY_SERVE'])"
    done = subprocess.run([PROGRAM, "run", "--emulate", "2", *flags, "--", sys.executable, "-c", script], capture_output=True,
                          text=True, timeout=60, check=True)
    return json.loads(done.stdout.splitlines()[0])


class Environment(unittest.TestCase):
    def test_servers_of_the_script_have_the_flags_of_the_run(self):
        for flags in FLAGS:
            replicated = [] if flags[0] in ("--replicate", "--strategy") else ["--replicate"]  # which the others need
            told = " ".join(command_of_server(*replicated, *flags))
            self.assertIn(" ".join(flags), told)
        plain = command_of_server()
        for flags in FLAGS:
            self.assertNotIn(flags[0], plain)

    def test_such_a_server_starts(self):
        command = command_of_server(*[word for flags in FLAGS for word in flags])
        server = subprocess.Popen([PROGRAM, *command[1:], "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            self.assertTrue(server.stdout.readline().startswith("serving "))
        finally:
            server.kill()
            server.wait()
            server.stdout.close()

    def test_servers_of_the_script_let_in_whom_the_run_names(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--allow-files", folder, "--insecure-cluster", "10.0.0.0/8", "--any-local-user"]
            told = " ".join(command_of_server(*flags))
            for words in (f"--allow-files {folder}", "--insecure-cluster 10.0.0.0/8", "--any-local-user"):
                self.assertIn(words, told)
        done = run("--tls-cert", "c.pem", "--tls-key", "k.pem", "--tls-ca", "/ca.pem", "--", sys.executable, "-c",
                   "import os; print(os.environ['ARGOSY_SERVE'])")
        for words in (f"--tls-cert {os.getcwd()}/c.pem", f"--tls-key {os.getcwd()}/k.pem", "--tls-ca /ca.pem"):
            self.assertIn(words, " ".join(json.loads(done.stdout.splitlines()[0])))
        half = run("--tls-cert", "c.pem", "--", "true")
        self.assertEqual(half.returncode, 2)
        self.assertIn("--tls-key", half.stderr)

    def test_a_task_beyond_this_host(self):
        host = own_address()
        if host is None:
            self.skipTest("this machine has no address beyond loopback")
        with socket.socket() as free:
            free.bind((host, 0))
            port = free.getsockname()[1]
        task = ["--cluster", json.dumps({"ps": [f"{host}:{port}"]}), "--job", "ps", "--task", "0"]
        closed = run(*task, "--", "true")
        self.assertEqual(closed.returncode, 2)
        self.assertIn("--insecure-cluster", closed.stderr)
        for flags, environment in ((["--insecure-cluster", f"{host}/32"], {}), ([], {"ARGOSY_INSECURE_CLUSTER": f"{host}/32"})):
            opened = run(*task, *flags, "--", "true", environment=environment)
            self.assertEqual(opened.returncode, 0, opened.stderr)
            self.assertIn(f"graphs may use no files at {host}:{port}", opened.stderr)
            self.assertIn("--allow-files DIR", opened.stderr)
            self.assertIn("ran  /job:ps/task:0 of its cluster: no session was opened here", opened.stderr)
        allowed = run(*task, "--insecure-cluster", f"{host}/32", "--allow-files", "/tmp", "--", "true")
        self.assertEqual(allowed.returncode, 0, allowed.stderr)
        self.assertNotIn("graphs may use no files", allowed.stderr)

    def test_a_host_whose_own_name_is_on_loopback_is_reached(self):
        host = own_address()
        if host is None or os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("needs an address beyond loopback, root and unshare")
        with socket.socket() as free:
            free.bind((host, 0))
            port = free.getsockname()[1]
        with tempfile.NamedTemporaryFile("w") as hosts:  # as Debian writes it
            hosts.write("127.0.0.1 localhost\n127.0.1.1 gpu-a\n")
            hosts.flush()
            script = ("import socket\nfor host in ('gpu-a', %r): socket.create_connection((host, %d), 5).close()\nprint('reached')"
                      % (host, port))
            words = [PROGRAM, "run", "--emulate", "1", "--cluster", json.dumps({"ps": ["gpu-a:%d" % port]}), "--job", "ps",
                     "--insecure-cluster", host + "/32", "--", sys.executable, "-c", script]
            done = subprocess.run(["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts.name, *words],
                                  capture_output=True, text=True, timeout=60)
        if "mount:" in done.stderr or "unshare:" in done.stderr:
            self.skipTest("no mounts here: " + done.stderr)
        self.assertEqual(done.stdout, "reached\n", done.stderr)

    def test_a_port_that_is_taken_is_no_peer_that_is_gone(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            done = run("--cluster", json.dumps({"ps": [address]}), "--job", "ps", "--", "true")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(address.split(":")[1], done.stderr)

    def test_a_temporary_folder_that_cannot_be_used_is_named(self):
        done = run("--", "true", environment={"TMPDIR": "/no/such/folder"})
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('"/no/such/folder" cannot be used', done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            full = run("--", "true", environment={"TMPDIR": folder},
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
            self.assertEqual(full.returncode, 3, full.stderr)
            self.assertIn(f'"{folder}" cannot be used', full.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_what_follows_the_program_is_its_own(self):
        show = "import sys; print(sys.argv[1:])"
        for dashes in ([], ["--"]):
            done = run(*dashes, sys.executable, "-c", show, "--emulate", "2", "--json", "--epochs", "3")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "['--emulate', '2', '--json', '--epochs', '3']\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM = options.program
    unittest.main(argv=sys.argv[:1] + rest)
