import { describe, expect, test } from 'vitest'
import { forwardFlag } from '../../../src/cli/commands/listen.ts'

describe('forwardFlag', () => {
  test.each([
    ['http://127.0.0.1:3000/hook', null, 'http://127.0.0.1:3000/hook'],
    ['track=http://127.0.0.1:3000/hook', 'track', 'http://127.0.0.1:3000/hook'],
    ['delete=http://127.0.0.1:3000/?a=b', 'delete', 'http://127.0.0.1:3000/?a=b'],
    ['http://127.0.0.1:3000/?track=1', null, 'http://127.0.0.1:3000/?track=1'],
    ['click=http://127.0.0.1:3000/', null, 'click=http://127.0.0.1:3000/'],
  ])('reads %s', (text, type, url) => {
    expect(forwardFlag(text)).toEqual([{ type, url }])
  })

  test('keeps earlier targets', () => {
    const first = forwardFlag('http://127.0.0.1:1/')
    expect(forwardFlag('page=http://127.0.0.1:2/', first)).toHaveLength(2)
  })
})
