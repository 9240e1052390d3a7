import { existsSync } from 'node:fs'
import { appendFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Append } from '../../src/archive/index.ts'
import { readArchive } from '../../src/archive/index.ts'
import type { AddOutcome } from '../../src/delivery/index.ts'
import type { IntakeResult } from '../../src/intake/index.ts'
import { Archives } from '../../src/service/archives.ts'
import { gate } from '../support/gate.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { manualClock } from './running-service.ts'

function acceptedEvent(messageId: string) {
  return {
    messageId,
    type: 'page' as const,
    sourceId: 'website',
    receivedAtMs: Date.UTC(2026, 0, 2),
    timestamp: '2026-01-02T00:00:00.000Z',
    historical: false,
    userId: 'u_1',
    context: {},
    integrations: {},
  }
}

function accepted(
  messageId: string,
  outcome: AddOutcome = 'routed',
): IntakeResult & { readonly kind: 'accepted' } {
  const event = acceptedEvent(messageId)
  return { kind: 'accepted', index: 0, outcome, event, deliveries: [], decisions: [] }
}

/** Archives on a disk whose writes finish only when the test says so. */
async function startArchives(append: Append = appendFile) {
  const directory = join(await temporaryFolder(), 'archive')
  const clock = manualClock()
  const archives = new Archives(clock.nowMs(), { clock, append })
  const source = {
    id: 'website',
    writeKeys: ['wk_example'],
    enabled: true,
    eventsPerSecond: undefined,
    archive: { directory },
  }
  onTestFinished(() => archives.release())
  return {
    archives,
    clock,
    source,
    keep: (messageId: string) => archives.keep(source, [accepted(messageId)]),
    /** The messageIds of the archived events. */
    kept: async () => {
      const ids: unknown[] = []
      for await (const { rows } of readArchive(directory, 'website', {})) {
        ids.push(...rows.map(({ messageId }) => messageId))
      }
      return ids
    },
  }
}

async function startStalled() {
  const { opened, open } = gate()
  const archives = await startArchives(async (path, bytes) => {
    await opened
    await appendFile(path, bytes)
  })
  await archives.archives.open([archives.source])
  return { ...archives, open }
}

const refused = { code: 'cannot_write_file' }

describe('Archives', () => {
  test('keep all accepted calls, including duplicates, if the source is archived', async () => {
    const { archives, source, kept, clock } = await startArchives()
    const rejected: IntakeResult = {
      kind: 'rejected',
      index: 1,
      code: 'no_event',
      message: 'track needs an event',
    }
    await archives.keep(source, [accepted('m_1'), rejected, accepted('m_2', 'duplicate')])
    await archives.keep(source, [accepted('m_5', 'suppressed'), accepted('m_6', 'filtered')])
    await archives.keep({ ...source, archive: undefined }, [accepted('m_3')])
    await archives.keep(undefined, [accepted('m_4')])
    expect(await kept()).toEqual(['m_1', 'm_2', 'm_6'])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('erase a user in every run and folder', async () => {
    const { archives, source, keep, kept, clock } = await startArchives()
    const before = new Archives(clock.nowMs() - 1)
    await before.keep(source, [accepted('m_1')])
    before.release()
    await keep('m_2')
    const directory = join(await temporaryFolder(), 'elsewhere')
    const app = { ...source, id: 'app', archive: { directory } }
    const ofApp = { ...accepted('m_3'), event: { ...acceptedEvent('m_3'), sourceId: 'app' } }
    await archives.keep(app, [ofApp])
    const erase = (userIds: readonly string[], untilMs: number) =>
      archives.erase({
        sources: [source, { id: 'shop', archive: undefined }, app],
        userIds,
        untilMs,
        signal: new AbortController().signal,
      })
    const acceptedAtMs = Date.UTC(2026, 0, 2)
    expect(await erase(['u_1'], acceptedAtMs - 1)).toEqual({ events: 0, files: 0, problems: [] })
    expect(await erase(['u_2'], acceptedAtMs)).toEqual({ events: 0, files: 0, problems: [] })
    expect(await erase(['u_1', 'u_2'], acceptedAtMs)).toEqual({ events: 3, files: 3, problems: [] })
    expect(await kept()).toEqual([])
    await keep('m_4')
    expect(await kept()).toEqual(['m_4'])
  })

  test('refuse a folder that others use, even by a link, until those release it', async () => {
    const { archives, source, keep, kept } = await startArchives()
    const link = join(await temporaryFolder(), 'link')
    const { directory } = source.archive
    await mkdir(directory)
    await symlink(directory, link, 'junction')
    const linked = { ...source, archive: { directory: link } }
    await archives.open([linked, source])
    const other = await startArchives()
    const { keep: keepElsewhere, kept: keptElsewhere } = other
    const inUse = {
      ...refused,
      message: `Cannot write the archive ${directory}: another process is using it`,
      hint: 'Stop that process, or give each process a folder of its own.',
    }
    for (const each of [source, linked]) {
      await expect(other.archives.open([other.source, each])).rejects.toMatchObject(inUse)
      await expect(other.archives.keep(each, [accepted('m_1')])).rejects.toMatchObject(inUse)
      const erasure = { sources: [each], userIds: ['u_1'], untilMs: Date.UTC(2026, 0, 3) }
      const { signal } = new AbortController()
      await expect(other.archives.erase({ ...erasure, signal })).rejects.toMatchObject(inUse)
    }
    await Promise.all([keep('m_2'), archives.keep(linked, [accepted('m_3')])])
    await keepElsewhere('m_4')
    archives.release()
    await other.archives.keep(linked, [accepted('m_5')])
    await expect(keep('m_6')).rejects.toMatchObject(inUse)
    expect(new Set(await kept())).toEqual(new Set(['m_2', 'm_3', 'm_5']))
    expect(await keptElsewhere()).toEqual(['m_4'])
  })

  test('say why a folder cannot be used, and use it once it can', async () => {
    const { archives, source } = await startArchives()
    const parent = join(await temporaryFolder(), 'file')
    await writeFile(parent, '')
    const moved = { ...source, archive: { directory: join(parent, 'archive') } }
    const cannot = { ...refused, message: expect.stringContaining('ENOTDIR') as string }
    await expect(archives.open([moved])).rejects.toMatchObject(cannot)
    await rm(parent)
    await archives.open([moved])
  })

  test('make no folder to erase from', async () => {
    const { archives, source } = await startArchives()
    const request = { sources: [source], userIds: ['u_1'], untilMs: Date.UTC(2026, 0, 3) }
    const { signal } = new AbortController()
    const nothing = { events: 0, files: 0, problems: [] }
    expect(await archives.erase({ ...request, signal })).toEqual(nothing)
    expect(existsSync(source.archive.directory)).toBe(false)
  })

  test('wait five seconds for a disk that hangs, and then drop writes that have not begun', async () => {
    const { clock, keep, kept, open } = await startStalled()
    const stalled = [keep('m_1'), keep('m_2')].map((each) => each.catch((error: unknown) => error))
    await clock.advance(4_999)
    const later = keep('m_3')
    await clock.advance(1)
    for (const each of stalled) {
      expect(await each).toMatchObject({
        ...refused,
        message: expect.stringContaining('it took more than 5s') as string,
      })
    }
    open()
    await later
    // The first write had begun, so if its client retries, the call is archived twice.
    expect(await kept()).toEqual(['m_1', 'm_3'])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('finish their writes before they close', async () => {
    const { archives, clock, keep, kept, open } = await startStalled()
    const kept1 = keep('m_1')
    const closed = archives.close(60_000)
    open()
    await Promise.all([kept1, closed])
    await archives.close(60_000)
    expect(await kept()).toEqual(['m_1'])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('refuse a write that arrives after closing once the closing time is over', async () => {
    const { archives, clock, keep, open } = await startStalled()
    await archives.close(2_000)
    const afterwards = expect(keep('m_1')).rejects.toMatchObject(refused)
    await clock.advance(2_000)
    await afterwards
    open()
  })

  test('wait for a disk that hangs only as long as a service may take to close', async () => {
    const { archives, clock, keep, open } = await startStalled()
    const before = expect(keep('m_1')).rejects.toMatchObject(refused)
    const closed = archives.close(2_000)
    await clock.advance(1_000)
    const meanwhile = expect(keep('m_2')).rejects.toMatchObject(refused)
    await clock.advance(1_000)
    await Promise.all([before, meanwhile, closed])
    expect(clock.nextDueMs()).toBeUndefined()
    open()
  })
})
