import { startReceiver } from '../start-receiver.ts'
import { BenchServer } from './bench-server.ts'
import { DelivererProcess } from './deliverer-process.ts'
import type { DelivererSettings } from './deliverer.ts'
import type { Place } from './measure-run.ts'
import type { PeerSettings } from './peer-deliverer.ts'

/** What ends with the measurement that it was made for, whatever comes of it. */
export class Resources {
  readonly #ends: (() => Promise<void> | void)[] = []

  /** Keeps what others made. */
  keep<Thing>(thing: Thing, end: (thing: Thing) => Promise<void> | void): Thing {
    this.#ends.push(() => end(thing))
    return thing
  }

  /** Starts processes that deliver from a store together. */
  async evroute(settings: DelivererSettings): Promise<readonly DelivererProcess[]> {
    const starts = Array.from({ length: settings.processes }, async () =>
      this.keep(await DelivererProcess.evroute(settings), (process) => process.end()),
    )
    return await all(starts)
  }

  /** Starts a process that delivers with graphile-worker. */
  async peer(settings: PeerSettings): Promise<readonly DelivererProcess[]> {
    return [this.keep(await DelivererProcess.peer(settings), (process) => process.end())]
  }

  /** Ends everything, what came last first. */
  async end(): Promise<void> {
    const errors: unknown[] = []
    for (const end of this.#ends.splice(0).toReversed()) {
      try {
        await end()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'Cannot end what was measured with')
  }
}

/** Waits for all of them also where one fails: whoever comes late has to be ended, too. */
async function all<Result>(promises: readonly Promise<Result>[]): Promise<readonly Result[]> {
  await Promise.allSettled(promises)
  return await Promise.all(promises)
}

/** Measures on a server and with a receiver that end with it. */
export async function onServer(
  measure: (place: Place, resources: Resources) => Promise<string>,
): Promise<string> {
  const resources = new Resources()
  try {
    const server = resources.keep(await BenchServer.start(), (each) => each.end())
    const receiver = resources.keep(await startReceiver(), (each) => each.stop())
    const report = await measure({ server, receiver }, resources)
    return `${report}\n${await server.description()}`
  } finally {
    await resources.end()
  }
}
