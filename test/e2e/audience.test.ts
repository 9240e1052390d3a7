import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { binaryPath, runBinary, startBinary, TestProcess } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a running service syncs an audience twice, and deletes a user', async () => {
  const endpoint = await TestEndpoint.start()
  const folder = await temporaryFolder()
  const [config, list] = [join(folder, 'evroute.config.json'), join(folder, 'list.csv')]
  const token = 'not-a-real-token'
  const crm = { id: 'crm', type: 'Webhooks', sources: ['website'] }
  const document = {
    listen: { port: 0 },
    admin: { port: 0, token },
    network: { allow: ['127.0.0.0/8'] },
    sources: [{ id: 'website', writeKeys: ['wk_example'] }],
    destinations: [{ ...crm, endpoints: [{ url: endpoint.url }] }],
  }
  await writeFile(config, JSON.stringify(document))
  const service = startBinary(['serve', '--config', config, '--json'])
  const ready = await service.stdout.record('ready')
  const api = ['--api', String(ready['admin']), '--token', token]
  const sync = ['audience', 'sync', '--name', 'First-Time Shopper', '--file', list, ...api]
  await writeFile(list, 'id\nu_1\nu_2\n')
  expect(await runBinary(sync)).toMatchObject({
    code: 0,
    stdout:
      'first_time_shopper: 2 entered, 0 changed, 0 left, 0 unchanged; it is new or was empty\n',
  })
  await writeFile(list, 'id\nu_2\nu_3\n')
  expect(await runBinary(sync)).toMatchObject({
    code: 0,
    stdout: 'first_time_shopper: 1 entered, 0 changed, 1 left, 1 unchanged\n',
  })
  await endpoint.received(4)
  const deletion = ['delete', '--user-id', 'u_2', '--regulation', 'SUPPRESS_WITH_DELETE', '--json']
  const created = await runBinary([...deletion, ...api])
  expect(created).toMatchObject({ code: 0, stderr: '' })
  await endpoint.received(5)
  expect(endpoint.bodies[4]).toMatchObject({ type: 'delete', userId: 'u_2' })
  // A second process reads the store that the service uses.
  const show = ['regulations', 'show', String(created.records[0]?.['id']), '--json']
  await expect
    .poll(async () => (await runBinary([...show, '--config', config])).records)
    .toMatchObject([{ overallStatus: 'FINISHED', erased: { members: 1 } }])
  service.signal('SIGTERM')
  expect(await service.ended).toMatchObject({ code: 0 })
  // Without the service, the command itself syncs the store.
  await writeFile(list, 'id\nu_2\nu_3\n')
  const offline = ['audience', 'sync', '--name', 'First-Time Shopper', '--file', list]
  expect(await runBinary([...offline, '--config', config])).toMatchObject({
    code: 0,
    stdout: 'first_time_shopper: 0 entered, 0 changed, 0 left, 1 unchanged (1 suppressed)\n',
  })
})

test.runIf(process.platform === 'linux')('a dry run says where it lacks room', async () => {
  const folder = await temporaryFolder()
  const [config, list] = [join(folder, 'evroute.config.json'), join(folder, 'list.csv')]
  await writeFile(
    config,
    JSON.stringify({ sources: [{ id: 'website', writeKeys: ['wk_example'] }] }),
  )
  const ids = Array.from({ length: 20_000 }, (_, index) => `u_${index}\n`)
  await writeFile(list, `id\n${ids.join('')}`)
  const sync = ['audience', 'sync', '--key', 'vip', '--file', list, '--dry-run', '--config', config]
  const command = [process.execPath, binaryPath, ...sync]
  const { code, stderr } = await new TestProcess('prlimit', ['--fsize=3000000', ...command], {})
    .ended
  expect(code).toBe(7)
  expect(stderr).toContain('Cannot use the store in the folder for temporary files: ')
})
