import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { documentFor } from '../../service/running-service.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A configuration file with a store in a file beside it. */
async function configured() {
  const endpoint = await TestEndpoint.start()
  const folder = await temporaryFolder()
  const path = join(folder, 'evroute.config.json')
  const document = documentFor(endpoint, { store: 'sqlite:./store.db' })
  await writeFile(path, JSON.stringify(document))
  return { endpoint, document, path, store: join(folder, 'store.db') }
}

describe('serve', () => {
  test('says to a person where it can be reached', async () => {
    const { path } = await configured()
    const command = start(['serve', '--config', path, '--grace', '2s'])
    await command.stderr.matching(/Ctrl-C ends it: requests under way are given 2s/)
    command.stop()
    const { code, stdout, stderr } = await command.ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toMatch(/^ {2}tracking API {2}http:\/\/127\.0\.0\.1:\d+\/v1\/batch$/m)
    expect(stderr).toMatch(/^ {2}admin API {5}http:\/\/127\.0\.0\.1:\d+$/m)
  })

  test('ends with 7 when its store fails, and says why', async () => {
    const { path, store } = await configured()
    const command = start(['serve', '--config', path, '--json'])
    const { url } = await command.stdout.record('ready')
    const database = await openDatabase(store)
    database.exec('DROP TABLE requests')
    database.close()
    const answer = await fetch(`${String(url)}/v1/track`, {
      method: 'POST',
      headers: { 'x-write-key': 'wk_example' },
      body: '{"userId":"u_1","event":"E"}',
    })
    expect(answer.status).toBe(200)
    const { code, stderr } = await command.ended
    expect(code).toBe(7)
    const last = stderr.trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toMatchObject({ error: { code: 'store_unusable' } })
  })

  test('reads the file again on a SIGHUP that comes before it is ready', async () => {
    const { path } = await configured()
    const command = start(['serve', '--config', path, '--json'])
    await command.hangUp()
    expect(command.stdout.text).toBe('')
    await command.stderr.matching(/"the configuration is the same"/)
    command.stop()
    expect(await command.ended).toMatchObject({ code: 0 })
  })

  test('reads a file again that comes back, and says where nothing differs', async () => {
    const { path, document } = await configured()
    const command = start(['serve', '--config', path, '--json'])
    await command.stdout.record('ready')
    await writeFile(path, '{"sources": [')
    await command.stderr.matching(
      /"the configuration is refused","problem":"Cannot read it as JSON/,
    )
    await writeFile(path, JSON.stringify(document, null, 2))
    await command.stderr.matching(/"the configuration is the same"/)
    command.stop()
    expect(await command.ended).toMatchObject({ code: 0 })
  })
})
