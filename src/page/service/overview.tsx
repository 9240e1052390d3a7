import type { JSX } from 'preact'
import type { AnswerRecord } from '../../admin-api/index.ts'
import { Moment, Pair, Part, Shown } from '../shown.tsx'
import { counted, countText, durationText } from '../text.ts'
import { usePolled } from '../use-read.ts'
import { read } from './api.ts'
import { LedgerVerdict } from './ledger.tsx'
import { RatePlot } from './rate-plot.tsx'
import { deliveriesPath } from './route.ts'
import { session } from './service-session.ts'
import { countLook, states } from './state-badge.tsx'

/** The number of problems that are not folded, so that the figures stay on the screen. */
const unfoldedMax = 5

export function Overview(): JSX.Element {
  const reading = usePolled(() => read('v1/overview'), [session.version.value])
  return (
    <Shown reading={reading}>
      {(overview) => (
        <>
          <h2>Overview</h2>
          {overview.problems.length === 0 ? <p class="good">✓ Nothing is wrong.</p> : null}
          <Problems problems={overview.problems} />
          {overview.ledger.accepted > 0 ? null : (
            <p>
              No event has arrived yet. <a href="#/sources">Set up a program</a>
            </p>
          )}
          <Part title="Deliveries">
            <Figures overview={overview} />
          </Part>
          <Part title="Last hour">
            <RatePlot minutes={overview.minutes} />
          </Part>
          <LedgerVerdict ledger={overview.ledger} />
        </>
      )}
    </Shown>
  )
}

interface Parts {
  readonly problems: AnswerRecord<'overview'>['problems']
}

/** Problems, each with advice. Those after the first few are folded. Renders nothing if there are no problems. */
export function Problems({ problems }: Parts): JSX.Element | null {
  if (problems.length === 0) return null
  const later = problems.slice(unfoldedMax)
  return (
    <div class="problems card">
      <ProblemList problems={problems.slice(0, unfoldedMax)} />
      {later.length === 0 ? null : (
        <details>
          <summary>{counted(later.length, 'more problem')}</summary>
          <ProblemList problems={later} />
        </details>
      )}
    </div>
  )
}

function ProblemList({ problems }: Parts): JSX.Element {
  return (
    <ul aria-label="What is wrong">
      {problems.map(({ text, advice, destination, moment }) => (
        <li key={`${destination ?? ''} ${text}`}>
          <strong>
            {destination === null ? '' : `${destination}: `}
            {text}
          </strong>
          <p>
            {advice}
            {moment !== null && (
              <>
                {' '}
                {moment.name} <Moment at={moment.at} />.
              </>
            )}{' '}
            {destination !== null && (
              // A problem with "Since" is about failed deliveries. Every other problem is about waiting deliveries.
              <a
                href={deliveriesPath({
                  destination,
                  state: moment?.name === 'Since' ? 'failed' : 'pending',
                })}
              >
                Deliveries of {destination}
              </a>
            )}
          </p>
        </li>
      ))}
    </ul>
  )
}

function Figures({ overview }: { readonly overview: AnswerRecord<'overview'> }): JSX.Element {
  const { ledger, oldestDueAt, latency } = overview
  const ageMs = oldestDueAt === null ? 0 : Math.max(0, Date.now() - Date.parse(oldestDueAt))
  return (
    <dl class="tiles figures">
      {states.map((state) => (
        <Pair key={state} name={state}>
          <a
            class={countLook(state, ledger[state])}
            href={deliveriesPath({ state })}
            aria-label={`${countText(ledger[state])} ${state}`}
          >
            {countText(ledger[state])}
          </a>
          {state === 'pending' && ageMs > 0 ? `oldest overdue by ${durationText(ageMs)}` : null}
        </Pair>
      ))}
      <Pair name="Acceptance to 2xx">
        {latency.p50 === null || latency.p99 === null ? (
          'Nothing has been delivered since the start.'
        ) : (
          <>
            <strong>{durationText(latency.p50)}</strong>
            {`p50; p99 ${durationText(latency.p99)}, of the latest ${counted(latency.deliveries, 'delivery', 'deliveries')}`}
          </>
        )}
      </Pair>
    </dl>
  )
}
