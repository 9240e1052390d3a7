import type { Dialect } from './dialect.ts'
import type { Script } from './script.ts'

/** A database that runs scripts: the port between what both engines share and each of them. */
export interface SqlDatabase {
  /** The words that it needs. */
  readonly dialect: Dialect
  /**
   * Answers a question. Each of its statements sees the database as it is then.
   *
   * @throws EvrouteError `store_closed`, `store_unusable`
   */
  read<Result>(script: () => Script<Result>): Promise<Result>
  /**
   * Changes something, all or nothing. The script may run several times.
   *
   * @param options - `isLong` where one statement may take minutes
   * @throws EvrouteError `store_closed`, `store_unusable`
   */
  change<Result>(
    script: () => Script<Result>,
    options?: { readonly isLong?: boolean },
  ): Promise<Result>
}
