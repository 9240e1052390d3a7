import { expect, test } from 'vitest'
import { Admission } from '../../../src/store/memory/admission.ts'

test('nobody overtakes those who wait to be let in', async () => {
  const pending = { size: 0, bodyBytes: 0, untried: 0, leased: 0 }
  const admission = new Admission(pending, { pendingMax: 1 })
  const entered: string[] = []
  const enter = (name: string): Promise<void> =>
    admission.enter(() => {
      pending.size++
      entered.push(name)
    })
  const leave = (): void => {
    pending.size--
    admission.letIn()
  }
  const [first, second, third] = [enter('first'), enter('second'), enter('third')]
  await first
  leave()
  const newcomer = enter('newcomer')
  await second
  leave()
  await third
  leave()
  await newcomer
  expect(entered).toEqual(['first', 'second', 'third', 'newcomer'])
})
