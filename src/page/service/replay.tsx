import type { JSX } from 'preact'
import { Choice, Field, filledFields } from '../field.tsx'
import { useRead } from '../use-read.ts'
import { read } from './api.ts'
import { session } from './service-session.ts'

const texts = [
  ['event', 'Event name', 'Order Completed'],
  ['since', 'Accepted since', '2h, or 2026-11-20T10:15:00Z'],
  ['until', 'Accepted before', '1h'],
] as const

export function Replay(): JSX.Element {
  const reading = useRead(() => read('v1/sources'), [])
  const sources = reading.kind === 'read' ? reading.value.sources : []
  const isArchived = sources.some(({ archived }) => archived)
  const destinations = [...new Set(sources.flatMap((source) => source.destinations))]
  return (
    <>
      <h2>Replay</h2>
      {reading.kind === 'failed' ? <p class="empty problem">{reading.message}</p> : null}
      {reading.kind === 'read' && !isArchived ? (
        <p class="empty">
          No source has an archive. To give a source one, set its "archive" in the configuration.
        </p>
      ) : null}
      {isArchived ? (
        <form class="conditions" onSubmit={(event) => session.proposeReplay(filledFields(event))}>
          <Choice
            name="source"
            label="Source"
            options={sources.flatMap(({ id, archived }) => (archived ? [id] : []))}
            isOptional
          />
          <Choice name="destination" label="Destination" options={destinations} isOptional />
          {texts.map(([name, label, placeholder]) => (
            <Field key={name} {...{ label, name, placeholder }} />
          ))}
          <button type="submit" class="primary">
            Replay
          </button>
        </form>
      ) : null}
    </>
  )
}
