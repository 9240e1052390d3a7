import { expect, test } from 'vitest'
import { restyleBody } from '../../src/webhook/index.ts'

const body = '{"a":"é/","b":[1,{"c":"x, y: z","d":null}],"e":{}}'

test.each([
  ['spaced', '{"a": "é/", "b": [1, {"c": "x, y: z", "d": null}], "e": {}}'],
  ['escaped', '{"a":"\\u00e9\\/","b":[1,{"c":"x, y: z","d":null}],"e":{}}'],
  ['reordered', '{"e":{},"b":[1,{"d":null,"c":"x, y: z"}],"a":"é/"}'],
  ['pretty', JSON.stringify(JSON.parse(body), null, 2)],
] as const)('a body can be styled as %s', (style, written) => {
  expect(restyleBody(body, style)).toBe(written)
})

test.each(['spaced', 'escaped', 'reordered', 'pretty'] as const)(
  'a body that is %s parses to the same value',
  (style) => {
    expect(JSON.parse(restyleBody(body, style))).toEqual(JSON.parse(body))
  },
)
