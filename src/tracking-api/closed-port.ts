import type { RequestListener } from 'node:http'
import { sendLingering } from '../http/index.ts'
import type { Clock } from '../runtime/index.ts'
import { refusalAnswer, refuse } from './answer.ts'

/**
 * Answers every request with 503, for a service that only delivers. Clients then retry their calls. With any
 * other status except 429 they would drop them.
 */
export function closedTrackingPort(clock: Clock): RequestListener {
  const answer = refusalAnswer(
    refuse('store_unavailable', 'This process only delivers: post to one that accepts calls'),
  )
  return (_request, response) => void sendLingering(response, answer, clock)
}
