import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { binaryPath, runBinary, startBinary, TestProcess } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Document {
  readonly listen: object
  readonly admin: object
  readonly destinations: readonly Readonly<Record<string, unknown>>[]
  readonly [section: string]: unknown
}

/** Creates the configuration of `evroute init`, with free ports and webhooks to this URL. */
async function initialised(url: string, changes: object = {}) {
  const folder = await temporaryFolder()
  const path = join(folder, 'evroute.config.json')
  expect((await runBinary(['init', '--config', path])).code).toBe(0)
  const starter = JSON.parse(await readFile(path, 'utf8')) as Document
  const document = {
    ...starter,
    listen: { ...starter.listen, port: 0 },
    admin: { ...starter.admin, port: 0 },
    destinations: [{ ...starter.destinations[0], endpoints: [{ url }] }],
    ...changes,
  }
  await writeFile(path, JSON.stringify(document))
  const secretOf = async (name: string) =>
    (await readFile(join(folder, 'evroute.secrets', name), 'utf8')).trim()
  return { folder, path, document, secretOf, writeKey: await secretOf('write-key') }
}

/** Starts `serve` and waits until it is ready. */
async function serving(path: string, ...flags: readonly string[]) {
  const service = startBinary(['serve', '--config', path, '--json', ...flags])
  const ready = await service.stdout.record('ready')
  return { service, ready, url: String(ready['url']), admin: String(ready['admin']) }
}

function post(url: string, writeKey: string, messageId: string): Promise<Response> {
  return fetch(`${url}/v1/track`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}` },
    body: JSON.stringify({ userId: 'u_1', event: 'Order Completed', messageId }),
  })
}

/** Resolves once the log has a line with this message. */
function logged(service: TestProcess, message: string): Promise<RegExpExecArray> {
  return service.stderr.matching(new RegExp(`"message":"${message}.*\n`))
}

describe('serve', () => {
  test('turns a posted call into a signed webhook, as the next steps of init say', async () => {
    const { folder, path, writeKey, document } = await initialised('http://127.0.0.1:4100/')
    const secret = `@${join(folder, 'evroute.secrets', 'shared-secret')}`
    const flags = ['--port', '0', '--json', '--count', '1', '--strict', '--secret', secret]
    const receiver = startBinary(['listen', ...flags])
    const { url: receiverUrl } = await receiver.stdout.record('ready')
    const endpoints = [{ url: receiverUrl, headers: { 'X-Team': 'growth' } }]
    const destinations = [{ ...document.destinations[0], endpoints }]
    await writeFile(path, JSON.stringify({ ...document, destinations }))

    const { service, ready, url } = await serving(path)
    expect(ready).toEqual({
      v: 1,
      kind: 'ready',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
      port: expect.any(Number) as number,
      admin: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
      inspector: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/_evroute\/$/) as string,
      pid: expect.any(Number) as number,
    })
    const answer = await post(url, writeKey, 'm_1')
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ success: true })
    const received = await receiver.ended
    expect(received.code).toBe(0)
    expect(received.records[1]).toMatchObject({
      kind: 'event',
      signature: 'valid',
      body: { type: 'track', userId: 'u_1', event: 'Order Completed', messageId: 'm_1' },
      headers: { 'x-team': 'growth' },
    })
    service.signal('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0, signal: null })
  })

  test('sends from sender threads, and reports their connections', async () => {
    const endpoint = await TestEndpoint.start([200, 200, 'hang'])
    const { path, folder, writeKey } = await initialised(endpoint.url, { senderThreads: 2 })
    const { service, url, admin } = await serving(path, '--grace', '1ms')
    const token = (await readFile(join(folder, 'evroute.secrets', 'admin-token'), 'utf8')).trim()
    const metrics = async (): Promise<string> => {
      const headers = { authorization: `Bearer ${token}` }
      return await (await fetch(`${admin}/metrics`, { headers })).text()
    }
    // A connection is free for the second call only after the first call is settled.
    for (const count of [1, 2]) {
      await post(url, writeKey, `m_${count}`)
      const settled = new RegExp(`^evroute_deliveries_settled_total\\{.*\\} ${count}$`, 'm')
      await expect.poll(metrics).toMatch(settled)
    }
    const reused = /^evroute_webhook_connections_reused_total\{.*\} 1$/m
    await expect.poll(metrics).toMatch(reused)
    await post(url, writeKey, 'm_3')
    await endpoint.received(3)
    service.signal('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0, signal: null })
    await endpoint.disconnected()
  })

  test('answers deliveries and audit while it runs', async () => {
    const endpoint = await TestEndpoint.start()
    const { path, folder, writeKey } = await initialised(endpoint.url)
    const { url, admin } = await serving(path)
    await post(url, writeKey, 'm_1')
    await endpoint.received(1)
    const token = `@${join(folder, 'evroute.secrets', 'admin-token')}`
    const apiOptions = ['--api', admin, '--token', token, '--json']
    await expect
      .poll(async () => (await runBinary(['deliveries', ...apiOptions])).records)
      .toMatchObject([{ kind: 'delivery', messageId: 'm_1', state: 'delivered' }])
    const audit = await runBinary(['audit', ...apiOptions])
    expect(audit.records).toMatchObject([{ balanced: true, ledger: { accepted: 1 } }])
    expect(audit.code).toBe(0)
  })

  test('keeps its configuration if the file is invalid on SIGHUP, and applies a valid one', async () => {
    const endpoint = await TestEndpoint.start()
    const { folder, path, document, writeKey } = await initialised(endpoint.url)
    const { service, url } = await serving(path)
    await writeFile(path, JSON.stringify({ ...document, limits: { backlogMax: 'many' } }))
    service.signal('SIGHUP')
    await logged(service, 'the new configuration is invalid')
    expect(service.stderr.text).toContain('limits.backlogMax: Cannot use \\"many\\"')
    expect((await post(url, writeKey, 'm_1')).status).toBe(200)

    await writeFile(path, JSON.stringify(document))
    await logged(service, 'the configuration is the same')
    // The file itself doesn't change, so only the signal announces the new key.
    await writeFile(join(folder, 'evroute.secrets', 'write-key'), 'wk_example_next')
    service.signal('SIGHUP')
    await logged(service, 'the configuration changed')
    expect(service.stderr.text).toContain('"setting":"sources.website.writeKeys"')
    expect((await post(url, writeKey, 'm_2')).status).toBe(401)
    expect((await post(url, 'wk_example_next', 'm_2')).status).toBe(200)
    await endpoint.received(2)
  })

  test('applies changes of its file without a signal', async () => {
    const endpoint = await TestEndpoint.start()
    const { path, document, writeKey } = await initialised(endpoint.url)
    const { service, url } = await serving(path)
    const sources = [{ id: 'website', writeKeys: [writeKey], enabled: false }]
    await writeFile(path, JSON.stringify({ ...document, sources }))
    await logged(service, 'the configuration changed')
    expect((await post(url, writeKey, 'm_1')).status).toBe(403)
  })

  test('continues when the readers of its output leave', async () => {
    const endpoint = await TestEndpoint.start()
    const { path, document, writeKey } = await initialised(endpoint.url)
    const { service, url } = await serving(path)
    service.closeOutput()
    const sources = [{ id: 'website', writeKeys: [writeKey, 'wk_example_next'] }]
    await writeFile(path, JSON.stringify({ ...document, sources }))
    // It logs that it applied the file, but nothing reads the log.
    const status = async () => (await post(url, 'wk_example_next', 'm_1')).status
    await expect.poll(status).toBe(200)
    await endpoint.received(1)
    service.signal('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0, signal: null })
  })

  test('ends with 0 on SIGTERM, returns deliveries in flight, and makes them after a restart', async () => {
    const endpoint = await TestEndpoint.start(['hang', 200])
    const { path, writeKey } = await initialised(endpoint.url)
    const { service, url } = await serving(path, '--grace', '100ms')
    await post(url, writeKey, 'm_1')
    await endpoint.received(1)
    service.signal('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0, signal: null })
    await serving(path)
    await endpoint.received(2)
    expect(endpoint.bodies[1]).toMatchObject({ messageId: 'm_1' })
  })

  test('serves requests while it drains, although it is not ready, and ends at once on a second signal', async () => {
    const endpoint = await TestEndpoint.start()
    const { path, writeKey } = await initialised(endpoint.url)
    const { service, url } = await serving(path, '--drain', '10m')
    service.signal('SIGTERM')
    const readiness = async () => (await fetch(`${url}/readyz`)).status
    await expect.poll(readiness).toBe(503)
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({
      status: 'not_ready',
      reasons: ['The service is closing'],
    })
    expect((await post(url, writeKey, 'm_1')).status).toBe(200)
    await endpoint.received(1)
    service.signal('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 130, signal: null })
  })

  test('ends with 0 on SIGTERM although its stderr is full and has no reader', async () => {
    const { path } = await initialised('http://127.0.0.1:4100/')
    // `cat` holds the pipe open until its own input ends.
    const script =
      'exec 3>&1 4<&0; ' +
      '{ head -c 65536 /dev/zero >&2; "$@"; echo "ended with $?" >&3; } 2>&1 >&3 | { cat <&4; } 5<&0'
    const command = [process.execPath, binaryPath, 'serve', '--config', path, '--json']
    const shell = new TestProcess('sh', ['-c', script, 'sh', ...command], {})
    onTestFinished(() => void shell.stdin.end())
    const { pid } = await shell.stdout.record('ready')
    process.kill(Number(pid), 'SIGTERM')
    await shell.stdout.matching(/ended with 0/)
  })

  test('ends at once on a second signal', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const { path, writeKey } = await initialised(endpoint.url)
    const { service, url } = await serving(path, '--grace', '1m')
    await post(url, writeKey, 'm_1')
    await endpoint.received(1)
    service.signal('SIGTERM')
    // Once it accepts nothing more, the first signal has arrived.
    await expect.poll(() => post(url, writeKey, 'm_2').catch(() => 'refused')).toBe('refused')
    service.signal('SIGINT')
    expect(await service.ended).toMatchObject({ code: 130, signal: null })
  })

  test('ends with 2 for an invalid configuration, and names every problem', async () => {
    const { path, document } = await initialised('http://10.0.0.5/hook')
    await writeFile(path, JSON.stringify({ ...document, limits: { backlogMaxx: 1 } }))
    const { code, records, stderr } = await runBinary(['serve', '--config', path, '--json'])
    expect(code).toBe(2)
    const { error } = JSON.parse(stderr) as { error: { code: string; problems: object } }
    expect(error.code).toBe('invalid_setting')
    const problems = [
      {
        path: 'destinations[0].endpoints[0].url',
        message: expect.stringContaining('network.allow') as string,
      },
      { path: 'limits.backlogMaxx', hint: 'Did you mean "backlogMax"?' },
    ]
    expect(error.problems).toMatchObject(problems)
    expect(records).toMatchObject(problems)
  })

  test('ends with 7 without a configuration, and says how to create one', async () => {
    const path = join(await temporaryFolder(), 'evroute.config.json')
    const { code, stderr } = await runBinary(['serve', '--config', path])
    expect(code).toBe(7)
    expect(stderr).toContain('Create one with `evroute init`')
  })

  test('ends with 7 when its port is taken, and when a different service delivers from its store', async () => {
    const endpoint = await TestEndpoint.start()
    const other = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { path, document } = await initialised(endpoint.url, { listen: { port } })
    const taken = await runBinary(['serve', '--config', path])
    expect(taken).toMatchObject({ code: 7, stdout: '' })
    expect(taken.stderr).toContain(`Cannot listen on port ${port}`)
    expect(taken.stderr).toContain('Set listen.port to a different port')

    await writeFile(path, JSON.stringify({ ...document, listen: { port: 0 } }))
    await serving(path)
    const inUse = await runBinary(['serve', '--config', path, '--json'])
    expect(inUse).toMatchObject({ code: 7, stdout: '' })
    expect(JSON.parse(inUse.stderr)).toMatchObject({ error: { code: 'store_in_use' } })
  })
})
