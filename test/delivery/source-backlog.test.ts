import { describe, expect, test } from 'vitest'
import { SourceBacklog } from '../../src/delivery/source-backlog.ts'

describe('the backlog of sources', () => {
  test('counts a source as quiet only if another one has a backlog', () => {
    const backlog = new SourceBacklog()
    expect(backlog.isQuiet('noisy')).toBe(false)
    backlog.add('noisy', 50)
    expect(backlog.isQuiet('noisy')).toBe(false)
    expect(backlog.isQuiet('quiet')).toBe(true)
  })

  test('counts a source with less than its share as quiet', () => {
    const backlog = new SourceBacklog()
    backlog.add('noisy', 50)
    backlog.add('quiet', 49)
    expect(backlog.isQuiet('quiet')).toBe(true)
    backlog.add('quiet', 1)
    expect(['noisy', 'quiet'].filter((source) => backlog.isQuiet(source))).toEqual([])
    backlog.add('other', 20)
    expect(backlog.isQuiet('other')).toBe(true)
    expect(backlog.isQuiet('noisy')).toBe(false)
  })

  test('shrinks for every source in proportion, until nothing is left', () => {
    const backlog = new SourceBacklog()
    backlog.add('noisy', 90)
    backlog.add('quiet', 10)
    backlog.claimed(50)
    backlog.add('quiet', 39)
    expect(backlog.isQuiet('quiet')).toBe(true)
    backlog.add('quiet', 2)
    expect(backlog.isQuiet('noisy')).toBe(true)
    backlog.claimed(1_000)
    expect(backlog.isQuiet('other')).toBe(false)
    backlog.add('noisy', 0)
    expect(backlog.isQuiet('other')).toBe(false)
    backlog.add('noisy', 5)
    expect(backlog.isQuiet('other')).toBe(true)
    backlog.clear()
    expect(backlog.isQuiet('other')).toBe(false)
  })
})
