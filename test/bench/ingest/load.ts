// Posts requests as fast as they are answered, in its own process.
import { Pool } from 'undici'
import { stopwatch } from '../../../dist/runtime/index.js'
import { answerQuestions } from '../program.ts'
import { bodyOf, eventsOf, writeKey, type TrackingPath } from './requests.ts'

/** What to post, and where. */
export interface LoadQuestion {
  readonly origin: string
  readonly path: TrackingPath
  readonly requests: number
  /** Requests in flight. */
  readonly connections: number
}

/** Makes messageIds unique across runs, because a duplicate event is less work. */
let runs = 0

const headers = {
  authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
  'content-type': 'application/json',
}

/** @returns events per second, from the first request to the last answer */
async function post({ origin, path, requests, connections }: LoadQuestion): Promise<number> {
  runs++
  const bodies = Array.from({ length: requests }, (_, index) => bodyOf(path, `${runs}-${index}`))
  const pool = new Pool(origin, { connections })
  const postNext = async (): Promise<void> => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
      const answer = await pool.request({ method: 'POST', path, headers, body })
      const text = await answer.body.text()
      if (!text.includes(`"accepted":${eventsOf[path]}`)) throw new Error(`Answered ${text}`)
    }
  }
  const elapsedMs = stopwatch()
  await Promise.all(Array.from({ length: connections }, postNext))
  const seconds = elapsedMs() / 1_000
  await pool.close()
  return (requests * eventsOf[path]) / seconds
}

answerQuestions(post)
