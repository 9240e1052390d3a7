import type { JSX } from 'preact'
import type { AnswerRecord, RequestFields } from '../../admin-api/index.ts'
import { Button } from '../button.tsx'
import { Moment, Pair, Part, Shown } from '../shown.tsx'
import { answerLook, counted, countText, reasonText, visibleText } from '../text.ts'
import { Payload } from '../tree.tsx'
import { usePolled } from '../use-read.ts'
import { read } from './api.ts'
import { session } from './service-session.ts'
import { StateBadge } from './state-badge.tsx'

const readMs = 2_000
/** Maximum requests to show. Manual retries can add any number. */
const requestsMax = 200

export function Story({ id }: { readonly id: string }): JSX.Element {
  const reading = usePolled(
    () => read(`v1/deliveries/${id.split('/').map(encodeURIComponent).join('/')}`),
    [session.version.value],
    readMs,
  )
  return (
    <Shown reading={reading}>
      {({ delivery, requests, body }) => (
        <article aria-label={`Delivery ${id}`}>
          <p>
            <a href={session.listPath}>← Back to the list</a>
          </p>
          <div class="detail-head">
            <h2>{id}</h2>
            <StateBadge state={delivery.state} />
            <Actions delivery={delivery} />
          </div>
          <Facts delivery={delivery} />
          <Part title="Requests">
            <Requests requests={requests} delivery={delivery} />
          </Part>
          <Body text={body} />
        </article>
      )}
    </Shown>
  )
}

function Actions({
  delivery: { id, state },
}: Pick<AnswerRecord<'story'>, 'delivery'>): JSX.Element {
  const propose = (action: 'retry' | 'discard'): void => {
    session.proposeFor(1, action, { id })
  }
  return (
    <div class="actions">
      <Button label="Retry" disabled={state === 'delivered'} onClick={() => propose('retry')} />
      <Button label="Discard" disabled={state !== 'pending'} onClick={() => propose('discard')} />
    </div>
  )
}

function Facts({ delivery }: Pick<AnswerRecord<'story'>, 'delivery'>): JSX.Element {
  const { state, messageId, type, eventName, userId, source, destination, reason, attempts } =
    delivery
  const { manualRetries, acceptedAt, expiresAt, settledAt, holds } = delivery
  const moments = [
    ['Accepted', acceptedAt],
    ['Retried until', expiresAt],
    ['Ended', settledAt],
  ] as const
  return (
    <dl class="tiles">
      <Pair name="Event">
        <span class={`type ${type}`}>{type}</span> {visibleText(eventName?.slice(0, 100) ?? '')}
      </Pair>
      <Pair name="messageId">{visibleText(messageId.slice(0, 100))}</Pair>
      <Pair name="User">{visibleText(userId?.slice(0, 100) ?? '–')}</Pair>
      <Pair name="Route">
        {source} → {destination}
      </Pair>
      {reason === null ? null : (
        <Pair name={state === 'pending' ? 'Last error' : 'Reason'}>{reasonText(reason)}</Pair>
      )}
      {moments.map(([name, at]) =>
        at === null ? null : (
          <Pair key={name} name={name}>
            <Moment at={at} />
          </Pair>
        ),
      )}
      <Pair name="Attempts">
        {attempts}
        {manualRetries === 0 ? '' : `, retried by hand ${counted(manualRetries, 'time')}`}
      </Pair>
      {holds.map(({ url, until }) => (
        <Pair key={url} name="Not sent to">
          {visibleText(url)} {until === null ? 'any more' : 'until '}
          {until === null ? null : <Moment at={until} />}
        </Pair>
      ))}
    </dl>
  )
}

function Requests({
  requests,
  delivery: { state, dueAt },
}: Pick<AnswerRecord<'story'>, 'requests' | 'delivery'>): JSX.Element {
  const shown = requests.slice(-requestsMax)
  return (
    <ol class="timeline" aria-label="Requests">
      {requests.length > shown.length ? (
        <li class="muted">{counted(requests.length - shown.length, 'earlier request')}</li>
      ) : null}
      {shown.map((request, index) => (
        <Request
          key={index}
          {...request}
          isOpen={index === shown.length - 1 && request.outcome !== 'success'}
        />
      ))}
      {requests.length === 0 && state !== 'pending' ? <li class="muted">No request.</li> : null}
      {state === 'pending' ? (
        <li class="next">
          <NextAttempt dueAt={dueAt} />
        </li>
      ) : null}
    </ol>
  )
}

function NextAttempt({ dueAt }: { readonly dueAt: string | null }): JSX.Element {
  if (dueAt === null) return <>A request is in flight.</>
  const isDue = Date.parse(dueAt) < Date.now()
  return (
    <>
      {isDue ? 'Waiting for other deliveries or for the endpoint. Due since' : 'Next attempt'}{' '}
      <Moment at={dueAt} />
    </>
  )
}

function Request(request: RequestFields & { readonly isOpen: boolean }): JSX.Element {
  const { at, url, attempt, lane, outcome, status, error, ms, excerpt, isOpen } = request
  return (
    <li class={outcome}>
      <span class={`badge ${answerLook(status)}`}>{status ?? 'no answer'}</span> {visibleText(url)}{' '}
      <span class="muted">in {countText(Math.round(ms))} ms</span>
      <p class="muted">
        <Moment at={at} />, attempt {attempt}
        {lane === 'manual' ? ', by hand' : ''}
        {outcome === 'retry' ? ', will be retried' : ''}
        {outcome === 'final' ? ', not retried' : ''}
      </p>
      {error === null || error === `status_${status}` ? null : (
        <p class="problem">{reasonText(error)}</p>
      )}
      {excerpt === '' ? null : (
        <details open={isOpen}>
          <summary>Answer</summary>
          <pre tabIndex={0}>{visibleText(excerpt)}</pre>
        </details>
      )}
    </li>
  )
}

function Body({ text }: { readonly text: string }): JSX.Element {
  try {
    return <Payload title="Webhook" value={JSON.parse(text) as unknown} />
  } catch {
    return (
      <Part title="Webhook">
        <pre tabIndex={0}>{visibleText(text)}</pre>
      </Part>
    )
  }
}
