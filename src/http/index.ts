/** Servers, answers, host names and refused addresses, shared by everything that speaks HTTP. */
export * from './address-guard.ts'
export * from './address-ranges.ts'
export * from './answer.ts'
export { BodyTurns } from './body-turns.ts'
export { inTurn } from './connection-limits.ts'
export * from './fair-budget.ts'
export * from './foreign-request.ts'
export * from './http-answer.ts'
export * from './ip-address.ts'
export * from './listen.ts'
export { NameSource, type NameAnswer, type NameSourceOptions } from './name-source.ts'
export * from './names.ts'
export { PageFiles } from './page-files.ts'
export { PageSessions } from './page-sessions.ts'
export * from './passed-on-headers.ts'
export {
  bodyDeadlineMs,
  bodyPace,
  discardBody,
  isArriving,
  lingerMs,
  readBody,
  readSharedBody,
  type SharedBodyReading,
} from './read-body.ts'
export type { RequestFault } from './request-fault.ts'
export { tokenCheck } from './token-check.ts'
export { TlsFiles, type TlsTexts } from './tls-files.ts'
export { Turns } from './turns.ts'
