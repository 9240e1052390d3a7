/**
 * evroute as a library.
 *
 * @packageDocumentation
 */
export { EvrouteError, SettingError } from './model/index.ts'
