import type { TableRow } from '../importer/index.ts'
import type { Member } from './audience.ts'
import { partMembersMax } from './begun-sync.ts'
import type { MemberFields } from './member-fields.ts'
import { RowGroups } from './row-groups.ts'
import type { RejectedRow } from './sync-listener.ts'

/** A member, and the row that names it. */
export interface ListedMember {
  /** The member. */
  readonly member: Member
  /** Which row of the list it is, from 1. */
  readonly row: number
  /** The line of that row. */
  readonly line: number
}

/** What a list of members is read with. */
export interface MemberListOptions {
  /** The rows. */
  readonly rows: AsyncIterable<readonly TableRow[]>
  /** What they are made of. */
  readonly fields: MemberFields
  /** Ends the list early. */
  readonly signal: AbortSignal
  /** Is told of each row. */
  readonly listener: {
    /** A row was read. */
    read(): void
    /** It cannot be used. */
    rejected(row: RejectedRow): void
  }
}

/** Gives the members of a list in parts, and keeps no more of it than one. */
export class MemberList {
  readonly #groups: RowGroups<readonly TableRow[]>
  readonly #options: MemberListOptions
  #group: readonly TableRow[] | undefined
  #rowsOfGroupRead = 0
  readonly #members: ListedMember[] = []
  #rowsRead = 0
  #rowContradicted = 0

  constructor(options: MemberListOptions) {
    this.#options = options
    this.#groups = new RowGroups(options.rows, options.signal)
  }

  /**
   * Reads how the list begins, and tells nobody of it yet.
   *
   * @throws SettingError where it is a CSV without the columns that are asked for
   */
  async open(): Promise<void> {
    this.#group = await this.#groups.next()
    const first = this.#group?.[0]
    if (first?.kind === 'header') this.#options.fields.readHeader(first.columns)
  }

  /** The next members; none at the end of the list, or once the signal aborts. */
  async nextPart(): Promise<readonly ListedMember[]> {
    while (this.#group !== undefined && this.#members.length < partMembersMax) {
      const row = this.#group[this.#rowsOfGroupRead++]
      if (row === undefined) {
        this.#group = await this.#groups.next()
        this.#rowsOfGroupRead = 0
      } else {
        this.#read(row)
      }
    }
    return this.#members.splice(0, partMembersMax)
  }

  /** Rejects the rows of members that contradict rows before; each row once. */
  rejectContradicted(contradicted: readonly ListedMember[]): void {
    for (const { row, line } of contradicted) {
      if (row === this.#rowContradicted) continue
      this.#rowContradicted = row
      const message = 'A row before has the same identifiers with another value, which stays'
      this.#options.listener.rejected({ line, code: 'contradicts', message })
    }
  }

  /** Ends the reading, also early. */
  async close(): Promise<void> {
    await this.#groups.close()
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
    for (const member of reading.members) {
      this.#members.push({ member, row: this.#rowsRead, line })
    }
  }
}
