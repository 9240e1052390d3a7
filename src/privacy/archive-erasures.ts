import { effectsOf } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { ArchiveErasure } from './regulation.ts'
import type { RegulationStore } from './store-port.ts'

/** A request to erase users from the archives of this process. */
export interface EraseArchivesRequest {
  readonly sourceIds: readonly string[] | null
  readonly userIds: readonly string[]
  /** Erase events that were accepted up to this time, in milliseconds since 1970. */
  readonly untilMs: number
  /** Cancels the erasure: the call rejects, and the regulation is resumed at the next start. */
  readonly signal: AbortSignal
}

/** The result of erasing from the archives of this process. */
export interface ErasedArchives extends ArchiveErasure {
  /** The ids of the erased archives that are registered in a shared store; none by default. */
  readonly archiveIds?: readonly string[] | undefined
}

/** The store and the archives that {@link ArchiveErasures} works on. */
export interface ArchiveErasuresOptions {
  readonly store: Pick<RegulationStore, 'find' | 'noteArchive'>
  /** Erases users from the archives. Never called concurrently. */
  readonly eraseArchives: (request: EraseArchivesRequest) => Promise<ErasedArchives>
  /** Ends replays, and resolves once none is running. None may start until `Regulations.holdsArchives` is false. */
  readonly endReplays?: () => Promise<void>
  readonly runtime: Runtime
}

/**
 * How long a machine may still accept calls of suppressed users. The time of a regulation is before its commit, and the
 * clocks of machines differ by seconds.
 */
const suppressingMsMax = 60_000

/** Erases the users of regulations from the archives of this process, once for each regulation. */
export class ArchiveErasures {
  readonly #options: ArchiveErasuresOptions
  /** Regulations whose users may still be in archives. While there are any, replays must not run. */
  readonly #left = new Set<string>()
  /** Unfinished regulations whose users are already erased from the archives. */
  readonly #done = new Set<string>()
  /** Results of erasures, until they are stored. */
  readonly #erased = new Map<string, ErasedArchives>()

  constructor(options: ArchiveErasuresOptions) {
    this.#options = options
  }

  get isAnyLeft(): boolean {
    return this.#left.size > 0
  }

  /** Records that archives may contain events of a regulation's users. */
  add(id: string): void {
    this.#left.add(id)
    this.#done.delete(id)
  }

  /** Forgets a regulation that could not be stored. */
  remove(id: string): void {
    this.#left.delete(id)
  }

  /** Forgets a finished regulation. */
  forget(id: string): void {
    this.#done.delete(id)
    this.#erased.delete(id)
  }

  /** Forgets regulations that `isUnfinished` rejects: another process has finished them. */
  forgetAllBut(isUnfinished: (id: string) => boolean): void {
    for (const id of this.#done) if (!isUnfinished(id)) this.forget(id)
  }

  /** Erases the users of a regulation, unless that is already done. Throws errors of the archive or the store. */
  async erase(id: string, signal: AbortSignal): Promise<void> {
    if (this.#done.has(id)) return
    const { store, runtime, endReplays, eraseArchives } = this.#options
    const regulation = await store.find({ id })
    if (regulation === undefined) {
      this.#left.delete(id)
      return
    }
    const { type, sourceIds, userIds, createdAtMs } = regulation
    const isLeft = regulation.archive === null || this.#left.has(id)
    if (effectsOf(type).erasesArchives && isLeft) {
      // If another process stored this regulation, a replay may still be running in this process.
      await endReplays?.()
      const isSuppressing = effectsOf(type).suppression === 'add'
      const untilMs = createdAtMs + (isSuppressing ? suppressingMsMax : 0)
      const erased =
        this.#erased.get(id) ?? (await eraseArchives({ sourceIds, userIds, untilMs, signal }))
      this.#erased.set(id, erased)
      const { archiveIds, ...archive } = erased
      await store.noteArchive({ id, archive, archiveIds })
      this.#erased.delete(id)
      const { problems } = archive
      if (problems.length > 0) {
        const fields = { regulation: id, problems: problems.length, first: problems[0] }
        runtime.log.warn('some events could not be erased from archives', fields)
      }
    }
    this.#done.add(id)
    this.#left.delete(id)
  }
}
