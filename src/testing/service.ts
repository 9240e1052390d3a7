import { checkOptionNames } from '../model/index.ts'
import type { ReceiverOptions } from '../receiver/index.ts'
import type { Runtime } from '../runtime/index.ts'
import { startReceiver, type TestReceiver } from './receiver.ts'

/** Options of {@link startService}. */
export interface TestServiceOptions {
  /** The write key of the only source; `wk_test` by default. */
  readonly writeKey?: string | undefined
  /** Options of the receiver that gets the webhooks. */
  readonly receiver?: ReceiverOptions | undefined
  /** Clock, randomness, ids, log and observer of the service. With a manual clock, hours of retries take no time. */
  readonly runtime?: Runtime | undefined
}

/** A service that runs in this process, and the receiver of its webhooks. */
export interface TestService extends AsyncDisposable {
  /**
   * The address of the service, such as `http://127.0.0.1:50123`. Pass it to Segment's libraries as the host. For evroute's
   * own client, add the path `/v1/batch`.
   */
  readonly endpoint: string
  readonly writeKey: string
  /** The receiver of the webhooks. The service signs them with `receiver.secret`. */
  readonly receiver: TestReceiver
  /** Closes the service and the receiver. Events that were not delivered are lost. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts a whole service on a free port of this machine. It accepts calls, routes them and delivers them to its own
 * receiver, and keeps everything in memory.
 *
 * ```ts
 * const service = await startService()
 * const analytics = new Analytics({ writeKey: service.writeKey, host: service.endpoint })
 * analytics.track({ userId: 'u_1', event: 'Order Completed' })
 * await service.receiver.expect({ type: 'track', event: 'Order Completed' })
 * await service.close()
 * ```
 *
 * @throws SettingError naming the option and what it accepts; EvrouteError `port_in_use` or `cannot_listen`
 */
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  checkOptionNames(options, { writeKey: true, receiver: true, runtime: true })
  const { writeKey = 'wk_test', runtime } = options
  const receiver = await startReceiver(options.receiver)
  const { url, secret } = receiver
  try {
    // Load the service only now: it loads slowly, and tests that only start a receiver don't need it.
    const { startLocalService } = await import('../service/index.ts')
    const service = await startLocalService({ url, secret, writeKey, runtime })
    const close = async (): Promise<void> => {
      // Close the service first, so that it does not send to a closed receiver.
      await service.close()
      await receiver.close()
    }
    return {
      endpoint: service.address.url,
      writeKey,
      receiver,
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await receiver.close()
    throw error
  }
}
