import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { request } from 'undici'
import { Receiver } from '../../../src/receiver/index.ts'
import { sleep, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { signBody } from '../../../src/webhook/index.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'
import { strangerFinding } from '../stranger.ts'

const secret = 'not-a-real-secret'
const webhook = '{"type":"track","userId":"u_1","event":"Paid"}'

/** A body that is as expensive as possible: its nesting multiplies the size of an indented copy. */
const deepBody = `${'{"a":['.repeat(2_000)}1${']}'.repeat(2_000)}`

/** Posts a body, and returns the time until the answer in milliseconds. */
async function post(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const waitedMs = stopwatch()
  const response = await request(url, { method: 'POST', body, headers })
  await response.body.dump()
  return waitedMs()
}

/** Starts an application that counts forwarded webhooks. */
async function startApplication() {
  let forwarded = 0
  const server = createServer((incoming, answer) => {
    forwarded++
    incoming.resume().once('end', () => answer.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    forwarded: () => forwarded,
    close: () => server.close(),
  }
}

/**
 * Web pages and programs post as fast as they can for ten seconds, while a signed webhook arrives every 20
 * ms.
 */
async function attack(): Promise<readonly PressureFinding[]> {
  const application = await startApplication()
  await using receiver = new Receiver({ secret, forwardTo: [{ type: null, url: application.url }] })
  const { url } = await receiver.start()
  const before = process.memoryUsage().rss
  const signed = { 'x-signature': signBody(webhook, secret) }
  let isOver = false
  const pages = Array.from({ length: 8 }, async () => {
    while (!isOver) await post(url, webhook, { origin: 'https://evil.example.com', ...signed })
  })
  const deep = Array.from({ length: 40 }, async () => {
    while (!isOver) await post(url, deepBody, { 'x-signature': '0'.repeat(40) })
  })
  const elapsedMs = stopwatch()
  let [sent, waitMsMax, memoryMax] = [0, 0, before]
  while (elapsedMs() < 10_000) {
    waitMsMax = Math.max(waitMsMax, await post(url, webhook, signed))
    sent++
    memoryMax = Math.max(memoryMax, process.memoryUsage().rss)
    await sleep(systemClock, 20)
  }
  isOver = true
  await Promise.all([...pages, ...deep])
  application.close()
  const { received: total } = receiver.counts
  return [
    {
      must: 'exactly the signed webhooks that no web page sent are forwarded',
      measured: `${application.forwarded()} forwarded of ${sent}; ${total - sent} others arrived`,
      holds: application.forwarded() === sent,
    },
    strangerFinding({
      did: `${total - sent} webhooks from 8 web pages, and from 40 programs with 4,000 levels of nesting`,
      waitMs: waitMsMax,
      grownBytes: memoryMax - before,
      refused: 0,
    }),
  ]
}

/** Web pages and programs without the secret attack a receiver. */
export const scenario: PressureScenario = {
  title: 'web pages and programs without the secret post to a local receiver that forwards',
  run: attack,
}
