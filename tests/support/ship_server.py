#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ship_server.py PORTFILE [CERT KEY]: a stand-in for the server of `sbx-audit ship`: two tables that replace
rows of the same key, and counts made of each batch, as docs/fleet/tables.sql has them. What it does wrong is
asked for by the path of the request: /FAULT/PROBABILITY/SEED. GET / answers what it has, as JSON; GET /quit ends it."""
import gzip
import http.server
import json
import os
import random
import ssl
import subprocess
import sys
import threading
import urllib.parse

events, counts, runs, seen = {}, {}, {}, {"requests": 0, "acknowledged": 0, "rows": 0, "heads": []}
lock = threading.Lock()
dice = {}


def count(rows):
    """Counts of one insert, by batch of a run: a batch that comes again replaces its own."""
    made = {}
    for r in rows:
        key = (r["host"], r["run_id"], r["batch"], r.get("kind", ""), r.get("rule", ""), r.get("denied", 0))
        made[key] = made.get(key, 0) + 1
    counts.update(made)


def store(table, rows):
    if table == "runs":
        for r in rows:
            key = (r["host"], r["run_id"])
            if r.get("state", 0) >= runs.get(key, {}).get("state", 0):
                runs[key] = r
        return
    for r in rows:
        events[(r["host"], r["run_id"], r["no"])] = r
    count(rows)


def report():
    per_run = {}
    for host, run, no in events:
        per_run.setdefault((host, run), []).append(no)
    whole = sum(1 for k, v in per_run.items() if len(v) == max(v) == runs.get(k, {}).get("lines", 0))
    return {
        "events": len(events), "counted": sum(counts.values()), "runs": len(runs),
        "ended": sum(1 for r in runs.values() if r.get("state") == 1),
        "removed": sum(1 for r in runs.values() if r.get("state") == 2), "whole": whole, **seen,
        "hosts": sorted({k[0] for k in events}), "lines": sorted(r["line"] for r in events.values())[:3],
        "denied": sum(r.get("denied", 0) for r in events.values()),
        "unreadable": sum(r["kind"] == "unreadable" for r in events.values()),
        "exes": sorted({r.get("exe", "") for r in events.values()})[:20],
        "one": next((r for r in events.values() if r.get("denied")), None), "run": next(iter(runs.values()), None),
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True
        self.connection.close()

    def do_GET(self):
        if self.path == "/quit":
            self.answer(200)
            os._exit(0)
        with lock:
            self.answer(200, json.dumps(report()).encode())

    def fault(self):
        parts = self.path.split("?")[0].strip("/").split("/")
        if len(parts) < 3:
            return parts[0]
        d = dice.setdefault(self.path.split("?")[0], random.Random(int(parts[2])))
        return parts[0] if d.random() < float(parts[1]) else ""

    def rows(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        coding = self.headers.get("Content-Encoding", "")
        if coding == "gzip":
            body = gzip.decompress(body)
        elif coding == "zstd":
            body = subprocess.run(["zstd", "-dc"], input=body, stdout=subprocess.PIPE, check=True).stdout
        return [json.loads(line) for line in body.splitlines()]

    def misbehave(self, fault):
        """What is no acknowledgement. True: the request is over."""
        if fault == "status":
            self.answer(503, b"Code: 210. DB::NetException: Connection refused")
        elif fault == "wait":
            self.answer(429, b"slowly", [("Retry-After", "1")])
        elif fault == "refuse":
            self.answer(400, b"Code: 27. DB::Exception: Cannot parse\x1b[2J\n" + b"x" * 100)
        elif fault == "login":
            self.answer(401)
        elif fault == "exception":
            self.answer(200, b"Code: 241. DB::Exception: Memory limit")
        elif fault == "header":
            self.answer(200, b"", [("X-ClickHouse-Exception-Code", "252")])
        elif fault == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"y" * 65536)
            except OSError:
                pass
        elif fault == "heads":
            self.send_response(200)
            try:
                for i in range(100000):
                    self.send_header("X-%d" % i, "z" * 1000)
                    self.flush_headers()
            except OSError:
                pass
        elif fault == "elsewhere":
            self.answer(307, b"", [("Location", "http://127.0.0.1:%d/good" % self.server.server_port)])
        elif fault == "nonsense":
            self.wfile.write(b"\0\1\2 nothing of HTTP\r\n\r\n")
            self.hang_up()
        else:
            return False
        return True

    def do_POST(self):
        fault = self.fault()
        if fault == "deaf":
            return self.hang_up()
        rows = self.rows()
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        table = query["query"][0].split()[2]
        with lock:
            seen["requests"] += 1
            seen["rows"] += len(rows)
            seen["heads"] = [self.headers.get("Authorization", ""), query["database"][0]]
            if self.misbehave(fault):
                return None
            store(table, rows)
            if fault == "lost":  # it has them, but nobody learns that
                return self.hang_up()
            seen["acknowledged"] += 1
        return self.answer(200)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
