import { Readable } from 'node:stream'
import { request, type Dispatcher } from 'undici'
import { postHead } from '../http/raw-client.ts'
import { token } from './support.ts'

/** Where a sync is asked for. */
export const syncPath = '/v1/audiences/sync?key=vip&dryRun=true'

/** Sends a list as it is made, and gives the answer as it comes. */
export function upload(
  url: string,
  list: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  return request(url + syncPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: Readable.from(list),
    ...(signal && { signal }),
  })
}

/** The head of a sync, whose list is still to come. */
export const head = (...headers: readonly string[]): string =>
  postHead([`Authorization: Bearer ${token}`, ...headers], syncPath)

/** The status, and the last line, of an answer as it came over the wire. */
export function endOf(text: string): readonly unknown[] {
  const [, status] = /^HTTP\/1\.1 (\d+) /.exec(text) ?? []
  const line = text.split('\n').findLast((candidate) => candidate.startsWith('{')) ?? '{}'
  return [Number(status), JSON.parse(line)]
}
