import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { run } from '../../support/io.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const databases = new PostgresDatabases()

const release = (name: string, url: string) => run(['regulations', 'release', name, '--store', url])

test('an archive that is gone is shown by name, and released', async () => {
  const url = await databases.newUrl()
  const store = await openStore(url)
  const name = '/srv/archive on web-1'
  await store.sharedRegulations!.register({ archives: [{ id: 'a', name }] })
  const regulation = { id: 'reg_1', userIds: ['u_1'], sourceIds: null }
  await store.regulations.create({
    regulation: { ...regulation, type: 'DELETE_ARCHIVE_ONLY' },
    notifications: [],
    nowMs: 1,
  })
  await store.close()
  const show = () => run(['regulations', 'show', 'reg_1', '--store', url])
  expect((await show()).stdout).toContain('Waits for    the archive /srv/archive on web-1\n')
  expect(await release(name, url)).toMatchObject({
    ...{ code: 0, stdout: '' },
    stderr: `No regulation waits for the archive ${name} any more\n`,
  })
  const { stdout } = await show()
  expect(stdout).not.toContain('Waits for')
  expect(stdout).toContain(`${name}: it was released, and what was in it was not erased\n`)
  const again = await release(name, url)
  expect(again.code).toBe(2)
  expect(again.stderr).toContain(`No regulation waits for an archive "${name}"`)
})

test('a file has no archives of others', async () => {
  const url = `sqlite:${join(await temporaryFolder(), 'store.db')}`
  await (await openStore(url)).close()
  expect((await release('/srv/archive', url)).code).toBe(2)
})
