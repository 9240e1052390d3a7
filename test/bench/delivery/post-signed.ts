import { Pool } from 'undici'
import { signBody } from '../../../dist/webhook/index.js'
import { sampleSecret } from '../sample-webhook.ts'

/** Posts one webhook and resolves once it is answered. */
export type PostSigned = (body: string) => Promise<void>

/**
 * Returns a function that signs and posts bodies with `Pool.request` of undici alone, without an overall
 * deadline. It discards the answer's body.
 */
export function postSignedTo(origin: string, connections: number): PostSigned {
  const pool = new Pool(origin, { connections })
  return async (body) => {
    const headers = {
      'User-Agent': 'evroute/1.0',
      'Content-Type': 'application/json',
      'X-Signature': signBody(body, sampleSecret),
    }
    const answer = await pool.request({ method: 'POST', path: '/', headers, body })
    await answer.body.dump()
    if (answer.statusCode !== 200) throw new Error(`Answered ${answer.statusCode}`)
  }
}
