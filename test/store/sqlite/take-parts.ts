// Syncs an audience in a store, part after part, until it is killed.
import type { MembershipChange } from '../../../src/audience/index.ts'
import { makeStep } from '../../../src/audience/begun-sync.ts'
import type { NewEvent } from '../../../src/delivery/index.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

const nowMs = 1_000
const partSize = 20
const audience = {
  key: 'vip',
  name: 'VIP',
  computationClass: 'audience' as const,
  computationId: 'c_vip',
  sourceId: 'website',
}

function eventOf({ identity: { userId } }: MembershipChange): NewEvent {
  const deliveries = [{ destinationId: 'crm', body: '{}' }]
  const origin = { sourceId: audience.sourceId, messageId: `call of ${userId}` }
  return { ...origin, type: 'identify', userId, deliveries }
}

const { audiences } = await SqliteStore.open(process.argv[2] ?? '')
const begun = await audiences.begin({ audience, nowMs })
if (begun.kind !== 'begun') throw new Error('the key is taken')
const request = { key: audience.key, sync: begun.sync, nowMs, seenSinceMs: 0 }

for (let part = 0; ; part++) {
  const members = Array.from({ length: partSize }, (_, index) => {
    const userId = `u_${part * partSize + index}`
    return { identity: { userId, anonymousId: null, email: null }, value: 'true' }
  })
  await makeStep(
    (plan) => audiences.take({ ...request, plan, members }),
    (changes) => changes.map(eventOf),
  )
  if (part === 3) process.stdout.write('syncing\n')
}
