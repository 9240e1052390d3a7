import { Receiver, type ReceiverOptions } from '../receiver/index.ts'

/** A receiver that runs. */
export interface TestReceiver
  extends AsyncDisposable, Pick<Receiver, 'events' | 'expect' | 'respond' | 'close'> {
  /** Where webhooks are sent to; any path below it will do as well. */
  readonly url: string
  /** The secret that checks their signatures. */
  readonly secret: string
}

/** The secret where a test does not care. */
const secretDefault = 'not-a-real-secret'

/**
 * Starts a receiver on a free port of this machine.
 *
 * ```ts
 * const receiver = await startReceiver()
 * sendWebhooksTo(receiver.url, receiver.secret)
 * await receiver.expect({ type: 'track', event: 'Order Completed' })
 * await receiver.close()
 * ```
 *
 * @param options - those of a receiver; without a secret there is one that is no secret
 * @throws SettingError naming the option and what it accepts; EvrouteError `port_in_use` or
 * `cannot_listen`
 */
export async function startReceiver(options: ReceiverOptions = {}): Promise<TestReceiver> {
  const { secret = secretDefault } = options
  const receiver = new Receiver({ ...options, secret })
  const { url } = await receiver.start()
  const close = (): Promise<void> => receiver.close()
  return {
    url,
    secret,
    get events() {
      return receiver.events
    },
    expect: (expected, expectOptions) => receiver.expect(expected, expectOptions),
    respond: (plans) => receiver.respond(plans),
    close,
    [Symbol.asyncDispose]: close,
  }
}
