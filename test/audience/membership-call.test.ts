import { describe, expect, it } from 'vitest'
import {
  newComputationId,
  type MembershipChange,
  type NewAudience,
} from '../../src/audience/index.ts'
import { membershipEvent } from '../../src/audience/membership-call.ts'
import { crm, nowMs, revenue, shoppers } from './support.ts'

function eventOf(
  audience: NewAudience,
  identity: Partial<MembershipChange['identity']>,
  value: string | null,
): ReturnType<typeof membershipEvent> {
  const change = { identity: { userId: null, anonymousId: null, email: null, ...identity }, value }
  return membershipEvent(change, { audience, destinations: [crm], nowMs, newId: () => 'id-1' })
}

function bodyOf(...[audience, identity, value]: Parameters<typeof eventOf>): string | undefined {
  return eventOf(audience, identity, value).deliveries[0]?.body
}

function bodyText(identity: string, traits: string, personas: string): string {
  return (
    `{"version":1,"type":"identify",${identity},"traits":${traits},"context":{"personas":{${personas},` +
    '"namespace":"spa_website","space_id":"spa_website"}},' +
    '"timestamp":"2026-01-02T03:04:05.678Z","messageId":"id-1"}'
  )
}

describe('the webhook of a change', () => {
  const audience =
    '"computation_class":"audience","computation_id":"aud_0123456789ABCDEFGHIJKLMNOPQ",' +
    '"computation_key":"first_time_shopper"'
  const trait =
    '"computation_class":"trait","computation_id":"trt_0123456789ABCDEFGHIJKLMNOPQ",' +
    '"computation_key":"total_revenue_180_days"'

  it('says that a user enters or leaves an audience', () => {
    expect(bodyOf(shoppers, { userId: 'u1' }, 'true')).toBe(
      bodyText('"userId":"u1"', '{"first_time_shopper":true}', audience),
    )
    expect(bodyOf(shoppers, { userId: 'u1' }, null)).toBe(
      bodyText('"userId":"u1"', '{"first_time_shopper":false}', audience),
    )
  })

  it('has the value of a computed trait, or null', () => {
    expect(bodyOf(revenue, { userId: 'u1' }, '450')).toBe(
      bodyText('"userId":"u1"', '{"total_revenue_180_days":450}', trait),
    )
    expect(bodyOf(revenue, { userId: 'u1' }, '{"a":["b",1]}')).toBe(
      bodyText('"userId":"u1"', '{"total_revenue_180_days":{"a":["b",1]}}', trait),
    )
    expect(bodyOf(revenue, { userId: 'u1' }, null)).toBe(
      bodyText('"userId":"u1"', '{"total_revenue_180_days":null}', trait),
    )
  })

  it('has every identifier of the member', () => {
    const identity = { userId: 'u1', anonymousId: 'a1', email: 'u1@example.com' }
    expect(bodyOf(shoppers, identity, 'true')).toBe(
      bodyText(
        '"userId":"u1","anonymousId":"a1"',
        '{"first_time_shopper":true,"email":"u1@example.com"}',
        audience,
      ),
    )
    expect(bodyOf(shoppers, { anonymousId: 'a1' }, 'true')).toBe(
      bodyText('"anonymousId":"a1"', '{"first_time_shopper":true}', audience),
    )
  })

  it("has the value under the trait's key, even an unusual one", () => {
    const identity = { userId: 'u1', email: 'u1@example.com' }
    expect(bodyOf({ ...shoppers, key: 'email' }, identity, 'true')).toContain(
      '"traits":{"email":true},',
    )
    expect(bodyOf({ ...shoppers, key: '__proto__' }, identity, 'true')).toContain(
      '"traits":{"__proto__":true,"email":"u1@example.com"},',
    )
  })
})

describe('the event of a change', () => {
  it('is stored under its source and user', () => {
    const { deliveries, ...event } = eventOf(shoppers, { userId: 'u1' }, 'true')
    expect(event).toEqual({
      sourceId: 'website',
      messageId: 'id-1',
      type: 'identify',
      userId: 'u1',
    })
    expect(deliveries.map(({ destinationId }) => destinationId)).toEqual(['crm'])
    expect(eventOf(shoppers, { anonymousId: 'a1' }, 'true').userId).toBeNull()
  })

  it('goes only to enabled destinations of the source', () => {
    expect(eventOf({ ...shoppers, sourceId: 'app' }, { userId: 'u1' }, 'true').deliveries).toEqual(
      [],
    )
  })
})

describe('a computationId', () => {
  it('begins with its class, and is derived from a new id', () => {
    const newId = (): string => '019b5f6a-0000-7000-8000-000000000001'
    const id = newComputationId('audience', { newId })
    expect(id).toMatch(/^aud_[0-9A-Za-z]{27}$/)
    expect(newComputationId('trait', { newId })).toBe(id.replace('aud_', 'trt_'))
    expect(newComputationId('audience', { newId: () => 'other' })).not.toBe(id)
  })
})
