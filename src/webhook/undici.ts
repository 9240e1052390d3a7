import type * as undici from 'undici'
// @ts-expect-error undici declares types for its main entry only.
import connect from 'undici/lib/core/connect.js'
// @ts-expect-error undici declares types for its main entry only.
import undiciErrors from 'undici/lib/core/errors.js'
// @ts-expect-error undici declares types for its main entry only.
import UndiciPool from 'undici/lib/dispatcher/pool.js'

// Loading these paths takes 25 ms. The main entry takes 80 ms, because it also loads fetch, WebSockets, cookies and
// mocks. The paths are not public, so package.json pins undici's version. The types come from the main entry.

/** undici's pool of connections to one origin. */
export const Pool = UndiciPool as typeof undici.Pool
export type Pool = undici.Pool
/** Makes a function that opens sockets for undici. */
export const buildConnector = connect as typeof undici.buildConnector
/** undici's error classes. Our own connections throw them too. */
export const errors = undiciErrors as typeof undici.errors
