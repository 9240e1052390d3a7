import { reorderKeys, tokensOf, writeJson } from './json-style.ts'

/** The characters that PHP escapes although JSON does not require it. */
const beyondSevenBits = /[\u0080-\uffff]/g
const php = { comma: ',', colon: ':', slashes: true, escaped: beyondSevenBits } as const

const styles = {
  spaced: (body: string) => writeJson(tokensOf(body), { comma: ', ', colon: ': ' }) ?? body,
  escaped: (body: string) => writeJson(tokensOf(body), php) ?? body,
  reordered: (body: string) =>
    JSON.stringify(reorderKeys(JSON.parse(body), (keys) => keys.reverse())),
  pretty: (body: string) => JSON.stringify(JSON.parse(body), null, 2),
}

/**
 * How JSON encoders of other languages write the same body.
 *
 * - `spaced`: a space after each comma and colon, as Python writes it
 * - `escaped`: with escapes such as `\/` and `\u00e9`, as PHP writes it
 * - `reordered`: with the keys of every object in reverse order
 * - `pretty`: indented by two spaces
 */
export type BodyStyle = keyof typeof styles

/** Rewrites a body in a style: the same JSON value, but different bytes. */
export function restyleBody(body: string, style: BodyStyle): string {
  return styles[style](body)
}
