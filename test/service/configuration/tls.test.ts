import { expect, test } from 'vitest'
import { documentWith, problemsOf } from './read-document.ts'

test.each<readonly [string, object, string]>([
  [
    'a public URL with a query',
    documentWith({ listen: { publicUrl: 'https://events.example.com/?a' } }),
    'listen.publicUrl: Cannot use "https://events.example.com/?a": it must be a full http or https URL without a query or trailing slash',
  ],
  [
    'a certificate without its key',
    documentWith({ listen: { tls: { cert: 'cert.pem' } } }),
    'listen.tls.key: Cannot be left out: it must be the path of a PEM file',
  ],
  [
    'a client certificate without its key',
    documentWith({
      destination: { endpoints: [{ url: 'https://example.com/', tls: { cert: 'cert.pem' } }] },
    }),
    'destinations[0].endpoints[0].tls: Cannot use an object: it must be an object with "cert" and "key", with "ca", or with all three',
  ],
  [
    'certificates for an http URL',
    documentWith({
      destination: { endpoints: [{ url: 'http://example.com/', tls: { ca: 'ca.pem' } }] },
    }),
    'destinations[0].endpoints[0].tls: Cannot use certificates: the URL is not https',
  ],
])('the problem names %s', async (_name, document, problem) => {
  expect(await problemsOf(document)).toContain(problem)
})
