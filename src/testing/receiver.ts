import { EvrouteError } from '../model/index.ts'
import { Receiver, type ReceiverOptions } from '../receiver/index.ts'

/** A running receiver, which also closes at the end of an `await using` block. */
export interface TestReceiver
  extends AsyncDisposable, Pick<Receiver, 'events' | 'expect' | 'respond' | 'close'> {
  /** The URL for webhooks. Any path below it works too. */
  readonly url: string
  /** The secret that verifies signatures. */
  readonly secret: string
}

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
 * @param options - the receiver's options; `secret` has a fixed default
 * @throws SettingError naming the option and what it accepts; EvrouteError `port_in_use` or `cannot_listen`
 */
export async function startReceiver(options: ReceiverOptions = {}): Promise<TestReceiver> {
  const { secret = 'not-a-real-secret' } = options
  const receiver = new Receiver({ ...options, secret })
  const { url } = await receiver.start()
  const close = (): Promise<void> => receiver.close()
  const expect: TestReceiver['expect'] = (expected, wait = {}) =>
    pointingAt(callerOf(expect), () => receiver.expect(expected, wait))
  return {
    url,
    secret,
    get events() {
      return receiver.events
    },
    expect,
    respond: (plans) => receiver.respond(plans),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Returns the stack trace that begins with the caller of a function. */
function callerOf(called: (...parameters: never[]) => unknown): string {
  const caller: { stack?: string } = {}
  Error.captureStackTrace(caller, called)
  return (caller.stack ?? '').replace(/^.*\n/, '')
}

/** Gives an error the caller's stack trace, and adds its hint to its message. Test runners show only these two. */
async function pointingAt<Result>(stack: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof EvrouteError && error.hint !== undefined) {
      error.message += `. ${error.hint}`
    }
    if (error instanceof Error) error.stack = `${error.name}: ${error.message}\n${stack}`
    throw error
  }
}
