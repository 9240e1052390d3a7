import type { Watch } from '../../../support/postgres-line.ts'

/** The JavaScript type of the values of a column; `other` for types that the engine never reads. */
export type ValueKind = 'string' | 'number' | 'boolean' | 'array' | 'object' | 'other'

/** The columns of an answer, by name. */
export type Columns = ReadonlyMap<string, ValueKind>

/** PostgreSQL's types by object id. Numeric is missing, because `pg` returns it as text. */
const kinds: ReadonlyMap<number, ValueKind> = new Map([
  [16, 'boolean'],
  [19, 'string'],
  [20, 'number'],
  [21, 'number'],
  [23, 'number'],
  [25, 'string'],
  [701, 'number'],
  [1007, 'array'],
  [3802, 'object'],
])

/**
 * Records the statements that clients send, and the columns that the server returns for each. Reads both
 * from the messages of the protocol.
 */
export class RecordedStatements {
  /** The columns of the answer by statement; undefined for a statement without rows. */
  readonly columns = new Map<string, Columns | undefined>()

  /** Watches a new connection, whose client waits for each answer before it sends the next statement. */
  readonly watch = (): Watch => {
    const prepared = new Map<string, string>()
    let current: string | undefined
    const note = (text: string, columns: Columns | undefined): void => {
      this.columns.set(text, columns ?? this.columns.get(text))
    }
    const clientMessages = messages({ hasStartup: true }, (type, body) => {
      if (type === 'P') {
        const [name = '', text = ''] = body.toString().split('\0')
        prepared.set(name, text)
        note(text, undefined)
      } else if (type === 'B') {
        const [, name = ''] = body.toString('latin1').split('\0')
        current = prepared.get(name)
      } else if (type === 'Q') {
        current = body.toString('utf8', 0, body.length - 1)
        note(current, undefined)
      }
    })
    const answered = messages({ hasStartup: false }, (type, body) => {
      if (type === 'T' && current !== undefined) note(current, columnsOf(body))
    })
    return { requested: clientMessages, answered }
  }
}

/** Splits bytes into messages. The first message of a client has no type. */
function messages(
  { hasStartup }: { readonly hasStartup: boolean },
  take: (type: string, body: Buffer) => void,
): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let typeBytes = hasStartup ? 0 : 1
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readUInt32BE(typeBytes)
      if (rest.length < end) return
      if (typeBytes === 1) take(String.fromCharCode(rest[0]!), rest.subarray(5, end))
      typeBytes = 1
      rest = rest.subarray(end)
    }
  }
}

/** Reads a row description. Each column has a name and six numbers; the third is its type. */
function columnsOf(body: Buffer): Columns {
  const columns = new Map<string, ValueKind>()
  let at = 2
  for (let count = body.readUInt16BE(0); count > 0; count--) {
    const end = body.indexOf(0, at)
    const type = body.readUInt32BE(end + 7)
    columns.set(body.toString('utf8', at, end), kinds.get(type) ?? 'other')
    at = end + 19
  }
  return columns
}
