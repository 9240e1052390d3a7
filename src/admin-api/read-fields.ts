import { z } from 'zod'
import { shortText } from '../model/index.ts'
import type { Refusal } from './answer.ts'

/** What a request contains, or why it is refused. */
export type Reading<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** Sets the message of every issue to the accepted values. {@link read} adds the given value. */
export function accepts(accepted: string): {
  /** Returns the message. */
  readonly error: () => string
} {
  return { error: () => accepted }
}

/** Makes the schema of an object without other fields. `example` is JSON of a valid object. */
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

/** A string. */
export const text: z.ZodString = z.string(accepts('a single string'))

/** The value `true`. */
export const yes: z.ZodLiteral<true> = z.literal(true, accepts('true, or left out'))

/** Makes the schema of one of several names. */
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

/** Makes the schema of a list of strings, none of them empty. */
export function texts(countMax: number, lengthMax: number): z.ZodType<readonly string[]> {
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

/** Makes the schema of a whole number, which is a string in a query. */
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

/** Maximum rows per page. */
export const pageRowsMax = 500

/** The number of rows of a page; 50 by default. */
export const pageLimit: z.ZodType<number> = numeral(1, pageRowsMax).default(50)

/** Checks the query or body of a request, and turns it into a value or a refusal. */
export function read<Written, Value>(
  schema: z.ZodType<Written>,
  input: unknown,
  understand: (written: Written) => Reading<Value>,
): Reading<Value> {
  const result = schema.safeParse(input ?? {}, { reportInput: true })
  if (result.success) return understand(result.data)
  return refused('invalid_request', result.error.issues.flatMap(issueTexts).join('; '))
}

/** Formats an issue like a problem of a configuration: its path, the given value, and what is accepted. */
function issueTexts(issue: z.core.$ZodIssue): readonly string[] {
  const { message, input } = issue
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${shortText(key)}: Cannot use this name: it must be one of ${message}`,
    )
  }
  // Leave out the index, because a single value is read as a list too.
  const [name = 'the body'] = issue.path
  const given = input === undefined ? 'be left out' : `use ${shownValue(input)}`
  return [`${String(name)}: Cannot ${given}: it must be ${message}`]
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortText(JSON.stringify(value))
}

/** Refuses a request because of its content. */
export function refused(
  code: 'invalid_request' | 'nothing_selected',
  message: string,
): Reading<never> {
  return { kind: 'refused', refusal: { status: 400, code, message } }
}
