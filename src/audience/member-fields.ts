import { ListColumns, readIdentifiers, UserIdFields } from '../lists/index.ts'
import {
  isNestedDeeper,
  limits,
  shortText,
  type JsonObject,
  type JsonValue,
  type Rejection,
} from '../model/index.ts'
import type { ComputationClass, Member, MemberIdentity } from './audience.ts'

/** The columns of a CSV, or fields of JSON rows, that contain members. */
export interface MemberColumns {
  /** The columns with userIds; `userId`, `user_id` or `id` by default. */
  readonly userIds: readonly string[]
  /** The column with the value of a computed trait; `value` by default. */
  readonly value: string | undefined
}

type MemberReading =
  { readonly kind: 'members'; readonly members: readonly Member[] } | RejectedReading

const anonymousIdColumns = ['anonymousId', 'anonymous_id'] as const
const emailColumn = 'email'
const valueColumnDefault = 'value'

const membersOfRowMax = 100

/** Maximum size of the value of a computed trait: bytes of JSON in UTF-8. */
const valueBytesMax = 8 * 1024

/** Reads members from rows. A field may contain several identifiers; each combination is a member. */
export class MemberFields {
  readonly #userIds: UserIdFields
  readonly #value: { readonly name: string; readonly column: ListColumns } | undefined

  constructor(columns: MemberColumns, computationClass: ComputationClass) {
    this.#userIds = new UserIdFields(columns.userIds, anonymousIdColumns)
    if (computationClass === 'trait') {
      const name = columns.value ?? valueColumnDefault
      this.#value = { name, column: new ListColumns('valueColumn', [name]) }
    }
  }

  /** Reads the header of a CSV. Throws SettingError if a named column is missing, or if no column has ids. */
  readHeader(columns: readonly string[]): void {
    this.#userIds.readHeader(columns)
    this.#value?.column.readHeader(columns)
  }

  /** Reads the members in a row; none if the row lacks the value of a computed trait. */
  read(row: JsonObject): MemberReading {
    const identities = this.#identitiesOf(row)
    if (identities.kind === 'rejected') return identities
    const reading = this.#valueOf(row)
    if (reading.kind === 'rejected') return reading
    const { value } = reading
    if (value === undefined) return { kind: 'members', members: [] }
    const members = identities.identities.map((identity) => ({ identity, value }))
    return { kind: 'members', members }
  }

  /** Call it at the end of the list. Throws SettingError if a named column is missing from every row. */
  readEnd(): void {
    this.#userIds.readEnd()
    this.#value?.column.readEnd()
  }

  #identitiesOf(row: JsonObject): IdentitiesReading {
    const { isCsv: isCell } = this.#userIds
    const [first] = anonymousIdColumns
    const anonymousId = anonymousIdColumns.find((name) => Object.hasOwn(row, name)) ?? first
    const readings = [
      this.#userIds.read(row),
      readIdentifiers(row[anonymousId], { name: anonymousId, isCell }),
      readIdentifiers(row[emailColumn], { name: emailColumn, isCell }),
    ]
    const lists: (readonly string[])[] = []
    for (const reading of readings) {
      if (reading.kind === 'rejected') return reading
      lists.push(reading.identifiers)
    }
    const [userIds = [], anonymousIds = [], emails = []] = lists
    if (userIds.length === 0 && anonymousIds.length === 0) {
      return rejected('no_user_anon_id', 'The row has neither a userId nor an anonymousId')
    }
    const count = lists.reduce((product, { length }) => product * Math.max(length, 1), 1)
    if (count > membersOfRowMax) {
      const message = `The identifiers in the row produce ${count} members, but at most ${membersOfRowMax} are allowed`
      return rejected('event_too_large', message)
    }
    return { kind: 'identities', identities: combined(userIds, anonymousIds, emails) }
  }

  #valueOf(row: JsonObject): ValueReading {
    if (this.#value === undefined) return { kind: 'value', value: 'true' }
    const { name, column } = this.#value
    column.readRow(row)
    const given = Object.hasOwn(row, name) ? row[name] : undefined
    const isText = this.#userIds.isCsv && typeof given === 'string'
    const value = isText ? cellValue(given) : given
    if (value === undefined || value === null) return { kind: 'value', value: undefined }
    return valueReading(value, shortText(name))
  }
}

type RejectedReading = { readonly kind: 'rejected' } & Rejection

type IdentitiesReading =
  { readonly kind: 'identities'; readonly identities: readonly MemberIdentity[] } | RejectedReading

type ValueReading = { readonly kind: 'value'; readonly value: string | undefined } | RejectedReading

function combined(
  userIds: readonly string[],
  anonymousIds: readonly string[],
  emails: readonly string[],
): readonly MemberIdentity[] {
  return orNone(userIds).flatMap((userId) =>
    orNone(anonymousIds).flatMap((anonymousId) =>
      orNone(emails).map((email) => ({ userId, anonymousId, email })),
    ),
  )
}

function orNone(identifiers: readonly string[]): readonly (string | null)[] {
  return identifiers.length === 0 ? [null] : identifiers
}

function valueReading(value: JsonValue, name: string): ValueReading {
  if (isNestedDeeper(value, limits.callNestingMax)) {
    const message = `${name} must not be nested more than ${limits.callNestingMax} levels deep`
    return rejected('wrong_type', message)
  }
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) <= valueBytesMax) return { kind: 'value', value: text }
  return rejected('event_too_large', `${name} must not be larger than ${valueBytesMax} bytes`)
}

function rejected(code: Rejection['code'], message: string): RejectedReading {
  return { kind: 'rejected', code, message }
}

/** Longer numbers are kept as text, because they would lose digits, and are slow to check. */
const numberLengthMax = 32

const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Reads a trait from a CSV cell: a boolean, a number that keeps all its digits, or text; undefined if blank. */
export function cellValue(text: string): JsonValue | undefined {
  if (text.trim() === '') return undefined
  if (text === 'true' || text === 'false') return text === 'true'
  return isNumber(text) ? Number(text) : text
}

/** Whether a text is a number that JavaScript represents with all its digits. Integers must be below 2^53. */
function isNumber(text: string): boolean {
  if (text.length > numberLengthMax || !jsonNumber.test(text)) return false
  const number = Number(text)
  if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) {
    return false
  }
  return digitsOf(text) === digitsOf(String(number))
}

/** Returns the digits of a number without its sign, point and exponent, and without zeros at either end. */
function digitsOf(text: string): string {
  const [mantissa = ''] = text.toLowerCase().split('e')
  return mantissa.replace(/[^0-9]/g, '').replace(/^0+|0+$/g, '')
}
