import type { ServerResponse } from 'node:http'
import { recordLine } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import { commonHeaders } from './answer.ts'
import type { ApiRecord } from './operation.ts'

/** How long a client may read nothing from an answer before it is disconnected. */
export const readIdleMs: number = 5 * 60_000

/** An NDJSON answer with the status 200 that sends each record as soon as it is written. */
export class LineAnswer {
  readonly #response: ServerResponse
  readonly #clock: Clock

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
  }

  /** Whether a record was sent. If so, it is too late to refuse the request. */
  get hasBegun(): boolean {
    return this.#response.headersSent
  }

  sendRecords(records: readonly ApiRecord[]): void {
    const response = this.#response
    if (response.destroyed || records.length === 0) return
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'application/x-ndjson', ...commonHeaders })
    }
    response.write(records.map(recordLine).join(''))
  }

  /** Resolves once the client has read the sent records or has left. Disconnects it after {@link readIdleMs}. */
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
      const timer = this.#clock.schedule(readIdleMs, () => response.destroy())
      const release = this.#clock.hold()
      response.on('drain', settle).on('close', settle)
    })
  }

  end(record: ApiRecord): void {
    this.sendRecords([record])
    this.#response.end()
  }
}
