import { onTestFinished } from 'vitest'
import { StoreUnusableError } from '../../src/model/index.ts'
import {
  Regulations,
  type EraseArchivesRequest,
  type RegulationRequest,
  type RegulationsOptions,
} from '../../src/privacy/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { KeptRegulations } from './kept-regulations.ts'
import { crm, nowMs } from './support.ts'

/** Whom the regulations of tests are about. */
export const userId = 'jane@example.com'
/** What tests ask for. */
export const request: RegulationRequest = {
  type: 'DELETE_ONLY',
  userIds: [userId],
  sourceIds: null,
}
/** What was erased of archives that have nothing. */
export const nothingArchived = { events: 0, files: 0, problems: [] }

/** Regulations over a store of the test, and all that they asked for. */
export function makeRegulations(
  given: Partial<Pick<RegulationsOptions, 'eraseArchives' | 'endReplays' | 'erasesStore'>> & {
    store?: KeptRegulations
  } = {},
) {
  const { store = new KeptRegulations() } = given
  const clock = new ManualClock(nowMs)
  const recording = recordingRuntime(clock)
  const archiveRequests: EraseArchivesRequest[] = []
  let wakes = 0
  const regulations = new Regulations({
    store,
    erasesStore: given.erasesStore ?? true,
    configuration: () => ({ sources: [{ id: 'website' }], destinations: [crm] }),
    eraseArchives: (asked) => {
      archiveRequests.push(asked)
      return given.eraseArchives?.(asked) ?? Promise.resolve(nothingArchived)
    },
    endReplays: () => given.endReplays?.() ?? Promise.resolve(),
    wake: () => wakes++,
    runtime: recording.runtime,
  })
  onTestFinished(() => regulations.close())
  return {
    regulations,
    store,
    clock,
    archiveRequests,
    wakes: () => wakes,
    ...recording,
    /** Creates one; gives its id. */
    create: async (changes: Partial<RegulationRequest> = {}): Promise<string> => {
      const outcome = await regulations.create({ ...request, ...changes })
      if (outcome.kind !== 'created') throw new Error(`It is refused: ${outcome.kind}`)
      return outcome.regulation.id
    },
  }
}

/** What a store throws that cannot be used for now. */
export const outage = new StoreUnusableError({ message: 'No room', isTemporary: true })
