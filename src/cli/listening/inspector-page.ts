import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * The URL of the page that shows what a receiver gets; null where the receiver has no loopback address, because the
 * page is for this machine only.
 *
 * @param url - that of the receiver
 */
export function inspectorUrl(url: string): string | null {
  const page = new URL('/_evroute/', url)
  // It listens on all addresses, of which loopback is one.
  if (page.hostname === '0.0.0.0' || page.hostname === '[::]') page.hostname = '127.0.0.1'
  return /^(127\.[\d.]+|localhost|\[::1\])$/.test(page.hostname) ? page.href : null
}

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/**
 * Opens the page in the browser of this machine.
 *
 * @returns what a person is told
 */
export async function openPage(url: string | null): Promise<string> {
  if (url === null) return 'There is no page: the receiver listens on no loopback address.'
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  try {
    const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
    await once(child, 'spawn')
    child.unref()
    return `Opening ${url}`
  } catch {
    return `Cannot start a browser here. Open ${url} yourself.`
  }
}
