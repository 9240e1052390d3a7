import type { DestinationActions } from '../admin-api/index.ts'
import type { AddOutcome, NewEvent } from '../delivery/index.ts'
import { Intake } from '../intake/index.ts'
import { sampleCall } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { Configuration } from './configuration/index.ts'

const testSource = 'test'

interface ActionParts {
  readonly configuration: () => Configuration
  readonly follow: (configuration: Configuration) => void
  readonly add: (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>
  readonly runtime: Runtime
}

/** Enables and disables destinations, and sends them test events. */
export function destinationActions(parts: ActionParts): DestinationActions {
  const { configuration, follow, add, runtime } = parts
  return {
    setEnabled: (id, enabled) => {
      const { destinations } = configuration()
      if (!destinations.some((each) => each.id === id)) return false
      const changed = destinations.map((each) => (each.id === id ? { ...each, enabled } : each))
      follow({ ...configuration(), destinations: changed })
      return true
    },
    sendTest: async (id) => {
      const found = configuration().destinations.find((each) => each.id === id)
      if (found === undefined) return undefined
      const destinations = [{ ...found, sourceIds: [testSource], filter: undefined }]
      const intake = new Intake({ add, destinations, runtime })
      const call = { ...sampleCall('track'), messageId: `test-${runtime.newId()}` }
      const [result] = await intake.accept({ sourceId: testSource, calls: [call] })
      return result?.kind === 'accepted' && result.outcome === 'routed' ? call.messageId : null
    },
  }
}
