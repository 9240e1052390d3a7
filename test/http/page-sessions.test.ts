import { describe, expect, test } from 'vitest'
import { PageSessions } from '../../src/http/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'

const hourMs = 60 * 60 * 1_000

function sessions(isReusable = false) {
  const clock = new ManualClock(0)
  return { clock, page: new PageSessions({ clock, isReusable }) }
}

/** A request to a port. */
function at(localPort: number, headers = {}) {
  return { headers, socket: { localPort } }
}

/** The cookie as a browser sends it back. */
function cookieOf(header: string | undefined): { readonly cookie: string } {
  return { cookie: `theme=dark; ${header?.split(';')[0] ?? ''}` }
}

describe('a sign-in link', () => {
  test('opens one session within an hour', async () => {
    const { clock, page } = sessions()
    const [first, late] = [page.newLink(), page.newLink()]
    const cookie = page.useLink(first, at(4001))
    expect(cookie).toMatch(
      /^evroute-4001=[\w-]{43}; Path=\/_evroute\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    )
    expect(page.isOpen(at(4001, cookieOf(cookie)))).toBe(true)
    expect(page.useLink(first, at(4001))).toBeUndefined()
    expect(page.useLink('guessed', at(4001))).toBeUndefined()
    await clock.advance(hourMs)
    expect(page.useLink(late, at(4001))).toBeUndefined()
  })

  test('that is reusable works repeatedly', async () => {
    const { clock, page } = sessions(true)
    const link = page.newLink()
    await clock.advance(100 * hourMs)
    expect(page.useLink(link, at(4100))).toBeDefined()
    expect(page.useLink(link, at(4100))).toBeDefined()
  })
})

describe('a session', () => {
  test('ends after 12 hours, on signing out, and when all sessions are ended', async () => {
    const { clock, page } = sessions()
    const open = (): { readonly cookie: string } => cookieOf(page.open(at(4001)))
    const [one, other, third] = [open(), open(), open()]
    expect(page.end(at(4001, one))).toMatch(/^evroute-4001=; .*Max-Age=0$/)
    expect([one, other].map((cookie) => page.isOpen(at(4001, cookie)))).toEqual([false, true])
    await clock.advance(12 * hourMs)
    expect(page.isOpen(at(4001, third))).toBe(false)
    const last = open()
    page.endAll()
    expect(page.isOpen(at(4001, last))).toBe(false)
  })

  test('that was opened over https has a cookie for https only', () => {
    const { page } = sessions()
    const encrypted = { headers: {}, socket: { localPort: 4001, encrypted: true } }
    const proxied = at(4001, { 'x-forwarded-proto': 'https' })
    for (const request of [encrypted, proxied]) {
      expect(page.open(request)).toMatch(/; SameSite=Strict; Secure; Max-Age=43200$/)
      expect(page.end(request)).toMatch(/; Secure; Max-Age=0$/)
    }
    expect(page.open(at(4001, { 'x-forwarded-proto': 'http' }))).not.toContain('Secure')
  })

  test('belongs to the page of one port, and needs its cookie', () => {
    const { page } = sessions()
    const cookie = cookieOf(page.open(at(4001)))
    expect(page.isOpen(at(4002, cookie))).toBe(false)
    expect(page.isOpen(at(4001, {}))).toBe(false)
    expect(page.isOpen(at(4001, { cookie: 'evroute-4001=' }))).toBe(false)
  })

  test('is forgotten once there are a hundred newer ones', () => {
    const { page } = sessions()
    const first = cookieOf(page.open(at(4001)))
    for (let count = 0; count < 99; count += 1) page.open(at(4001))
    expect(page.isOpen(at(4001, first))).toBe(true)
    page.open(at(4001))
    expect(page.isOpen(at(4001, first))).toBe(false)
  })
})
