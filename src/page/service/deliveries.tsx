import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DeliveriesRecord } from '../../admin-api/index.ts'
import { Moment } from '../moment.tsx'
import { Shown } from '../shown.tsx'
import { visibleText } from '../text.ts'
import { useRead } from '../use-read.ts'
import type { Conditions } from './api.ts'
import { DeliveryFilter } from './delivery-filter.tsx'
import { storyPath } from './route.ts'
import type { ServiceSession } from './service-session.ts'
import { StateBadge } from './state-badge.tsx'

interface Parts {
  readonly session: ServiceSession
  readonly conditions: Conditions
}

/** The deliveries that meet the conditions, page by page, and what can be done with all of them. */
export function Deliveries({ session, conditions }: Parts): JSX.Element {
  return (
    <>
      <h2>Deliveries</h2>
      <DeliveryFilter session={session} conditions={conditions} />
      <Actions session={session} conditions={conditions} />
      <Pages key={JSON.stringify(conditions)} session={session} conditions={conditions} />
    </>
  )
}

function Actions({ session, conditions }: Parts): JSX.Element {
  const { state = '' } = conditions
  return (
    <div class="actions">
      <button
        type="button"
        disabled={state === 'delivered'}
        onClick={() => void session.propose('retry', conditions)}
      >
        Retry all that match
      </button>
      <button
        type="button"
        disabled={state !== '' && state !== 'pending'}
        onClick={() => void session.propose('discard', conditions)}
      >
        Discard all that match
      </button>
      <button type="button" onClick={() => (session.version.value += 1)}>
        Refresh
      </button>
    </div>
  )
}

function Pages({ session, conditions }: Parts): JSX.Element {
  const [before, setBefore] = useState<number | undefined>(undefined)
  const reading = useRead(
    () => session.api.deliveries(conditions, before),
    [before, session.version.value],
  )
  return (
    <Shown reading={reading}>
      {({ deliveries, next }) => (
        <>
          <Table deliveries={deliveries} />
          <div class="actions">
            {before === undefined ? null : (
              <button type="button" onClick={() => setBefore(undefined)}>
                Newest
              </button>
            )}
            {next === null ? null : (
              <button type="button" onClick={() => setBefore(next)}>
                Older
              </button>
            )}
          </div>
        </>
      )}
    </Shown>
  )
}

const columns = ['State', 'Delivery', 'Event', 'User', 'Accepted', 'Attempts', 'Reason'] as const

function Table({ deliveries }: Pick<DeliveriesRecord, 'deliveries'>): JSX.Element {
  if (deliveries.length === 0) return <p class="empty">No delivery matches.</p>
  return (
    <div class="scroll" role="region" aria-label="Deliveries that match" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {deliveries.map(
            ({ id, state, type, messageId, userId, acceptedAt, attempts, reason }) => (
              <tr key={id}>
                <td>
                  <StateBadge state={state} />
                </td>
                <td>
                  <a href={storyPath(id)}>{id}</a>
                </td>
                <td>
                  <span class={`type ${type}`}>{type}</span> {visibleText(messageId.slice(0, 60))}
                </td>
                <td>{visibleText(userId?.slice(0, 60) ?? '–')}</td>
                <td>{acceptedAt === null ? '–' : <Moment at={acceptedAt} />}</td>
                <td>{attempts}</td>
                <td>{reason ?? '–'}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}
