// Posts events at a fixed rate and answers their webhooks. It does both in one process, so that one clock
// times an event's acceptance and its webhook's arrival.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { stopwatch } from '../../../dist/runtime/index.js'
import { answerQuestions } from '../program.ts'
import { sampleCall, sampleMessageId } from '../sample-webhook.ts'
import { batchSize, kinds, writeKeyOf, type Kind } from './plan.ts'

/** Asks to start posting to these services, to stop posting, or only for the figures. */
export type TrafficQuestion =
  { readonly services: readonly string[]; readonly eventsPerSecond: number } | 'stop' | 'figures'

/** Figures since the last question. */
export interface TrafficFigures {
  /** Where webhooks are answered. */
  readonly origin: string
  /** Events that a service accepted. */
  readonly accepted: number
  /** Events that no service accepted, because it was full or didn't answer in time. */
  readonly refused: number
  /** Webhooks that arrived at healthy endpoints. */
  readonly delivered: number
  /** Requests to endpoints that hang or fail. */
  readonly deadRequests: number
  /** Events of the whole run for healthy endpoints whose webhooks have not arrived. */
  readonly missing: number
  /** Milliseconds from the answer to an event until the answer to its webhook. */
  readonly p50Ms: number
  readonly p99Ms: number
}

const postersMax = 64
const slowMs = 2_000

const elapsedMs = stopwatch()
/**
 * When each event for a healthy endpoint was accepted, undefined until it is; removed when its webhook
 * arrives.
 */
const acceptedAtMs = new Map<string, number | undefined>()
let latenciesMs: number[] = []
let counts = { accepted: 0, refused: 0, delivered: 0, deadRequests: 0 }
const stopping = new AbortController()

function answer(request: IncomingMessage, response: ServerResponse): void {
  const kind = request.url?.slice(1) as Kind
  if (kind === 'hangs' || kind === 'fails') counts.deadRequests++
  let text = ''
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  request.on('end', () => {
    if (kind === 'fails') response.writeHead(503).end()
    else if (kind === 'slow') setTimeout(() => response.end('ok'), slowMs)
    else if (kind === 'healthy') {
      arrived((JSON.parse(text) as { messageId: string }).messageId)
      response.end('ok')
    }
  })
}

/** Records the latency, which is 0 if the webhook arrives before its batch is answered. */
function arrived(messageId: string): void {
  // A webhook that arrived before is not in the map.
  if (!acceptedAtMs.has(messageId)) return
  const nowMs = elapsedMs()
  latenciesMs.push(nowMs - (acceptedAtMs.get(messageId) ?? nowMs))
  acceptedAtMs.delete(messageId)
  counts.delivered++
}

async function postBatch(service: Pool, index: number): Promise<void> {
  const messageIds = Array.from({ length: batchSize }, sampleMessageId)
  const isHealthy = kinds[index] === 'healthy'
  if (isHealthy) for (const messageId of messageIds) acceptedAtMs.set(messageId, undefined)
  const body = JSON.stringify({ batch: messageIds.map(sampleCall) })
  const authorization = `Basic ${Buffer.from(`${writeKeyOf(index)}:`).toString('base64')}`
  const headers = { authorization, 'content-type': 'application/json' }
  const text = await service
    .request({ method: 'POST', path: '/v1/batch', headers, body })
    .then((response) => response.body.text())
    .catch(String)
  const isAccepted = text.includes(`"accepted":${batchSize}`)
  counts[isAccepted ? 'accepted' : 'refused'] += batchSize
  for (const messageId of messageIds) {
    if (!acceptedAtMs.has(messageId)) continue
    if (isAccepted) acceptedAtMs.set(messageId, elapsedMs())
    else acceptedAtMs.delete(messageId)
  }
}

/** Posts at a fixed rate, however late answers come, but with at most 64 requests in flight. */
async function post(services: readonly string[], eventsPerSecond: number): Promise<void> {
  const pools = services.map((url) => new Pool(new URL(url).origin, { connections: postersMax }))
  const startedAtMs = elapsedMs()
  const inFlight = new Set<Promise<void>>()
  for (let batch = 0; !stopping.signal.aborted; batch++) {
    const dueMs = startedAtMs + (batch * batchSize * 1_000) / eventsPerSecond
    await sleep(Math.max(dueMs - elapsedMs(), 0))
    if (inFlight.size >= postersMax) await Promise.race(inFlight)
    const pool = pools[batch % pools.length]
    if (pool === undefined) return
    const posted = postBatch(pool, batch % kinds.length).finally(() => inFlight.delete(posted))
    inFlight.add(posted)
  }
  await Promise.all(inFlight)
  await Promise.all(pools.map((pool) => pool.close()))
}

function figures(): TrafficFigures {
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  const [p50Ms = NaN, p99Ms = NaN] = [0.5, 0.99].map(
    (part) => sorted[Math.floor(sorted.length * part)],
  )
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const result = { ...counts, origin, missing: acceptedAtMs.size, p50Ms, p99Ms }
  latenciesMs = []
  counts = { accepted: 0, refused: 0, delivered: 0, deadRequests: 0 }
  return result
}

function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const listening = createServer(answer)
    listening.listen(0, '127.0.0.1', () => resolve(listening))
  })
}

const server = await listen()
let posting: Promise<void> | undefined
answerQuestions(async (question: TrafficQuestion): Promise<TrafficFigures> => {
  if (typeof question === 'object') posting = post(question.services, question.eventsPerSecond)
  if (question === 'stop') {
    stopping.abort()
    await posting
  }
  return figures()
})
