import type { JSX } from 'preact'
import type { AnswerRecord } from '../../admin-api/index.ts'
import { Button } from '../button.tsx'
import { Choice, Field, filledFields } from '../field.tsx'
import { Shown } from '../shown.tsx'
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
  return (
    <>
      <h2>Replay</h2>
      <Shown reading={reading}>{({ sources }) => <ReplayForm sources={sources} />}</Shown>
    </>
  )
}

function ReplayForm({ sources }: Pick<AnswerRecord<'sources'>, 'sources'>): JSX.Element {
  const archived = sources.flatMap(({ id, archived: isArchived }) => (isArchived ? [id] : []))
  const destinations = [...new Set(sources.flatMap((source) => source.destinations))]
  if (archived.length === 0)
    return (
      <p class="empty">
        No source has an archive. To give a source one, set its "archive" in the configuration.
      </p>
    )
  return (
    <form class="conditions" onSubmit={(event) => session.proposeReplay(filledFields(event))}>
      <Choice name="source" label="Source" options={archived} isOptional />
      <Choice name="destination" label="Destination" options={destinations} isOptional />
      {texts.map(([name, label, placeholder]) => (
        <Field key={name} {...{ label, name, placeholder }} />
      ))}
      <Button label="Replay" type="submit" class="primary" />
    </form>
  )
}
