import { z } from 'zod'
import { shortText } from '../model/index.ts'
import type { Refusal } from './answer.ts'

/** What a request asks for, or why it cannot be understood. */
export type Reading<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** The message of every issue says what is accepted; {@link read} adds what was given. */
export function accepts(accepted: string): {
  /** The message of an issue. */
  readonly error: () => string
} {
  return { error: () => accepted }
}

/**
 * An object that knows all its names. The message about an unknown one is the list of those.
 *
 * @param example - JSON of a good one
 */
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

/** Any text. */
export const text: z.ZodString = z.string(accepts('one text'))

/** What has to be said where leaving it out means something else. */
export const yes: z.ZodLiteral<true> = z.literal(true, accepts('true, or left out'))

/** One of some names. */
export function oneOf<Name extends string>(names: readonly Name[]): z.ZodType<Name> {
  return z.enum(names, accepts(`one of ${names.join(', ')}`))
}

/** One value, or a list of them; it may be left out. */
export function several<Value extends z.ZodType>(
  value: Value,
): z.ZodType<z.output<Value>[] | undefined> {
  const listed = (given: unknown): unknown =>
    given === undefined || Array.isArray(given) ? given : [given]
  const list = z.array(value).min(1, accepts('one value, or a list of at least one'))
  return z.preprocess(listed, list.optional())
}

/** A list of at least one text, none of which is empty. */
export function texts(countMax: number, lengthMax: number): z.ZodType<readonly string[]> {
  const accepted = `a list of 1 to ${countMax} texts of 1 to ${lengthMax} characters`
  const isText = (value: unknown): value is string =>
    typeof value === 'string' && value !== '' && value.length <= lengthMax
  const list = z.array(z.unknown(), accepts(accepted))
  // Its length first, and one issue for all: messages about each of very many help no one.
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

/** A whole number as a query has it. */
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

/** What a page of a list may have, and has where nothing is said of it. */
export const pageRowsMax = 500
const pageRowsDefault = 50

/** How many rows a page has. */
export const pageLimit: z.ZodType<number> = numeral(1, pageRowsMax).default(pageRowsDefault)

/** Reads what a request has by its schema. */
export function read<Written, Value>(
  schema: z.ZodType<Written>,
  input: unknown,
  understand: (written: Written) => Reading<Value>,
): Reading<Value> {
  const result = schema.safeParse(input ?? {}, { reportInput: true })
  if (result.success) return understand(result.data)
  return refused('invalid_request', result.error.issues.flatMap(issueTexts).join('; '))
}

/** What cannot be used where, and what is accepted, in the form of the problems of a configuration. */
function issueTexts(issue: z.core.$ZodIssue): readonly string[] {
  const { message, input } = issue
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${shortText(key)}: Cannot use this name: the names here are ${message}`,
    )
  }
  // One value is read as a list of one, so an index would be of no help.
  const [name = 'the body'] = issue.path
  const given = input === undefined ? 'be left out' : `use ${shownValue(input)}`
  return [`${String(name)}: Cannot ${given}: it is ${message}`]
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortText(JSON.stringify(value))
}

/** Refuses a request for what it says. */
export function refused(
  code: 'invalid_request' | 'nothing_selected',
  message: string,
): Reading<never> {
  return { kind: 'refused', refusal: { status: 400, code, message } }
}
