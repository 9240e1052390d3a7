import { expect, test } from 'vitest'
import {
  groupsInList,
  groupsInStat,
  ownsTerminal,
} from '../../../src/cli/terminal/process-terminal.ts'

test('reads the groups of a process whose name contains brackets and spaces', () => {
  expect(groupsInStat('71 (a) b (c)) S 70 71 60 34816 99 4194304 1 2 3')).toEqual([71, 99])
  expect(groupsInStat('71 (node) S 70 71 60 0 -1 4194304')).toEqual([71, -1])
  expect(groupsInStat('')).toBeUndefined()
})

test('reads the groups that ps prints', () => {
  expect(groupsInList('  714   99\n')).toEqual([714, 99])
  expect(groupsInList('')).toBeUndefined()
})

test('owns the terminal in its foreground group, or without groups', () => {
  expect(ownsTerminal([71, 71])).toBe(true)
  expect(ownsTerminal([71, 99])).toBe(false)
  expect(ownsTerminal([71, -1])).toBe(true)
  expect(ownsTerminal([71, 0])).toBe(true)
})
