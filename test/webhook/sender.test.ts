import { expect, test } from 'vitest'
import { WebhookSender } from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { postTo } from './post-to.ts'
import { describeSender } from './sender-suite.ts'

describeSender('a sender in this thread', (options) => new WebhookSender(options))

test('a missing response within five seconds is a timeout, even if the caller allows more', async () => {
  const endpoint = await TestEndpoint.start('hang')
  expect(await postTo({ url: endpoint.url }, { deadlineMs: 600_000 })()).toEqual({
    kind: 'timeout',
  })
})
