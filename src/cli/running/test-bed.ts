import { Receiver, type ReceiverOptions } from '../../receiver/index.ts'
import { createRuntime, systemClock, VirtualClock } from '../../runtime/index.ts'
import { startLocalService } from '../../service/index.ts'

/** A receiver, optionally with a service in front of it, on free ports. */
export type TestBed = Awaited<ReturnType<typeof openTestBed>>

/** Starts the receiver and, with `serve`, the service. Without a secret, makes a random one. */
export async function openTestBed(
  options: Pick<ReceiverOptions, 'secret' | 'respond'> & {
    readonly serve: boolean
    /** Whether the service retries without waiting, once the command has ended. */
    readonly virtualClock: boolean
  },
) {
  const clock = options.virtualClock ? new SkippableClock() : undefined
  const runtime = createRuntime(clock === undefined ? {} : { clock })
  const { secret = runtime.newId(), respond, serve } = options
  const receiver = new Receiver({ secret, respond })
  const { url } = await receiver.start()
  const writeKey = `wk_${runtime.newId()}`
  const starting = serve ? startLocalService({ url, secret, writeKey, runtime }) : undefined
  const service = await starting?.catch(async (error: unknown) => {
    await receiver.close()
    throw error
  })
  const environment = {
    EVROUTE_URL: url,
    EVROUTE_SECRET: secret,
    // Undefined variables are unset for the command, so that a test never uses a real service or store.
    EVROUTE_ENDPOINT: service?.address.url,
    EVROUTE_WRITE_KEY: service && writeKey,
    EVROUTE_STORE: undefined,
    EVROUTE_ADMIN_TOKEN: undefined,
  }
  /** Closes the service. Undelivered webhooks are lost. */
  const closeService = async (): Promise<void> => service?.close()
  /** Closes the service and the receiver. Before the receiver closes, it reports the requests in progress. */
  const close = async (): Promise<void> => {
    // Close the service first, so that it sends nothing to a closed receiver.
    await closeService()
    await receiver.close()
  }
  return {
    receiver,
    environment,
    pending: async () => (await service?.pending()) ?? 0,
    /** Must be called when the command has ended. With a virtual clock, retries take no time from then on. */
    commandEnded: () => clock?.skip(),
    closeService,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** How far a {@link SkippableClock} may be behind the system's clock. */
const lagMs = 5

/** A virtual clock that follows the system's clock until `skip` is called. After that, waiting takes no time. */
class SkippableClock extends VirtualClock {
  readonly #timer = setInterval(() => this.#follow(), lagMs).unref()
  readonly #release = this.hold()

  constructor() {
    super(systemClock.nowMs())
  }

  skip(): void {
    clearInterval(this.#timer)
    this.#release()
  }

  #follow(): void {
    const nowMs = systemClock.nowMs()
    // The system's clock was set back.
    if (nowMs < this.nowMs()) this.jump(nowMs - this.nowMs())
    // Schedule an empty task at this time, because the clock moves only from task to task.
    this.schedule(nowMs - this.nowMs(), () => undefined)
    while ((this.nextDueMs() ?? Infinity) <= nowMs) this.runNext()
  }
}
