import type { RequestListener } from 'node:http'
import { sendLingering } from '../http/index.ts'
import type { Clock } from '../runtime/index.ts'
import { refusalAnswer, refuse } from './answer.ts'

/**
 * The answer of a service that only delivers: 503. Clients keep their calls and try again; at any status but
 * 503 and 429 they drop them.
 */
export function closedTrackingPort(clock: Clock): RequestListener {
  const answer = refusalAnswer(
    refuse('store_unavailable', 'This process only delivers: post to one that takes calls'),
  )
  return (_request, response) => void sendLingering(response, answer, clock)
}
