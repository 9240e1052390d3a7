import { shortfallText, type ExpectationResult } from '../match/index.ts'
import { EvrouteError } from '../model/index.ts'
import type { ReceivedEvent } from './received-event.ts'

/** Thrown where an expectation was not met: `code` is `expectation_unmet`. */
export class ExpectationError extends EvrouteError {
  override readonly name: string = 'ExpectationError'
  /** The count, and the request that shows best why it was too low or too high. */
  readonly result: ExpectationResult<ReceivedEvent>

  constructor(result: ExpectationResult<ReceivedEvent>) {
    const { text, account, shortfall } = result
    const sentences = [`${text}: ${account}`]
    if (shortfall !== undefined) sentences.push(shortfallText(shortfall))
    super({ code: 'expectation_unmet', message: sentences.join('\n') })
    this.result = result
  }
}
