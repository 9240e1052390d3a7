import { checkOptionNames } from '../model/index.ts'
import type { ReceiverOptions } from '../receiver/index.ts'
import type { Runtime } from '../runtime/index.ts'
import { startLocalService } from '../service/index.ts'
import { startReceiver, type TestReceiver } from './receiver.ts'

/** Options of a service for a test; all are optional. */
export interface TestServiceOptions {
  /** Identifies the source whose calls are taken; `wk_test` by default. */
  readonly writeKey?: string | undefined
  /** Those of the receiver of its webhooks. */
  readonly receiver?: ReceiverOptions | undefined
  /**
   * Clock, randomness, ids, log and observer of the service. With a manual clock the hours over which a
   * delivery is retried take no time.
   */
  readonly runtime?: Runtime | undefined
}

/** A service that runs in this process, and the receiver of its webhooks. */
export interface TestService extends AsyncDisposable {
  /**
   * Where it is, such as `http://127.0.0.1:50123`: what Segment's libraries take as their host. The request
   * URL of evroute's own client is `/v1/batch` there.
   */
  readonly endpoint: string
  /** Identifies the source. */
  readonly writeKey: string
  /** Receives the webhooks, signed with its secret. */
  readonly receiver: TestReceiver
  /** Ends both. Undelivered events are gone. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts a whole service on a free port of this machine. It takes calls, routes them and delivers them to a
 * receiver of its own; it keeps nothing, neither on a disk nor after its end.
 *
 * ```ts
 * const service = await startService()
 * const analytics = new Analytics({ writeKey: service.writeKey, host: service.endpoint })
 * analytics.track({ userId: 'u_1', event: 'Order Completed' })
 * await service.receiver.expect({ type: 'track', event: 'Order Completed' })
 * await service.close()
 * ```
 *
 * @throws SettingError naming the option and what it accepts; EvrouteError `port_in_use` or
 * `cannot_listen`
 */
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  checkOptionNames(options, { writeKey: true, receiver: true, runtime: true })
  const { writeKey = 'wk_test', runtime } = options
  const receiver = await startReceiver(options.receiver)
  const { url, secret } = receiver
  try {
    const service = await startLocalService({ url, secret, writeKey, runtime })
    const close = async (): Promise<void> => {
      // First, so that it sends nothing to a receiver that is gone.
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
