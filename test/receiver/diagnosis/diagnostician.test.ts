import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { diagnose, type NamedSecret, type SuspectRequest } from '../../../src/receiver/index.ts'
import { post, start } from '../requests.ts'
import { Diagnostician } from '../../../src/receiver/diagnosis/diagnostician.ts'

const secret = 'not-a-real-secret'
const body = Buffer.from('{"type": "page"}')

function sign(bytes: string | Buffer, key = secret): string {
  return createHmac('sha1', key).update(bytes).digest('hex')
}

function others(count: number): readonly NamedSecret[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `destination ${index + 1}`,
    secret: `not-a-real-secret-${index + 1}`,
  }))
}

/** JSON of this many bytes, with white space that `JSON.stringify` removes. */
function jsonOf(bytes: number): Buffer {
  return Buffer.from(`{"a": "${'x'.repeat(bytes - 9)}"}`)
}

describe('a signature made with a different secret', () => {
  test('names the owner of the secret, even together with a second mistake', () => {
    const otherSecrets = [
      ...others(2),
      { name: 'c\u0007rm\u202e', secret: 'not-a-real-crm-secret' },
    ]
    const signature = sign(body, 'not-a-real-crm-secret')
    expect(diagnose({ body, signature, secret, otherSecrets })).toEqual({
      mistake: 'other_secret',
      message: 'The signature was made with the secret of crm',
      fix: 'Use the same secret on both sides.',
    })
    const stringified = sign('{"type":"page"}', 'not-a-real-crm-secret')
    expect(diagnose({ body, signature: stringified, secret, otherSecrets })).toMatchObject({
      mistake: 're_serialised+other_secret',
    })
  })

  test('is not blamed on an entry that has the same secret under a different name', () => {
    const signature = createHmac('sha256', secret).update(body).digest('hex')
    const otherSecrets = [{ name: 'the same', secret }]
    expect(diagnose({ body, signature, secret, otherSecrets })).toMatchObject({ mistake: 'sha256' })
  })

  test('is diagnosed by a receiver with otherSecrets', async () => {
    const otherSecrets = [{ name: 'crm', secret: 'not-a-real-crm-secret' }]
    const { receiver, url } = await start({ secret, otherSecrets })
    await post(url, body, { 'x-signature': sign(body, 'not-a-real-crm-secret') })
    const message = 'The signature was made with the secret of crm'
    expect(receiver.events[0]?.diagnosis).toMatchObject({ mistake: 'other_secret', message })
  })

  test('is compared with at most 50 other secrets', () => {
    const find = (number: number) => {
      const signature = sign(body, `not-a-real-secret-${number}`)
      return diagnose({ body, signature, secret, otherSecrets: others(51) })?.mistake
    }
    expect([find(50), find(51)]).toEqual(['other_secret', undefined])
  })
})

test('neither a valid signature nor a missing one without headers has a diagnosis', () => {
  expect(diagnose({ body, signature: sign(body), secret })).toBeUndefined()
  expect(diagnose({ body, signature: undefined, secret })).toBeUndefined()
})

test('the compressed bytes are tried if the headers are unknown', () => {
  const signature = createHmac('sha1', secret).update(gzipSync(body)).digest('hex')
  expect(diagnose({ body, signature, secret })).toMatchObject({ mistake: 'inflated' })
})

describe('the cost of a diagnosis', () => {
  test('is limited to a number of HMACs', () => {
    const otherSecrets = others(50)
    const sent = Buffer.from(`${body.toString()}\n`)
    const find = (signed: string) => {
      const signature = sign(signed, 'not-a-real-secret-50')
      return diagnose({ body: sent, signature, secret, otherSecrets })?.mistake
    }
    expect(find(body.toString())).toBe('newline_added+other_secret')
    // This is one of the last pairs.
    expect(find(`\ufeff${sent.toString()}`)).toBeUndefined()
  })

  test('is limited to a number of bytes', () => {
    const find = (bytes: number) => {
      const large = jsonOf(bytes)
      return diagnose({ body: large, signature: sign(large, `"${secret}"`), secret })?.mistake
    }
    expect([find(2 ** 20), find(2 ** 22)]).toEqual(['secret_quotes', undefined])
  })

  test('excludes re-serialised JSON of more than 64 KB or 16,384 tokens', () => {
    const find = (json: Buffer) =>
      diagnose({ body: json, signature: sign(JSON.stringify(JSON.parse(json.toString()))), secret })
        ?.mistake
    expect([find(jsonOf(2 ** 16)), find(jsonOf(2 ** 16 + 1))]).toEqual(['re_serialised', undefined])
    /** Makes an array of ones that has this many tokens, including brackets and commas. */
    const onesOf = (tokens: number) => Buffer.from(`[1${', 1'.repeat((tokens - 3) / 2)}]`)
    expect([find(onesOf(2 ** 14 - 1)), find(onesOf(2 ** 14 + 1))]).toEqual([
      're_serialised',
      undefined,
    ])
  })
})

describe('a flood of bad signatures', () => {
  const known = { body, signature: sign(body).toUpperCase() }
  const unknown = { body, signature: '0'.repeat(40) }
  const startMs = Date.UTC(2026, 0, 1)

  /** Lets a diagnostician diagnose a request many times at once, and counts its diagnoses. */
  function flooded(request: SuspectRequest, count: number) {
    const diagnostician = new Diagnostician({ secret })
    const diagnoses = Array.from({ length: count }, () => diagnostician.diagnose(request, startMs))
    return { diagnostician, found: diagnoses.filter((diagnosis) => diagnosis !== undefined).length }
  }

  test('is diagnosed at most 20 times a second, with a burst of 2 s', () => {
    const { diagnostician } = flooded(unknown, 100)
    expect(diagnostician.diagnose(known, startMs)).toBeUndefined()
    expect(diagnostician.diagnose(known, startMs + 1)).toBeUndefined()
    expect(diagnostician.diagnose(known, startMs + 60)?.mistake).toBe('upper_case')
  })

  test('still leaves room for a diagnosis after a burst of 30', () => {
    expect(flooded(unknown, 30).diagnostician.diagnose(known, startMs)?.mistake).toBe('upper_case')
  })

  test('is diagnosed more slowly the larger the bodies are', () => {
    const large = { body: jsonOf(2 ** 20), signature: '0'.repeat(40) }
    const { diagnostician } = flooded(large, 2)
    expect(diagnostician.diagnose(known, startMs + 2_000)).toBeUndefined()
    expect(diagnostician.diagnose(known, startMs + 3_000)?.mistake).toBe('upper_case')
  })

  test('is diagnosed every time if it repeats a known mistake', () => {
    expect(flooded(known, 1_000).found).toBe(1_000)
  })
})
