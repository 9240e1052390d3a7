import { describe, expect, it } from 'vitest'
import { limits } from '../../src/model/index.ts'
import { heldTextBytesMax } from '../../src/importer/held-text.ts'
import { briefOf, rowsOf } from './support.ts'

describe('context and integrations of a batch', () => {
  const shared = '"context":{"ip":"x","locale":"y"},"integrations":{"All":false,"Webhooks":true}'
  const calls = '{"a":1},{"context":{"locale":"z"},"integrations":{"All":true}},{"context":null}'
  const merged = [
    [
      1,
      {
        a: 1,
        context: { ip: 'x', locale: 'y' },
        integrations: { All: false, Webhooks: true },
      },
    ],
    [1, { context: { ip: 'x', locale: 'z' }, integrations: { All: true, Webhooks: true } }],
    [1, { context: { ip: 'x', locale: 'y' }, integrations: { All: false, Webhooks: true } }],
  ]

  it('are merged into each call, key by key', async () => {
    expect(await briefOf(`{${shared},"batch":[${calls}]}`)).toEqual(merged)
    expect(await briefOf(`{"x":1, ${shared} ,"batch":[${calls}],"sentAt":"x"}`)).toEqual(merged)
  })

  it('are reported as bad rows if they come after the calls', async () => {
    const rows = await rowsOf('{"batch":[{"a":1}],\n"context":{"ip":"x"},"sentAt":"x"}')
    expect(rows).toMatchObject([
      { kind: 'row', value: { a: 1 } },
      {
        kind: 'bad',
        line: 1,
        code: 'invalid_json',
        message: 'The context of the batch does not apply to its calls: it must come before them',
      },
    ])
  })

  it('leave an opt-out in the context of a call as it is', async () => {
    const call = '{"context":{"integrations":{"Webhooks":false}}}'
    expect(await briefOf(`{"integrations":{"Slack":true},"batch":[${call}]}`)).toEqual([
      [1, { context: {}, integrations: { Slack: true, Webhooks: false } }],
    ])
  })

  it('leave a value that is not an object to the check of the call', async () => {
    expect(await briefOf(`{${shared},"batch":[{"context":"x","integrations":[1]}]}`)).toEqual([
      [1, { context: 'x', integrations: [1] }],
    ])
  })

  it('do not count towards the bytes of a row', async () => {
    expect(await rowsOf(`{${shared},"batch":[{"a":1}]}`)).toMatchObject([{ bytes: 7 }])
  })

  it('may be null, and are bad rows if they are not objects', async () => {
    expect(await briefOf('{"context":null,"batch":[{"a":1}],"integrations":null}')).toEqual([
      [1, { a: 1 }],
    ])
    expect(await briefOf('{"context":"x","batch":[{"a":1}],\n"integrations":[]}')).toEqual([
      [1, 'wrong_type'],
      [1, { a: 1 }],
      [1, 'wrong_type'],
    ])
  })

  it('are merged into the calls that arrived before the text was cut off', async () => {
    expect(await briefOf('{"context":{"ip":"x"},"batch":[{"a":1}],\n')).toEqual([
      [1, { a: 1, context: { ip: 'x' } }],
      [2, 'invalid_json'],
    ])
  })
})

describe('defaults shared by many calls', () => {
  const contextOf = (bytes: number) => JSON.stringify({ x: 'x'.repeat(bytes - '{"x":""}'.length) })
  const callsOf = (count: number) => Array.from({ length: count }, () => '{"context":{}}').join(',')
  const codesOf = async (text: string) => {
    const rows = await rowsOf(text)
    return new Set(rows.map((row) => (row.kind === 'row' ? 'row' : `${row.code} ${row.message}`)))
  }

  it('are merged into no call if every call would be too long', async () => {
    const text = (bytes: number) => `{"context":${contextOf(bytes)},"batch":[${callsOf(3)}]}`
    expect(await codesOf(text(limits.callBytesMax))).toEqual(new Set(['row']))
    expect(await codesOf(text(limits.callBytesMax + 1))).toEqual(
      new Set([
        'event_too_large The context and integrations of the batch are 32769 bytes, ' +
          'but a call that includes them may be at most 32768',
      ]),
    )
  })

  it('are a bad row if they are nested too deeply', async () => {
    const deep = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
    const text = (levels: number) => `{"context":${deep(levels)},"batch":[{"b":1}]}`
    expect(await briefOf(text(501))).toEqual([
      [1, 'wrong_type'],
      [1, { b: 1 }],
    ])
    expect(await codesOf(text(500))).toEqual(new Set(['row']))
  })
})

describe('a batch document that is broken around its calls', () => {
  it.each([
    ['{"x":nope,"batch":[{"a":1}]}', 'Outside its calls, the batch is not valid JSON'],
    ['{"batch":[{"a":1}],"x":nope}', 'Outside its calls, the batch is not valid JSON'],
    ['{"batch":[{"a":1}] "x":1}', 'Outside its calls, the batch is not valid JSON'],
    ['{"batch":[{"a":1}],}', 'Outside its calls, the batch is not valid JSON'],
    ['{"batch":[{"a":1}],,"x":1}', 'Outside its calls, the batch is not valid JSON'],
    ['{"batch":[{"a":1}],"batch":[{"b":1}]}', 'A batch document can have only one batch'],
    [
      `{"batch":[{"a":1}],"x":"${'x'.repeat(heldTextBytesMax)}"}`,
      'The end of the batch is too long',
    ],
  ])('still returns its calls: %.40s', async (text, message) => {
    const rows = await rowsOf(text)
    expect(rows.filter((row) => row.kind === 'row')).toMatchObject([{ value: { a: 1 } }])
    const problems = rows.filter((row) => row.kind === 'bad').map((row) => row.message)
    expect(problems).toEqual([expect.stringContaining(message)])
  })
})
