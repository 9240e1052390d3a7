import type { JsonStyle } from '../../webhook/index.ts'
import type { BodyRecipe, SuspectBody } from './suspect.ts'

/** Characters that Python escapes: all but printable ASCII. Line breaks stay, because they separate members. */
const beyondAscii = /[^\n -~]/g
/** Characters that PHP escapes. Unlike Python, it does not escape DEL. */
const beyondSevenBits = /[\u0080-\uffff]/g
const html = /[<>&\u2028\u2029]/g

const compact: JsonStyle = { comma: ',', colon: ':' }
const python: JsonStyle = { comma: ', ', colon: ': ' }
const goCompact: JsonStyle = { ...compact, escaped: html }

/** Recipes for bodies that were parsed and serialised again. */
export const jsonRecipes: readonly BodyRecipe[] = [
  reSerialised('JSON.stringify(JSON.parse(body))', ({ stringified }) =>
    stringified === undefined ? [] : [stringified],
  ),
  inStyle('the same JSON without white space', compact),
  inStyle("the output of Python's json.dumps", python, { ...python, escaped: beyondAscii }),
  inStyle("the output of Python's json.dumps with compact separators", {
    ...compact,
    escaped: beyondAscii,
  }),
  ...[2, 4].map((indent) =>
    inStyle(
      `the same JSON indented by ${indent} spaces`,
      { ...python, indent },
      { ...python, indent, escaped: beyondAscii },
    ),
  ),
  inStyle(
    "the output of PHP's json_encode",
    { ...compact, slashes: true, escaped: beyondSevenBits },
    { ...compact, slashes: true },
  ),
  reSerialised("the output of Go's encoding/json", (body) =>
    [...body.rewritten(goCompact), ...body.sorted(goCompact)].flatMap((json) => [
      json,
      `${json}\n`,
    ]),
  ),
  reSerialised('the same JSON with its keys sorted', (body) => [
    ...body.sorted(compact),
    ...body.sorted({ ...python, escaped: beyondAscii }),
  ]),
]

function inStyle(matching: string, ...styles: readonly JsonStyle[]): BodyRecipe {
  return reSerialised(matching, (body) => styles.flatMap((style) => body.rewritten(style)))
}

function reSerialised(
  matching: string,
  write: (body: SuspectBody) => readonly string[],
): BodyRecipe {
  return {
    code: 're_serialised',
    finding: `The body was re-serialised: the signature matches ${matching}`,
    fix: 'Sign the bytes that are sent, and verify the bytes that arrive before anything parses them.',
    bodies: ({ body }) => write(body).map((text) => Buffer.from(text)),
  }
}
