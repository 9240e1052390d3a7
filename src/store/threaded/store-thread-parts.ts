import type { MessagePort } from 'node:worker_threads'
import type { LeaseEnd } from '../../delivery/index.ts'
import { answerCalls } from '../../threads/index.ts'
import type { EndRequest } from '../log/first-tries.ts'
import type { UpgradeProgress } from '../sqlite/schema.ts'
import { SqliteLog } from '../sqlite/sqlite-log.ts'
import { SqliteStore } from '../sqlite/sqlite-store.ts'

/** The objects in a store's thread whose methods other threads call. */
export interface StoreThreadParts {
  readonly thread: {
    /** Opens a file for delivery, which makes all parts but `log` available. */
    readonly openStore: (path: string) => Promise<void>
    /** Opens a file for reading while another thread delivers from it, which makes `log` available. */
    readonly openLog: (path: string) => Promise<void>
    readonly close: () => Promise<void>
  }
  readonly store: SqliteStore
  readonly audiences: SqliteStore['audiences']
  readonly regulations: SqliteStore['regulations']
  readonly log: SqliteLog
  readonly messages: {
    /** Settles what a text from `settleMessage` lists. Returns the indexes of the settlements that took effect. */
    readonly settle: (message: string) => Promise<readonly number[]>
  }
}

/** Runs a store's thread: opens the store or its log, and answers the main thread's calls. */
export function answerStoreCalls(port: MessagePort): void {
  let opened: SqliteStore | SqliteLog | undefined
  const parts: Pick<StoreThreadParts, 'thread'> & Partial<StoreThreadParts> = {
    thread: {
      openStore: async (path) => {
        const store = await SqliteStore.open(path, undefined, { onProgress: tell })
        const { audiences, regulations } = store
        opened = store
        Object.assign(parts, { store, audiences, regulations, messages: messagesTo(store) })
      },
      openLog: async (path) => {
        const log = await SqliteLog.open(path, { write: false })
        opened = log
        Object.assign(parts, { log })
      },
      close: async () => opened?.close(),
    },
  }
  const tell: (progress: UpgradeProgress) => void = answerCalls(port, {
    parts,
    // One commit settles many promises. Send their answers together, before the next commit begins.
    later: (send) => process.nextTick(send),
  })
}

function messagesTo(store: SqliteStore): StoreThreadParts['messages'] {
  return {
    settle: async (message) => {
      const batch = JSON.parse(message) as EndRequest<LeaseEnd>
      const effective = new Set(await store.settle(batch))
      return batch.settlements.flatMap((each, index) => (effective.has(each) ? [index] : []))
    },
  }
}
