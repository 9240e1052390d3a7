import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { binaryPath, runBinary, startBinary, TestProcess } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Large rows, which fill the disk quickly. */
const padding = 'x'.repeat(20_000)

/** Writes a configuration with one source, one destination and a store in a file. */
async function configured(url: string) {
  const folder = await temporaryFolder()
  const path = join(folder, 'evroute.config.json')
  const document = {
    listen: { port: 0 },
    store: 'sqlite:./store.db',
    network: { allow: ['127.0.0.0/8'] },
    sources: [{ id: 'website', writeKeys: ['wk_example'] }],
    destinations: [{ id: 'crm', type: 'Webhooks', sources: ['website'], endpoints: [{ url }] }],
  }
  await writeFile(path, JSON.stringify(document))
  return { folder, path }
}

/** Only Linux can change the limits of a running process. */
test.skipIf(process.platform !== 'linux')(
  'a service survives a full disk with requests in flight, and loses nothing',
  async () => {
    const { opened, open } = gate()
    const endpoint = await TestEndpoint.start(({ body }) =>
      body.includes('m_0') ? { status: 200, after: opened } : 200,
    )
    const { folder, path } = await configured(endpoint.url)
    // Files can't grow beyond 1,200 blocks of 512 bytes, so writes fail as on a full disk.
    const limited = `trap '' XFSZ; ulimit -Sf 1200; exec "$@"`
    const argv = ['serve', '--config', path, '--json']
    const shell = ['-c', limited, 'sh', process.execPath, binaryPath, ...argv]
    const service = new TestProcess('sh', shell, {})
    onTestFinished(() => service.signal('SIGKILL'))
    const { url, pid } = await service.stdout.record('ready')
    let posted = 0
    const post = async (): Promise<number> => {
      const body = {
        userId: 'u_1',
        event: 'E',
        messageId: `m_${posted++}`,
        properties: { padding },
      }
      const headers = { 'x-write-key': 'wk_example' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      return (await fetch(`${String(url)}/v1/track`, init)).status
    }
    const ready = async () => (await fetch(`${String(url)}/readyz`)).status

    let status = await post()
    while (status === 200) status = await post()
    expect(status).toBe(503)
    const acknowledged = posted - 1
    // A settlement may still fit although an event doesn't, so lower the limit.
    execFileSync('prlimit', ['--pid', String(pid), '--fsize=1:'])
    open()
    await service.stderr.matching(/the store cannot be written at the moment/)
    expect(await ready()).toBe(503)
    execFileSync('prlimit', ['--pid', String(pid), '--fsize=unlimited'])
    await service.stderr.matching(/the store can be written again/)
    expect(await post()).toBe(200)
    await endpoint.received(acknowledged + 1)
    service.signal('SIGTERM')
    expect((await service.ended).code).toBe(0)
    const audit = await runBinary([
      'audit',
      '--store',
      `sqlite:${join(folder, 'store.db')}`,
      '--json',
    ])
    expect(audit.records).toMatchObject([
      { balanced: true, ledger: { accepted: acknowledged + 1, failed: 0 } },
    ])
  },
)

test.skipIf(process.platform === 'win32')(
  'a service whose disk hangs reports its shutdown in time, and a further signal ends it',
  async () => {
    const { folder, path } = await configured('http://127.0.0.1:9/')
    const pipe = join(folder, 'pipe')
    const program = join(folder, 'hang.cjs')
    // In the store's thread, opening a pipe without a writer blocks like a write to a disk that hangs.
    await writeFile(
      program,
      `const { existsSync, openSync } = require('node:fs')
      const hang = () => existsSync(${JSON.stringify(pipe)}) && openSync(${JSON.stringify(pipe)}, 'r')
      if (!require('node:worker_threads').isMainThread) setInterval(hang, 10).unref()`,
    )
    const argv = ['serve', '--config', path, '--json', '--grace', '1ms']
    const service = startBinary(argv, { NODE_OPTIONS: `--require=${program}` })
    const { url } = await service.stdout.record('ready')
    execFileSync('mkfifo', [pipe])
    const ready = async () => (await fetch(`${String(url)}/readyz`)).status
    await expect.poll(ready, { timeout: 10_000 }).toBe(503)
    service.signal('SIGTERM')
    await service.stderr.matching(/"message":"ended; the store cannot be read/)
    let hasEnded = false
    void service.ended.then(() => (hasEnded = true))
    const signalAgain = () => {
      service.signal('SIGTERM')
      return hasEnded
    }
    await expect.poll(signalAgain, { timeout: 10_000 }).toBe(true)
  },
)
