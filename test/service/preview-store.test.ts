import { spawnSync } from 'node:child_process'
import { mkdir, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/runtime/index.ts'
import { Service } from '../../src/service/index.ts'
import { removeAbandonedPreviews, withPreviewStore } from '../../src/service/preview-store.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { configurationOf, documentFor } from './running-service.ts'

/** A temporary folder of its own, with a preview in it for each owner. */
async function previewsOf(owners: readonly (number | string)[]): Promise<string> {
  const folder = await temporaryFolder()
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const owner of owners) {
    await mkdir(join(folder, `evroute-preview-${owner}-abc`))
    await writeFile(join(folder, `evroute-preview-${owner}-abc`, 'preview.db'), 'u_1')
  }
  return folder
}

/** The number of a process that has ended. */
function endedPid(): number {
  return spawnSync(process.execPath, ['--version']).pid
}

test('what a process that is gone has left is removed, and nothing else', async () => {
  const ended = endedPid()
  const folder = await previewsOf([ended, process.ppid, process.pid, 'x'])
  await symlink(folder, join(folder, `evroute-preview-${ended}-link`))
  await removeAbandonedPreviews(systemClock)
  expect((await readdir(folder)).toSorted()).toEqual(
    [
      `evroute-preview-${process.pid}-abc`,
      `evroute-preview-${process.ppid}-abc`,
      `evroute-preview-${ended}-link`,
      'evroute-preview-x-abc',
    ].toSorted(),
  )
})

test('what a process with the same number has left before is removed too', async () => {
  const folder = await previewsOf([process.pid])
  const past = new Date('2026-01-02T03:04:05.678Z')
  await utimes(join(folder, `evroute-preview-${process.pid}-abc`), past, past)
  await removeAbandonedPreviews(systemClock)
  expect(await readdir(folder)).toEqual([])
})

test('a service that starts removes what others have left', async () => {
  const endpoint = await TestEndpoint.start()
  const folder = await previewsOf([endedPid()])
  const configuration = await configurationOf(documentFor(endpoint), folder)
  await using service = await Service.start({ configuration })
  expect(service.address.port).toBeGreaterThan(0)
  expect(await readdir(folder)).toEqual([])
})

test('a preview removes what others have left, and is for this user only', async () => {
  const folder = await previewsOf([endedPid()])
  await withPreviewStore(systemClock, async (store) => {
    expect(await store.list()).toEqual([])
    const [name = '', ...others] = await readdir(folder)
    expect(others).toEqual([])
    expect(name).toMatch(new RegExp(`^evroute-preview-${process.pid}-`))
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o700)
  })
  expect(await readdir(folder)).toEqual([])
})
