import { z } from 'zod'
import { limits, parseDuration, parseTimestamp, shortText } from '../model/index.ts'
import { refuse, type Refusal } from './answer.ts'

/** Makes the error option of a schema. `accepted` completes the message "it must be". */
export function accepts(accepted: string): Readonly<Record<'error', () => string>> {
  return { error: () => accepted }
}

/** Makes the schema of an object with only these fields. `example` is JSON of a valid object. */
export function fields<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  example = '{"type":"track"}',
): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? Object.keys(shape).join(', ')
        : `an object, such as ${example}`,
  })
}

/** One string; a parameter that occurs twice is refused. */
export const text: z.ZodString = z.string(accepts('a single string'))

/** The schema of a flag in a JSON body. In a query, a flag is a string, so it needs a different schema. */
export const yes: z.ZodLiteral<true> = z.literal(true, accepts('true, or left out'))

/** Makes the schema of a name that must be in a list. */
export function oneOf<Name extends string>(names: readonly Name[]): z.ZodType<Name> {
  return z.enum(names, accepts(`one of ${names.join(', ')}`))
}

/** Makes the schema of one value or a list of values. It may be left out. */
export function several<Value extends z.ZodType>(
  value: Value,
): z.ZodType<z.output<Value>[] | undefined> {
  const listed = (given: unknown): unknown =>
    given === undefined || Array.isArray(given) ? given : [given]
  const list = z.array(value).min(1, accepts('one value, or a list of at least one'))
  return z.preprocess(listed, list.optional())
}

/** Makes the schema of a list of 1 to `countMax` non-empty ids. */
export function texts(countMax: number): z.ZodType<readonly string[]> {
  const lengthMax = limits.callBytesMax
  const accepted = `a list of 1 to ${countMax} strings of 1 to ${lengthMax} characters`
  const isText = (value: unknown): value is string =>
    typeof value === 'string' && value !== '' && value.length <= lengthMax
  const list = z.array(z.unknown(), accepts(accepted))
  // Report one issue for the whole list, because one for each element would not help.
  return list
    .min(1, accepts(accepted))
    .max(countMax, accepts(accepted))
    .meta({ items: { type: 'string', minLength: 1, maxLength: lengthMax } })
    .transform((given, context) => {
      if (given.every(isText)) return given
      const input = given.find((element) => !isText(element))
      context.addIssue({ code: 'custom', message: accepted, input })
      return z.NEVER
    })
}

/** Makes the schema of a whole number that a query contains as a string. */
export function numeral(
  min: number,
  max: number,
  accepted = `a whole number from ${min} to ${max}`,
): z.ZodType<number> {
  const isAccepted = (text: string): boolean =>
    /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max
  return z
    .string(accepts(accepted))
    .refine(isAccepted, accepts(accepted))
    .meta({ pattern: '^\\d{1,16}$' })
    .transform(Number)
}

/** The highest `limit` that a request for a page may have. */
export const pageRowsMax = 500

/** The number of rows of a page; 50 by default. */
export const pageLimit: z.ZodType<number> = numeral(1, pageRowsMax).default(50)

/** Makes the schema of a string that `parse` reads. A string for which it returns undefined is refused. */
export function parsed<Value>(
  accepted: string,
  parse: (text: string) => Value | undefined,
): z.ZodType<Value> {
  return z.string(accepts(accepted)).transform((text, context) => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue(accepted)
    return z.NEVER
  })
}

/** A flag of a query that shows the whole URLs of endpoints. */
export const reveal: z.ZodType<boolean> = oneOf(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')

/** A time in milliseconds since 1970. A string such as `2h` means two hours before `nowMs`. */
export const moment: z.ZodType<(nowMs: number) => number> = parsed(
  'a timestamp such as 2026-11-20T10:15:00Z, or a duration before now, such as 2h',
  (text) => {
    const agoMs = parseDuration(text)
    if (agoMs !== undefined) return (nowMs: number) => nowMs - agoMs
    const instantMs = parseTimestamp(text)
    return instantMs === undefined ? undefined : () => instantMs
  },
)

/** Requires exactly one of an id, conditions and `all`. An empty request must not select everything. */
export function selectionRefusal({
  all,
  id,
  ...conditions
}: Readonly<Record<string, unknown>>): Refusal | undefined {
  const hasConditions = Object.values(conditions).some((condition) => condition !== undefined)
  const ways = [all !== undefined, id !== undefined, hasConditions]
  switch (ways.filter(Boolean).length) {
    case 0:
      return refuse('nothing_selected', 'Nothing is selected: give conditions, or "all": true')
    case 1:
      return undefined
    default:
      return refuse(
        'invalid_request',
        'Cannot combine an id, conditions and "all": give only one of them',
      )
  }
}

/** What a request contains, or why it is refused. */
export type Reading<Value> = { readonly value: Value } | Refusal

/** Reads the query or the body of a request, or refuses it. */
export function readFields<Value>(schema: z.ZodType<Value>, input: unknown): Reading<Value> {
  const { data, error } = schema.safeParse(input ?? {}, { reportInput: true })
  return error === undefined
    ? { value: data }
    : refuse('invalid_request', error.issues.flatMap(issueTexts).join('; '))
}

/** Returns the messages of an issue, in the style of configuration errors: one, or one for each unknown name. */
function issueTexts(issue: z.core.$ZodIssue): readonly string[] {
  const { message, input } = issue
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${shortText(key)}: Cannot use this name: it must be one of ${message}`,
    )
  }
  // Name only the field, without a list index, because `several` also puts a single value into a list.
  const [name = 'the body'] = issue.path
  const given = input === undefined ? 'be left out' : `use ${shownValue(input)}`
  return [`${String(name)}: Cannot ${given}: it must be ${message}`]
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortText(JSON.stringify(value))
}
