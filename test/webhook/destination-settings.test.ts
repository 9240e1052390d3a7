import { describe, expect, test } from 'vitest'
import { AddressGuard } from '../../src/http/index.ts'
import { SettingError } from '../../src/model/index.ts'
import { checkDestination, checkNames, type DestinationSettings } from '../../src/webhook/index.ts'

function settings(changes: Partial<DestinationSettings> = {}): DestinationSettings {
  return {
    id: 'crm',
    sourceIds: ['website'],
    endpoints: [{ url: 'https://example.com/hook' }],
    ...changes,
  }
}

const urls = (count: number): readonly { readonly url: string }[] =>
  Array.from({ length: count }, (_, index) => ({ url: `https://example.com/${index}` }))

function refusal(given: DestinationSettings): SettingError {
  try {
    checkDestination(given)
  } catch (error) {
    if (error instanceof SettingError) return error
    throw error
  }
  throw new Error('It was not refused')
}

function checkedUrl(url: string): string | undefined {
  return checkDestination(settings({ endpoints: [{ url }] })).endpoints[0]?.url
}

function headersRefusal(headers: Readonly<Record<string, string>>): SettingError {
  return refusal(settings({ endpoints: [{ url: 'https://example.com/', headers }] }))
}

test('certificates are refused for plain HTTP', () => {
  const endpoints = [{ url: 'http://example.com/', tls: { ca: 'ca.pem' } }]
  expect(() => checkDestination({ id: 'crm', sourceIds: ['website'], endpoints })).toThrow(
    'Cannot use certificates: the URL is not https',
  )
})

describe('checkDestination', () => {
  test('fills in the defaults', () => {
    expect(checkDestination(settings())).toEqual({
      id: 'crm',
      sourceIds: ['website'],
      enabled: true,
      endpoints: [{ url: 'https://example.com/hook', headers: {} }],
      sharedSecret: undefined,
      aliasKeys: 'spec',
      acceptsHistorical: true,
      concurrency: 10,
    })
  })

  test('keeps the given settings', () => {
    const given = {
      enabled: false,
      endpoints: [{ url: 'http://127.0.0.1:4100/a?b=c', headers: { 'X-Team': 'growth' } }],
      sharedSecret: 'not-a-real-secret',
      aliasKeys: 'both',
      acceptsHistorical: false,
      concurrency: 1_000,
    } as const
    expect(checkDestination(settings(given))).toEqual({ ...settings(), ...given })
  })

  test('returns a frozen copy that shares nothing with the settings', () => {
    const headers = { 'X-Team': 'growth' }
    const endpoints = [{ url: 'https://example.com/', headers }]
    const sourceIds = ['website']
    const destination = checkDestination(settings({ endpoints, sourceIds }))
    headers['X-Team'] = 'sales'
    endpoints.push({ url: 'https://example.com/2', headers })
    sourceIds.push('app')
    expect(destination.endpoints).toEqual([
      { url: 'https://example.com/', headers: { 'X-Team': 'growth' } },
    ])
    expect(destination.sourceIds).toEqual(['website'])
    const parts = [destination, destination.endpoints, destination.sourceIds]
    const endpoint = destination.endpoints[0]
    for (const part of [...parts, endpoint, endpoint?.headers]) {
      expect(part).toSatisfy(Object.isFrozen)
    }
  })

  test('treats an empty secret as none', () => {
    expect(checkDestination(settings({ sharedSecret: '' })).sharedSecret).toBeUndefined()
  })

  test.each([1, 5])('accepts %i URLs', (count) => {
    const destination = checkDestination(settings({ endpoints: urls(count) }))
    expect(destination.endpoints).toHaveLength(count)
  })

  test.each([0, 6])('refuses %i URLs', (count) => {
    const error = refusal(settings({ endpoints: urls(count) }))
    expect(error).toMatchObject({ code: 'invalid_setting', setting: 'endpoints' })
    expect(error.message).toBe(`Cannot use ${count} URLs: a destination must have 1 to 5 endpoints`)
  })

  test('refuses a URL that is listed twice, even in different spellings', () => {
    const endpoints = [{ url: 'https://example.com' }, { url: 'HTTPS://EXAMPLE.com:443/#top' }]
    const error = refusal(settings({ endpoints }))
    expect(error.setting).toBe('endpoints')
    expect(error.message).toBe(
      'Cannot list https://example.com/ twice: each endpoint must have a different URL',
    )
  })
})

describe('the URL of an endpoint', () => {
  test.each([
    { given: 'https://example.com', url: 'https://example.com/' },
    { given: 'http://[::1]:4100/a%20b?c=d&e', url: 'http://[::1]:4100/a%20b?c=d&e' },
    { given: 'https://example.com/hook?a=b#part', url: 'https://example.com/hook?a=b' },
    { given: 'https://bücher.example.com/ä', url: 'https://xn--bcher-kva.example.com/%C3%A4' },
  ])('$given is requested as $url', ({ given, url }) => {
    expect(checkedUrl(given)).toBe(url)
  })

  test.each([
    'ftp://example.com/',
    'example.com/hook',
    '//example.com/hook',
    '/hook',
    'localhost:4100',
    'file:///tmp/hook',
    'https://',
    'https://exa mple.com',
    '',
  ])('"%s" is refused', (url) => {
    const error = refusal(settings({ endpoints: [...urls(1), { url }] }))
    expect(error.setting).toBe('endpoints[1].url')
    expect(error.message).toBe(`Cannot send to "${url}": it is not a full http or https URL`)
    expect(error.hint).toContain('https://')
  })

  test.each(['https://user:not-a-real-password@example.com/', 'https://user@example.com/'])(
    '"%s" is refused without repeating its credentials',
    (url) => {
      const error = refusal(settings({ endpoints: [{ url }] }))
      expect(error.setting).toBe('endpoints[0].url')
      expect(error.message).toBe(
        'Cannot send to example.com: its URL contains a user name or password',
      )
      expect(error.hint).toContain('static header')
    },
  )
})

describe('the static headers of an endpoint', () => {
  test.each([
    'Host',
    'content-length',
    'Content-Type',
    'USER-AGENT',
    'x-signature',
    'X-Signature',
    'webhook-id',
    'Webhook-Timestamp',
    'WEBHOOK-SIGNATURE',
    'Traceparent',
    'Connection',
    'Keep-Alive',
    'Transfer-Encoding',
    'Upgrade',
    'Expect',
    'TE',
    'Trailer',
  ])('%s is refused', (name) => {
    const error = headersRefusal({ 'X-Team': 'growth', [name]: 'x' })
    expect(error.setting).toBe('endpoints[0].headers')
    expect(error.message).toContain(`a static header ${name}:`)
  })

  test.each(['', 'X Team', 'X-Team:', 'X-Team\r\nX-Other', 'Größe'])(
    'the name %j is refused',
    (name) => {
      expect(headersRefusal({ [name]: 'x' }).message).toContain('it is not a valid header name')
    },
  )

  test.each(['growth\r\nX-Other: y', 'growth\n', 'a\u0000b', '\u007f', '日本', '🎈'])(
    'the value %j is refused',
    (value) => {
      const error = headersRefusal({ 'X-Team': value })
      expect(error.message).toBe(
        'Cannot send the header X-Team: its value has characters that a header cannot carry',
      )
    },
  )

  test('all others are kept as written', () => {
    const headers = { 'X-Team': '\tprintable ASCII ~', authorization: 'Basic ä', 'X-Empty': '' }
    const [endpoint] = checkDestination(
      settings({ endpoints: [{ url: 'https://example.com/', headers }] }),
    ).endpoints
    expect(endpoint?.headers).toEqual(headers)
  })

  test('a name like __proto__ is treated like any other', () => {
    const headers = JSON.parse('{"__proto__":"growth"}') as Record<string, string>
    const [endpoint] = checkDestination(
      settings({ endpoints: [{ url: 'https://example.com/', headers }] }),
    ).endpoints
    expect(Object.entries(endpoint?.headers ?? {})).toEqual([['__proto__', 'growth']])
  })
})

describe('the address of an endpoint', () => {
  const meant = 'To allow this host, add it to network.allow'
  const endpoints = (...hosts: readonly string[]): readonly { readonly url: string }[] =>
    hosts.map((host) => ({ url: `http://${host}/hook` }))

  test.each([
    { host: '10.0.0.5', reason: '10.0.0.5: it is a private address (10.0.0.0/8)' },
    { host: '0x7f.1', reason: '127.0.0.1: it is a loopback address (127.0.0.0/8)' },
    { host: '[::1]:4100', reason: '::1: it is a loopback address (::1/128)' },
    { host: 'localhost:4100', reason: 'localhost: it is a name of this machine' },
  ])('$host is refused with a guard, and allowed without', ({ host, reason }) => {
    const given = settings({ endpoints: endpoints('example.com', host) })
    const check = (): unknown => checkDestination(given, new AddressGuard())
    expect(check).toThrow(SettingError)
    expect(check).toThrow(
      expect.objectContaining({
        code: 'invalid_setting',
        setting: 'endpoints[1].url',
        message: `Cannot send to ${reason}. ${meant}`,
      }),
    )
    expect(checkDestination(given).endpoints).toHaveLength(2)
    const allow = ['10.0.0.0/8', '127.0.0.0/8', '::1', 'localhost']
    expect(checkDestination(given, new AddressGuard({ allow })).endpoints).toHaveLength(2)
  })

  test('is looked up from its name, and a name without an address is reported as unresolved', async () => {
    const addresses: Readonly<Record<string, string>> = {
      'public.example.com': '93.184.216.34',
      'private.example.com': '10.0.0.5',
    }
    const guard = new AddressGuard({
      resolveName: (name) => {
        const address = addresses[name]
        if (address !== undefined) return Promise.resolve([{ address, family: 4 }])
        return Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }))
      },
    })
    const hosts = ['public.example.com', 'private.example.com', 'missing.example.com', '1.1.1.1']
    const destination = checkDestination(settings({ endpoints: endpoints(...hosts) }), guard)
    expect(await checkNames(destination, guard)).toEqual([
      {
        kind: 'refused',
        setting: 'endpoints[1].url',
        message:
          'Cannot send to private.example.com: its address 10.0.0.5 is a private address ' +
          `(10.0.0.0/8). ${meant}`,
      },
      {
        kind: 'unresolved',
        setting: 'endpoints[2].url',
        message:
          'Cannot resolve missing.example.com: ENOTFOUND. Webhooks to this host fail until its name resolves',
      },
    ])
  })

  test('is reported as unresolved if the resolver fails', async () => {
    const guard = new AddressGuard({ resolveName: () => Promise.reject(new Error('broken')) })
    const destination = checkDestination(settings(), guard)
    expect(await checkNames(destination, guard)).toMatchObject([
      { kind: 'unresolved', message: expect.stringContaining('example.com: broken.') as string },
    ])
  })
})
