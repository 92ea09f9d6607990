# SPDX-License-Identifier: Apache-2.0
"""Streams that end in every way, over and over.

    streams.py serve ADDRESS PORT [CERTIFICATE KEY]
    streams.py client HOST N PORT...    N streams of each kind at each port (443 and up to 999: TLS), at each line
                                        that it reads; says how many came to the end that they should have

The path of a request says what the server does: /whole answers; /close answers and shuts its half, then reads to
the end; /reset breaks off in the middle of its answer; /late answers when the caller has shut its half; /ws goes on
as an echo.
"""
import socket
import ssl
import struct
import sys
import threading

BODY = b"x" * 20000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n"


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def read_to_end(s):
    n = 0
    while True:
        more = s.recv(65536)
        if not more:
            return n
        n += len(more)


def serve_one(s):
    head = b""
    while b"\r\n\r\n" not in head:
        more = s.recv(65536)
        if not more:
            return
        head += more
    path = head.split(b" ")[1]
    if path == b"/late":
        while head.endswith(b"\r\n\r\n") and s.recv(1):
            pass
    if path == b"/ws":
        s.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                  b"Sec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n\r\n")
        while True:
            more = s.recv(65536)
            if not more:
                return
            s.sendall(more)
    if path == b"/reset":
        s.sendall(HEAD + b"\r\n" + BODY[:5000])
        return reset(s)
    s.sendall(HEAD + (b"Connection: close\r\n" if path == b"/close" else b"") + b"\r\n" + BODY)
    if path == b"/close" and not isinstance(s, ssl.SSLSocket):
        s.shutdown(socket.SHUT_WR)
        read_to_end(s)


def serve(address, port, *pair):
    context = None
    if pair:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)

    def take(s):
        try:
            with context.wrap_socket(s, server_side=True) if context else s as t:
                serve_one(t)
        except OSError:
            s.close()

    listener = socket.create_server((address, int(port)), backlog=1000)
    while True:
        threading.Thread(target=take, args=(listener.accept()[0],), daemon=True).start()


def ask(path, more=b""):
    return b"GET " + path + b" HTTP/1.1\r\nHost: %s\r\n" + more + b"\r\n"


def whole(s, host):
    s.sendall(ask(b"/whole") % host)
    n = 0
    while n < 20000:
        n += len(s.recv(65536)) or 1 << 30
    return n < 1 << 30


def closed(s, host):
    s.sendall(ask(b"/close") % host)
    return read_to_end(s) > 20000


def half(s, host):
    if isinstance(s, ssl.SSLSocket):
        return whole(s, host)
    # what reads requests has the whole one, and need not say that no other comes
    s.sendall(ask(b"/late" if host.endswith(b":9000") else b"/close") % host)
    s.shutdown(socket.SHUT_WR)
    return read_to_end(s) > 20000


def broken(s, host):
    try:
        s.sendall(ask(b"/reset") % host)
        return read_to_end(s) < 20000
    except OSError:
        return True


def goes(s, host):
    s.sendall(ask(b"/whole") % host)
    reset(s)
    return True


def goes_sending(s, host):
    s.sendall(b"PUT /whole HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000000\r\n\r\n" % host + BODY)
    reset(s)
    return True


def silent(s, host):
    return True


def silent_half(s, host):
    if not isinstance(s, ssl.SSLSocket):
        s.shutdown(socket.SHUT_WR)
        s.recv(1)
    return True


def upgraded(s, host):
    s.sendall(ask(b"/ws", b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                          b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n") % host)
    got = b""
    while b"\r\n\r\n" not in got:
        got += s.recv(65536) or b"\r\n\r\n"
    s.sendall(b"\x82\x05hello")
    echo = s.recv(7, 0)
    reset(s)
    return b" 101 " in got and echo == b"\x82\x05hello"


KINDS = (whole, closed, half, broken, goes, goes_sending, silent, silent_half, upgraded)


def client(host, n, *ports):
    context = ssl.create_default_context()
    for _ in iter(sys.stdin.readline, ""):
        good = total = 0
        for port in map(int, ports):
            for kind in KINDS:
                for _ in range(int(n) // 10 or 1 if port < 1000 else int(n)):
                    total += 1
                    s = socket.create_connection((host, port), 20)
                    try:
                        if port < 1000:
                            s = context.wrap_socket(s, server_hostname=host)
                        ok = kind(s, b"%s:%d" % (host.encode(), port))
                        good += ok
                        if not ok:
                            print(kind.__name__, port, file=sys.stderr)
                    except OSError as e:
                        print(kind.__name__, port, e, file=sys.stderr)
                    finally:
                        s.close()
        print(good, total, flush=True)


{"serve": serve, "client": client}[sys.argv[1]](*sys.argv[2:])
