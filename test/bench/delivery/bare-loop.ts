// The limit: builds a body, signs it, posts it, and goes on with the next. It doesn't accept, store, queue,
// time, log or retry anything.
import { stopwatch } from '../../../dist/runtime/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import { sampleBody, sampleMessageId } from '../sample-webhook.ts'
import {
  connections,
  type ContenderSettings,
  type DeliveryRate,
  type DeliveryRun,
} from './contender.ts'
import { postSignedTo } from './post-signed.ts'

const { origin } = programSettings() as ContenderSettings
const post = postSignedTo(origin, connections)

answerQuestions(async ({ webhooks }: DeliveryRun): Promise<DeliveryRate> => {
  let remaining = webhooks
  const postUntilDone = async (): Promise<void> => {
    while (remaining > 0) {
      remaining--
      await post(sampleBody(sampleMessageId()))
    }
  }
  const elapsedMs = stopwatch()
  await Promise.all(Array.from({ length: connections }, postUntilDone))
  return { perSecond: (webhooks * 1_000) / elapsedMs() }
})
