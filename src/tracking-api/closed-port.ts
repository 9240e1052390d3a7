import type { RequestListener } from 'node:http'
import type { Clock } from '../runtime/index.ts'
import { refusalAnswer, refuse, sendLingering } from './answer.ts'

/**
 * What a service answers that takes no calls, because it only delivers: 503, after which clients keep
 * what they have and try again. At any other status but 429 they drop it.
 */
export function closedTrackingPort(clock: Clock): RequestListener {
  const answer = refusalAnswer(
    refuse('store_unavailable', 'This process only delivers: post to one that takes calls'),
  )
  return (_request, response) => void sendLingering(response, answer, clock)
}
