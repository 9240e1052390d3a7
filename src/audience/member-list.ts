import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TableRow } from '../importer/index.ts'
import { stoppableStream } from '../runtime/index.ts'
import type { Member } from './audience.ts'
import { partMembersMax } from './begun-sync.ts'
import type { MemberFields } from './member-fields.ts'
import type { SyncListener } from './sync-listener.ts'

interface ListedMember {
  readonly member: Member
  readonly row: number
  readonly line: number
}

/** The rows of a list, and how to read members from them. */
export interface MemberListOptions {
  readonly rows: AsyncIterable<readonly TableRow[]>
  readonly fields: MemberFields
  readonly signal: AbortSignal
  readonly listener: Pick<SyncListener, 'rejected'> & {
    read(): void
  }
}

/** Reads the members in a list, with one part in memory at a time. */
export class MemberList {
  readonly #groups: AsyncGenerator<readonly TableRow[], void>
  readonly #options: MemberListOptions
  #group: readonly TableRow[] | undefined
  #rowsOfGroupRead = 0
  readonly #members: ListedMember[] = []
  #rowsRead = 0
  #rowContradicted = 0

  constructor(options: MemberListOptions) {
    this.#options = options
    this.#groups = stoppableStream(options.rows, options.signal)
  }

  /** Reads the beginning of the list. Throws SettingError for a CSV without the named columns. */
  async open(): Promise<void> {
    this.#group = await this.#nextGroup()
    const first = this.#group?.[0]
    if (first?.kind === 'header') this.#options.fields.readHeader(first.columns)
  }

  /** Returns the next {@link partMembersMax} members or fewer; none at the end of the list or after an abort. */
  async nextPart(): Promise<readonly ListedMember[]> {
    while (this.#group !== undefined && this.#members.length < partMembersMax) {
      const row = this.#group[this.#rowsOfGroupRead++]
      if (row === undefined) {
        this.#group = await this.#nextGroup()
        this.#rowsOfGroupRead = 0
      } else {
        this.#read(row)
      }
    }
    return this.#members.splice(0, partMembersMax)
  }

  /** Rejects rows that contradict earlier rows. Reports a row only once, even if several of its members do. */
  rejectContradicted(contradicted: readonly ListedMember[]): void {
    for (const { row, line } of contradicted) {
      if (row === this.#rowContradicted) continue
      this.#rowContradicted = row
      const message =
        'An earlier row has the same identifiers and a different value; the earlier value is kept'
      this.#options.listener.rejected({ line, code: 'contradicts', message })
    }
  }

  async close(): Promise<void> {
    await this.#groups.return()
  }

  /** Lets other work run, then returns the next rows; undefined at the end or after an abort. */
  async #nextGroup(): Promise<readonly TableRow[] | undefined> {
    await nextTurn()
    try {
      const { value } = await this.#groups.next()
      return value ?? undefined
    } catch (error) {
      if (this.#options.signal.aborted) return undefined
      throw error
    }
  }

  #read(row: TableRow): void {
    if (row.kind === 'header') return
    const { listener, fields } = this.#options
    this.#rowsRead++
    listener.read()
    const { line } = row
    const reading = row.kind === 'bad' ? row : fields.read(row.value)
    if (reading.kind !== 'members') {
      const { code, message } = reading
      listener.rejected({ line, code, message })
      return
    }
    for (const member of reading.members) this.#members.push({ member, row: this.#rowsRead, line })
  }
}
