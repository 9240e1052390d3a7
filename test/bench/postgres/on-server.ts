import { Program } from '../program.ts'
import type { BenchReport } from '../report.ts'
import { Sink } from '../sink/sink.ts'
import { BenchServer } from './bench-server.ts'
import type { Command, Deliverer } from './commands.ts'
import type { DelivererSettings } from './deliverer.ts'
import type { Setup } from './measure-run.ts'
import type { PeerSettings } from './peer-deliverer.ts'

/** The resources of a measurement, which end with it even if it fails. */
export class Resources {
  readonly #ends: (() => Promise<void> | void)[] = []

  /** Keeps a resource, to end it with this function. */
  keep<Thing>(thing: Thing, end: (thing: Thing) => Promise<void> | void): Thing {
    this.#ends.push(() => end(thing))
    return thing
  }

  /** Starts processes that deliver from a store together. */
  evroute(settings: DelivererSettings): Promise<readonly Deliverer[]> {
    const starts = Array.from({ length: settings.processes }, () =>
      this.#start('deliverer.ts', settings),
    )
    return all(starts)
  }

  /** Starts a process that delivers with graphile-worker. */
  async peer(settings: PeerSettings): Promise<readonly Deliverer[]> {
    return [await this.#start('peer-deliverer.ts', settings)]
  }

  /** Ends everything in reverse order, even if some of it fails. */
  async end(): Promise<void> {
    const errors: unknown[] = []
    for (const end of this.#ends.splice(0).toReversed()) {
      try {
        await end()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0)
      throw new AggregateError(errors, 'Cannot end the resources of the measurement')
  }

  /** Starts a program that ends with the measurement. */
  async program<Question, Answer>(
    url: URL,
    settings: unknown = {},
  ): Promise<Program<Question, Answer>> {
    return this.keep(await Program.start<Question, Answer>(url, settings), (each) => each.end())
  }

  #start(program: string, settings: DelivererSettings | PeerSettings): Promise<Deliverer> {
    return this.program<Command, unknown>(new URL(program, import.meta.url), settings)
  }
}

/** Waits for all promises even if one rejects, because what the others start must be ended, too. */
export async function all<Result>(
  promises: readonly Promise<Result>[],
): Promise<readonly Result[]> {
  await Promise.allSettled(promises)
  return await Promise.all(promises)
}

/** Runs a measurement with its own server and sink. */
export async function onServer(
  measure: (setup: Setup, resources: Resources) => Promise<BenchReport>,
): Promise<BenchReport> {
  const resources = new Resources()
  try {
    const server = resources.keep(await BenchServer.start(), (each) => each.end())
    const sink = resources.keep(await Sink.start(), (each) => each.end())
    const report = await measure({ server, sink }, resources)
    return { ...report, measuredWith: await server.description() }
  } finally {
    await resources.end()
  }
}
