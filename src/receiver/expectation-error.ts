import { shortfallText, type ExpectationResult } from '../match/index.ts'
import { EvrouteError } from '../model/index.ts'
import type { ReceivedEvent } from './received-event.ts'

/** Thrown for an unmet expectation: `code` is `expectation_unmet`. */
export class ExpectationError extends EvrouteError {
  override readonly name: string = 'ExpectationError'
  /** The counts, and the request that best shows why the expectation was not met. */
  readonly result: ExpectationResult<ReceivedEvent>

  constructor(result: ExpectationResult<ReceivedEvent>) {
    const { text, account, shortfall } = result
    const sentences = [`${text}: ${account}`]
    if (shortfall !== undefined) sentences.push(shortfallText(shortfall))
    super({ code: 'expectation_unmet', message: sentences.join('\n') })
    this.result = result
  }
}
