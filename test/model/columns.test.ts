import { expect, test } from 'vitest'
import { columnsOf, cutToColumns, padToColumns } from '../../src/model/index.ts'

test.each([
  ['', 0],
  ['Zürich “…”', 10],
  ['注文完了', 8],
  ['주문 완료', 9],
  ['ひらカタ', 8],
  ['ＡＢ！', 6],
  ['🎉', 2],
  ['𠀀', 2],
  ['👩‍👩‍👧', 2],
  ['👍🏽', 2],
  ['🇨🇭', 2],
  ['❤️', 2],
  ['e\u0301', 1],
])('%j takes %i columns', (text, columns) => {
  expect(columnsOf(text)).toBe(columns)
})

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcd…'],
  ['注文完了', 8, '注文完了'],
  ['注文完了', 7, '注文完…'],
  ['注文完了', 6, '注文…'],
  ['🎉🎉', 2, '…'],
  ['a👩‍👩‍👧b', 3, 'a…'],
])('%j is cut to %i columns as %j', (text, columnsMax, cut) => {
  expect(cutToColumns(text, columnsMax)).toBe(cut)
})

test('padding fills the remaining columns', () => {
  expect(padToColumns('注', 4)).toBe('注  ')
  expect(padToColumns('注文完', 4)).toBe('注文完')
})
