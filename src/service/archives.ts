import { Archive } from '../archive/index.ts'
import type { IntakeResult } from '../intake/index.ts'
import type { ConfiguredSource } from './configuration/index.ts'

/** The archives of a service: one per folder, for all sources that keep their events there. */
export class Archives {
  readonly #startedAtMs: number
  readonly #archives = new Map<string, Archive>()

  /** @param startedAtMs - tells this run's files from those of others, in milliseconds since 1970 */
  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs
  }

  /**
   * Keeps the accepted events among results, where their source wants them kept. Duplicates too: what
   * they are duplicates of may have been stored by a run that ended before it was archived.
   *
   * @throws EvrouteError `cannot_write_file`
   */
  async keep(
    source: ConfiguredSource | undefined,
    results: readonly IntakeResult[],
  ): Promise<void> {
    const directory = source?.archive?.directory
    if (directory === undefined) return
    const accepted = results.filter((result) => result.kind === 'accepted')
    await this.#at(directory).append(accepted.map(({ event }) => event))
  }

  /** Resolves once everything is written, or cannot be. */
  async close(): Promise<void> {
    await Promise.all([...this.#archives.values()].map((archive) => archive.close()))
  }

  #at(directory: string): Archive {
    const archive = this.#archives.get(directory) ?? new Archive(directory, this.#startedAtMs)
    this.#archives.set(directory, archive)
    return archive
  }
}
