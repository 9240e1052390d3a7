import { expect, onTestFinished, test, vi } from 'vitest'
import type { BreakerNews } from '../../../src/delivery/index.ts'
import { Database } from '../../../src/store/postgres/database.ts'
import { Notifications } from '../../../src/store/postgres/notifications.ts'
import { gate } from '../../support/gate.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

/** Opens the notifications of a process, and records those that it receives. */
async function open(url: string, holder: number) {
  const database = new Database(url, { connectionsMax: 2, isReadOnly: false })
  const heard: BreakerNews[] = []
  const { opened, open: listens } = gate()
  const looks: unknown[] = []
  const onNotification = (dueTimes: unknown): void => {
    looks.push(dueTimes)
    listens()
  }
  const notifications = new Notifications(database, { url, holder, onNotification })
  notifications.onNews = (news) => heard.push(news)
  onTestFinished(async () => {
    await notifications.close()
    await database.close()
  })
  await opened
  return { notifications, heard, looks }
}

test('news about a thousand endpoints arrives, in notifications of fewer than 8,000 bytes', async () => {
  const url = await databases.newUrl()
  const [first, second] = [await open(url, 1), await open(url, 2)]
  const news = Array.from({ length: 1_000 }, (_, index) => ({
    destinationId: `destination-${index}`,
    endpoint: `https://hooks.example.com/…#${index}`,
    openMs: 30_000,
    rank: 0,
  }))
  for (const each of news) first.notifications.tell(each)
  // Later news about an endpoint replaces news that was not sent yet.
  first.notifications.tell({ ...news[999]!, openMs: 0 })
  await vi.waitFor(() => expect(second.heard).toHaveLength(1_000))
  expect(second.heard).toEqual([...news.slice(0, 999), { ...news[999], openMs: 0 }])
  expect(first.heard).toEqual([])
  expect(second.looks).toHaveLength(1)
})

test('news and due lanes are distinguished', async () => {
  const url = await databases.newUrl()
  const [first, second] = [await open(url, 1), await open(url, 2)]
  const news = { destinationId: 'crm', endpoint: 'https://example.com', openMs: 0, rank: 0 }
  const due = { destinationId: 'crm', lane: 'first', dueAtMs: 1 } as const
  first.notifications.tell(news)
  first.notifications.announce([due])
  await vi.waitFor(() => expect(second.heard).toEqual([news]))
  await vi.waitFor(() => expect(second.looks.slice(1)).toEqual([[due]]))
})
