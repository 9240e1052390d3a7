import type { Dialect, Script, SqlDatabase } from '../sql/index.ts'
import type { Database, Session } from './database.ts'
import { dialect } from './dialect.ts'

/** Runs scripts in PostgreSQL. */
export class PostgresSql implements SqlDatabase {
  readonly dialect: Dialect = dialect
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async read<Result>(script: () => Script<Result>): Promise<Result> {
    this.#database.expectOpen()
    return runScript(this.#database, script())
  }

  change<Result>(
    script: () => Script<Result>,
    { isLong = false }: { readonly isLong?: boolean } = {},
  ): Promise<Result> {
    const work = (session: Session): Promise<Result> => runScript(session, script())
    return isLong ? this.#database.transaction(work) : this.#database.change(work)
  }
}

async function runScript<Result>(session: Session, script: Script<Result>): Promise<Result> {
  let step = script.next()
  while (step.done !== true) step = script.next(await session.rows<unknown>(step.value))
  return step.value
}
