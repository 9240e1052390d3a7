import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { limits } from '../../src/model/index.ts'
import { basic, disabledWriteKey, writeKey, type Sent, type TestApiOptions } from './support.ts'

export const track = { type: 'track', userId: 'user-1', event: 'Ping', messageId: 'm-1' }

/** The header of a source that may send. */
export const known = basic(`${writeKey}:`)

const allowPost = 'POST, OPTIONS'
const allowGet = 'GET, HEAD, OPTIONS'

/** A track call of this many bytes of JSON. */
function callOf(bytes: number, fields: object = {}): object {
  const call = { ...track, ...fields, properties: { filler: '' } }
  call.properties.filler = 'x'.repeat(bytes - JSON.stringify(call).length)
  return call
}

/** A batch of this many bytes of JSON: one small call and white space. */
function batchTextOf(bytes: number): string {
  const text = JSON.stringify({ batch: [track] })
  return text + ' '.repeat(bytes - text.length)
}

/** A batch with the maximum of calls, whose context reaches the limit of merged defaults, or exceeds it. */
function amplifyingBatch(bytesMore: number): object {
  const calls = limits.intakeBatchEventsMax
  const contextBytes = Math.floor(limits.intakeBatchMergedBytesMax / calls) + bytesMore
  const context = { x: 'x'.repeat(contextBytes - '{"x":""}'.length) }
  return { batch: Array.from({ length: calls }, () => track), context }
}

/** The body of every refusal. */
export const refusal = (code: string, message: string) => ({
  success: false,
  error: message,
  code,
  message,
})

/** A request and the whole answer to it. */
export interface Situation extends Sent {
  readonly name: string
  readonly document?: unknown
  readonly options?: TestApiOptions
  readonly status: number
  readonly answer: unknown
  readonly answerHeaders?: Readonly<Record<string, string>>
}

const nothing = { success: true, accepted: 0, rejected: [] }
const one = { success: true, accepted: 1, rejected: [] }
const tooLarge = 'Exceeds the payload limit: a batch may be at most 512000 bytes'
const notGzip = 'The body is not valid gzip'
const notJson = 'The body is not valid JSON'
const eventMessage = 'A call may be at most 32768 bytes'

export const accepted: readonly Situation[] = [
  { name: 'one call', document: { batch: [track] }, status: 200, answer: one },
  {
    name: 'a batch in which some calls are invalid',
    document: {
      batch: [
        { ...track, event: '' },
        track,
        7,
        callOf(32_769, { messageId: 'm-2' }),
        { type: 'x' },
      ],
    },
    status: 200,
    answer: {
      success: true,
      accepted: 1,
      rejected: [
        { index: 0, messageId: 'm-1', code: 'no_event', message: 'track needs an event' },
        {
          index: 2,
          messageId: null,
          code: 'not_an_object',
          message: 'A call must be a JSON object',
        },
        { index: 3, messageId: 'm-2', code: 'event_too_large', message: eventMessage },
        expect.objectContaining({ index: 4, messageId: null, code: 'unknown_type' }),
      ],
    },
  },
  {
    name: 'a call that occurs twice',
    document: { batch: [track, track] },
    status: 200,
    answer: { ...nothing, accepted: 2 },
  },
  {
    name: 'a call that no destination accepts',
    document: { batch: [{ ...track, integrations: { All: false } }] },
    status: 200,
    answer: one,
  },
  { name: 'batch null', document: { batch: null }, status: 200, answer: nothing },
  { name: 'batch []', document: { batch: [] }, status: 200, answer: nothing },
  {
    name: 'a call of exactly 32 KB',
    document: { batch: [callOf(32_768)], context: { app: { name: 'x'.repeat(1_000) } } },
    status: 200,
    answer: one,
  },
  {
    name: 'a batch of exactly 512,000 bytes',
    body: batchTextOf(512_000),
    status: 200,
    answer: one,
  },
  {
    name: 'the same batch, compressed',
    body: gzipSync(batchTextOf(512_000)),
    headers: { ...known, 'content-encoding': 'gzip' },
    status: 200,
    answer: one,
  },
  {
    name: '2,500 calls',
    document: { batch: Array.from({ length: 2_500 }, () => track) },
    status: 200,
    answer: { ...one, accepted: 2_500 },
  },
  {
    name: '2,500 calls with the maximum of context',
    document: amplifyingBatch(0),
    status: 200,
    answer: { ...one, accepted: 2_500 },
  },
  { name: 'a single call', path: '/v1/track', document: track, status: 200, answer: one },
  {
    name: 'a call that is longer when it is serialised again',
    body: `{"batch":[{"type":"track","userId":"u","event":"E","properties":{"n":[${'1e20,'.repeat(5_000)}1]}}]}`,
    status: 200,
    answer: one,
  },
  { name: 'measurements', path: '/v1/m', body: 'anything', status: 200, answer: { success: true } },
  { name: 'a byte order mark', body: `\u{feff}${batchTextOf(500)}`, status: 200, answer: one },
]

export const bad: readonly Situation[] = [
  {
    name: 'a body that is not JSON',
    body: '{"batch":[',
    status: 400,
    answer: refusal('invalid_json', notJson),
  },
  { name: 'no body', body: '', status: 400, answer: refusal('invalid_json', notJson) },
  {
    name: 'a batch that is not an object',
    document: [track],
    status: 400,
    answer: refusal(
      'invalid_batch',
      'The body must be an object with an array of calls in `batch`',
    ),
  },
  {
    name: 'an object without a batch',
    document: track,
    status: 400,
    answer: refusal('invalid_batch', 'The batch must be an array of calls'),
  },
  {
    name: 'a batch with a wrong context',
    document: { batch: [track], context: 'none' },
    status: 400,
    answer: refusal('invalid_batch', 'The context of a batch must be an object'),
  },
  {
    name: 'a batch with wrong integrations',
    document: { batch: [track], integrations: [] },
    status: 400,
    answer: refusal('invalid_batch', 'The integrations of a batch must be an object'),
  },
  {
    name: 'a batch without a valid call',
    document: { batch: [{ ...track, event: null }, callOf(40_000)] },
    status: 400,
    answer: refusal(
      'nothing_valid',
      'None of the 2 calls is valid; the first: no_event: track needs an event',
    ),
  },
  {
    name: 'a batch whose only call is too large',
    document: { batch: [callOf(32_769)] },
    status: 400,
    answer: refusal(
      'nothing_valid',
      `The only call is not valid: event_too_large: ${eventMessage}`,
    ),
  },
  {
    name: 'a single call that is invalid',
    path: '/v1/group',
    document: track,
    status: 400,
    answer: refusal('nothing_valid', 'The call is not valid: no_group_id: group needs a groupId'),
  },
  {
    name: 'a single call that is not an object',
    path: '/v1/track',
    document: 'text',
    status: 400,
    answer: refusal(
      'nothing_valid',
      'The call is not valid: not_an_object: A call must be a JSON object',
    ),
  },
  {
    name: 'a single call of more than 32 KB',
    path: '/v1/track',
    document: callOf(32_769),
    status: 400,
    answer: refusal('event_too_large', eventMessage),
  },
  {
    name: 'a batch that is one byte too long',
    body: batchTextOf(512_001),
    status: 400,
    answer: refusal('batch_too_large', tooLarge),
  },
  {
    name: 'the same batch, compressed',
    body: gzipSync(batchTextOf(512_001)),
    headers: { ...known, 'content-encoding': 'gzip' },
    status: 400,
    answer: refusal('batch_too_large', tooLarge),
  },
  {
    name: 'a batch with more bytes than are kept',
    body: batchTextOf(2_000_000),
    status: 400,
    answer: refusal('batch_too_large', tooLarge),
  },
  {
    name: '2,500 calls with too much context',
    document: amplifyingBatch(1),
    status: 400,
    answer: refusal(
      'batch_too_large',
      "Exceeds the payload limit: copying the 1678 bytes of the batch's context and integrations into " +
        '2500 calls would add more than 4194304 bytes',
    ),
  },
  {
    name: 'a batch whose context is nested too deeply',
    body: `{"batch":[${JSON.stringify(track)}],"context":${'{"a":'.repeat(60_000)}1${'}'.repeat(60_000)}}`,
    status: 400,
    answer: refusal(
      'invalid_batch',
      'The context and integrations of a batch must not be nested more than 500 levels deep',
    ),
  },
  ...Object.entries({ deflate: deflateSync('{}'), br: brotliCompressSync('{}') }).map(
    ([encoding, body]): Situation => ({
      name: `a body in ${encoding}`,
      body,
      headers: { ...known, 'content-encoding': encoding },
      status: 400,
      answer: refusal(
        'invalid_json',
        `The body is not valid JSON: its Content-Encoding is ${encoding}, but only gzip is supported`,
      ),
    }),
  ),
  {
    name: '2,501 calls',
    document: { batch: Array.from({ length: 2_501 }, () => track) },
    status: 400,
    answer: refusal(
      'too_many_events',
      'A batch may have at most 2500 calls, but this one has 2501',
    ),
  },
  {
    name: 'a body with the header of gzip that is neither gzip nor JSON',
    body: 'batch',
    headers: { ...known, 'content-encoding': 'gzip' },
    status: 400,
    answer: refusal('invalid_gzip', notGzip),
  },
  {
    name: 'gzip that ends early',
    body: gzipSync(batchTextOf(1_000)).subarray(0, -9),
    status: 400,
    answer: refusal('invalid_gzip', notGzip),
  },
]

export const refused: readonly Situation[] = [
  {
    name: 'no write key',
    headers: {},
    document: { batch: [track] },
    status: 401,
    answer: refusal('unknown_write_key', 'The request has no write key'),
  },
  {
    name: 'an unknown write key',
    headers: basic('wk_unknown:'),
    document: { batch: [track] },
    status: 401,
    answer: refusal('unknown_write_key', 'The write key is not known'),
  },
  {
    name: 'a disabled source',
    headers: basic(`${disabledWriteKey}:`),
    document: { batch: [track] },
    status: 403,
    answer: refusal('source_disabled', 'The source that this write key belongs to is disabled'),
  },
  {
    name: 'an unknown path',
    path: '/v2/batch',
    document: { batch: [track] },
    status: 404,
    answer: refusal('not_found', 'There is nothing at this path'),
  },
  {
    name: 'a path that cannot be decoded',
    method: 'GET',
    path: '/v1/projects/%E0%A4%A/settings',
    status: 404,
    answer: refusal('not_found', 'There is nothing at this path'),
  },
  {
    name: 'a method that a path for calls does not accept',
    method: 'PUT',
    document: { batch: [track] },
    status: 405,
    answer: refusal('method_not_allowed', `This path accepts only ${allowPost}`),
    answerHeaders: { allow: allowPost },
  },
  {
    name: 'a method that the path of the settings does not accept',
    path: `/v1/projects/${writeKey}/settings`,
    document: {},
    status: 405,
    answer: refusal('method_not_allowed', `This path accepts only ${allowGet}`),
    answerHeaders: { allow: allowGet },
  },
  {
    name: 'a call while too many deliveries wait',
    options: { isFull: () => true },
    document: { batch: [track] },
    status: 429,
    answer: refusal('queue_full', 'The store is behind: too many events are waiting to be stored'),
    answerHeaders: { 'retry-after': '5' },
  },
  {
    name: 'a call that the store refuses',
    options: { accept: () => Promise.reject(new Error('disk full')) },
    document: { batch: [track] },
    status: 503,
    answer: refusal(
      'store_unavailable',
      'The events cannot be stored at the moment: send them again',
    ),
    answerHeaders: { 'retry-after': '5' },
  },
]
