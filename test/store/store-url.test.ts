import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import {
  maskedStoreUrl,
  openDeliveryLog,
  openStore,
  serverUrlRefusal,
  storeName,
} from '../../src/store/index.ts'

const password = 'hedgehog'

/** URLs of servers, each with the name of the store and the masked URL. */
const usable: readonly (readonly [string, string, string])[] = [
  [
    'postgres://me:hedgehog@db.example.com:5433/events',
    'postgres://me@db.example.com:5433/events',
    'postgres://me:****@db.example.com:5433/events',
  ],
  [
    'postgresql://me@db.example.com/events?sslmode=require&application_name=etl',
    'postgresql://me@db.example.com/events',
    'postgresql://me@db.example.com/events?sslmode=require&application_name=etl',
  ],
  [
    'postgres:///events?host=/run/db&user=me&password=hedgehog&sslpassword=hedgehog',
    'postgres:///events',
    'postgres:///events?host=/run/db&user=me&password=****&sslpassword=****',
  ],
  [
    'postgres://me:%40hedgehog%2F%3F@[::1]:5432/events?pass=hedgehog',
    'postgres://me@[::1]:5432/events',
    'postgres://me:****@[::1]:5432/events?pass=****',
  ],
  ['POSTGRES://:a@hedgehog:b@/?', 'POSTGRES:///', 'POSTGRES://:****@/?'],
  ['postgres://', 'postgres://', 'postgres://'],
  [
    'postgres://me@%2Frun%2Fdb/events?options=-c search_path=a&ssl=true',
    'postgres://me@%2Frun%2Fdb/events',
    'postgres://me@%2Frun%2Fdb/events?options=-c search_path=a&ssl=true',
  ],
]

/** URLs that are refused, each with the reason. */
const unusable: readonly (readonly [string, string])[] = [
  ['postgres://me:hedge/hog@db.example.com/events', 'percent-encoded'],
  ['postgres://me:12/hedgehog@db.example.com/events', 'percent-encoded'],
  ['postgres://me:12?hedgehog@db.example.com/events', 'percent-encoded'],
  ['postgres://me:12#hedgehog@db.example.com/events', 'percent-encoded'],
  ['postgres://me:%hedgehog@db.example.com/events', 'percent-encoded'],
  ['postgres://me:%ffhedgehog@db.example.com/events', 'percent-encoded'],
  ['postgres://me:hedge hog@db.example.com/events', 'percent-encoded'],
  ['postgres://me:hedgehog@db.example.com/events\n', 'percent-encoded'],
  ['postgres://db.example.com/events?password=hedge@hog', 'percent-encoded'],
  ['postgres://me:hedgehog@a.example.com,b.example.com/events', 'only one host'],
  ['postgres://me:hedgehog@/events?host=a.example.com,b.example.com', 'only one host'],
  ['postgres://me:hedgehog@db.example.com:0/events', 'its host or port is invalid'],
  ['postgres://me:hedgehog@db.example.com:70000/events', 'its host or port is invalid'],
  ['postgres://me:hedgehog@db.example.com:/events', 'its host or port is invalid'],
  ['postgres://me:hedgehog@db<example/events', 'its host or port is invalid'],
  [
    'postgres://me:hedgehog@db.example.com/events?port=none',
    'its port must be a number from 1 to 65535',
  ],
  ['postgres://me:hedgehog@db.example.com/events/2026', 'only the name of a database'],
  ['postgres://me:hedgehog@db.example.com/events?sslmode=requre', 'its sslmode must be one of'],
  ['postgres://me:hedgehog@db.example.com/events?ssl=yes', 'its ssl must be one of'],
]

describe('the URL of a server', () => {
  test.each(usable)('%s is used, and shown without secrets', (url, name, masked) => {
    expect(serverUrlRefusal(url)).toBeUndefined()
    expect(storeName(url)).toBe(name)
    expect(maskedStoreUrl(url, '****')).toBe(masked)
    expect(name + masked).not.toContain(password)
    // Nothing connects: this only shows that the driver reads the same URL.
    expect(() => new Client({ connectionString: url })).not.toThrow()
  })

  test.each(unusable)('%j is refused', async (url, why) => {
    const refused = {
      code: 'invalid_setting',
      setting: '--store',
      message: expect.stringContaining(why) as string,
      hint: expect.any(String) as string,
    }
    for (const error of await failuresOf(url)) {
      expect(error).toMatchObject(refused)
      expect(error.message + JSON.stringify(error)).not.toMatch(/hedge|hog/)
    }
  })

  test('is refused with a suggestion', () => {
    expect(serverUrlRefusal('postgres://db.example.com/events?sslmode=requre')).toMatchObject({
      hint: 'Did you mean require?',
    })
    expect(serverUrlRefusal('postgres://db.example.com/events?sslmode=1')).toMatchObject({
      hint: 'Use one of these, or leave sslmode out.',
    })
  })
})

describe('the URL of any other store', () => {
  test.each(['memory:', 'sqlite:./a@b?c=d.db'])('%s is shown as it is', (url) => {
    expect(serverUrlRefusal(url)).toBeUndefined()
    expect(storeName(url)).toBe(url)
    expect(maskedStoreUrl(url, '****')).toBe(url)
  })

  test.each([
    ['mysql://me:hedgehog@db.example.com/events', 'Write it as sqlite:./evroute.db.'],
    ['postgress://me:hedgehog@db.example.com/events', 'Write it as postgres://'],
    ['postgres:me:hedgehog@db.example.com/events', 'Write it as postgres://'],
    ['host=db.example.com password=hedgehog', 'Write it as sqlite:./evroute.db.'],
    ['//me:hedgehog@db.example.com/events', 'Write it as sqlite:./evroute.db.'],
  ])(
    'that is invalid, %s, is not shown, because it might contain a password',
    async (url, hint) => {
      for (const error of await failuresOf(url)) {
        expect(error).toMatchObject({ hint: expect.stringContaining(hint) as string })
        expect(error.message + JSON.stringify(error)).not.toContain(password)
      }
    },
  )
})

/** Returns the errors of opening a store for delivery and for reading. */
function failuresOf(url: string): Promise<readonly Error[]> {
  const opened = [openStore(url), openDeliveryLog(url, { write: false })]
  return Promise.all(
    opened.map((each) =>
      each.then(
        () => new Error('the store opened'),
        (error: unknown) => error as Error,
      ),
    ),
  )
}
