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
import { crm, nowMs } from '../intake/support.ts'

/** The user whom the regulations of these tests erase. */
export const userId = 'jane@example.com'
/** The request for a regulation. */
export const request: RegulationRequest = {
  type: 'DELETE_ONLY',
  userIds: [userId],
  sourceIds: null,
}
/** The result of erasing archives that contain nothing about the user. */
export const nothingArchived = { events: 0, files: 0, problems: [] }

/** Creates Regulations over a store, and records what they request. */
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
    eraseArchives: (request) => {
      archiveRequests.push(request)
      return given.eraseArchives?.(request) ?? Promise.resolve(nothingArchived)
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
    /** Creates a regulation and returns its id. */
    create: async (changes: Partial<RegulationRequest> = {}): Promise<string> => {
      const outcome = await regulations.create({ ...request, ...changes })
      if (outcome.kind !== 'created') throw new Error(`It is refused: ${outcome.kind}`)
      return outcome.regulation.id
    },
  }
}

/** The error of a store that is temporarily unusable. */
export const outage = new StoreUnusableError({ message: 'No room', isTemporary: true })
