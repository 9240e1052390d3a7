import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventRecord, readEventRecord, Receiver } from '../../../src/receiver/index.ts'
import { recordLine, type JsonObject } from '../../../src/model/index.ts'
import { signBody } from '../../../src/webhook/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run, start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const secret = 'not-a-real-secret'
const body = '{"version":1,"type":"track","userId":"u_1","event":"Paid"}'

/** Captures a valid webhook, one with a wrong signature, and a request that is not a webhook. */
async function makeCapture() {
  await using receiver = new Receiver({ secret })
  const { url } = await receiver.start()
  const post = async (text: string, signature: string): Promise<void> => {
    const headers = { 'x-signature': signature }
    const answer = await fetch(`${url}/hook`, { method: 'POST', body: text, headers })
    await answer.arrayBuffer()
  }
  await post(body, signBody(body, secret))
  await post(body, signBody(body, `${secret} `))
  await post('{"no json', 'x')
  const path = join(await temporaryFolder(), 'capture.ndjson')
  await writeFile(path, receiver.events.map((event) => recordLine(eventRecord(event))).join(''))
  return { path, events: receiver.events }
}

/** Starts the viewer of a capture; the test ends it. */
async function viewing(...argv: readonly string[]) {
  const command = start(['view', ...argv])
  const [, page = ''] = await command.stderr.matching(/Page {7}(\S+)/)
  const act = async (name: string, fields: object) => {
    const headers = { 'content-type': 'application/json' }
    const url = new URL(`actions/${name}`, page)
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(fields) })
    return { status: answer.status, body: await answer.json() }
  }
  return { command, page, act }
}

test('the fields of a capture are read as the receiver wrote them', async () => {
  const { path, events } = await makeCapture()
  const lines = (await readFile(path, 'utf8')).trim().split('\n')
  expect(lines.map((line) => readEventRecord(JSON.parse(line) as JsonObject))).toEqual(events)
})

describe('view', () => {
  test('names a file that is not a capture', async () => {
    const path = join(await temporaryFolder(), 'w.csv')
    await writeFile(path, 'a,b\n1,2\n')
    expect(await run(['view', path])).toMatchObject({
      code: 7,
      stderr: `evroute: Cannot read ${path}: it is CSV. Write each row as a JSON object.\n`,
    })
  })

  test('shows a capture as its receiver did, until a signal', async () => {
    const { path, events } = await makeCapture()
    const { command, page } = await viewing(path)
    expect(command.stderr.text).toMatch(/^Requests {3}3 in /)
    expect(await (await fetch(page)).text()).toContain('<title>evroute</title>')
    const shown = (await (await fetch(new URL('events', page))).text()).trim().split('\n')
    expect(shown.map((line) => JSON.parse(line) as unknown)).toEqual(
      events.map((event) => ({ v: 1, ...eventRecord(event) })),
    )
    command.stop('SIGINT')
    expect(await command.ended).toMatchObject({ code: 0, stdout: '' })
  })

  test('resends to --to, and nowhere without it', async () => {
    const { path } = await makeCapture()
    const endpoint = await TestEndpoint.start()
    const with_ = await viewing(path, '--to', endpoint.url, '--secret', secret)
    expect(await with_.act('resend', { seq: 1 })).toMatchObject({ body: { status: 200 } })
    expect(endpoint.bodies).toHaveLength(1)
    with_.command.stop('SIGINT')
    await with_.command.ended
    const without = await viewing(path)
    expect(await without.act('resend', { seq: 1 })).toMatchObject({
      status: 400,
      body: {
        error: {
          message: 'Cannot resend a request: evroute view was started without --to',
          hint: 'Start it again with --to <url>.',
        },
      },
    })
    expect(await without.act('next-answer', { answer: 503 })).toMatchObject({ status: 400 })
    const posted = await fetch(new URL('/hook', without.page), { method: 'POST', body })
    expect(posted.status).toBe(405)
    without.command.stop('SIGINT')
    await without.command.ended
  })

  test('counts rows that are not requests, and ends with 3', async () => {
    const { path } = await makeCapture()
    await writeFile(path, '{"v":1,"kind":"ready"}\n{"a":1}\nno json\n', { flag: 'a' })
    const { command } = await viewing(path, '--json')
    expect(command.stdout.records).toMatchObject([{ kind: 'view', shown: 3, read: 3 }])
    expect(command.stderr.text).toContain('; 2 rows are not requests')
    command.stop('SIGINT')
    expect(await command.ended).toMatchObject({ code: 3 })
  })

  test.each([
    [['no-such-file'], 7, 'Cannot read no-such-file'],
    [['x', '--to', 'example.com'], 2, 'it is not a full http or https URL'],
  ])('%j ends with %i', async (argv, code, message) => {
    const finished = await run(['view', ...argv])
    expect(finished.stderr).toContain(message)
    expect(finished.code).toBe(code)
  })
})
