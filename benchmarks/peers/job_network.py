"""Two hosts that are network namespaces of this machine, one cable between them. Needs root."""
import os
import subprocess
import sys

from contest import LEFT_OUT

NETWORK = "10.79.0"


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class TwoHosts:
    """`with TwoHosts() as hosts`: host n has the address NETWORK.(n + 1). Left out where namespaces cannot be made."""

    def __init__(self):
        self.names = [f"argosyb{os.getpid() % 100000}h{n}" for n in range(2)]

    def __enter__(self):
        try:
            for name in self.names:
                ip("netns", "add", name)
            ip("link", "add", "eth0", "netns", self.names[0], "type", "veth", "peer", "name", "eth0", "netns", self.names[1])
            for n, name in enumerate(self.names):
                ip("-n", name, "addr", "add", f"{NETWORK}.{n + 1}/24", "dev", "eth0")
                ip("-n", name, "link", "set", "eth0", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            self.remove()
            print(f"no network namespaces here (they need root): {error}", file=sys.stderr)
            sys.exit(LEFT_OUT)
        return self

    def at(self, n, words):
        return ["ip", "netns", "exec", self.names[n], *words]

    def unplug(self):
        ip("-n", self.names[1], "link", "set", "eth0", "down")

    def remove(self):
        for name in self.names:
            ip("netns", "del", name, check=False)

    def __exit__(self, *_):
        self.remove()
