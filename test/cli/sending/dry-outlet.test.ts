import { expect, onTestFinished, test } from 'vitest'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run } from '../../support/io.ts'

const track = { type: 'track', userId: 'u_1', event: 'E' }
const rows = [
  { ...track, messageId: 'm_1' },
  { ...track, messageId: 'm_2', properties: { order: 2 ** 60 } },
  { ...track, messageId: 'm_1' },
  { ...track, messageId: 'm_3', integrations: { All: false } },
  { type: 'delete', userId: 'u_1' },
  { ...track, messageId: 'm_2' },
  { ...track, event: undefined },
]
const stdin = rows.map((row) => JSON.stringify(row)).join('\n')

test('a dry run prints the same counts, warnings and webhooks as sending', async () => {
  const endpoint = await TestEndpoint.start()
  const argv = ['send', '-f', '-', '--json', '--verbose', '--to', endpoint.url]
  const sent = await run(argv, { stdin })
  const dry = await run([...argv, '--dry-run'], { stdin })
  expect(dry.code).toBe(sent.code)

  const { accepted, routed, filtered, duplicate, rejected } = dry.records.at(-1)!
  expect({ accepted, routed, filtered, duplicate, rejected }).toEqual({
    accepted: 6,
    routed: 3,
    filtered: 1,
    duplicate: 2,
    rejected: 1,
  })
  expect(sent.records.at(-1)).toMatchObject({ accepted, routed, filtered, duplicate, rejected })

  const warning = 'send such ids as strings (logged once) messageId=m_2'
  expect(sent.stderr).toContain(warning)
  expect(dry.stderr).toContain(warning)

  const idOf = (body: unknown): unknown => (body as { messageId?: string }).messageId
  const planned = dry.records.filter(({ send }) => send === true)
  const plannedBodies = planned.map(({ body }) => JSON.parse(body as string) as unknown)
  expect(new Set(plannedBodies.map(idOf))).toEqual(new Set(endpoint.bodies.map(idOf)))
  expect(plannedBodies).toHaveLength(endpoint.bodies.length)
})

test('a warning is printed once, and not as a warning of the process', async () => {
  const warnings: Error[] = []
  const listener = (warning: Error): number => warnings.push(warning)
  process.on('warning', listener)
  onTestFinished(() => void process.off('warning', listener))
  const { stderr } = await run(['send', '-f', '-', '-n'], { stdin })
  await new Promise(setImmediate)
  expect(stderr.match(/send such ids as strings/g)).toHaveLength(1)
  expect(warnings.filter(({ name }) => name === 'EvrouteWarning')).toEqual([])
})

test('a dry run says that a call is a duplicate', async () => {
  const { stdout } = await run(['send', '-f', '-', '-n'], { stdin })
  expect(stdout).toContain(
    'TRACK m_1\n  would not be sent: a call with this messageId came before\n\n',
  )
  const { records } = await run(['send', '-f', '-', '-n', '--json'], { stdin })
  expect(records.filter(({ messageId }) => messageId === 'm_1')).toMatchObject([
    { send: true },
    { send: false, reason: 'duplicate', body: null, signature: null },
  ])
})

test('a dry run of more calls than a store holds ends', async () => {
  const count = 10_500
  const many = Array.from({ length: count }, () => JSON.stringify(track)).join('\n')
  const { code, records } = await run(['send', '-f', '-', '-n', '--json'], { stdin: many })
  expect(code).toBe(0)
  expect(records.at(-1)).toMatchObject({ accepted: count, routed: count, deliveries: 0 })
})
