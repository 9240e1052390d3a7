import { expect, test } from 'vitest'
import { Gathering } from '../../src/threads/gathering.ts'

function gathering() {
  const sent: (readonly number[])[] = []
  const moments: (() => void)[] = []
  const numbers = new Gathering<number>({
    send: (some) => sent.push(some),
    later: (send) => moments.push(send),
  })
  return { numbers, sent, moments }
}

test('messages of the same moment are sent together, in order', () => {
  const { numbers, sent, moments } = gathering()
  numbers.say(1)
  numbers.say(2)
  expect(sent).toEqual([])
  expect(moments).toHaveLength(1)
  moments[0]?.()
  expect(sent).toEqual([[1, 2]])
  numbers.say(3)
  moments[1]?.()
  expect(sent).toEqual([[1, 2], [3]])
})

test('a message that sendNow has sent is not sent again', () => {
  const { numbers, sent, moments } = gathering()
  numbers.say(1)
  numbers.sendNow()
  numbers.sendNow()
  moments[0]?.()
  expect(sent).toEqual([[1]])
})

test('sixteen messages are sent without waiting for more', () => {
  const { numbers, sent } = gathering()
  for (let number = 0; number < 20; number++) numbers.say(number)
  expect(sent.map((some) => some.length)).toEqual([16])
})
