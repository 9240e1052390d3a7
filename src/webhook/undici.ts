import type * as undici from 'undici'
// @ts-expect-error undici declares types for its main entry only.
import connect from 'undici/lib/core/connect.js'
// @ts-expect-error undici declares types for its main entry only.
import undiciErrors from 'undici/lib/core/errors.js'
// @ts-expect-error undici declares types for its main entry only.
import UndiciPool from 'undici/lib/dispatcher/pool.js'

// The main entry of undici also loads fetch, WebSockets, cookies and mocks, which takes 80 ms instead of 25. These
// paths are not part of undici's interface, so package.json pins its version. The types come from the main entry.

/** undici's pool of connections to one origin. */
export const Pool = UndiciPool as typeof undici.Pool
/** An instance of undici's pool. */
export type Pool = undici.Pool
/** Makes a function that opens sockets for undici. */
export const buildConnector = connect as typeof undici.buildConnector
/** undici's error classes. */
export const errors = undiciErrors as typeof undici.errors
