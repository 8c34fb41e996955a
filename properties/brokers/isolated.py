"""Runs a program in a network namespace of its own, and forwards one loopback port to it.

    isolated.py PORT PROGRAM ARGUMENT...

For a program that listens on all interfaces: nothing outside of this machine can reach it. It runs
as a file and needs nothing of this package. Temporary files of the program go to the current
folder. A child process forwards connections to 127.0.0.1:PORT from the namespace of the caller; it
ends with the program.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys
import threading

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1  # linux/sockios.h, linux/if.h
CHUNK_BYTES = 65_536


def isolate() -> None:
    """Move this process into a new network namespace with a loopback interface.

    Raises:
        OSError: this machine does not allow it.
    """
    unshare = getattr(ctypes.CDLL(None, use_errno=True), "unshare", None)
    if unshare is None:
        raise OSError(0, "no network namespaces on this system")
    # A new user namespace has the capability that the network namespace needs; root has it anyway.
    if unshare(CLONE_NEWUSER | CLONE_NEWNET) and unshare(CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    with socket.socket() as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy one direction of a connection; when it ends, for any reason, both directions end."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(CHUNK_BYTES):
            target.sendall(chunk)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _forward(client: socket.socket, port: int) -> None:
    with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as own:
        for each in (client, own):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=_copy, args=(own, client), daemon=True)
        back.start()
        _copy(client, own)
        back.join()


def _serve(listener: socket.socket, port: int) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_forward, args=(client, port), daemon=True).start()


def main() -> None:
    """Run the program given by the arguments of this one."""
    port, argv = int(sys.argv[1]), sys.argv[2:]
    listener = socket.create_server(("127.0.0.1", port))  # in the namespace of the caller
    try:
        isolate()
    except OSError as error:
        sys.exit(f"no network namespace of its own: {error.strerror}")
    ended, program_runs = os.pipe()
    if os.fork() == 0:
        os.close(program_runs)
        threading.Thread(target=_serve, args=(listener, port), daemon=True).start()
        os.read(ended, 1)  # returns when the program ends, which holds the other end
        os._exit(0)
    os.set_inheritable(program_runs, True)  # noqa: FBT003 (its only form)
    listener.close()
    os.environ["TMPDIR"] = os.getcwd()  # noqa: PTH109 (as text)
    os.execv(argv[0], argv)  # noqa: S606 (the arguments of this program)


if __name__ == "__main__":
    main()
