import {
  createRuntime,
  silentLog,
  sleep,
  stopwatch,
  systemClock,
} from '../../../src/runtime/index.ts'
import { Service } from '../../../src/service/index.ts'
import { readServiceConfiguration } from '../../../src/service/read-service-configuration.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { PostgresServer } from '../../support/postgres.ts'
import { PostgresLine } from '../../support/postgres-line.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const hangsMs = 20_000
const answerMsMax = 2_000
const token = 'not-a-real-token'

/** The statuses of all answers, and the longest time that one took. */
interface Answers {
  slowestMs: number
  readonly statuses: Set<number>
}

async function sendRequest(url: string, answers: Answers): Promise<number> {
  const elapsedMs = stopwatch()
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  await response.text()
  answers.slowestMs = Math.max(answers.slowestMs, elapsedMs())
  answers.statuses.add(response.status)
  return response.status
}

async function startOn(store: string): Promise<Service> {
  const document = {
    listen: { port: 0 },
    admin: { port: 0, token },
    store,
    sources: [{ id: 'website', writeKeys: ['wk_example'] }],
    destinations: [
      {
        id: 'crm',
        type: 'Webhooks',
        sources: ['website'],
        endpoints: [{ url: 'https://example.com/' }],
      },
    ],
  }
  const options = { env: {}, log: silentLog }
  const { configuration } = await readServiceConfiguration(document, options)
  return Service.start({ configuration, runtime: createRuntime({ log: silentLog }) })
}

async function measure(service: Service, line: PostgresLine): Promise<readonly PressureFinding[]> {
  const { url, admin } = service.address
  const readiness: Answers = { slowestMs: 0, statuses: new Set() }
  const metrics: Answers = { slowestMs: 0, statuses: new Set() }
  line.isMute = true
  line.fallSilent()
  // The service reuses a check of the store for up to a second.
  await sleep(systemClock, 1_000)
  const hangingMs = stopwatch()
  while (hangingMs() < hangsMs) {
    await Promise.all([
      sendRequest(`${url}/readyz`, readiness),
      sendRequest(`${admin ?? ''}/metrics`, metrics),
    ])
    await sleep(systemClock, 250)
  }
  line.isMute = false
  line.hangUp()
  const backMs = stopwatch()
  const after: Answers = { slowestMs: 0, statuses: new Set() }
  while (backMs() < 30_000 && (await sendRequest(`${url}/readyz`, after)) !== 200) {
    await sleep(systemClock, 100)
  }
  const findingOf = (name: string, { slowestMs, statuses }: Answers, status: number) => ({
    must: `${name} answers ${status} within 2 s`,
    measured: `${[...statuses].join(', ')}, the slowest after ${Math.round(slowestMs)} ms`,
    holds: slowestMs < answerMsMax && [...statuses].every((each) => each === status),
  })
  return [
    findingOf('/readyz', readiness, 503),
    findingOf('/metrics', metrics, 200),
    {
      must: '/readyz answers 200 again within 30 s',
      measured: `after ${Math.round(backMs())} ms`,
      holds: after.statuses.has(200),
    },
  ]
}

async function run(): Promise<readonly PressureFinding[]> {
  await using folder = await scratchFolder()
  const server = await PostgresServer.start()
  const line = await PostgresLine.open(server, folder.path)
  try {
    const service = await startOn(line.through(server.url()))
    try {
      return await measure(service, line)
    } finally {
      await service.close()
    }
  } finally {
    line.close()
    await server.end()
  }
}

/** A PostgreSQL that accepts everything and answers nothing. */
export const scenario: PressureScenario = {
  title: 'a database hangs for 20 s',
  run,
}
