import type { Member, MembershipChange, NewAudience } from '../../../src/audience/index.ts'
import type { NewEvent } from '../../../src/delivery/index.ts'
import type { NewRegulation } from '../../../src/privacy/index.ts'
import type { Store } from '../../../src/store/index.ts'
import {
  beginSync,
  memberWith,
  vip,
  type SyncUnderTest,
} from '../../conformance/audience-store-under-test.ts'
import { eventAbout, notificationAbout } from '../../conformance/regulation-store-under-test.ts'
import { delivered, nowMs } from '../../conformance/store-under-test.ts'
import { oddTexts } from './odd-texts.ts'

/** Adds an audience with all kinds of members, and a computed trait with an unfinished sync. */
export async function addAudiences(store: Store): Promise<void> {
  const members = [
    ...oddTexts.map((userId) => memberWith({ userId }, JSON.stringify(userId))),
    ...oddTexts.map((email) => memberWith({ userId: 'u_1', email })),
    memberWith({ anonymousId: 'visitor' }),
    memberWith({ anonymousId: '', email: '' }),
    memberWith({ userId: 'u_2', anonymousId: 'visitor', email: 'u_2@example.com' }),
  ]
  const first = await begin(store, vip)
  await first.take(...members)
  await first.release()
  const again = await begin(store, vip)
  await again.take(...members.slice(1))
  await again.release()
  const trait = { ...vip, key: 'total', name: 'Total \0', computationClass: 'trait' as const }
  const other = await begin(store, trait)
  const totals: Member[] = [
    memberWith({ userId: 'u_1' }, '12.5'),
    memberWith({ userId: 'u_9' }, '1'),
  ]
  await other.take(...totals)
}

/**
 * Adds regulations: a finished one, one that waits for its notifications, and one in the middle of its erasure.
 * Also suppresses users for all sources and for some, and unsuppresses one.
 */
export async function addRegulations(store: Store): Promise<void> {
  const about = ['gone_1', 'gone_2', 'gone_3'].flatMap((userId) => [
    eventAbout(userId, { messageId: `order-${userId}`, to: ['crm', 'lake'] }),
    eventAbout(userId, { type: 'alias', userId: 'somebody', previousId: userId }),
  ])
  await store.add({ nowMs, seenSinceMs: 0, events: about, handOver: [] })
  await create(store, {
    id: 'finished \0',
    type: 'DELETE_INTERNAL',
    userIds: ['gone_1', oddTexts[0]!],
  })
  await eraseAll(store, 'finished \0')
  await store.regulations.noteArchive({
    id: 'finished \0',
    archive: { events: 3, files: 1, problems: ['x \0'] },
  })
  await store.regulations.finish({ id: 'finished \0', nowMs })
  await create(store, { id: 'waiting', type: 'SUPPRESS_WITH_DELETE', userIds: ['gone_2'] }, ['crm'])
  await eraseAll(store, 'waiting')
  await create(
    store,
    { id: 'part', type: 'DELETE_ONLY', userIds: ['gone_3', 'u_1'], sourceIds: ['website'] },
    ['lake', 'crm'],
  )
  await store.regulations.erase({ id: 'part', nowMs, rowsMax: 5 })
  await create(store, {
    id: 'only',
    type: 'SUPPRESS_ONLY',
    userIds: oddTexts,
    sourceIds: ['website', ...oddTexts],
  })
  await create(store, { id: 'lifted', type: 'UNSUPPRESS', userIds: [oddTexts[1]!] })
}

/** Completes the unfinished regulations, and delivers their notifications. */
export async function finishRegulations(store: Store): Promise<void> {
  for (const id of ['waiting', 'part']) {
    await eraseAll(store, id)
    // Its notifications are pending, so it does not finish.
    await store.regulations.finish({ id, nowMs })
    for (const destinationId of ['crm', 'lake']) {
      const share = { destinationId, lane: 'first' as const, deliveriesMax: 1_000, dueByMs: nowMs }
      const claimed = await store.claim({ nowMs, shares: [share] })
      await store.settle({ nowMs, settlements: claimed.map(delivered), requests: [] })
    }
    await eraseAll(store, id)
    await store.regulations.finish({ id, nowMs })
  }
}

function begin(store: Store, audience: NewAudience): Promise<SyncUnderTest> {
  const eventOf = (change: MembershipChange): NewEvent => {
    const { userId } = change.identity
    const messageId = `${audience.key} ${JSON.stringify(change)}`
    const deliveries = userId === 'u_1' ? [{ destinationId: 'crm', body: messageId }] : []
    return eventAbout(userId, { type: 'identify', messageId, deliveries })
  }
  return beginSync(store, audience, { nowMs, eventOf })
}

async function create(
  store: Store,
  regulation: Omit<NewRegulation, 'sourceIds'> & { readonly sourceIds?: readonly string[] },
  destinationIds: readonly string[] = [],
): Promise<void> {
  const to = destinationIds
  const notifications =
    to.length === 0 ? [] : regulation.userIds.map((userId) => notificationAbout(userId, { to }))
  await store.regulations.create({
    regulation: { sourceIds: null, ...regulation },
    notifications,
    nowMs,
  })
}

async function eraseAll(store: Store, id: string): Promise<void> {
  const request = { id, nowMs, rowsMax: 100_000 }
  while ((await store.regulations.erase(request)) === 'more');
}
