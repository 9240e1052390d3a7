import { describe, expect, test } from 'vitest'
import { CapturedStream } from '../../support/io.ts'
import { logged, nowMs, storeWith } from './stores.ts'
import { listDeliveries } from '../../../src/cli/deliveries/show.ts'
import {
  withStore,
  type Deliveries,
  type OpenedReaders,
  type ReadersRun,
} from '../../../src/cli/store-access/readers.ts'
import { plainStyle } from '../../../src/cli/output/style.ts'

/** A stream with a slow reader, which has caught up when `drain` is emitted. */
class SlowStream extends CapturedStream {
  override write(text: string): boolean {
    super.write(text)
    return false
  }
}

/** An endless list of deliveries that records the requests for it. */
function endless(): { readonly log: Deliveries; readonly limits: number[] } {
  const limits: number[] = []
  const list: Deliveries['list'] = ({ limit, beforeId = 1e9 }) => {
    limits.push(limit)
    return Promise.resolve(
      Array.from({ length: limit }, (_, index) => logged({ id: beforeId - 1 - index })),
    )
  }
  return { log: { list } as Deliveries, limits }
}

function contextOf(log: Deliveries, stdout: CapturedStream, stop = new AbortController()) {
  const io = {
    stdin: [] as never,
    stdout,
    stderr: new CapturedStream(),
    env: {},
    stop: stop.signal,
    interrupted: stop.signal,
  }
  const run: Pick<ReadersRun, 'deliveries' | 'io' | 'nowMs' | 'json' | 'style'> = {
    ...{ deliveries: log, io, nowMs, json: true, style: plainStyle },
  }
  return run as ReadersRun
}

describe('listDeliveries', () => {
  test('reads one page at a time, and only once the reader has caught up', async () => {
    const stdout = new SlowStream()
    const { log, limits } = endless()
    const listing = listDeliveries({ filter: {}, limit: 1_100 }, contextOf(log, stdout))
    for (const pages of [1, 2, 3]) {
      await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))))
      expect(limits).toHaveLength(pages)
      stdout.emit('drain')
    }
    expect(await listing).toBe(0)
    expect(limits).toEqual([500, 500, 101])
    expect(stdout.records).toHaveLength(1_100)
    expect(new Set(stdout.records.map(({ id }) => id)).size).toBe(1_100)
  })

  test('ends at once if the reader that it waits for leaves', async () => {
    const stdout = new SlowStream()
    const { log, limits } = endless()
    const stop = new AbortController()
    const listing = listDeliveries({ filter: {}, limit: 1e9 }, contextOf(log, stdout, stop))
    await stdout.matching(/\n/)
    stop.abort('output_closed')
    expect(await listing).toBe(0)
    expect(limits).toEqual([500])
  })
})

describe('withStore', () => {
  test('closes the store, whether the work succeeds or not', async () => {
    const { url } = await storeWith()
    const opening = { write: false, reveal: false, missing: undefined }
    const logs: Deliveries[] = []
    const keep = ({ deliveries }: OpenedReaders) => Promise.resolve(logs.push(deliveries))
    expect(await withStore(url, opening, keep)).toBe(1)
    const fail = (readers: OpenedReaders) =>
      keep(readers).then(() => Promise.reject(new Error('no')))
    await expect(withStore(url, opening, fail)).rejects.toThrow('no')
    for (const log of logs) {
      await expect(log.list({ filter: {}, limit: 1 })).rejects.toMatchObject({
        code: 'store_closed',
      })
    }
    expect(logs).toHaveLength(2)
  })
})
