import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AnswerRecord, DestinationFields, EndpointFields } from '../../admin-api/index.ts'
import { Button } from '../button.tsx'
import { Field } from '../field.tsx'
import { Pair, Shown } from '../shown.tsx'
import { counted, countText, durationText, visibleText } from '../text.ts'
import { usePolled } from '../use-read.ts'
import { read } from './api.ts'
import { Problems } from './overview.tsx'
import { deliveriesPath } from './route.ts'
import { session } from './service-session.ts'
import { countLook, states } from './state-badge.tsx'

/** Drawing 1,000 destinations would take more than a second. */
const shownAtOnce = 50

type Problem = AnswerRecord<'overview'>['problems'][number]

export function Destinations({ search }: { readonly search: string }): JSX.Element {
  const [limit, setLimit] = useState(shownAtOnce)
  const reading = usePolled(readDestinations, [session.version.value])
  return (
    <>
      <h2>Destinations</h2>
      <div class="conditions" role="search">
        <Field
          label="Search"
          type="search"
          placeholder="name, source, filter or URL"
          value={search}
          onInput={({ currentTarget }) => session.searchDestinations(currentTarget.value)}
        />
      </div>
      <Shown reading={reading}>
        {(destinations) => {
          const found = destinations.filter(({ destination }) => isFound(destination, search))
          return (
            <>
              <p class="muted" role="status">
                {summaryText(found, destinations.length)}
              </p>
              {found.slice(0, limit).map((each) => (
                <Destination key={each.destination.id} {...each} />
              ))}
              {found.length > limit ? (
                <Button
                  label={`Show all ${countText(found.length)}`}
                  onClick={() => setLimit(Infinity)}
                />
              ) : null}
            </>
          )
        }}
      </Shown>
    </>
  )
}

function isFound({ id, sources, filter, endpoints }: DestinationFields, search: string): boolean {
  const texts = [id, ...sources, filter ?? '', ...endpoints.map(({ url }) => url)]
  const wanted = search.trim().toLowerCase()
  return texts.some((text) => text.toLowerCase().includes(wanted))
}

/** Counts the destinations, and those with problems: `12 of 1,000 destinations, 3 with problems`. */
function summaryText(found: readonly Parts[], all: number): string {
  if (all === 0)
    return 'No destination is configured. Add one to the configuration file. The service reads the file again by itself.'
  if (found.length === 0) return 'No destination matches.'
  const wrong = found.filter(({ problems }) => problems.length > 0).length
  const part = found.length === all ? '' : `${countText(found.length)} of `
  const also = wrong === 0 ? '' : `, ${countText(wrong)} with problems`
  return part + counted(all, 'destination') + also
}

interface Parts {
  readonly destination: DestinationFields
  readonly problems: readonly Problem[]
}

/** Reads the destinations. Those with problems come first. */
async function readDestinations(): Promise<readonly Parts[]> {
  const [{ destinations }, { problems }] = await Promise.all([
    read('v1/destinations'),
    read('v1/overview'),
  ])
  const shown = destinations.map((destination) => ({
    destination,
    // Without the name of the destination, which is above them.
    problems: problems
      .filter((problem) => problem.destination === destination.id)
      .map((problem) => ({ ...problem, destination: null })),
  }))
  return shown.sort((a, b) => Math.sign(b.problems.length) - Math.sign(a.problems.length))
}

function Destination({ destination, problems }: Parts): JSX.Element {
  const { id, enabled, sources, filter, endpoints, pending } = destination
  return (
    <section class="card entry" aria-label={`Destination ${id}`}>
      <div class="detail-head">
        <h3>{id}</h3>
        <span class={`badge ${enabled ? '' : 'warning'}`}>
          {enabled ? '✓ enabled' : '– disabled'}
        </span>
        <div class="actions">
          <a class="button" href={deliveriesPath({ destination: id })}>
            Deliveries
          </a>
          <Button
            label="Send test event"
            onClick={() => void session.proposeTest(id)}
            disabled={!enabled}
          />
          <Button
            label="Retry failed"
            onClick={() => void session.propose('retry', { destination: id })}
          />
          <Button
            label="Discard backlog"
            onClick={() => void session.propose('discard', { destination: id })}
          />
          <Button
            label={enabled ? 'Disable' : 'Enable'}
            onClick={() => void session.proposeSwitch(id)}
          />
        </div>
      </div>
      <dl class="tiles">
        <Pair name="Deliveries">
          {states.map((state, index) => (
            <span key={state} class={countLook(state, destination[state])}>
              {index === 0 ? '' : ', '}
              {countText(destination[state])} {state}
            </span>
          ))}
        </Pair>
        <Pair name="Sources">{sources.join(', ')}</Pair>
        <Pair name="Filter">
          {filter === undefined ? 'all events of its sources' : <code>{visibleText(filter)}</code>}
        </Pair>
        {endpoints.map((endpoint) => (
          <Pair key={endpoint.url} name="Endpoint">
            <Endpoint {...endpoint} pending={enabled ? pending : 0} />
          </Pair>
        ))}
      </dl>
      <Problems problems={problems} />
    </section>
  )
}

const breakerTexts: Readonly<Record<EndpointFields['breaker'], string>> = {
  closed: '✓ in use',
  open: '✗ down',
  recovering: '… recovering',
}
const breakerLooks = {
  closed: '',
  open: 'bad',
  recovering: 'warning',
} as const

function Endpoint(endpoint: EndpointFields & { readonly pending: number }): JSX.Element {
  const { url, breaker, rate, pending } = endpoint
  return (
    <>
      {visibleText(url)}{' '}
      <span class={`badge ${breakerLooks[breaker]}`}>{breakerTexts[breaker]}</span>
      {rate === undefined ? null : <p class="muted">{rateText(rate, pending)}</p>}
    </>
  )
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Formats the rate of an endpoint, such as `50/s`, and how long the backlog takes at this rate. */
function rateText(rate: string, pending: number): string {
  const [count, unit = 's'] = rate.split('/')
  const backlogMs = (pending * (unitMs[unit] ?? 0)) / Number(count)
  if (backlogMs < 1_000) return `at most ${rate}`
  const deliveries = counted(pending, 'pending delivery takes', 'pending deliveries take')
  return `at most ${rate}: ${deliveries} at least ${durationText(backlogMs)}`
}
