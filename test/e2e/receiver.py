"""A receiver that knows nothing of evroute: it takes POST requests on a free port, which it prints,
and prints for each whether X-Signature is the HMAC-SHA1 of the raw body, keyed with the argument."""

import hashlib
import hmac
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = sys.argv[1].encode("utf-8")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        expected = hmac.new(KEY, body, hashlib.sha1).hexdigest()
        verdict = "valid" if self.headers["X-Signature"] == expected else "invalid"
        sys.stdout.write(verdict + "\n")
        sys.stdout.flush()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
