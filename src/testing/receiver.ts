import { checkOptionNames } from '../model/index.ts'
import { Receiver, type ExpectOptions, type ReceiverOptions } from '../receiver/index.ts'

/** A receiver that runs. */
export interface TestReceiver
  extends AsyncDisposable, Pick<Receiver, 'events' | 'expect' | 'respond' | 'close'> {
  /** Where webhooks are sent to; any path below it will do as well. */
  readonly url: string
  /** The secret that checks their signatures. */
  readonly secret: string
}

const receiverOptions: Readonly<Record<keyof ReceiverOptions, true>> = {
  host: true,
  port: true,
  endpoints: true,
  tls: true,
  secret: true,
  otherSecrets: true,
  strict: true,
  respond: true,
  delayMs: true,
  failShare: true,
  fault: true,
  forwardTo: true,
  forwardTimeoutMs: true,
  allowUnverified: true,
  forwardHeaders: true,
  forwardInsecure: true,
  forwardFilter: true,
  token: true,
  seed: true,
  eventsMax: true,
  runtime: true,
}

const expectOptions: Readonly<Record<keyof ExpectOptions, true>> = {
  timeoutMs: true,
  after: true,
  count: true,
  signal: true,
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
  checkOptionNames(options, receiverOptions)
  const { secret = secretDefault } = options
  const receiver = new Receiver({ ...options, secret })
  const { url } = await receiver.start()
  const close = (): Promise<void> => receiver.close()
  const expect: TestReceiver['expect'] = (expected, wait = {}) =>
    pointingAt(callerOf(expect), () => {
      checkOptionNames(wait, expectOptions)
      return receiver.expect(expected, wait)
    })
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

/** The stack of the function that called another one. */
function callerOf(called: (...parameters: never[]) => unknown): string {
  const caller: { stack?: string } = {}
  Error.captureStackTrace(caller, called)
  return (caller.stack ?? '').replace(/^.*\n/, '')
}

/**
 * Gives the errors of some work the stack of its caller. Test runners show the line that an error points at,
 * and its own one is inside the receiver.
 */
async function pointingAt<Result>(stack: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Error) error.stack = `${error.name}: ${error.message}\n${stack}`
    throw error
  }
}
