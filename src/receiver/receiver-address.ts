import { PageSessions } from '../http/index.ts'
import type { Clock } from '../runtime/index.ts'

/** The address of a receiver. */
export interface ReceiverAddress {
  /**
   * The URL for webhooks. Any path below it works too. Some paths select the answer: `/status/503`, `/delay/6s`,
   * `/fault/reset`, `/delay/1s/status/503`.
   */
  readonly url: string
  /** The URL of each endpoint, including the first. */
  readonly urls: readonly string[]
  /** The port of the first endpoint. */
  readonly port: number
  /** The token that lets browsers on other machines use the page; null if only this machine can reach the receiver. */
  readonly pageToken: string | null
  /** The certificate of the authority that signed the receiver's certificate, in PEM; null if there is none. */
  readonly authority: string | null
}

/** Lets browsers on other machines use the page of a receiver. */
export interface PageAccess {
  readonly sessions: PageSessions
  /** The token in the page's link. */
  readonly token: string
}

/** Makes the page access of a receiver that other machines can reach; undefined for a receiver on loopback. */
export function pageAccess(host: string, clock: Clock): PageAccess | undefined {
  if (/^(127\.|localhost$|::1$)/.test(host)) return undefined
  const sessions = new PageSessions({ clock, isReusable: true })
  return { sessions, token: sessions.newLink() }
}
