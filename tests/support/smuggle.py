# SPDX-License-Identifier: Apache-2.0
"""Requests that two readers could read in two ways (tests/vectors/smuggling.tsv).

    smuggle.py serve PORT LOG           http.server, with bodies of both kinds
    smuggle.py send TABLE HOST PORT     sends each row, prints "ID STATUS", the last that came, or -
    smuggle.py node                     the same server for node, on standard output
"""
import re
import socket
import sys

NODE = """
const http = require("http"), fs = require("fs");
const [, , port, log] = process.argv;
http.createServer((q, r) => {
	fs.appendFileSync(log, q.method + " " + q.url + "\\n");
	q.resume();
	q.on("end", () => r.end("ok"));
}).listen(+port, "93.184.216.34");
"""


def serve(port, log):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Server(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            with open(log, "a") as f:
                f.write("%s %s\n" % (self.command, self.path))
            while self.headers.get("Transfer-Encoding"):
                size = int(self.rfile.readline().split(b";")[0], 16)
                self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        do_POST = do_GET

        def log_message(self, *args):
            pass

    ThreadingHTTPServer.request_queue_size = 64
    ThreadingHTTPServer.handle_error = lambda *_: None  # clients break off
    ThreadingHTTPServer(("93.184.216.34", int(port)), Server).serve_forever()


def unescape(text):
    def one(m):
        c = m.group(1)
        return {"r": "\r", "n": "\n", "\\": "\\"}.get(c) or chr(int(c[1:], 16))

    return re.sub(r"\\(r|n|\\|x[0-9a-f]{2})", one, text).encode("latin-1")


def send(table, host, port):
    for line in open(table):
        if line.startswith("#"):
            continue
        name, _, text = line.rstrip("\n").split("\t")
        data, got = unescape(text.replace("{H}", "%s:%s" % (host, port))), b""
        try:
            s = socket.create_connection((host, int(port)), 20)
            s.settimeout(20)
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while True:
                more = s.recv(65536)
                if not more:
                    break
                got += more
        except OSError:
            pass
        found = re.findall(rb"HTTP/1\.[01] (\d\d\d) ", got)
        print(name, found[-1].decode() if found else "-", flush=True)


if sys.argv[1] == "node":
    print(NODE)
else:
    {"serve": serve, "send": send}[sys.argv[1]](*sys.argv[2:])
