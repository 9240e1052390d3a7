import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { binaryPath, runBinary, TestProcess } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a replay onto a full disk ends with 7, its ledger matches the store, and it can continue', async () => {
  const folder = await temporaryFolder()
  const [file, store] = [join(folder, 'calls.ndjson'), `sqlite:${join(folder, 'store.db')}`]
  const rows = Array.from({ length: 5_000 }, (_, index) => ({
    type: 'track',
    userId: `u_${index}`,
    event: 'Order Completed',
    messageId: `m_${index}`,
  }))
  await writeFile(file, rows.map((row) => JSON.stringify(row)).join('\n'))
  const endpoint = await TestEndpoint.start()
  const argv = ['replay', file, '--to', endpoint.url, '--store', store]

  // Files can't grow beyond 1,200 blocks of 512 bytes, so writes fail as on a full disk.
  const limited = `trap '' XFSZ; ulimit -f 1200; exec "$@"`
  const shell = ['-c', limited, 'sh', process.execPath, binaryPath, ...argv]
  const full = await new TestProcess('sh', shell, {}).ended
  expect(full.code).toBe(7)
  expect(full.stderr).not.toContain('Something went wrong inside evroute')
  const accepted = Number(/= ([\d,]+) accepted/.exec(full.stderr)?.[1]?.replaceAll(',', ''))
  expect(accepted).toBeLessThan(5_000)
  const audit = await runBinary(['audit', '--store', store, '--json'])
  expect(audit.records).toMatchObject([{ balanced: true, ledger: { accepted } }])

  const { code, stderr } = await runBinary(argv)
  expect(stderr).toContain('5,000 read = 5,000 accepted')
  expect(code).toBe(0)
  const ids = endpoint.bodies.map((body) => (body as { messageId: string }).messageId)
  expect(new Set(ids).size).toBe(5_000)
})
