import { effectsOf } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { ArchiveErasure } from './regulation.ts'
import type { RegulationStore } from './store-port.ts'

/** What is to be erased of archives. */
export interface EraseArchivesRequest {
  /** The sources; null for all. */
  readonly sourceIds: readonly string[] | null
  /** The users. */
  readonly userIds: readonly string[]
  /** What was accepted at this moment or before, in milliseconds since 1970. */
  readonly untilMs: number
  /** Ends it early: it rejects then, and is asked for again some other time. */
  readonly signal: AbortSignal
}

/** What was erased of the archives of this process. */
export interface ErasedArchives extends ArchiveErasure {
  /** Those that are registered beside a store that several processes share; none by default. */
  readonly archiveIds?: readonly string[] | undefined
}

/** What archives are erased with. */
export interface ArchiveErasuresOptions {
  /** Where regulations are kept. */
  readonly store: Pick<RegulationStore, 'find' | 'noteArchive'>
  /** Erases what archives have; called once at a time. */
  readonly eraseArchives: (request: EraseArchivesRequest) => Promise<ErasedArchives>
  /**
   * Ends whoever reads archives to send what is in them again; resolves once that is over. From before
   * it is called until nothing is left in archives `holdsArchives` of the regulations is true.
   */
  readonly endReplays?: () => Promise<void>
  /** Clock, ids and log. */
  readonly runtime: Runtime
}

/** Takes the users of regulations out of the archives of this process, for each regulation once. */
export class ArchiveErasures {
  readonly #options: ArchiveErasuresOptions
  /** What archives are to be erased for: nobody may send again what is in them. */
  readonly #left = new Set<string>()
  /** What nothing is left of in archives, among what is not finished. */
  readonly #done = new Set<string>()
  /** What was erased, until it is noted. */
  readonly #erased = new Map<string, ErasedArchives>()

  constructor(options: ArchiveErasuresOptions) {
    this.#options = options
  }

  /** Whether archives may still have what a regulation wants erased of them. */
  get isAnyLeft(): boolean {
    return this.#left.size > 0
  }

  /** Archives may have what a regulation wants erased, whatever was erased for it before. */
  add(id: string): void {
    this.#left.add(id)
    this.#done.delete(id)
  }

  /** A regulation that was to be stored is not there. */
  remove(id: string): void {
    this.#left.delete(id)
  }

  /** Nothing more is done for a regulation. */
  forget(id: string): void {
    this.#done.delete(id)
    this.#erased.delete(id)
  }

  /** Forgets what other processes have finished. */
  forgetAllBut(isUnfinished: (id: string) => boolean): void {
    for (const id of this.#done) if (!isUnfinished(id)) this.forget(id)
  }

  /** Ends replays; resolves once none is under way. */
  async endReplays(): Promise<void> {
    await this.#options.endReplays?.()
  }

  /** @throws whatever keeps it from being erased or noted, and the reason of the signal */
  async erase(id: string, signal: AbortSignal): Promise<void> {
    if (this.#done.has(id)) return
    const { store, runtime } = this.#options
    const regulation = await store.find({ id })
    if (regulation === undefined) {
      this.#left.delete(id)
      return
    }
    const { type, sourceIds, userIds, createdAtMs: untilMs } = regulation
    const isLeft = regulation.archive === null || this.#left.has(id)
    if (effectsOf(type).erasesArchives && isLeft) {
      // Another process may have stored it while one of this process was under way.
      await this.endReplays()
      const erased =
        this.#erased.get(id) ??
        (await this.#options.eraseArchives({ sourceIds, userIds, untilMs, signal }))
      this.#erased.set(id, erased)
      const { archiveIds, ...archive } = erased
      await store.noteArchive({ id, archive, archiveIds })
      this.#erased.delete(id)
      const { problems } = archive
      if (problems.length > 0) {
        const fields = { regulation: id, problems: problems.length, first: problems[0] }
        runtime.log.warn('archives could not be erased whole', fields)
      }
    }
    this.#done.add(id)
    this.#left.delete(id)
  }
}
