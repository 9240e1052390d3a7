import { Pool } from 'undici'
import { stopwatch } from '../../../dist/runtime/index.js'
import { signBody } from '../../../dist/webhook/index.js'
import { sampleBody, sampleSecret } from '../sample-webhook.ts'

/** Requests in flight. */
export const connections = 32

const body = sampleBody('message-1')
const headers = { 'content-type': 'application/json', 'x-signature': signBody(body, sampleSecret) }

/**
 * Sends the same signed webhook again and again, over {@link connections}.
 *
 * @returns webhooks per second
 */
export async function sendWebhooks(origin: string, count: number): Promise<number> {
  const pool = new Pool(origin, { connections })
  let remaining = count
  const send = async (): Promise<void> => {
    while (remaining > 0) {
      remaining -= 1
      const response = await pool.request({ method: 'POST', path: '/', headers, body })
      await response.body.dump()
      if (response.statusCode !== 200) throw new Error(`Answered ${response.statusCode}`)
    }
  }
  const elapsedMs = stopwatch()
  await Promise.all(Array.from({ length: connections }, send))
  const seconds = elapsedMs() / 1_000
  await pool.close()
  return count / seconds
}
