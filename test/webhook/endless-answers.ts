import { head, send, sendEndlessly, type HostileAnswer } from './hostile-endpoint.ts'

/** An answer of an endpoint, and the expected outcome of the request. */
export interface Case {
  readonly name: string
  readonly answer: HostileAnswer
  readonly outcome: object
}

/** Makes the outcome of a response whose status line and headers arrived. */
export const answered = (status: number, excerpt: string): object => ({
  kind: 'answered',
  status,
  retryAfter: undefined,
  excerpt,
})

/** The outcome of a response that is not valid HTTP. */
export const malformed = { kind: 'connection_failed', code: 'malformed_answer' }

/** The outcome of a response whose status line and headers are too large. */
export const headTooLarge = { kind: 'connection_failed', code: 'answer_head_too_large' }

/** The header of a chunked body. */
export const chunked = 'Transfer-Encoding: chunked\r\n'

const manyHeaders = Array.from({ length: 10_000 }, (_, index) => `X-${index}: 1\r\n`).join('')

/** Responses that never end or are far too long. */
export const endlessAnswers: readonly Case[] = [
  {
    name: 'a body that never ends, after a 200',
    answer: sendEndlessly(head(200), '.'),
    outcome: answered(200, '.'.repeat(4_096)),
  },
  {
    name: 'a body that never ends, after a 500',
    answer: sendEndlessly(head(500), '.'),
    outcome: answered(500, '.'.repeat(4_096)),
  },
  {
    name: 'a body of 100 MB with its length',
    answer: sendEndlessly(head(200, 'Content-Length: 104857600\r\n'), '.'),
    outcome: answered(200, '.'.repeat(4_096)),
  },
  {
    name: 'an endless body in chunks',
    answer: sendEndlessly(head(200, chunked), `1000\r\n${'.'.repeat(0x1000)}\r\n`),
    outcome: answered(200, '.'.repeat(4_096)),
  },
  {
    name: 'an endless body in chunks of one byte',
    answer: sendEndlessly(head(200, chunked), '1\r\n.\r\n'),
    outcome: answered(200, '.'.repeat(4_096)),
  },
  {
    name: 'a chunk extension that never ends',
    answer: sendEndlessly(`${head(200, chunked)}5;`, 'x'),
    outcome: answered(200, ''),
  },
  {
    name: 'endless trailers',
    answer: sendEndlessly(`${head(200, chunked)}0\r\n`, 'X-Trailer: 1\r\n'),
    outcome: answered(200, ''),
  },
  {
    name: 'a status line that never ends',
    answer: sendEndlessly('HTTP/1.1 200 ', 'x'),
    outcome: malformed,
  },
  {
    name: 'a header that never ends',
    answer: sendEndlessly('HTTP/1.1 200 Status\r\nX-Long: ', 'x'),
    outcome: headTooLarge,
  },
  {
    name: 'a header of 1 MB',
    answer: send(head(200, `X-Long: ${'x'.repeat(1024 * 1024)}\r\n`)),
    outcome: headTooLarge,
  },
  { name: '10,000 headers', answer: send(head(200, manyHeaders)), outcome: headTooLarge },
  {
    name: 'endless responses with status 100',
    answer: sendEndlessly('', head(100)),
    outcome: malformed,
  },
  {
    name: 'endless responses with status 103',
    answer: sendEndlessly('', head(103)),
    outcome: malformed,
  },
]
