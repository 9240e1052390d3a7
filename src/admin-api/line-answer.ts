import type { ServerResponse } from 'node:http'
import { recordLine } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import { commonHeaders } from './answer.ts'
import type { ApiRecord } from './operation.ts'

/** How long a client may take nothing of an answer before it counts as gone. */
export const untakenMs: number = 5 * 60_000

/** An answer of records, each sent when it is known: NDJSON with the status 200. */
export class LineAnswer {
  readonly #response: ServerResponse
  readonly #clock: Clock

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
  }

  /** Whether something was sent: the request cannot be refused any more. */
  get hasBegun(): boolean {
    return this.#response.headersSent
  }

  /** Sends records; does nothing once the client has left. */
  tell(records: readonly ApiRecord[]): void {
    const response = this.#response
    if (response.destroyed || records.length === 0) return
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'application/x-ndjson', ...commonHeaders })
    }
    response.write(records.map(recordLine).join(''))
  }

  /** Resolves once the client has taken what was sent, or has left. A client that takes nothing is cut off. */
  drained(): Promise<void> {
    const response = this.#response
    if (!response.writableNeedDrain) return Promise.resolve()
    return new Promise((resolve) => {
      const settle = (): void => {
        response.off('drain', settle).off('close', settle)
        timer.cancel()
        release()
        resolve()
      }
      const timer = this.#clock.schedule(untakenMs, () => response.destroy())
      const release = this.#clock.hold()
      response.on('drain', settle).on('close', settle)
    })
  }

  /** Tells the last record. */
  end(record: ApiRecord): void {
    this.tell([record])
    this.#response.end()
  }
}
