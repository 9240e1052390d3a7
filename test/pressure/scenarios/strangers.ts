import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { listen } from '../../../src/http/index.ts'
import {
  createRuntime,
  silentLog,
  sleep,
  stopwatch,
  systemClock,
} from '../../../src/runtime/index.ts'
import { trackingApp, trackingFaultAnswer } from '../../../src/tracking-api/index.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'
import { strangerFinding } from '../stranger.ts'

const batch = JSON.stringify({ batch: [{ type: 'track', userId: 'u_1', event: 'Ping' }] })
const headers = { authorization: `Basic ${btoa('wk_example:')}` }

/** Opens connections and misuses them as an attacker might. They stay open. */
type Attack = (port: number) => Promise<readonly Socket[]>

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const head = (fields: readonly string[]): string =>
  ['POST /v1/batch HTTP/1.1', 'Host: localhost', ...fields, '', ''].join('\r\n')

/** 3,000 small bodies without a write key on one connection; each inflates to 500 KB. */
const pipelinedGzip: Attack = async (port) => {
  const bomb = gzipSync(`{"batch":[${' '.repeat(511_000)}]}`)
  const one = Buffer.concat([Buffer.from(head([`Content-Length: ${bomb.length}`])), bomb])
  const socket = await dial(port)
  socket.resume().write(Buffer.concat(Array.from({ length: 3_000 }, () => one)))
  return [socket]
}

/** 133 connections that stall in the middle of their bodies. */
const stalledBodies: Attack = (port) =>
  Promise.all(
    Array.from({ length: 133 }, async () => {
      const socket = await dial(port)
      socket.resume().write(head(['Content-Length: 510000']) + ' '.repeat(509_000))
      return socket
    }),
  )

/** 200 connections that ask for large answers and don't read them. */
const unreadAnswers: Attack = (port) =>
  Promise.all(
    Array.from({ length: 200 }, async () => {
      const call = `{"type":"${'x'.repeat(80)}"}`
      const body = JSON.stringify({ writeKey: 'wk_example', batch: Array(2_000).fill(call) })
      const socket = await dial(port)
      socket.pause().write((head([`Content-Length: ${body.length}`]) + body).repeat(2))
      return socket
    }),
  )

/** Runs an attack for ten seconds, while a good client sends requests. */
async function under(name: string, attack: Attack): Promise<readonly PressureFinding[]> {
  const app = trackingApp({
    sourceOf: (key) => (key === 'wk_example' ? { id: 'website', enabled: true } : undefined),
    accept: ({ calls }) =>
      Promise.resolve(calls.map((_, index) => ({ kind: 'accepted', index, outcome: 'routed' }))),
    isFull: () => false,
    runtime: createRuntime({ log: silentLog }),
  })
  const address = { host: '127.0.0.1', port: 0 }
  const server = await listen(app, address, { answerFault: trackingFaultAnswer })
  const before = process.memoryUsage().rss
  const sockets = await attack(server.port)
  const elapsedMs = stopwatch()
  let [waitMsMax, memoryMax, refused] = [0, before, 0]
  while (elapsedMs() < 10_000) {
    const waitedMs = stopwatch()
    const { statusCode, body } = await request(`${server.url}/v1/batch`, {
      method: 'POST',
      headers,
      body: batch,
    })
    await body.dump()
    if (statusCode !== 200) refused++
    waitMsMax = Math.max(waitMsMax, waitedMs())
    memoryMax = Math.max(memoryMax, process.memoryUsage().rss)
    await sleep(systemClock, 20)
  }
  for (const socket of sockets) socket.destroy()
  await server.close(0)
  return [
    strangerFinding({ did: name, waitMs: waitMsMax, grownBytes: memoryMax - before, refused }),
  ]
}

/** Attackers at a public tracking port. */
export const scenario: PressureScenario = {
  title: 'strangers attack a public tracking port while a good client sends',
  run: async () => [
    ...(await under('3,000 gzip bodies without a key, pipelined', pipelinedGzip)),
    ...(await under('133 bodies that stall', stalledBodies)),
    ...(await under('400 large answers that are not read', unreadAnswers)),
  ],
}
