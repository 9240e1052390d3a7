// Adds an event to a store without waiting for it, and closes nothing.
import { openStore } from '../../../src/store/index.ts'

const store = await openStore(`sqlite:${process.argv[2] ?? ''}`, { ownThread: true })
const origin = { sourceId: 'website', messageId: 'm_1', type: 'track', userId: null } as const
const batch = { nowMs: 1, seenSinceMs: 0, events: [{ ...origin, deliveries: [] }], handOver: [] }
void store.add(batch).then(() => process.stdout.write('stored\n'))
