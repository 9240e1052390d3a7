import { reorderKeys, tokensOf, writeJson } from './json-style.ts'

/**
 * How JSON encoders of other languages write the same body.
 *
 * - `spaced`: a space after each comma and colon, as Python writes it
 * - `escaped`: with escapes such as `\/` and `\u00e9`, as PHP writes it
 * - `reordered`: with the keys of every object in reverse order
 * - `pretty`: indented by two spaces
 */
export type BodyStyle = 'spaced' | 'escaped' | 'reordered' | 'pretty'

/** All styles, in the order in which the documentation lists them. */
export const bodyStyles: readonly BodyStyle[] = Object.freeze([
  'spaced',
  'escaped',
  'reordered',
  'pretty',
] as const)

/** The characters that PHP escapes although JSON does not require it. */
const beyondSevenBits = /[\u0080-\uffff]/g

/** Rewrites a body in a style: the same JSON value, but different bytes. */
export function restyleBody(body: string, style: BodyStyle): string {
  switch (style) {
    case 'spaced':
      return writeJson(tokensOf(body), { comma: ', ', colon: ': ' }) ?? body
    case 'escaped': {
      const php = { comma: ',', colon: ':', slashes: true, escaped: beyondSevenBits } as const
      return writeJson(tokensOf(body), php) ?? body
    }
    case 'reordered':
      return JSON.stringify(reorderKeys(JSON.parse(body), (keys) => keys.reverse()))
    case 'pretty':
      return JSON.stringify(JSON.parse(body), null, 2)
  }
}
