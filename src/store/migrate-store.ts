import type { MoveOutcome, MovePlan, MoveRequest } from './migration/move-store.ts'
import { isPostgresUrl, serverUrlRefusal } from './postgres/connection-url.ts'
import { expectUsable, fileOf, refusalOf } from './store-url.ts'
import type { UrlRefusal } from './store-errors.ts'

/** The source and target of a migration. */
export interface MigrationPlaces {
  /** `sqlite:<file>` */
  readonly from: string
  /** `postgres://...`; its password is never stored or shown. */
  readonly to: string
}

/** A {@link MoveRequest} with the URLs of both stores. */
export interface MigrationRequest
  extends MigrationPlaces, Omit<MoveRequest, 'path' | 'url' | 'rowsAtOnce'> {}

/**
 * Moves a store from a file to PostgreSQL. Can be interrupted at any time; the next run starts over.
 *
 * @throws SettingError for a URL of the wrong engine; EvrouteError `store_in_use` if a process is delivering
 * from the file; `store_unusable` if the file or the database is missing or cannot be used, or if the
 * database is not empty
 */
export async function migrateStore({
  from,
  to,
  ...request
}: MigrationRequest): Promise<MoveOutcome> {
  const places = placesOf({ from, to })
  const { moveStore } = await import('./migration/move-store.ts')
  return moveStore({ ...request, ...places })
}

/**
 * Plans a migration, and changes nothing.
 *
 * @throws SettingError for a URL of the wrong engine; EvrouteError `store_unusable` if the move could not begin
 */
export async function planMigration(places: MigrationPlaces): Promise<MovePlan> {
  const { planMove } = await import('./migration/move-store.ts')
  return planMove(placesOf(places))
}

function placesOf({ from, to }: MigrationPlaces): Pick<MoveRequest, 'path' | 'url'> {
  expectUsable(from, refusalOf(from, 'it must be sqlite:<file>'), {
    setting: '--from',
    cannot: 'Cannot migrate the store',
  })
  expectUsable(to, isPostgresUrl(to) ? serverUrlRefusal(to) : notPostgres, {
    setting: '--to',
    cannot: 'Cannot migrate to the store',
  })
  return { path: fileOf(from), url: to }
}

const notPostgres: UrlRefusal = {
  why: 'it must be a postgres:// URL',
  hint: 'Write it as postgres://user@host:5432/database, with the password in PGPASSWORD.',
}
