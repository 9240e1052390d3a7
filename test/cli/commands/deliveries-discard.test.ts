import { describe, expect, test } from 'vitest'
import { run } from '../../support/io.ts'
import { delivered, failed, retried, storeWith } from '../deliveries/stores.ts'

/** Returns the ids of the pending deliveries. */
async function pendingIn(url: string): Promise<readonly unknown[]> {
  const argv = ['deliveries', '--json', '--state', 'pending', '--store', url]
  return (await run(argv)).records.map(({ id }) => id)
}

describe('deliveries discard', () => {
  const discard = (url: string, ...argv: readonly string[]) =>
    run(['deliveries', 'discard', '--store', url, ...argv])

  test('counts deliveries first, then discards the waiting ones, which are retried only by id', async () => {
    const { url } = await storeWith(retried, retried, failed, delivered)
    expect(await discard(url, '--all', '--dry-run')).toMatchObject({
      code: 0,
      stdout: '2 deliveries would be discarded\n',
    })
    expect(await pendingIn(url)).toHaveLength(2)
    const { code, stdout, stderr } = await discard(url, '--destination', 'crm')
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2 deliveries discarded\n' })
    expect(stderr).toContain('Discarded deliveries have failed with the reason "discarded"')
    expect(await pendingIn(url)).toEqual([])
    expect((await run(['deliveries', 'show', 'crm/1', '--store', url])).stdout).toContain(
      'discarded by hand (discarded)',
    )
    expect(await run(['audit', '--store', url])).toMatchObject({ code: 0 })
    const again = async (...argv: readonly string[]) =>
      (await run(['deliveries', 'retry', ...argv, '--json', '--store', url])).records
    for (const mode of [['--dry-run'], []]) {
      for (const id of ['crm/1', 'm_2']) {
        expect(await again(id, ...mode)).toMatchObject([{ deliveries: 1 }])
      }
      expect(await again('--all', ...mode)).toMatchObject([{ deliveries: 1 }])
    }
  })

  test('prints the number as a record, and requires a selection', async () => {
    const { url } = await storeWith(retried)
    expect((await discard(url, 'crm/1', '--json')).records).toEqual([
      { v: 1, kind: 'discard', deliveries: 1, dryRun: false },
    ])
    expect(await discard(url)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Cannot tell which deliveries are meant') as string,
    })
    expect(await discard(url, '--state', 'failed')).toMatchObject({ code: 2 })
  })
})
