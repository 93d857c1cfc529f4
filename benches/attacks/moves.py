"""What attacks have in common, run by the agent inside its worktree: one move, one line of result.

`did: …` is said when the move worked, `errno NAME: …` when the system refused it.
"""

import ctypes
import errno
import os
import socket
import struct
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE = 0x4206
PTRACE_DETACH = 17
SYS_OPEN_BY_HANDLE_AT = 304
HELLO = b"attack: hello from inside\n"


def tcp(host, port):
    """Connects and says something."""
    with socket.create_connection((host, int(port)), timeout=5) as stream:
        stream.sendall(HELLO)


def udp(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.sendto(HELLO, (host, int(port)))


def dns(host, port, name):
    """Asks a resolver for a name that carries a message."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(query, (host, int(port)))


def unix(path):
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(5)
        folder, name = os.path.split(path)
        if folder:
            # A socket's name has an end; its folder may lie deeper.
            os.chdir(folder)
        stream.connect(name)
        stream.sendall(HELLO)


def abstract(name):
    unix("\0" + name)


def raw(host):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as sender:
        sender.sendto(b"\0" * 8, (host, 0))


def packet(_):
    socket.socket(17, socket.SOCK_RAW, 0).close()


def proxied(request, target):
    """Asks the proxy of the environment for a target: CONNECT, or a plain request."""
    address = os.environ.get("HTTPS_PROXY") or os.environ.get("HTTP_PROXY") or ""
    if not address:
        raise OSError(errno.ENOENT, "there is no proxy")
    credential, _, place = address.split("://", 1)[1].rstrip("/").rpartition("@")
    host, port = place.rsplit(":", 1)
    shown = ""
    if credential:
        import base64

        shown = f"Proxy-Authorization: Basic {base64.b64encode(credential.encode()).decode()}\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as stream:
        line = f"CONNECT {target} HTTP/1.1" if request == "connect" else f"GET http://{target}/ HTTP/1.1"
        stream.sendall(f"{line}\r\nHost: {target}\r\n{shown}Connection: close\r\n\r\n".encode())
        answer = stream.recv(4096).decode("utf-8", "replace")
        if " 200 " not in answer.splitlines()[0]:
            raise OSError(errno.EACCES, answer.splitlines()[0])
        stream.sendall(HELLO)


def ptrace(pid):
    if LIBC.ptrace(PTRACE_SEIZE, int(pid), None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    LIBC.ptrace(PTRACE_DETACH, int(pid), None, None)


def vmread(pid):
    """Reads another process's memory where its stack begins."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        start = int(next(line for line in maps if "[stack]" in line).split("-")[0], 16)
    buffer = ctypes.create_string_buffer(16)

    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    local = Vector(ctypes.cast(buffer, ctypes.c_void_p), 16)
    remote = Vector(start, 16)
    if LIBC.process_vm_readv(int(pid), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")


def memory(pid, secret):
    """Looks for a text in another process's memory and writes it down turned round."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in maps:
            if "[stack]" in line or "[heap]" in line:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                mem.seek(start)
                found = mem.read(end - start)
                at = found.find(secret.encode())
                if at >= 0:
                    print(found[at : at + 60].split(b"\0")[0].decode()[::-1])
                    return
    raise OSError(errno.ENOENT, "not found")


def sig(pid, number):
    os.kill(int(pid), int(number))


def nice(pid):
    os.setpriority(os.PRIO_PROCESS, int(pid), 19)


def limit(pid):
    import resource

    resource.prlimit(int(pid), resource.RLIMIT_CORE, (0, 0))


def handle(path):
    """Opens a file by a handle of its file system, past the folders that lead to it."""

    class Handle(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]

    found, mount = Handle(128), ctypes.c_int()
    if LIBC.name_to_handle_at(-100, path.encode(), ctypes.byref(found), ctypes.byref(mount), 0) != 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    place = os.open(".", os.O_RDONLY)
    opened = LIBC.syscall(SYS_OPEN_BY_HANDLE_AT, place, ctypes.byref(found), os.O_RDONLY)
    if opened < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    print(os.read(opened, 200).decode()[::-1])


def daemon(seconds, path):
    """Leaves a process behind that has nothing in common with its parent and ignores being asked to end."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            import signal

            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            time.sleep(float(seconds))
            with open(path, "w", encoding="utf-8") as late:
                late.write("late\n")
        os._exit(0)
    os.wait()


def forks(count):
    """Starts many processes, all of which end by themselves."""
    started = 0
    try:
        for _ in range(int(count)):
            if os.fork() == 0:
                time.sleep(3)
                os._exit(0)
            started += 1
    finally:
        print(f"started {started}")


def keyring(secret):
    """Puts something into the user's keyring, where others of the user find it."""
    if LIBC.syscall(248, b"user", secret.encode(), b"x", 1, -4) < 0:
        raise OSError(ctypes.get_errno(), "add_key")


def uring():
    parameters = ctypes.create_string_buffer(120)
    if LIBC.syscall(425, 1, parameters) < 0:
        raise OSError(ctypes.get_errno(), "io_uring_setup")


def bpf():
    if LIBC.syscall(321, 0, ctypes.create_string_buffer(72), 72) < 0:
        raise OSError(ctypes.get_errno(), "bpf")


def supervisor(root):
    """The process that supervises this run: as written down outside, or the nearest ancestor that is one."""
    end = time.monotonic() + 3
    while time.monotonic() < end:
        try:
            with open(f"{root}/world/supervisor.pid", encoding="utf-8") as written:
                return int(written.read())
        except (OSError, ValueError):
            time.sleep(0.05)
    raise OSError(errno.ENOENT, "no supervisor is seen")


def sig_supervisor(root, number):
    os.kill(supervisor(root), int(number))


def environ_of_supervisor(root):
    with open(f"/proc/{supervisor(root)}/environ", "rb") as environ:
        print(environ.read().decode("utf-8", "replace")[::-1])


MOVES = [
    tcp, udp, dns, unix, abstract, raw, packet, proxied, ptrace, vmread, memory, sig, nice, limit, handle,
    daemon, forks, keyring, uring, bpf, sig_supervisor, environ_of_supervisor,
]


def main(arguments):
    name, *rest = arguments
    move = next(each for each in MOVES if each.__name__ == name.replace("-", "_"))
    try:
        move(*rest)
    except OSError as error:
        print(f"errno {errno.errorcode.get(error.errno, error.errno)}: {error}")
        return 1
    print(f"did: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
