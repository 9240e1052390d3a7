// The limit: makes a body, signs it, posts it, and takes the next. Nothing is accepted, stored, queued,
// timed, logged or tried again.
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
  let left = webhooks
  const postOn = async (): Promise<void> => {
    while (left > 0) {
      left--
      await post(sampleBody(sampleMessageId()))
    }
  }
  const elapsedMs = stopwatch()
  await Promise.all(Array.from({ length: connections }, postOn))
  return { perSecond: (webhooks * 1_000) / elapsedMs() }
})
