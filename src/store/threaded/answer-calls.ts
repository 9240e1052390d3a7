import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import type { MembershipChange, SyncRequest } from '../../audience/index.ts'
import type { NewEvent } from '../../delivery/index.ts'
import { SqliteLog } from '../sqlite/sqlite-log.ts'
import { SqliteStore } from '../sqlite/sqlite-store.ts'
import type { UpgradeProgress } from '../upgrade.ts'
import { Gathering } from './gathering.ts'
import { placesOf } from './handed-over.ts'
import {
  openingCall,
  type MadeEvents,
  type Remote,
  type SlimQueue,
  type ThreadAnswer,
  type ThreadParts,
  type ThreadRequest,
  type ThreadSettings,
} from './thread-messages.ts'
import { errorOf, thrownError } from './thrown-error.ts'

type Method = (argument: unknown) => Promise<unknown>

/** Makes events in the thread that has their functions, and waits for them. */
type MakeEvents = (maker: number, changes: readonly MembershipChange[]) => readonly NewEvent[]

/**
 * Opens a store and runs the calls of another thread until that closes it. It stops listening once the
 * store is closed or could not be opened, so that the thread ends.
 *
 * @param port - where the calls come from
 */
export async function answerCalls(port: MessagePort, settings: ThreadSettings): Promise<void> {
  const answers = new Gathering<ThreadAnswer>({
    send: (some) => port.postMessage(some),
    // After all promises that a commit settles, and before the next commit.
    later: (send) => process.nextTick(send),
  })
  const tell = (answer: ThreadAnswer): void => answers.say(answer)
  const answer = async (call: number, result: () => Promise<unknown>): Promise<void> => {
    try {
      tell({ kind: 'done', call, result: await result() })
    } catch (error) {
      tell({ kind: 'failed', call, error: thrownError(error) })
    }
  }
  let store: SqliteStore | SqliteLog | undefined
  await answer(openingCall, async () => {
    store = await open(settings, (progress) => port.postMessage([{ kind: 'upgrading', progress }]))
  })
  const end = (): void => {
    answers.sendNow()
    port.close()
  }
  if (store === undefined) {
    end()
    return
  }
  const opened = store
  const tellAtOnce = (some: ThreadAnswer): void => {
    tell(some)
    answers.sendNow()
  }
  const parts = partsOf(opened, makeEventsWith(tellAtOnce, settings))
  const take = (request: ThreadRequest): void => {
    if (request.kind === 'close') {
      void answer(request.call, () => opened.close()).finally(end)
      return
    }
    const { call, part, method, argument } = request
    const methods = parts[part] as unknown as Readonly<Record<string, Method>>
    void answer(call, async () => methods[method]?.(argument))
  }
  port.on('message', (requests: readonly ThreadRequest[]) => requests.forEach(take))
}

function open(
  { path, access }: ThreadSettings,
  onProgress: (progress: UpgradeProgress) => void,
): Promise<SqliteStore | SqliteLog> {
  if (access === 'read') return SqliteLog.open(path, { write: false })
  return SqliteStore.open(path, undefined, { onProgress })
}

function partsOf(store: SqliteStore | SqliteLog, makeEvents: MakeEvents): Partial<ThreadParts> {
  if (!('add' in store)) return { questions: store }
  const { audiences, regulations } = store
  const local = <Request extends SyncRequest>(request: Remote<Request>): Request => {
    const eventsOf: Request['eventsOf'] = (changes) => makeEvents(request.maker, changes)
    return { ...request, eventsOf } as unknown as Request
  }
  return {
    queue: slimQueueOf(store),
    store,
    audiences: {
      begin: (request) => audiences.begin(request),
      take: (request) => audiences.take(local(request)),
      release: (request) => audiences.release(local(request)),
      remove: (request) => audiences.remove(request),
      list: () => audiences.list(),
      members: (request) => audiences.members(request),
    },
    regulations,
  }
}

function slimQueueOf(store: SqliteStore): SlimQueue {
  return {
    async add(batch) {
      const { outcomes, leased, refused } = await store.add(batch)
      const ids = leased.map(({ id }) => id)
      const leases = leased.map(({ lease }) => lease)
      return { outcomes, refused, places: placesOf(batch, leased), ids, leases }
    },
    claim: (request) => store.claim(request),
    async settle(batch) {
      const effective = new Set(await store.settle(batch))
      return batch.settlements.flatMap((each, place) => (effective.has(each) ? [place] : []))
    },
  }
}

/** A transaction cannot be paused, so the thread waits until the events are there. */
function makeEventsWith(
  tell: (answer: ThreadAnswer) => void,
  { events, areThere }: ThreadSettings,
): MakeEvents {
  return (maker, changes) => {
    if (changes.length === 0) return []
    tell({ kind: 'wanted', maker, changes })
    Atomics.wait(areThere, 0, 0)
    Atomics.store(areThere, 0, 0)
    const made = receiveMessageOnPort(events)?.message as MadeEvents
    if (made.kind === 'failed') throw errorOf(made.error)
    return made.events
  }
}
