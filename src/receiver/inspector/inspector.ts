import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from '../../http/index.ts'
import { MatchError, parseMatch } from '../../match/index.ts'
import { isJsonObject, limits, SettingError } from '../../model/index.ts'
import { systemClock, type Clock } from '../../runtime/index.ts'
import type { EventLog } from '../event-log.ts'
import { eventRecord } from '../event-record.ts'
import { isFault, type GivenAnswer } from '../faults/index.ts'
import type { ReceivedEvent } from '../received-event.ts'
import { apiPrefix, readQuery, sendJson } from '../api-exchange.ts'
import type { Waits } from '../waits.ts'
import { PageFiles } from '../page-files.ts'
import { EventSummaries } from './event-summary.ts'
import { readEdit, resend } from './resend.ts'
import { streamSummaries } from './stream-summaries.ts'

/** The parts of a receiver that its API shows and changes. */
export interface Inspected {
  readonly log: EventLog
  /** Ended when the receiver closes. */
  readonly waits: Waits
  readonly secret: string | undefined
  readonly clock: Clock
  /** The URL of each endpoint. */
  readonly urls: () => Promise<readonly string[]>
  /** Gives the next well-formed webhook this; undefined where none comes. */
  readonly respondNext: ((answer: GivenAnswer) => void) | undefined
}

/** Streams that are open at once. A reader that is slow holds one batch of summaries. */
const streamsMax = 32
/** Text in JSON can take more bytes than it has. */
const actionBytesMax = 4 * limits.webhookBytesMax

/** Answers a page or a program; `docs/inspector.openapi.json` describes the API. */
export class Inspector {
  readonly #inspected: Inspected
  readonly #summaries: EventSummaries
  readonly #run: string
  readonly #page = new PageFiles()
  #streams = 0

  constructor(inspected: Inspected) {
    this.#inspected = inspected
    this.#summaries = new EventSummaries(inspected.log)
    this.#run = inspected.clock.nowMs().toString(36)
  }

  /**
   * Answers a request of this machine.
   *
   * @returns whether its path exists
   * @throws SettingError for a query or a body that cannot be read
   */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const path = pathname.slice(apiPrefix.length)
    switch (request.method === 'POST' ? `POST ${path}` : path) {
      case 'stream':
        await this.#stream(request, response, searchParams)
        return true
      case 'event':
        return this.#sendEvent(response, Number(readQuery(searchParams, ['seq']).seq))
      case 'match': {
        const { text = '' } = readQuery(searchParams, ['text'])
        sendJson(response, { status: 200, body: readMatch(text) })
        return true
      }
      case 'POST actions/resend':
        return this.#resend(response, await this.#readAction(request))
      case 'POST actions/next-answer': {
        const { answer } = await this.#readAction(request)
        this.#respondNext(readAnswer(answer))
        sendJson(response, { status: 200, body: { answer } })
        return true
      }
      default:
        return this.#page.send(response, path)
    }
  }

  async #stream(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    const { match } = readQuery(query, ['match'])
    const wanted = match === undefined ? undefined : parseMatch(match)
    if (this.#streams >= streamsMax) {
      const message = `Cannot open another stream: ${streamsMax} are open. Close a page`
      sendJson(response, { status: 429, body: { error: { code: 'too_many_streams', message } } })
      return
    }
    this.#streams += 1
    const lastId = request.headers['last-event-id']
    const { log, waits } = this.#inspected
    const wait = waits.begin()
    response.once('close', () => wait.abort())
    const ended = waits.endOf(wait)
    await streamSummaries(response, {
      log,
      summaries: this.#summaries,
      run: this.#run,
      match: wanted,
      lastId: typeof lastId === 'string' ? lastId : undefined,
      signal: wait.signal,
    }).finally(() => {
      this.#streams -= 1
      wait.abort()
    })
    await ended
    response.end()
  }

  #sendEvent(response: ServerResponse, seq: unknown): boolean {
    const event = this.#eventOf(seq)
    if (event === undefined) return false
    const body = { v: 1, ...eventRecord(event) }
    sendJson(response, { status: 200, body })
    return true
  }

  async #resend(response: ServerResponse, action: ActionBody): Promise<boolean> {
    const event = this.#eventOf(action.seq)
    if (event === undefined) return false
    const urls = await this.#inspected.urls()
    const url = urls[(event.endpoint ?? 1) - 1] ?? urls[0]
    if (url === undefined) {
      throw new SettingError('seq', 'Cannot resend a request of a capture', 'Pass --to <url>.')
    }
    const edit = readEdit(action.edit)
    const { secret, waits } = this.#inspected
    const wait = waits.begin()
    // Real time, because other requests use it too.
    const timer = systemClock.schedule(limits.endpointDeadlineMs, () => wait.abort())
    const ended = waits.endOf(wait)
    const body = await resend(event, edit, { url, secret, signal: wait.signal })
    timer.cancel()
    wait.abort()
    await ended
    sendJson(response, { status: 200, body })
    return true
  }

  #respondNext(answer: GivenAnswer): void {
    const { respondNext } = this.#inspected
    if (respondNext === undefined) {
      throw new SettingError('answer', 'Cannot plan an answer: a capture receives no webhooks')
    }
    respondNext(answer)
  }

  #eventOf(seq: unknown): ReceivedEvent | undefined {
    if (typeof seq !== 'number' || !Number.isSafeInteger(seq)) return undefined
    const [event] = this.#inspected.log.after(seq - 1, 1)
    return event?.seq === seq ? event : undefined
  }

  /**
   * Reads the body of an action. It must have the media type of JSON: browsers ask before a foreign page
   * sends that, and a form cannot.
   */
  async #readAction(request: IncomingMessage): Promise<ActionBody> {
    const isJson = request.headers['content-type']?.split(';')[0]?.trim() === 'application/json'
    const { clock } = this.#inspected
    const { kind, bytes } = await readBody(request, { bytesMax: actionBytesMax, clock })
    const value = isJson && kind === 'complete' ? parsed(bytes.toString()) : undefined
    if (isJsonObject(value)) return value
    throw new SettingError('body', 'Cannot do this: the body is no JSON object of application/json')
  }
}

interface ActionBody {
  readonly seq?: unknown
  readonly edit?: unknown
  readonly answer?: unknown
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a match can be read, and where not. */
function readMatch(text: string): object {
  try {
    return { valid: true, text: parseMatch(text).text }
  } catch (error) {
    if (!(error instanceof MatchError)) throw error
    const { message, hint = '', offset, length, excerpt } = error
    return { valid: false, message, hint, offset, length, excerpt }
  }
}

function readAnswer(answer: unknown): GivenAnswer {
  if (typeof answer === 'number' || isFault(answer)) return answer
  throw new SettingError('answer', 'Cannot answer with this: it is a status or a fault')
}
