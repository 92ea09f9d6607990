# SPDX-License-Identifier: Apache-2.0
"""Ways past rules on endpoints, one an argument: prints REACHED when one reaches what a policy with
`--connect a.example.net:80` does not open, else what was said instead. Outside of the sandbox each
of them reaches it."""
import ctypes
import os
import socket
import struct
import sys
import threading
import time

OTHER = "93.184.216.35"  # of other.example.net, port 80: no rule opens it
libc = ctypes.CDLL(None, use_errno=True)


def page(s):
    """The Host that the server at the other end was asked for, by its own address."""
    s.settimeout(10)
    s.sendall(b"GET /who HTTP/1.0\r\nHost: x\r\n\r\n")
    data = s.recv(999)
    return b" 200 " in data


def tcp(address, port=80, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(10)
    s.connect((address, port))
    return page(s)


def udp(port, data=b"ping"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    s.sendto(data, (OTHER, port))
    return s.recv(99) == data


def literal():
    return tcp(OTHER)


def name():
    return page(socket.create_connection(("other.example.net", 80), 10))


def trailing_dot():
    return page(socket.create_connection(("OTHER.example.net.", 80), 10))


def mapped():
    return tcp("::ffff:" + OTHER, family=socket.AF_INET6)


def six():
    return tcp("2a00:1450::5", family=socket.AF_INET6)


def decimal():
    return tcp(socket.inet_ntoa(struct.pack(">I", 0x5DB8D823)))


def host_loopback():
    return tcp("127.0.0.1")


def host_zero():
    return tcp("0.0.0.0")


def host_short():
    return page(socket.create_connection(("127.1", 80), 10))


def host_number():
    return page(socket.create_connection(("2130706433", 80), 10))


def host_mapped():
    return tcp("::ffff:127.0.0.1", family=socket.AF_INET6)


def datagram():
    return udp(7)


def quic():
    return udp(443)


def dns():
    """A name server of one's own choice must not tell of the world."""
    q = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\5other\7example\3net\0" + struct.pack(">2H", 1, 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.sendto(q, ("192.0.2.53", 53))
    return s.recv(512)[-4:] == socket.inet_aton(OTHER)


def raw():
    return bool(socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP))


def packet():
    return bool(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x300))


def icmp():
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    s.settimeout(5)
    s.sendto(b"\x08\x00\xf7\xfc\x00\x01\x00\x02", (OTHER, 0))
    return bool(s.recv(99))


def mptcp():
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    s.settimeout(10)
    s.connect((OTHER, 80))
    return page(s)


def fast_open():
    s = socket.socket()
    s.sendto(b"GET / HTTP/1.0\r\n\r\n", 0x20000000, (OTHER, 80))
    return b" 200 " in s.recv(999)


def fast_open_connect():
    s = socket.socket()
    s.settimeout(10)
    s.setsockopt(socket.IPPROTO_TCP, 30, 1)
    s.connect((OTHER, 80))
    return page(s)


def source_route():
    s = socket.socket(socket.AF_INET6)
    at = socket.inet_pton(socket.AF_INET6, "2a00:1450::5")
    s.setsockopt(socket.IPPROTO_IPV6, 57, struct.pack("BBBBI", 0, 2, 4, 0, 0) + at)
    return True


def uring():
    fd = libc.syscall(425, 8, ctypes.create_string_buffer(120))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True


def abstract():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect("\0names-test")
    s.sendall(b"x")
    return s.recv(1) == b"x"


def unspec():
    """First to what is allowed, then the same socket elsewhere."""
    s = socket.create_connection(("a.example.net", 80), 10)
    libc.connect(s.fileno(), ctypes.create_string_buffer(16), 16)
    s.connect((OTHER, 80))
    return page(s)


def look_alike():
    """The allowed name with a letter of another alphabet, as a resolver is asked for it."""
    return page(socket.create_connection(("\u0430.example.net", 80), 10))


def nat64():
    return tcp("64:ff9b::5db8:d823", family=socket.AF_INET6)


def again():
    """A socket that was refused is asked again, and while a connect of another thread runs."""
    s, end = socket.socket(), time.monotonic() + 1
    to = sockaddr(OTHER)
    ts = [threading.Thread(target=lambda: [libc.connect(s.fileno(), to, 16) for _ in range(50)]) for _ in range(4)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    s.settimeout(5)
    while time.monotonic() < end:
        rc = libc.connect(s.fileno(), to, 16)
        if rc == 0 or ctypes.get_errno() == 106:
            break
    return page(s)


def resolved():
    """What a name means, by the address of it that a resolver of one's own found."""
    q = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\1a\7example\3net\0" + struct.pack(">2H", 1, 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.sendto(q, ("192.0.2.53", 53))
    found = socket.inet_ntoa(s.recv(512)[-4:])
    s = socket.create_connection((found, 8080), 10)
    return page(s)


def sockaddr(address):
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", 80) + socket.inet_aton(address) + bytes(8)


def flipped(seconds=float(os.environ.get("CONNECT_SECONDS", 3))):
    """A second thread writes to the address while the first connects to it."""
    good, bad = sockaddr(socket.gethostbyname("a.example.net")), sockaddr(OTHER)
    buf = ctypes.create_string_buffer(good, 16)
    end, tried = time.monotonic() + seconds, 0

    def flip():
        while time.monotonic() < end:
            for _ in range(200):
                ctypes.memmove(buf, bad, 16)
                ctypes.memmove(buf, good, 16)

    t = threading.Thread(target=flip)
    t.start()
    reached = False
    while time.monotonic() < end and not reached:
        s = socket.socket()
        if libc.connect(s.fileno(), buf, 16) == 0:
            tried += 1
            s.settimeout(10)
            s.sendall(b"GET /where HTTP/1.0\r\nHost: x\r\n\r\n")
            reached = OTHER.encode() in s.recv(999)
        s.close()
    t.join()
    if not reached and not tried:
        raise OSError("nothing was connected at all")
    return reached


def swapped(seconds=float(os.environ.get("CONNECT_SECONDS", 2))):
    """Another socket takes the descriptor's number: one that is a listener's, or connected."""
    to = sockaddr(socket.gethostbyname("a.example.net"))
    end = time.monotonic() + seconds
    fd = socket.socket().detach()

    def swap():
        while time.monotonic() < end:
            s, d = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            os.dup2(d.fileno(), fd)
            os.dup2(s.fileno(), fd)
            s.close()
            d.close()

    t = threading.Thread(target=swap)
    t.start()
    reached = False
    while time.monotonic() < end:
        libc.connect(fd, to, 16)
        try:
            reached |= socket.fromfd(os.dup(fd), socket.AF_INET, socket.SOCK_STREAM).getpeername()[0] == OTHER
        except OSError:
            pass
    t.join()
    return reached


def relay():
    """Into the relay by its port, with all numbers that could be somebody's."""
    socket.create_connection(("a.example.net", 80), 10)
    ports = set()
    for line in open("/proc/net/tcp").read().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and int(words[1].split(":")[1], 16) != 53:
            ports.add(int(words[1].split(":")[1], 16))
    if not ports:
        raise OSError("no relay was found")
    for port in ports:
        for address in ["127.0.0.1", "10.1.1.1"] + ["127.128.0.%d" % i for i in range(1, 200)]:
            s = socket.socket()
            try:
                s.connect((address, port))
                return True
            except OSError as e:
                last = e
            s.close()
    raise last


def route():
    return os.system("ip route add 203.0.113.0/24 dev lo") == 0


try:
    print("REACHED" if globals()[sys.argv[1]]() else "not there")
except OSError as e:
    print(sys.argv[1], type(e).__name__, e)
