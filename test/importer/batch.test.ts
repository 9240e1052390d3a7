import { describe, expect, it } from 'vitest'
import { heldBatchBytesMax, heldMergedBytesMax } from '../../src/importer/batch.ts'
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

  it('go under each call, key by key, whether they stand before it or after', async () => {
    expect(await briefOf(`{${shared},"batch":[${calls}]}`)).toEqual(merged)
    expect(await briefOf(`{"batch":[${calls}],${shared},"sentAt":"x"}`)).toEqual(merged)
    expect(await briefOf(`{"x":1,"batch":[${calls}] , ${shared} }`)).toEqual(merged)
  })

  it('leave an opt-out in the context of a call as it is', async () => {
    const call = '{"context":{"integrations":{"Webhooks":false}}}'
    expect(await briefOf(`{"batch":[${call}],"integrations":{"Slack":true}}`)).toEqual([
      [1, { context: {}, integrations: { Slack: true, Webhooks: false } }],
    ])
  })

  it('leave what is no object to the check of the call', async () => {
    expect(await briefOf(`{${shared},"batch":[{"context":"x","integrations":[1]}]}`)).toEqual([
      [1, { context: 'x', integrations: [1] }],
    ])
  })

  it('do not count towards the bytes of a row', async () => {
    expect(await rowsOf(`{${shared},"batch":[{"a":1}]}`)).toMatchObject([{ bytes: 7 }])
  })

  it('may be null, and are bad rows when they are no objects', async () => {
    expect(await briefOf('{"context":null,"batch":[{"a":1}],"integrations":null}')).toEqual([
      [1, { a: 1 }],
    ])
    expect(await briefOf('{"context":"x","batch":[{"a":1}],\n"integrations":[]}')).toEqual([
      [1, 'wrong_type'],
      [1, { a: 1 }],
      [2, 'wrong_type'],
    ])
  })

  it('go under the calls that came when the text ends too early', async () => {
    expect(await briefOf('{"batch":[{"a":1}],"context":{"ip":"x"},\n')).toEqual([
      [1, { a: 1, context: { ip: 'x' } }],
      [2, 'invalid_json'],
    ])
  })
})

describe('a batch of more than is held', () => {
  const call = JSON.stringify({ a: 'x'.repeat(1000) })
  const callsCount = Math.ceil(heldBatchBytesMax / call.length) + 1
  const calls = Array.from({ length: callsCount }, () => call).join(',')

  it('takes what stands before its calls', async () => {
    const rows = await rowsOf(`{"context":{"ip":"x"},"batch":[${calls}]}`)
    expect(rows).toHaveLength(callsCount)
    for (const row of rows) expect(row).toMatchObject({ value: { context: { ip: 'x' } } })
  })

  it('reports what stands after them instead of leaving it out silently', async () => {
    const rows = await rowsOf(`{"batch":[${calls}],\n"context":{"ip":"x"},"sentAt":"x"}`)
    expect(rows.slice(0, -1)).toHaveLength(callsCount)
    expect(rows.at(-1)).toEqual({
      kind: 'bad',
      line: 2,
      code: 'event_too_large',
      message:
        'The context of the batch does not reach its calls: it stands after more than ' +
        '4194304 bytes of them, and must stand before',
    })
  })

  it('is released when its rows are small but many', async () => {
    const many = Array.from({ length: 20_000 }, () => '{}').join(',')
    const rows = await rowsOf(`{"batch":[${many}],"context":{"ip":"x"}}`)
    expect(rows.at(-1)).toMatchObject({ code: 'event_too_large' })
  })
})

describe('what stands in a batch once and goes under many calls', () => {
  const contextOf = (bytes: number) => JSON.stringify({ x: 'x'.repeat(bytes - '{"x":""}'.length) })
  const callsOf = (count: number) => Array.from({ length: count }, () => '{"context":{}}').join(',')
  const codesOf = async (text: string) => {
    const rows = await rowsOf(text)
    return new Set(rows.map((row) => (row.kind === 'row' ? 'row' : `${row.code} ${row.message}`)))
  }

  it('goes under none when no call may be that long', async () => {
    const text = (bytes: number) => `{"context":${contextOf(bytes)},"batch":[${callsOf(3)}]}`
    expect(await codesOf(text(limits.callBytesMax))).toEqual(new Set(['row']))
    expect(await codesOf(text(limits.callBytesMax + 1))).toEqual(
      new Set([
        'event_too_large The context and integrations of the batch have 32769 bytes, ' +
          'and a call with them may have 32768',
      ]),
    )
  })

  it('must stand before them when it would fill memory', async () => {
    const context = contextOf(limits.callBytesMax)
    const count = heldMergedBytesMax / limits.callBytesMax
    expect(await codesOf(`{"batch":[${callsOf(count)}],"context":${context}}`)).toEqual(
      new Set(['row']),
    )
    expect(await codesOf(`{"batch":[${callsOf(count + 1)}],"context":${context}}`)).toEqual(
      new Set([
        'event_too_large The context and integrations of the batch have 32768 bytes ' +
          'and stand after 2049 calls: they must stand before',
      ]),
    )
    const before = await codesOf(`{"context":${context},"batch":[${callsOf(count + 1)}]}`)
    expect(before).toEqual(new Set(['row']))
  })

  it('is a bad row when it is nested too deeply', async () => {
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
    ['{"x":nope,"batch":[{"a":1}]}', 'What stands around the calls of the batch is not valid JSON'],
    ['{"batch":[{"a":1}],"x":nope}', 'What stands around the calls of the batch is not valid JSON'],
    ['{"batch":[{"a":1}] "x":1}', 'A comma is missing after the calls'],
    ['{"batch":[{"a":1}],}', 'A value is missing before this brace'],
    ['{"batch":[{"a":1}],,"x":1}', 'A value is missing before this comma'],
    ['{"batch":[{"a":1}],"batch":[{"b":1}]}', 'A batch document may have one batch only'],
    [
      `{"batch":[{"a":1}],"x":"${'x'.repeat(heldTextBytesMax)}"}`,
      'This member of the batch is too',
    ],
  ])('still gives its calls: %.40s', async (text, message) => {
    const rows = await rowsOf(text)
    expect(rows.filter((row) => row.kind === 'row')).toMatchObject([{ value: { a: 1 } }])
    const problems = rows.filter((row) => row.kind === 'bad').map((row) => row.message)
    expect(problems).toEqual([expect.stringContaining(message)])
  })
})
