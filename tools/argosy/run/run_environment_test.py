#!/usr/bin/env python3
"""What `argosy run` leaves in its program's environment (ctest "cli_run_environment"): the command of a server that the
program starts has this run's flags, and `argosy serve` takes them.
"""
import argparse
import json
import subprocess
import sys
import unittest

PROGRAM = "argosy"
FLAGS = [["--replicate", "2"], ["--strategy", "dp,accumulate=2"], ["--sync-batch-norm"], ["--check", "2"]]


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM = options.program
    unittest.main(argv=sys.argv[:1] + rest)
