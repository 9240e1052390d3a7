import { expect, test } from 'vitest'
import { failureText, failureWords } from '../../src/model/index.ts'

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)'],
  ['ECONNREFUSED', 'connection refused (ECONNREFUSED)'],
  [
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'that port speaks http, not https (ERR_SSL_WRONG_VERSION_NUMBER)',
  ],
  [
    'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    'the versions of TLS do not match (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)',
  ],
  ['status_503', 'answered 503'],
  ['proxy_status_407', 'forward proxy: answered 407'],
  ['proxy_ECONNREFUSED', 'forward proxy: connection refused (ECONNREFUSED)'],
  ['discarded', 'discarded by hand (discarded)'],
  ['erased', 'its user was deleted (erased)'],
  ['ESOMETHING', 'ESOMETHING'],
  ['constructor', 'constructor'],
])('%s is explained as %j', (code, text) => {
  expect(failureText(code)).toBe(text)
  expect(failureWords(code)).toBe(text.replace(/ \(.*\)$/, ''))
})
