import type { Dialect } from './dialect.ts'
import type { Script } from './script.ts'

/** A database that runs scripts: the port between the shared code and the engines. */
export interface SqlDatabase {
  /** Its dialect. */
  readonly dialect: Dialect
  /**
   * Answers a question. Each statement sees the database at the time that it runs.
   *
   * @throws EvrouteError `store_closed`, `store_unusable`
   */
  read<Result>(script: () => Script<Result>): Promise<Result>
  /**
   * Runs a script in one transaction. The script may run several times.
   *
   * @param options - `isLong` if one statement may take minutes
   * @throws EvrouteError `store_closed`, `store_unusable`
   */
  change<Result>(
    script: () => Script<Result>,
    options?: { readonly isLong?: boolean },
  ): Promise<Result>
}
