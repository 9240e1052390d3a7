import type { IncomingHttpHeaders } from 'node:http'
import type { HttpAnswer } from '../http/index.ts'
import type { IntakeOutcome } from '../intake/index.ts'
import { messageOf } from '../model/index.ts'
import { stopwatch, type Clock } from '../runtime/index.ts'
import { refusalAnswer, refuse, success, type Refusal } from './answer.ts'
import type { ClientConnection } from './client-context.ts'
import type { Document } from './decode-body.ts'
import type { TrackingApiOptions, TrackingObserver, TrackingSource } from './ports.ts'
import { prepareCalls, type PreparedCalls } from './prepare-calls.ts'
import { RateLimits } from './rate-limits.ts'
import { readCalls, type Expected } from './read-calls.ts'
import { nothingAccepted, tally } from './tally.ts'
import { traceparentOf } from './traceparent.ts'
import { bodyWriteKey, headerWriteKey } from './write-key.ts'

/** A request that carries calls. */
export interface TrackingRequest {
  readonly expected: Expected
  readonly headers: IncomingHttpHeaders
  readonly query: URLSearchParams
  readonly client: ClientConnection
  /** Reads the body as a document; `cut_off` if the client disconnected first. */
  readonly readDocument: () => Promise<Document | Refusal | { readonly kind: 'cut_off' }>
}

type SourceRefusal = Refusal & { readonly source?: TrackingSource | undefined }

/** Facts about calls that the answer needs. The calls themselves must not stay in memory while the store works. */
interface AcceptingCalls extends Pick<PreparedCalls, 'sent' | 'tooLarge'> {
  readonly source: TrackingSource
  /** Whether the request had a single call instead of a batch. */
  readonly isAlone: boolean
}

type Admission = { readonly kind: 'admitted'; readonly source: TrackingSource } | SourceRefusal

/** Maximum number of rejected calls per request to report to the observer. */
const rejectedReportedMax = 20
/** How long to wait for the store. A disk can stall for minutes, and clients give up after 10 s or more. */
const storingMaxMs = 8_000

/** Accepts the calls of requests, and decides the answers. */
export class Collector {
  readonly #options: TrackingApiOptions
  readonly #observer: TrackingObserver | undefined
  readonly #rateLimits: RateLimits
  #hasWarned = false

  constructor(options: TrackingApiOptions) {
    this.#options = options
    this.#observer = options.observer
    this.#rateLimits = new RateLimits(options.runtime.clock)
  }

  /**
   * Accepts the calls of a request, and returns its answer; undefined if the client has disconnected. Never rejects.
   * Doesn't read the body while the queue is full, or if the write key in the headers may not send now.
   */
  async collect(request: TrackingRequest): Promise<HttpAnswer | undefined> {
    const early = this.#earlyAdmission(request.headers)
    if (early?.kind === 'refused') return this.refused(early)
    if (this.#options.isFull()) return this.#refusedAsFull(early?.source)
    const document = await request.readDocument()
    if (document.kind === 'cut_off') return undefined
    if (document.kind === 'refused') return this.refused({ ...document, source: early?.source })
    const admission = early ?? this.admit(bodyWriteKey(document.value, request.query))
    if (admission.kind === 'refused') return this.refused(admission)
    return this.#collectFrom(admission.source, document, request)
  }

  /** Admits or refuses a request by the write key in its headers; undefined if they have none. */
  #earlyAdmission(headers: IncomingHttpHeaders): Admission | undefined {
    const writeKey = headerWriteKey(headers)
    if (writeKey === undefined) return undefined
    const admission = this.admit(writeKey)
    const waitMs = admission.kind === 'admitted' ? this.#rateLimits.waitMs(admission.source) : 0
    return waitMs > 0 ? { ...overRate(waitMs), source: admission.source } : admission
  }

  /** Returns the source of a write key, or a refusal if it may not send. */
  admit(writeKey: string | undefined): Admission {
    if (writeKey === undefined) return refuse('unknown_write_key', 'The request has no write key')
    const source = this.#options.sourceOf(writeKey)
    if (source === undefined) return refuse('unknown_write_key', 'The write key is not known')
    if (source.enabled) return { kind: 'admitted', source }
    return {
      ...refuse('source_disabled', 'The source that this write key belongs to is disabled'),
      source,
    }
  }

  refused(refusal: SourceRefusal): HttpAnswer {
    // Warn, because most clients don't say why their calls don't arrive. Warn once, because anyone could fill the log.
    if (refusal.code === 'unknown_write_key' && !this.#hasWarned) {
      this.#hasWarned = true
      const line = 'a request without a valid write key was refused (logged once)'
      this.#options.runtime.log.warn(line, { error: refusal.message })
    }
    this.#observer?.refused({ sourceId: refusal.source?.id ?? null, code: refusal.code })
    return refusalAnswer(refusal)
  }

  #refusedAsFull(source: TrackingSource | undefined): HttpAnswer {
    const message = 'The store is behind: too many events are waiting to be stored'
    return this.refused({ ...refuse('queue_full', message), source })
  }

  /** Not async: an async frame would keep the document in memory while the calls are being stored. */
  #collectFrom(
    source: TrackingSource,
    document: Document,
    { expected, client, headers }: TrackingRequest,
  ): HttpAnswer | Promise<HttpAnswer> {
    // Check again: other requests may have filled the queue while this body was being read.
    if (this.#options.isFull()) return this.#refusedAsFull(source)
    const read = readCalls(document.value, expected)
    if (read.kind === 'refused') return this.refused({ ...read, source })
    const waitMs = this.#rateLimits.take(source, read.calls.length)
    if (waitMs > 0) return this.refused({ ...overRate(waitMs), source })
    const { calls, checkedTypes, sent, tooLarge } = prepareCalls(read, {
      bodyBytes: document.bytes,
      client,
      sourceType: source.type,
    })
    const traceparent = this.#options.keepsTraceparent === true ? traceparentOf(headers) : undefined
    const batch = { sourceId: source.id, calls, checkedTypes, sentAt: read.sentAt, traceparent }
    return this.#answer(calls.length === 0 ? Promise.resolve([]) : this.#options.accept(batch), {
      source,
      sent,
      tooLarge,
      isAlone: expected.kind === 'call',
    })
  }

  async #answer(
    accepting: Promise<readonly IntakeOutcome[]>,
    { source, isAlone, ...calls }: AcceptingCalls,
  ): Promise<HttpAnswer> {
    const elapsedMs = stopwatch()
    const results = await this.#resultsOf(accepting, source)
    if (results === undefined) {
      this.#rateLimits.giveBack(source, calls.sent.length + calls.tooLarge.length)
      const message = 'The events cannot be stored at the moment: send them again'
      return this.refused({ ...refuse('store_unavailable', message), source })
    }
    this.#observer?.stored({ sourceId: source.id, durationMs: elapsedMs() })
    const outcome = tally(calls, results)
    for (const counted of outcome.counted) {
      this.#observer?.calls({ sourceId: source.id, ...counted })
    }
    const { rejected } = outcome
    if (rejected.length > 0)
      this.#observer?.rejected(source.id, rejected.slice(0, rejectedReportedMax))
    const refusal = nothingAccepted(outcome, isAlone)
    if (refusal !== undefined) return this.refused({ ...refusal, source })
    return success({ accepted: outcome.accepted, rejected: rejected.map((call) => ({ ...call })) })
  }

  async #resultsOf(
    accepting: Promise<readonly IntakeOutcome[]>,
    { id: sourceId }: TrackingSource,
  ): Promise<readonly IntakeOutcome[] | undefined> {
    const { clock, log } = this.#options.runtime
    try {
      return await inTime(accepting, clock)
    } catch (error) {
      log.warn('events could not be stored', { sourceId, error: messageOf(error) })
      return undefined
    }
  }
}

/** Rejects if the store takes too long. If it still adds the events later, calls that are sent again are duplicates. */
function inTime<Answer>(answer: Promise<Answer>, clock: Clock): Promise<Answer> {
  const release = clock.hold()
  return new Promise((resolve, reject) => {
    const timer = clock.schedule(storingMaxMs, () =>
      reject(new Error(`The store did not answer within ${storingMaxMs / 1_000} s`)),
    )
    const settled = answer.finally(() => {
      timer.cancel()
      release()
    })
    settled.then(resolve, reject)
  })
}

function overRate(waitMs: number): Refusal {
  return { ...refuse('rate_limited', 'The source exceeds its rate limit'), retryAfterMs: waitMs }
}
