import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'

/** Returns the URL of a receiver's page. If it is not on loopback, the URL needs a token: null if there is none. */
export function inspectorUrl(url: string, token: string | null = null): string | null {
  const page = new URL('/_evroute/', url)
  // A receiver on all addresses also listens on loopback.
  if (isEveryAddress(page)) page.hostname = '127.0.0.1'
  if (/^(127\.[\d.]+|localhost|\[::1\])$/.test(page.hostname)) return page.href
  return networkPageUrl(url, token)
}

/** Returns the URL of the page for browsers on other machines; null without a token. */
export function networkPageUrl(url: string, token: string | null): string | null {
  if (token === null) return null
  const page = new URL('/_evroute/', url)
  if (isEveryAddress(page)) page.hostname = hostname()
  page.searchParams.set('token', token)
  return page.href
}

function isEveryAddress({ hostname }: URL): boolean {
  return hostname === '0.0.0.0' || hostname === '[::]'
}

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens the page in a browser on this machine. Returns a message that says what happened. */
export async function openPage(url: string | null): Promise<string> {
  if (url === null) return 'There is no page: the receiver does not listen on a loopback address.'
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  try {
    const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
    await once(child, 'spawn')
    child.unref()
    return `Opening ${url}`
  } catch {
    return `Cannot start a browser. Open ${url} yourself.`
  }
}
