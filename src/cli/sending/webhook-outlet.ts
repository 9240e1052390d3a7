import { setFlagsFromString } from 'node:v8'
import { Client, createInProcessTransport } from '../../client/index.ts'
import { defaultRetention } from '../../delivery/index.ts'
import { ledgerSince } from '../../model/index.ts'
import { Pipeline } from '../../pipeline/index.ts'
import { openStore, storeName, type Store } from '../../store/index.ts'
import { restyleBody, signBody, webhookHeaders, type ComposeRequest } from '../../webhook/index.ts'
import {
  CallQueue,
  queueOptions,
  readDeletion,
  stopGraceMs,
  type Outlet,
  type OutletParts,
} from './outlet.ts'
import { commandLineSourceId, sourceIdOf, type WebhookTarget } from './sending-options.ts'

/** Keeps messageIds longer: an interrupted run may continue much later and must still recognise its rows. */
const commandRetention = Object.freeze({
  ...defaultRetention,
  messageIdsMs: defaultRetention.failedMs,
})

type WebhookOutletParts = OutletParts<WebhookTarget>

/** Opens the outlet that sends webhooks to endpoints. Throws `store_in_use`, `store_unusable` or a SettingError. */
export async function openWebhookOutlet(parts: WebhookOutletParts): Promise<Outlet> {
  collectEarly()
  const store = await openStore(parts.options.store ?? 'memory:', {
    ownThread: true,
    bounds: { endedMax: 0 },
    log: parts.runtime.log,
  })
  try {
    return await outletOver(store, parts)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function outletOver(store: Store, parts: WebhookOutletParts): Promise<Outlet> {
  const { options, runtime, listener, target } = parts
  const destinationId = target.destination.id
  const sourceId = sourceIdOf(target.destination)
  const begin = await store.ledger({ destinationId })
  const filter = { destinationId, states: ['failed', 'expired'] as const }
  // Search the store too, because the ledger also counts deliveries that have been purged since.
  const hasFailedBefore =
    begin.failed + begin.expired > 0 && (await store.list({ filter, limit: 1 })).length > 0
  const pipeline = pipelineOver(store, parts)
  pipeline.start()
  let failure: { readonly error: unknown } | undefined
  const transport = createInProcessTransport(async ({ calls }) => {
    try {
      const results = await pipeline.intake.accept({ sourceId, calls })
      return { rejected: results.filter((result) => result.kind === 'rejected') }
    } catch (error) {
      // The client passes on only the error's message, so keep the error here.
      failure ??= { error }
      throw error
    }
  })
  const client = new Client(commandLineSourceId, { ...queueOptions(options), runtime, transport })
  const queue = new CallQueue(client, listener, ({ message }) => {
    failure ??= { error: new Error(message) }
  })
  return {
    storeName: options.store === undefined ? undefined : storeName(options.store),
    hasFailedBefore,
    offer: async (row, position) => {
      if (failure !== undefined) throw failure.error
      if (row['type'] !== 'delete') return queue.offer(row, position)
      const deletion = readDeletion(row)
      if (deletion.kind === 'rejected') return deletion
      // Earlier calls may still be waiting in the client. The deletion must not overtake them.
      await queue.flush()
      await pipeline.intake.acceptDeletion(deletion, sourceId)
      return { kind: 'taken' }
    },
    finish: async () => {
      await queue.flush()
      if (failure !== undefined) throw failure.error
      await pipeline.idle()
    },
    stop: async () => {
      // Close both in parallel: the pipeline must not start requests during the grace period of the calls.
      await Promise.all([pipeline.stop(stopGraceMs), queue.close(stopGraceMs)])
    },
    // Deliveries that were already in the store count too, because this run delivers them.
    ledger: async () => ledgerSince(begin, await pipeline.ledger({ destinationId })),
    close: async () => {
      await queue.close(0)
      await pipeline.close()
    },
  }
}

function pipelineOver(store: Store, { options, runtime, target }: WebhookOutletParts): Pipeline {
  return new Pipeline({
    destinations: [{ ...target.destination, compose: composeInStyle(target) }],
    store,
    isStoreOwn: options.store === undefined,
    processes: store.processes,
    runtime,
    retention: commandRetention,
    // A shared store belongs to a service, which decides how long to keep data.
    purges: store.processes === undefined,
    retryWindowMs: options.retryForMs,
    deadlineMs: options.timeoutMs,
  })
}

/** Returns a function that composes requests in the target's `bodyStyle`; undefined if it has none. */
function composeInStyle({ destination, bodyStyle }: WebhookTarget): ComposeRequest | undefined {
  if (bodyStyle === undefined) return undefined
  const { sharedSecret } = destination
  return (webhook, endpoint) => {
    const body = restyleBody(webhook.body, bodyStyle)
    const signature = sharedSecret === undefined ? undefined : signBody(body, sharedSecret)
    return { headers: webhookHeaders(endpoint, signature), body }
  }
}

/**
 * Makes V8 collect garbage when the heap exceeds its live objects by half. By default, V8 waits until the heap is
 * four times as large. Calls are short-lived: replaying 100,000 of them takes 130 MB instead of 180 MB, for an
 * eighth more CPU.
 */
function collectEarly(): void {
  // V8 reads this flag after each collection, so it can change at run time.
  setFlagsFromString('--heap-growing-percent=50')
}
