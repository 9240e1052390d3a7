import { Receiver, type ReceiverOptions } from '../../receiver/index.ts'
import { createRuntime } from '../../runtime/index.ts'
import { startLocalService, type Service } from '../../service/index.ts'
import { SkippableClock } from './skippable-clock.ts'

/** What a command is run beside. */
export interface StageOptions {
  /** Signs the webhooks, or checks them; undefined for a new one. */
  readonly secret: string | undefined
  /** Whether a service stands in front of the receiver. */
  readonly serve: boolean
  /** What the receiver answers. */
  readonly respond: ReceiverOptions['respond']
  /** Whether the service waits for no retry once the command has ended. */
  readonly virtualClock: boolean
}

/** Where the command sends its calls and webhooks. */
export interface StageEnvironment {
  readonly EVROUTE_URL: string
  readonly EVROUTE_SECRET: string
  /** With a service; undefined without one. */
  readonly EVROUTE_ENDPOINT: string | undefined
  /** With a service; undefined without one. */
  readonly EVROUTE_WRITE_KEY: string | undefined
}

/** What a stage is made of. */
interface StageParts {
  readonly receiver: Receiver
  readonly environment: StageEnvironment
  readonly service?: Service
  readonly clock?: SkippableClock | undefined
}

/** A receiver, and in front of it a service where there is to be one; both on free ports. */
export class Stage implements AsyncDisposable {
  /** Receives the webhooks. */
  readonly receiver: Receiver
  /** Variables of the command's environment; undefined where the outer one must not show through. */
  readonly environment: StageEnvironment
  readonly #service: Service | undefined
  readonly #clock: SkippableClock | undefined

  private constructor(parts: StageParts) {
    this.receiver = parts.receiver
    this.environment = parts.environment
    this.#service = parts.service
    this.#clock = parts.clock
  }

  /** @throws SettingError for a plan that cannot be followed; EvrouteError `cannot_listen` */
  static async open(options: StageOptions): Promise<Stage> {
    const clock = options.virtualClock ? new SkippableClock() : undefined
    const runtime = createRuntime(clock === undefined ? {} : { clock })
    const { secret = runtime.newId(), respond, serve } = options
    const receiver = new Receiver({ secret, respond })
    const { url } = await receiver.start()
    const sinks = { EVROUTE_URL: url, EVROUTE_SECRET: secret }
    if (!serve) {
      // A test must never post to a service that the surrounding shell happens to name.
      const environment = { ...sinks, EVROUTE_ENDPOINT: undefined, EVROUTE_WRITE_KEY: undefined }
      return new Stage({ receiver, environment })
    }
    const writeKey = `wk_${runtime.newId()}`
    try {
      const service = await startLocalService({ url, secret, writeKey, runtime })
      const served = { EVROUTE_ENDPOINT: service.address.url, EVROUTE_WRITE_KEY: writeKey }
      return new Stage({ receiver, environment: { ...sinks, ...served }, service, clock })
    } catch (error) {
      await receiver.close()
      throw error
    }
  }

  /** Deliveries of the service that have not come to an end. */
  async pending(): Promise<number> {
    return (await this.#service?.pending()) ?? 0
  }

  /** The command has ended: with a virtual clock the service waits for no retry any more. */
  commandEnded(): void {
    this.#clock?.skip()
  }

  /** Closes the port of the service. What was not delivered is gone; the receiver goes on. */
  async closeService(): Promise<void> {
    await this.#service?.close()
  }

  /** Closes both ports. The receiver tells what it has in hand; what was not delivered is gone. */
  async close(): Promise<void> {
    // First, so that it sends nothing to a receiver that is gone.
    await this.closeService()
    await this.receiver.close()
  }

  /** Closes at the end of a block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
