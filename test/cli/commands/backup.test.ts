import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { documentFor, startService } from '../../service/running-service.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { delivered, failed, retried, storeWith } from '../deliveries/stores.ts'

describe('backup', () => {
  test('copies the store of a running service, and a service starts from the copy', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const folder = await temporaryFolder()
    const document = documentFor(endpoint, { store: 'sqlite:./live.db' })
    const live = await startService(document, undefined, folder)
    for (const id of ['m_1', 'm_2', 'm_3']) await live.track(id)
    const file = join(folder, 'copy.db')
    const backup = await run(['backup', file, '--store', `sqlite:${join(folder, 'live.db')}`])
    const { size, mode } = await stat(file)
    expect(backup).toMatchObject({ code: 0, stderr: '' })
    expect(backup.stdout).toBe(`${file}: ${size.toLocaleString('en')} bytes\n`)
    expect(mode & 0o777).toBe(0o600)
    // The copy lacks later events.
    await live.track('m_4')
    await live.service.close()

    const other = await TestEndpoint.start()
    const restored = await startService(
      documentFor(other, { store: 'sqlite:./copy.db' }),
      undefined,
      folder,
    )
    await other.received(3)
    await expect
      .poll(() => restored.admin('/v1/ledger'))
      .toMatchObject({ body: { routed: 3, delivered: 3, pending: 0 } })
    expect(await restored.admin('/v1/audit')).toMatchObject({ body: { balanced: true } })
  })

  test('copies the history of deliveries', async () => {
    const { url, path } = await storeWith(delivered, failed, retried)
    const file = `${path}-copy`
    expect(await run(['backup', file], { env: { EVROUTE_STORE: url } })).toMatchObject({ code: 0 })
    const list = async (store: string) =>
      (await run(['deliveries', '--store', store, '--json'])).stdout
    expect(await list(`sqlite:${file}`)).toBe(await list(url))
  })

  test('finds the store of a configuration', async () => {
    const { path } = await storeWith(delivered)
    const config = `${path}.json`
    const sources = [{ id: 'website', writeKeys: ['wk_example'] }]
    await writeFile(config, JSON.stringify({ store: `sqlite:${path}`, sources }))
    expect(await run(['backup', `${path}-copy`, '--config', config])).toMatchObject({ code: 0 })
  })

  test.each([
    ['no store', [], {}, 2, 'Cannot tell which store is meant'],
    ['a store in memory', ['--store', 'memory:'], {}, 2, 'it must be sqlite:<file>'],
    ['PostgreSQL', ['--store', 'postgres://u@h/d'], {}, 2, 'Use pg_dump for PostgreSQL'],
    ['a missing store', ['--store', 'sqlite:./missing.db'], {}, 7, 'there is no such file'],
  ])('refuses %s', async (...[, flags, env, code, message]) => {
    const file = join(await temporaryFolder(), 'copy.db')
    const ended = await run(['backup', file, ...flags], { env })
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: '' })
    expect(ended.stderr).toContain(message)
  })

  test('overwrites nothing', async () => {
    const { url } = await storeWith(delivered)
    const folder = await temporaryFolder()
    const file = join(folder, 'copy.db')
    await writeFile(file, 'mine')
    const ended = await run(['backup', file, '--store', url])
    expect(ended).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('the file already exists') as unknown,
    })
    expect(await readdir(folder)).toEqual(['copy.db'])
  })

  test('leaves no file behind if it cannot write', async () => {
    const { url } = await storeWith(delivered)
    const folder = await temporaryFolder()
    const ended = await run(['backup', join(folder, 'missing/copy.db'), '--store', url])
    expect(ended).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('its folder') as unknown,
    })
    expect(await readdir(folder)).toEqual([])
  })

  test('refuses a file that is not a store', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'other.db')
    await writeFile(file, 'not a database at all, but long enough to be read as one'.repeat(20))
    const ended = await run(['backup', join(folder, 'copy.db'), '--store', `sqlite:${file}`])
    expect(ended).toMatchObject({ code: 7, stdout: '' })
    expect(await readdir(folder)).toEqual(['other.db'])
  })
})
