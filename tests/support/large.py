# SPDX-License-Identifier: Apache-2.0
"""A web server that keeps nothing: PUT says how many bytes came, GET /N sends N zeros.

    large.py ADDRESS PORT [CERTIFICATE KEY]
"""
import socket
import ssl
import sys
import threading

ROOM = 1 << 20


def head_of(s):
    """The head, and what came with it of the body."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = s.recv(65536)
        if not more:
            return None, b""
        got += more
    head, _, rest = got.partition(b"\r\n\r\n")
    return head.decode("latin-1"), rest


def field(head, name):
    for line in head.split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return None


def serve(s):
    room = bytearray(ROOM)
    zeros = bytes(ROOM)
    while True:
        head, rest = head_of(s)
        if head is None:
            return
        method, path, _ = head.split(" ", 2)
        if method == "GET":
            left = int(path[1:])
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % left)
            while left:
                n = min(left, ROOM)
                s.sendall(zeros[:n])
                left -= n
            continue
        length, count = int(field(head, "content-length")), len(rest)
        while count < length:
            n = s.recv_into(room, min(ROOM, length - count))
            if not n:
                return
            count += n
        text = b"%d\n" % count
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))


def take(s, tls):
    try:
        serve(tls.wrap_socket(s, server_side=True) if tls else s)
    except OSError:
        pass


listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
context = None
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
while True:
    threading.Thread(target=take, args=(listener.accept()[0], context), daemon=True).start()
