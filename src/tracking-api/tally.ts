import type { IntakeOutcome } from '../intake/index.ts'
import { refuse, type Refusal, type RejectedCall } from './answer.ts'
import type { CountedCalls } from './ports.ts'
import type { PreparedCalls } from './prepare-calls.ts'

/** The outcomes of a request's calls. */
export interface Tally {
  /** Number of accepted calls, including duplicates and filtered ones. */
  readonly accepted: number
  /** In the order of the request. */
  readonly rejected: readonly RejectedCall[]
  readonly counted: readonly Omit<CountedCalls, 'sourceId'>[]
}

/** Combines the results of intake with the calls that were too large. */
export function tally(
  { sent, tooLarge }: Pick<PreparedCalls, 'sent' | 'tooLarge'>,
  results: readonly IntakeOutcome[],
): Tally {
  const rejected = [...tooLarge]
  const counts = new Map<CountedCalls['outcome'], number>()
  const count = (outcome: CountedCalls['outcome']): void => {
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  }
  let accepted = 0
  for (const result of results) {
    const call = sent[result.index]
    if (call === undefined) continue
    if (result.kind === 'rejected') {
      const { code, message } = result
      rejected.push({ index: call.index, messageId: call.messageId, code, message })
    } else {
      accepted++
      count(result.outcome)
    }
  }
  for (const { code } of rejected) count(code)
  return {
    accepted,
    rejected: rejected.sort((a, b) => a.index - b.index),
    counted: [...counts].map(([outcome, number]) => ({ outcome, count: number })),
  }
}

/**
 * Refuses a request whose calls were all rejected. The code is `nothing_valid`, except for a single call that is too
 * large: clients handle `event_too_large`.
 */
export function nothingAccepted(
  { accepted, rejected: [first, ...others] }: Tally,
  isAlone: boolean,
): Refusal | undefined {
  if (accepted > 0 || first === undefined) return undefined
  const { code, message } = first
  if (isAlone) {
    return code === 'event_too_large'
      ? refuse(code, message)
      : refuse('nothing_valid', `The call is not valid: ${code}: ${message}`)
  }
  const calls = others.length === 0 ? 'The only call' : `None of the ${others.length + 1} calls`
  const reason = others.length === 0 ? 'is not valid' : 'is valid; the first'
  return refuse('nothing_valid', `${calls} ${reason}: ${code}: ${message}`)
}
