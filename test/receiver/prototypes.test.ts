import { test } from 'vitest'
import { sendAnswer } from '../../src/http/index.ts'
import { accepted } from '../../src/receiver/answer.ts'
import { receiverApp } from '../../src/receiver/app.ts'
import { silentLog } from '../../src/runtime/index.ts'
import { expectOwnPrototypes } from '../support/prototypes.ts'

test('requests keep their prototypes, because replacing them halves the throughput', async () => {
  const answer: Parameters<typeof receiverApp>[0]['answer'] = (_request, response) => {
    sendAnswer(response, accepted(200))
    return Promise.resolve()
  }
  await expectOwnPrototypes(receiverApp({ answer, receive: answer }, silentLog), '/')
})
