import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../runtime/index.ts'

const sessionMs = 12 * 60 * 60 * 1_000
/** How long an unused link is valid. */
const linkMs = 60 * 60 * 1_000
/** Maximum number of sessions, and of links. The oldest are dropped first. */
const rememberedMax = 100

interface PageSessionsOptions {
  readonly clock: Clock
  /** Whether a link works any number of times while the process runs. By default, it works once, within an hour. */
  readonly isReusable?: boolean
}

interface BrowserRequest {
  readonly headers: Pick<IncomingHttpHeaders, 'cookie'> & {
    readonly 'x-forwarded-proto'?: string | string[] | undefined
  }
  readonly socket: Pick<Socket, 'localPort'> & Partial<Pick<TLSSocket, 'encrypted'>>
}

/** The sign-in links and sessions of a page. Keeps only digests of tokens, so that look-up times reveal nothing. */
export class PageSessions {
  readonly #clock: Clock
  readonly #isReusable: boolean
  /** When each link expires, keyed by the digest of its token. */
  readonly #links = new Map<string, number>()
  readonly #sessions = new Map<string, number>()

  constructor({ clock, isReusable = false }: PageSessionsOptions) {
    this.#clock = clock
    this.#isReusable = isReusable
  }

  /** Makes a link, and returns its token. */
  newLink(): string {
    return this.#add(this.#links, this.#isReusable ? Infinity : linkMs)
  }

  /** Opens a session with a link's token. Returns its `Set-Cookie` header; undefined if the token is not valid. */
  useLink(token: string, request: BrowserRequest): string | undefined {
    const isGood = this.#has(this.#links, token)
    if (!this.#isReusable) this.#links.delete(digest(token))
    return isGood ? this.open(request) : undefined
  }

  /** Opens a session. Returns its `Set-Cookie` header. */
  open(request: BrowserRequest): string {
    return cookie(request, this.#add(this.#sessions, sessionMs), sessionMs)
  }

  isOpen(request: BrowserRequest): boolean {
    return this.#has(this.#sessions, tokenOf(request))
  }

  /** Ends the session of a request. Returns the `Set-Cookie` header that removes its cookie. */
  end(request: BrowserRequest): string {
    this.#sessions.delete(digest(tokenOf(request)))
    return cookie(request, '', 0)
  }

  endAll(): void {
    this.#links.clear()
    this.#sessions.clear()
  }

  #add(tokens: Map<string, number>, durationMs: number): string {
    const token = randomBytes(32).toString('base64url')
    tokens.set(digest(token), this.#clock.nowMs() + durationMs)
    const [oldest = ''] = tokens.keys()
    if (tokens.size > rememberedMax) tokens.delete(oldest)
    return token
  }

  #has(tokens: Map<string, number>, token: string): boolean {
    return (tokens.get(digest(token)) ?? -Infinity) > this.#clock.nowMs()
  }
}

/** Makes a `Set-Cookie` header. Scripts can't read the cookie; browsers send it only from this site to this path. */
function cookie(request: BrowserRequest, token: string, durationMs: number): string {
  // A client that forges this header harms only itself: its browser then sends the cookie over https only.
  const isSecure = request.socket.encrypted ?? request.headers['x-forwarded-proto'] === 'https'
  const attributes = `Path=/_evroute/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  return `${cookieName(request)}=${token}; ${attributes}; Max-Age=${durationMs / 1_000}`
}

/** Contains the port, because all ports of a host share cookies. */
function cookieName({ socket }: BrowserRequest): string {
  return `evroute-${socket.localPort ?? 0}`
}

function tokenOf(request: BrowserRequest): string {
  const prefix = `${cookieName(request)}=`
  const found = request.headers.cookie?.split(';').find((part) => part.trim().startsWith(prefix))
  return found?.trim().slice(prefix.length) ?? ''
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
