"""The address of this machine that others would reach, for tests of what happens beyond loopback."""
import socket


def own_address():
    """Of this machine, beyond loopback; None: no network. Packets to it stay here."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            any_socket.connect(("192.0.2.77", 9))  # sends nothing
            address = any_socket.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address
