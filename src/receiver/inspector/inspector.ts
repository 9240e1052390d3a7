import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  closeOf,
  errorAnswer,
  foreignSign,
  jsonAnswer,
  PageFiles,
  readBody,
  sendAnswer,
} from '../../http/index.ts'
import { parseMatch, type Match } from '../../match/index.ts'
import {
  isJsonObject,
  limits,
  parseJson,
  SettingError,
  type JsonObject,
} from '../../model/index.ts'
import { apiPrefix, isLocalRequest, readQuery } from '../api-exchange.ts'
import { actions, type Action } from './actions.ts'
import { EventSummaries, summariesMax } from './event-summary.ts'
import type { Inspected } from './inspected.ts'
import { reads, type Read } from './reads.ts'
import { sendCapture } from './send-capture.ts'
import { streamSummaries } from './stream-summaries.ts'

/** Maximum open streams. Each slow client keeps one batch of summaries in memory. */
const streamsMax = 32
/** Four times as large as a webhook, because JSON escapes can make the webhook's body longer. */
const actionBytesMax = 4 * limits.webhookBytesMax

/** The HTTP API for the page and for programs. `docs/inspector.openapi.json` describes it. */
export class Inspector {
  readonly #inspected: Inspected
  readonly #summaries: EventSummaries
  readonly #run: string
  readonly #page = new PageFiles('index.html')
  #streams = 0

  constructor(inspected: Inspected) {
    this.#inspected = inspected
    this.#summaries = new EventSummaries(inspected.log)
    this.#run = inspected.clock.nowMs().toString(36)
  }

  /** Answers a request, and returns whether its path exists. Throws a SettingError for a wrong query or body. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const path = pathname.slice(apiPrefix.length)
    if (request.method === 'POST' && path === 'actions/read-capture') {
      checkMediaType(request, 'application/x-ndjson')
      const match = parsed(readQuery(searchParams, ['match']).match)
      await sendCapture(request, response, { match, waits: this.#inspected.waits })
      return true
    }
    if (request.method === 'POST') return this.#act(path, request, response)
    if (path === 'stream') {
      await this.#stream(request, response, searchParams)
      return true
    }
    if (path === 'summaries') return answerWith(response, this.#summariesOf(searchParams))
    const read = entryOf<Read>(reads, path)
    if (read === undefined) return this.#page.send(response, path)
    return answerWith(response, read(searchParams, this.#inspected))
  }

  /** Summarises the requests with the given numbers. `keptFrom` is the number of the oldest request in the log. */
  #summariesOf(query: URLSearchParams): object {
    const { seqs = '' } = readQuery(query, ['seqs'])
    const { log } = this.#inspected
    const events = seqs.split(',', summariesMax).map((seq) => log.get(Number(seq)))
    return {
      keptFrom: log.after(0, 1)[0]?.seq ?? log.counts.received + 1,
      summaries: events.flatMap((event) => (event === undefined ? [] : this.#summaries.of(event))),
    }
  }

  async #act(path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const name = path.replace(/^actions\//, '')
    const action = entryOf<Action>(actions, name)
    if (action === undefined) return false
    const body = await this.#readAction(request)
    const isLocal = isLocalRequest(request) && foreignSign(request.headers) === undefined
    return answerWith(response, await action(body, { ...this.#inspected, isLocal }))
  }

  async #stream(
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    const { match, sample } = readQuery(query, ['match', 'sample'])
    const wanted = parsed(match)
    if (sample !== undefined && sample !== 'true')
      throw new SettingError('sample', 'Cannot use "sample": it must be true, or left out')
    if (this.#streams >= streamsMax) {
      const message = `Cannot open a stream: ${streamsMax} are already open. Close a page`
      sendAnswer(response, errorAnswer(429, 'too_many_streams', message))
      return
    }
    this.#streams += 1
    const lastId = request.headers['last-event-id']
    await streamSummaries(response, {
      inspected: this.#inspected,
      summaries: this.#summaries,
      run: this.#run,
      match: wanted,
      isSampled: sample === 'true',
      lastId: typeof lastId === 'string' ? lastId : undefined,
      signal: AbortSignal.any([closeOf(response), this.#inspected.waits.over]),
    }).finally(() => (this.#streams -= 1))
    response.end()
  }

  async #readAction(request: IncomingMessage): Promise<JsonObject> {
    checkMediaType(request, 'application/json')
    const { clock } = this.#inspected
    const { kind, bytes } = await readBody(request, { bytesMax: actionBytesMax, clock })
    const body = kind === 'complete' ? parseJson(bytes.toString()) : undefined
    if (isJsonObject(body)) return body
    throw new SettingError('body', 'Cannot read the body: it must be a JSON object')
  }
}

function entryOf<Entry>(table: Readonly<Record<string, Entry>>, name: string): Entry | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

function parsed(match: string | undefined): Match | undefined {
  return match === undefined ? undefined : parseMatch(match)
}

/** Checks the media type. A form on another site cannot send `wanted`, and a script needs permission through CORS. */
function checkMediaType({ headers }: IncomingMessage, wanted: string): void {
  if (headers['content-type']?.split(';')[0]?.trim() === wanted) return
  throw new SettingError('content-type', `Cannot read the body: its Content-Type must be ${wanted}`)
}

function answerWith(response: ServerResponse, body: object): true {
  sendAnswer(response, jsonAnswer(200, body))
  return true
}
