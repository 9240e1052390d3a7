import { PageSessions } from '../http/index.ts'
import type { Clock } from '../runtime/index.ts'

/** Where a receiver can be reached. */
export interface ReceiverAddress {
  /**
   * The URL to send webhooks to. Any path below it will do as well, and some ask for an answer:
   * `/status/503`, `/delay/6s`, `/fault/reset`, `/delay/1s/status/503`.
   */
  readonly url: string
  /** The URL of each endpoint, that of the first included. */
  readonly urls: readonly string[]
  /** The port that is bound, with several endpoints the first. */
  readonly port: number
  /** Lets browsers of other machines use the page; null where only this machine can reach it. */
  readonly pageToken: string | null
  /** The certificate of the authority that the receiver's is signed by, in PEM; null where there is none. */
  readonly authority: string | null
}

/** Lets browsers of other machines use the page of a receiver. */
export interface PageAccess {
  readonly sessions: PageSessions
  /** The token of its link. */
  readonly token: string
}

/** Makes it for a receiver that other machines can reach; undefined for one on loopback. */
export function pageAccess(host: string, clock: Clock): PageAccess | undefined {
  if (/^(127\.|localhost$|::1$)/.test(host)) return undefined
  const sessions = new PageSessions({ clock, isReusable: true })
  return { sessions, token: sessions.newLink() }
}
