import {
  changeRecord,
  type ComputationClass,
  type MemberIdentity,
  type MembershipChange,
} from '../../audience/index.ts'
import { plainText, recordLine } from '../../model/index.ts'
import type { AudiencesRun } from '../store-access/operations.ts'
import type { Style } from '../output/style.ts'

/** Writes the changes that a dry run found, as records or lines. */
export function tellChanges(
  changes: readonly MembershipChange[],
  computationClass: ComputationClass,
  { json, stdout, style }: Pick<AudiencesRun, 'json' | 'stdout' | 'style'>,
): void {
  const lines = changes.map((change) =>
    json ? recordLine(changeRecord(change)) : changeText(change, computationClass, style),
  )
  stdout.write(lines.join(''))
}

/** One change on one line: `+ u_1`, `- u_2`, `~ u_3 450`. */
export function changeText(
  { identity, value }: MembershipChange,
  computationClass: ComputationClass,
  style: Style,
): string {
  const who = identityText(identity)
  if (value === null) return `${style.bad('-')} ${who}\n`
  if (computationClass === 'audience') return `${style.good('+')} ${who}\n`
  return `${style.warning('~')} ${who} ${plainText(value)}\n`
}

/** All identifiers of a member, on one line. */
export function identityText({ userId, anonymousId, email }: MemberIdentity): string {
  const anonymous = anonymousId === null ? [] : [`anonymous ${anonymousId}`]
  const [first = '', ...others] = [
    ...(userId === null ? [] : [userId]),
    ...anonymous,
    ...(email === null ? [] : [email]),
  ].map(plainText)
  return others.length === 0 ? first : `${first} (${others.join(', ')})`
}
