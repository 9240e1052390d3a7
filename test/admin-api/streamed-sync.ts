import { Readable } from 'node:stream'
import { request, type Dispatcher } from 'undici'
import { postHead } from '../http/raw-client.ts'
import { token } from './support.ts'

/** The path of the sync operation. */
export const syncPath = '/v1/audiences/sync?key=vip&dryRun=true'

/** Sends a list while it is generated, and returns the response as a stream. */
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

/** The head of a sync request; the list is sent later. */
export const head = (...headers: readonly string[]): string =>
  postHead([`Authorization: Bearer ${token}`, ...headers], syncPath)

/** The status and the last line of a raw response. */
export function endOf(text: string): readonly unknown[] {
  const [, status] = /^HTTP\/1\.1 (\d+) /.exec(text) ?? []
  const line = text.split('\n').findLast((candidate) => candidate.startsWith('{')) ?? '{}'
  return [Number(status), JSON.parse(line)]
}
