import type { JSX } from 'preact'
import type { DeliveryFields } from '../../admin-api/index.ts'
import { failureWords } from '../../model/failure-text.ts'
import { Button } from '../button.tsx'
import { Choice, Field, filledFields } from '../field.tsx'
import { Moment, Shown } from '../shown.tsx'
import { reasonText, visibleText } from '../text.ts'
import { useRead } from '../use-read.ts'
import { pageRows, read, type Conditions } from './api.ts'
import { deliveriesPath, storyPath } from './route.ts'
import { session } from './service-session.ts'
import { StateBadge, states } from './state-badge.tsx'
import { Pager, Table, type Row } from './table.tsx'

const types = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete'] as const
const texts = [
  ['user', 'User', ''],
  ['message', 'messageId', ''],
  ['since', 'Accepted since', '2h, or a time'],
  ['until', 'Accepted before', '1h, or a time'],
] as const

interface Parts {
  readonly conditions: Conditions
}

interface PageParts extends Parts {
  readonly before?: string
}

export function Deliveries({ conditions, before = '' }: PageParts): JSX.Element {
  return (
    <>
      <h2>Deliveries</h2>
      <DeliveryFilter conditions={conditions} />
      <Page key={JSON.stringify(conditions)} {...{ conditions, before }} />
    </>
  )
}

/** A form for the conditions of the list. It puts them into the URL, so that a list can be bookmarked. */
function DeliveryFilter({ conditions }: Parts): JSX.Element {
  const reading = useRead(() => read('v1/destinations'), [])
  const destinations = reading.kind === 'read' ? reading.value.destinations.map(({ id }) => id) : []
  const apply = (event: SubmitEvent): void => {
    location.hash = deliveriesPath(filledFields(event))
    // Read again even if the conditions stay the same.
    session.version.value += 1
  }
  return (
    // The key resets the form only when the conditions change.
    <form
      key={JSON.stringify(conditions)}
      class="conditions"
      role="search"
      aria-label="Deliveries"
      onSubmit={apply}
    >
      <Choice name="state" label="State" options={states} chosen={conditions.state} isOptional />
      <Choice name="type" label="Type" options={types} chosen={conditions.type} isOptional />
      <Choice
        name="destination"
        label="Destination"
        options={withChosen(destinations, conditions.destination)}
        chosen={conditions.destination}
        isOptional
      />
      {texts.map(([name, label, placeholder]) => (
        <Field key={name} {...{ label, name, placeholder }} defaultValue={conditions[name] ?? ''} />
      ))}
      <Button label="Filter" type="submit" class="primary" />
    </form>
  )
}

/** Adds the chosen destination if it is no longer configured, because it can still have deliveries. */
function withChosen(options: readonly string[], chosen: string | undefined): readonly string[] {
  return chosen === undefined || options.includes(chosen) ? options : [...options, chosen]
}

function Actions({ conditions, isEmpty }: Parts & { readonly isEmpty: boolean }): JSX.Element {
  const { state = '' } = conditions
  return (
    <div class="actions">
      <Button
        label="Retry all that match"
        disabled={isEmpty || state === 'delivered'}
        onClick={() => void session.propose('retry', conditions)}
      />
      <Button
        label="Discard all that match"
        disabled={isEmpty || (state !== '' && state !== 'pending')}
        onClick={() => void session.propose('discard', conditions)}
      />
      <Button label="Refresh" onClick={() => (session.version.value += 1)} />
    </div>
  )
}

function Page({ conditions, before = '' }: PageParts): JSX.Element {
  const reading = useRead(
    () => read('v1/deliveries', { ...conditions, before, limit: pageRows }),
    [before, session.version.value],
  )
  const isEmpty = before === '' && reading.kind === 'read' && reading.value.deliveries.length === 0
  return (
    <>
      <Actions conditions={conditions} isEmpty={isEmpty} />
      <Shown reading={reading}>
        {({ deliveries, next }) => (
          <>
            <Table
              label="Deliveries that match"
              columns={['State', 'Delivery', 'Event', 'User', 'Accepted', 'Attempts', 'Reason']}
              rows={deliveries.map(row)}
              empty="No delivery matches."
            />
            <Pager
              cursor={before === '' ? undefined : before}
              next={next === null ? null : String(next)}
              turn={(cursor) => (location.hash = deliveriesPath(conditions, cursor))}
            />
          </>
        )}
      </Shown>
    </>
  )
}

function row(delivery: DeliveryFields): Row {
  const { id, state, type, eventName, messageId, userId, acceptedAt, attempts, reason } = delivery
  return {
    key: id,
    href: storyPath(id),
    cells: [
      <StateBadge state={state} />,
      <a href={storyPath(id)}>{id}</a>,
      <>
        <span class={`type ${type}`}>{type}</span>{' '}
        {eventName === null ? null : (
          <>
            <span>{visibleText(eventName.slice(0, 60))}</span>{' '}
          </>
        )}
        <span class="muted">{visibleText(messageId.slice(0, 60))}</span>
      </>,
      visibleText(userId?.slice(0, 60) ?? ''),
      <Moment at={acceptedAt} />,
      attempts,
      reason !== null && <span title={reason}>{reasonText(reason, failureWords)}</span>,
    ],
  }
}
