# SPDX-License-Identifier: Apache-2.0
"""A name server, web servers and an echo server for tests of the network, in the network namespace
that it is started in.

    names.py DIRECTORY NAME=ADDRESS[,ADDRESS...]...

Listens at 127.0.0.1:53 (both transports), HTTP at every address given at port 80 and 8080, echo at
port 7, by datagrams at ports 7 and 443 as well; an abstract Unix socket \\0names-test. Writes "ready" to DIRECTORY/ready; every name
that was asked for goes to DIRECTORY/asked, a line each.
"""
import os
import socket
import socketserver
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

where, names = sys.argv[1], {}
here = set()  # addresses at which somebody else listens: `dns:NAME=ADDRESS`
for word in sys.argv[2:]:
    name, _, addresses = word.partition("=")
    if name.startswith("dns:"):
        name = name[4:]
        here.update(addresses.split(","))
    names[name] = [a for a in addresses.split(",") if a]
asked = open(os.path.join(where, "asked"), "a", buffering=1)


def answer(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    name = ".".join(labels).lower()
    kind = struct.unpack(">H", query[at + 1 : at + 3])[0]
    asked.write("%s %d\n" % (name, kind))
    known = names.get(name)
    family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
    found = []
    for a in known or []:
        six = ":" in a
        if family == (socket.AF_INET6 if six else socket.AF_INET):
            found.append(socket.inet_pton(family, a))
    head = query[:2] + struct.pack(">HHHHH", 0x8180 | (0 if known is not None else 3), 1, len(found), 0, 0)
    body = query[12 : at + 5]
    for f in found:
        body += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1, len(f)) + f
    return head + body


class Udp(socketserver.BaseRequestHandler):
    def handle(self):
        self.request[1].sendto(answer(self.request[0]), self.client_address)


class Tcp(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            size = self.rfile.read(2)
            if len(size) < 2:
                return
            reply = answer(self.rfile.read(struct.unpack(">H", size)[0]))
            self.wfile.write(struct.pack(">H", len(reply)) + reply)


socket.getfqdn = lambda *_: "names"  # http.server asks for it


class Web(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        text = ("%s %s\n" % (self.headers.get("Host"), self.path)).encode()
        if self.path == "/where":
            text = self.connection.getsockname()[0].encode()
        if self.path.startswith("/big/"):
            text = b"x" * int(self.path[5:])
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        """How long the body was."""
        text = b"%d\n" % len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


class Ping(socketserver.BaseRequestHandler):
    """A datagram goes back."""

    def handle(self):
        self.request[1].sendto(self.request[0], self.client_address)


class Echo(socketserver.StreamRequestHandler):
    """Gives back what it gets; when the other side has ended, how much that was."""

    def handle(self):
        total = 0
        while True:
            data = self.request.recv(65536)
            if not data:
                break
            total += len(data)
            self.request.sendall(data)
        self.request.sendall(b"\n%d\n" % total)


def start(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()


socketserver.BaseServer.handle_error = lambda *_: None  # clients go when they like
socketserver.TCPServer.allow_reuse_address = True
ThreadingHTTPServer.request_queue_size = 256
socketserver.ThreadingTCPServer.request_queue_size = 256
socketserver.ThreadingTCPServer.daemon_threads = True
start(socketserver.ThreadingUDPServer(("127.0.0.1", 53), Udp))
try:  # a name server beside the one of resolv.conf
    start(socketserver.ThreadingUDPServer(("192.0.2.53", 53), Udp))
except OSError:
    pass
start(socketserver.ThreadingTCPServer(("127.0.0.1", 53), Tcp))
addresses = {a for all_of in names.values() for a in all_of} - here
for a in addresses:
    six = ":" in a
    for port in (80, 8080, 443):
        kind = type("W", (ThreadingHTTPServer,), {"address_family": socket.AF_INET6 if six else socket.AF_INET})
        try:
            start(kind((a, port), Web))
        except OSError:
            pass
    for port in (7, 443):
        kind = type("P", (socketserver.ThreadingUDPServer,), {"address_family": socket.AF_INET6 if six else socket.AF_INET})
        try:
            start(kind((a, port), Ping))
        except OSError:
            pass
    try:
        kind = type("E", (socketserver.ThreadingTCPServer,), {"address_family": socket.AF_INET6 if six else socket.AF_INET})
        start(kind((a, 7), Echo))
    except OSError:
        pass
start(type("U", (socketserver.ThreadingUnixStreamServer,), {})("\0names-test", Echo))
with open(os.path.join(where, "ready"), "w") as f:
    f.write("ready\n")
threading.Event().wait()
