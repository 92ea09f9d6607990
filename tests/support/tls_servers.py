# SPDX-License-Identifier: Apache-2.0
"""Servers of HTTPS for tests of requests that are judged inside of TLS, at addresses of the network
namespace that it is started in.

    tls_servers.py DIRECTORY

Makes an authority (DIRECTORY/ca.pem) and servers at port 443, whose files are below DIRECTORY/www:

    93.184.216.40  s.example.net, t.example.net, 93.184.216.40; git by http-backend below /git
    93.184.216.41  self.example.net, by another authority
    93.184.216.42  mutual.example.net, which wants to know its clients
    93.184.216.43  wrong.example.net, by a certificate of another name
    93.184.216.44  cut.example.net, which breaks off without saying that it ends

Writes "ready" to DIRECTORY/tls-ready.
"""
import os
import ssl
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
import socketserver

where = sys.argv[1]
www = os.path.join(where, "www")
os.makedirs(www, exist_ok=True)


def path(name):
    return os.path.join(where, name)


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def authority(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", "/CN=" + name, "-keyout", path(name + ".key"), "-out", path(name + ".pem"))


def server(name, by, alt):
    with open(path(name + ".ext"), "w") as f:
        f.write("subjectAltName=%s\nbasicConstraints=critical,CA:FALSE\nauthorityKeyIdentifier=keyid\n" % alt)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name,
            "-keyout", path(name + ".key"), "-out", path(name + ".csr"))
    openssl("x509", "-req", "-days", "30", "-in", path(name + ".csr"), "-CA", path(by + ".pem"), "-CAkey",
            path(by + ".key"), "-CAcreateserial", "-extfile", path(name + ".ext"), "-out", path(name + ".pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path(name + ".pem"), path(name + ".key"))
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


wanted = threading.Event()


class Web(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *args):
        super().__init__(*args, directory=www)

    def say(self, text, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            data += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return data

    def git(self):
        url, _, query = self.path.partition("?")
        env = dict(os.environ, GIT_PROJECT_ROOT=www, GIT_HTTP_EXPORT_ALL="1", REQUEST_METHOD=self.command,
                   PATH_INFO=url, QUERY_STRING=query, CONTENT_TYPE=self.headers.get("Content-Type") or "",
                   REMOTE_USER="x", GIT_PROTOCOL=self.headers.get("Git-Protocol") or "")
        if self.headers.get("Content-Encoding"):
            env["HTTP_CONTENT_ENCODING"] = self.headers["Content-Encoding"]
        data = self.body()
        env["CONTENT_LENGTH"] = str(len(data))
        out = subprocess.run(["git", "http-backend"], input=data, env=env, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((int(v.split()[0]) for k, v in fields if k == "Status"), 200)
        self.send_response(status)
        for k, v in fields:
            if k != "Status":
                self.send_header(k, v)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def echo(self):
        """A WebSocket, as far as a relay sees of it: bytes, until the client ends its side."""
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", "x")
        self.end_headers()
        self.close_connection = True
        while True:
            data = self.connection.recv(65536)
            if not data:
                return
            self.connection.sendall(data)

    def events(self):
        """One event at once, the next when somebody has asked for /ok/next."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for text in (b"data: 1\n\n", b"data: 2\n\n"):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.flush()
            if text == b"data: 1\n\n":
                wanted.wait(30)
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        if self.path == "/ok/ws":
            return self.echo()
        if self.path == "/ok/events":
            return self.events()
        if self.path == "/ok/next":
            wanted.set()
        if self.path.startswith("/git/"):
            return self.git()
        if os.path.exists(www + self.path.partition("?")[0]):
            return super().do_GET()
        if self.path.startswith("/big/"):
            return self.say(b"x" * int(self.path[5:]))
        return self.say(("%s %s\n" % (self.headers.get("Host"), self.path)).encode())

    def do_POST(self):
        """How long the body was."""
        if self.path.startswith("/git/"):
            return self.git()
        return self.say(b"%d\n" % len(self.body()))

    do_PUT = do_DELETE = do_POST

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def __init__(self, address, context):
        self.context = context
        super().__init__((address, 443), Web)

    def finish_request(self, request, client_address):
        request.settimeout(30)
        with self.context.wrap_socket(request, server_side=True) as s:
            self.RequestHandlerClass(s, client_address, self)


class Cut(Server):
    """An answer that lasts as long as the connection, which then is only closed."""

    def finish_request(self, request, client_address):
        s = self.context.wrap_socket(request, server_side=True)
        s.recv(4096)
        s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\na part")
        os.close(s.detach())


socketserver.BaseServer.handle_error = lambda *_: None
authority("ca")
authority("stranger")
mutual = server("mutual", "ca", "DNS:mutual.example.net")
mutual.load_verify_locations(path("ca.pem"))
mutual.verify_mode = ssl.CERT_REQUIRED
good = server("good", "ca", "DNS:s.example.net,DNS:t.example.net,IP:93.184.216.40")
for kind, address, context in (
    (Server, "93.184.216.40", good),
    (Server, "93.184.216.41", server("self", "stranger", "DNS:self.example.net")),
    (Server, "93.184.216.42", mutual),
    (Server, "93.184.216.43", good),
    (Cut, "93.184.216.44", server("cut", "ca", "DNS:cut.example.net")),
):
    threading.Thread(target=kind(address, context).serve_forever, daemon=True).start()
with open(path("tls-ready"), "w") as f:
    f.write("ready\n")
threading.Event().wait()
