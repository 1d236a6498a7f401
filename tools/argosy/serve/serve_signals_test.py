#!/usr/bin/env python3
"""Signals that end argosy serve (ctest "cli_serve_signals"): each closes the sessions, says so, and leaves with 0."""
import argparse
import json
import signal
import subprocess
import unittest

PROGRAM = ""
NOTICE = b"closing the sessions"


def start(*before):
    server = subprocess.Popen([*before, PROGRAM, "serve", "--port", "0", "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    return server, json.loads(server.stdout.readline())["pid"]


class Signals(unittest.TestCase):
    def end(self, server, sent):
        server.send_signal(sent)
        try:
            _, err = server.communicate(timeout=20)
        finally:
            server.kill()
        return server.returncode, err

    def test_each_closes_the_sessions(self):
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(sent.name):
                code, err = self.end(start()[0], sent)
                self.assertEqual(code, 0, err)
                self.assertIn(NOTICE, err)

    def test_nohup_keeps_it(self):
        server, pid = start("env", "--ignore-signal=HUP")
        self.assertEqual(server.pid, pid)
        server.send_signal(signal.SIGHUP)
        with self.assertRaises(subprocess.TimeoutExpired):
            server.wait(1)
        self.assertEqual(self.end(server, signal.SIGTERM)[0], 0)

    def test_the_help_names_them(self):
        text = subprocess.run([PROGRAM, "serve", "--help"], capture_output=True, text=True, timeout=20, check=True).stdout
        for name in ("Ctrl-C", "SIGTERM", "SIGHUP", "SIGUSR1"):
            self.assertIn(name, text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    known, rest = parser.parse_known_args()
    PROGRAM = known.program
    unittest.main(argv=["serve_signals_test", *rest])
