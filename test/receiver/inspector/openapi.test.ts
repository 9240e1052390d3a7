import { readFileSync } from 'node:fs'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { post, start, trackBody } from '../requests.ts'

interface Operation {
  readonly responses: Readonly<Record<string, unknown>>
}

describe('the OpenAPI document', () => {
  const file = new URL('../../../docs/inspector.openapi.json', import.meta.url)
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<'get' | 'post', Operation>>>>
  }

  test.each([
    ['get', '/_evroute/stream', '?match=type:trak', undefined],
    ['get', '/_evroute/stream', '?sample=yes', undefined],
    ['get', '/_evroute/summaries', '?seqs=1,9', undefined],
    ['get', '/_evroute/summaries', '?seq=1', undefined],
    ['get', '/_evroute/event', '?seq=1', undefined],
    ['get', '/_evroute/event', '?seq=9', undefined],
    ['get', '/_evroute/changes', '?seq=1', undefined],
    ['get', '/_evroute/changes', '?seq=9', undefined],
    ['get', '/_evroute/expectation', '?seq=1', undefined],
    ['get', '/_evroute/expectations', '', undefined],
    ['get', '/_evroute/plan', '', undefined],
    ['get', '/_evroute/samples', '', undefined],
    ['get', '/_evroute/snippets', '', undefined],
    ['get', '/_evroute/match', '?text=type:trak', undefined],
    ['get', '/_evroute/condition', '?keys=["type"]&value=1', undefined],
    ['get', '/_evroute/condition', '?keys=type', undefined],
    ['post', '/_evroute/actions/resend', '', { seq: 1 }],
    ['post', '/_evroute/actions/resend', '', { seq: 9 }],
    ['post', '/_evroute/actions/resend', '', { seq: 1, edit: { path: 'x' } }],
    ['post', '/_evroute/actions/next-answer', '', { answer: 'reset' }],
    ['post', '/_evroute/actions/next-answer', '', { answer: 99 }],
    ['post', '/_evroute/actions/send', '', { request: { body: '{}' } }],
    ['post', '/_evroute/actions/send', '', {}],
    ['post', '/_evroute/actions/plan', '', { plan: '503,200' }],
    ['post', '/_evroute/actions/plan', '', { plan: 'boom' }],
    ['post', '/_evroute/actions/expect', '', { expect: 'type:track' }],
    ['post', '/_evroute/actions/expect', '', { expect: 'type:trak' }],
    ['post', '/_evroute/actions/forget', '', { id: 9 }],
  ] as const)('describes the response to %s %s%s %j', async (...sent) => {
    const [method, path, query, body] = sent
    const { url } = await start()
    await post(url, trackBody)
    const { statusCode, body: answer } = await request(`${url}${path}${query}`, {
      method: method === 'get' ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    await answer.dump()
    expect(Object.keys(paths[path]![method].responses)).toContain(String(statusCode))
  })

  test('lists every path', () => {
    expect(Object.keys(paths)).toEqual(
      [
        'stream',
        'summaries',
        ...[
          'event',
          'changes',
          'expectation',
          'condition',
          'match',
          'expectations',
          'plan',
          'samples',
        ],
        'snippets',
        ...['resend', 'next-answer', 'send', 'plan', 'expect', 'forget', 'read-capture'].map(
          (name) => `actions/${name}`,
        ),
      ].map((path) => `/_evroute/${path}`),
    )
  })
})
