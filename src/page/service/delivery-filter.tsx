import type { JSX } from 'preact'
import { Field, filledFields } from '../field.tsx'
import { useRead } from '../use-read.ts'
import type { Conditions } from './api.ts'
import { Choice } from './choice.tsx'
import { deliveriesPath } from './route.ts'
import type { ServiceParts } from './service-session.ts'

const states = ['pending', 'delivered', 'failed', 'expired'] as const
const types = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete'] as const
const texts = [
  ['user', 'User', ''],
  ['message', 'messageId', ''],
  ['since', 'Accepted since', '2h, or a time'],
  ['until', 'Accepted before', '1h, or a time'],
] as const

/** A form for the conditions of the list. They go into the URL, so that it can be bookmarked. */
export function DeliveryFilter({
  session,
  conditions,
}: ServiceParts & { readonly conditions: Conditions }): JSX.Element {
  const reading = useRead(() => session.api.destinations(), [])
  const destinations = reading.kind === 'read' ? reading.value.map(({ id }) => id) : []
  const apply = (event: SubmitEvent): void => {
    location.hash = deliveriesPath(filledFields(event))
  }
  return (
    // Only other conditions reset the form. Typed text stays while the page reads again.
    <form
      key={JSON.stringify(conditions)}
      class="conditions"
      role="search"
      aria-label="Deliveries"
      onSubmit={apply}
    >
      <Choice name="state" label="State" options={states} chosen={conditions.state} />
      <Choice name="type" label="Type" options={types} chosen={conditions.type} />
      <Choice
        name="destination"
        label="Destination"
        options={withChosen(destinations, conditions.destination)}
        chosen={conditions.destination}
      />
      {texts.map(([name, label, placeholder]) => (
        <Field key={name} {...{ label, name, placeholder }} defaultValue={conditions[name] ?? ''} />
      ))}
      <button type="submit" class="primary">
        Filter
      </button>
    </form>
  )
}

/** Adds the chosen destination, which may have deliveries but no configuration any more. */
function withChosen(options: readonly string[], chosen: string | undefined): readonly string[] {
  return chosen === undefined || options.includes(chosen) ? options : [...options, chosen]
}
