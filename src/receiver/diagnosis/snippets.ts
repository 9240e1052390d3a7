const nodeVerify = `const secret = process.env.WEBHOOK_SECRET
if (!secret) throw new Error('Set WEBHOOK_SECRET to the shared secret')

// Pass the bytes that arrived, never JSON.stringify of a parsed body.
function isSigned(rawBody, signature = '') {
  if (!/^[0-9a-f]{40}$/.test(signature)) return false
  const expected = createHmac('sha1', secret).update(rawBody).digest()
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'))
}`

const node = `import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

${nodeVerify}

const server = createServer(async (request, response) => {
  // Without catch(), a request that is cut off would end the program.
  const bytes = await buffer(request).catch(() => '')
  if (!isSigned(bytes, request.headers['x-signature'])) return response.writeHead(401).end()
  const event = JSON.parse(bytes)
  // ... use the event ...
  response.writeHead(200).end()
})
server.listen(process.env.PORT ?? 3000)
`

const express = `import { createHmac, timingSafeEqual } from 'node:crypto'
import express from 'express'

${nodeVerify}

const app = express()
// Don't use express.json() before this route: it does not keep the bytes.
const rawBody = express.raw({ type: () => true, limit: '1mb', inflate: false })
app.post('/webhooks', rawBody, (request, response) => {
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  if (!isSigned(bytes, request.get('x-signature'))) return response.sendStatus(401)
  const event = JSON.parse(bytes)
  // ... use the event ...
  response.sendStatus(200)
})
app.listen(process.env.PORT ?? 3000)
`

const fastify = `import { createHmac, timingSafeEqual } from 'node:crypto'
import Fastify from 'fastify'

${nodeVerify}

const app = Fastify({ bodyLimit: 1024 * 1024 })
// A parser that keeps the bytes, in place of the one for JSON.
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) => done(null, bytes))
app.post('/webhooks', async (request, reply) => {
  const bytes = request.body ?? Buffer.alloc(0)
  if (!isSigned(bytes, request.headers['x-signature'])) return reply.code(401).send()
  const event = JSON.parse(bytes)
  // ... use the event ...
  return reply.code(200).send()
})
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) })
`

const hono = `import { createHmac, timingSafeEqual } from 'node:crypto'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

${nodeVerify}

const app = new Hono()
app.post('/webhooks', async (context) => {
  const bytes = Buffer.from(await context.req.arrayBuffer())
  if (!isSigned(bytes, context.req.header('x-signature'))) return context.body(null, 401)
  const event = JSON.parse(bytes)
  // ... use the event ...
  return context.body(null, 200)
})
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })
`

const go = `package main

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
)

var secret = os.Getenv("WEBHOOK_SECRET")

// Pass the bytes that arrived, never what json.Marshal makes of them.
func isSigned(rawBody []byte, signature string) bool {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write(rawBody)
	expected := hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature))
}

func main() {
	if secret == "" {
		log.Fatal("Set WEBHOOK_SECRET to the shared secret")
	}
	http.HandleFunc("/webhooks", func(w http.ResponseWriter, r *http.Request) {
		rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || !isSigned(rawBody, r.Header.Get("X-Signature")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event map[string]any
		if json.Unmarshal(rawBody, &event) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		// ... use the event ...
		w.WriteHeader(http.StatusOK)
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
`

const python = `import hashlib
import hmac
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

secret = os.environ.get("WEBHOOK_SECRET", "").encode()
if not secret:
    raise SystemExit("Set WEBHOOK_SECRET to the shared secret")


# Pass the bytes that arrived: request.get_data() in Flask, request.body in Django,
# await request.body() in FastAPI. Never json.dumps of a parsed body.
def is_signed(raw_body, signature):
    expected = hmac.new(secret, raw_body, hashlib.sha1).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


class Webhooks(BaseHTTPRequestHandler):
    def do_POST(self):
        raw_body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not is_signed(raw_body, self.headers.get("X-Signature", "")):
            return self.answer(401)
        event = json.loads(raw_body)
        # ... use the event ...
        self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Webhooks).serve_forever()
`

const php = `<?php
$secret = getenv('WEBHOOK_SECRET') ?: throw new Exception('Set WEBHOOK_SECRET to the shared secret');
// The bytes that arrived, never what json_encode makes of them.
$rawBody = file_get_contents('php://input');
$signature = $_SERVER['HTTP_X_SIGNATURE'] ?? '';
$expected = hash_hmac('sha1', $rawBody, $secret);
if (!hash_equals($expected, $signature)) {
    http_response_code(401);
    exit;
}
$event = json_decode($rawBody, true);
// ... use the event ...
http_response_code(200);
`

const ruby = `# config.ru
require 'json'
require 'openssl'

SECRET = ENV.fetch('WEBHOOK_SECRET', '')
abort 'Set WEBHOOK_SECRET to the shared secret' if SECRET.empty?

# Pass the bytes that arrived: request.raw_post in Rails, request.body.read in Sinatra.
# Never to_json of a parsed body.
def signed?(raw_body, signature)
  expected = OpenSSL::HMAC.hexdigest('SHA1', SECRET, raw_body)
  OpenSSL.secure_compare(expected, signature)
end

run lambda { |env|
  raw_body = env['rack.input'].read
  next [401, {}, []] unless signed?(raw_body, env['HTTP_X_SIGNATURE'].to_s)
  event = JSON.parse(raw_body)
  # ... use the event ...
  [200, {}, []]
}
`

/** Handlers that verify X-Signature correctly, with the secret from WEBHOOK_SECRET. */
export const snippets = Object.freeze({ node, express, fastify, hono, go, python, php, ruby })

/** A language or framework for which there is a snippet. */
export type SnippetLanguage = keyof typeof snippets

/** All languages and frameworks, in the order that messages list them. */
export const snippetLanguages: readonly SnippetLanguage[] = Object.freeze(
  Object.keys(snippets) as SnippetLanguage[],
)

/** Narrows an unchecked name, such as the value of `--language`, to one of the languages. */
export function isSnippetLanguage(text: string): text is SnippetLanguage {
  return Object.hasOwn(snippets, text)
}
