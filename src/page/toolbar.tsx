import type { JSX } from 'preact'
import { Answers } from './answers.tsx'
import type { MatchProblem } from './api.ts'
import { Button } from './button.tsx'
import { CaptureButtons } from './captures.tsx'
import { dialog } from './dialog.tsx'
import { Expectations } from './expectations.tsx'
import { session } from './session.ts'
import { counted } from './text.ts'

/** Higher counts show as `999+`, which fits the button's width, so that the other buttons don't move. */
const failuresShownMax = 999

/** The controls in the header of the page. None of them changes the list. */
export function ReceiverTools(): JSX.Element {
  return (
    <div class="tools push">
      <Answers />
      <Expectations />
      <Button label="Compose" onClick={() => (dialog.value = { kind: 'compose' })} />
      <Button label="Keys" onClick={() => (dialog.value = { kind: 'keys' })} />
    </div>
  )
}

/** The filter of the list, and the actions on it. */
export function ListTools(): JSX.Element {
  const { isPaused, onlyFailed } = session
  const isCapture = session.capture.value !== undefined
  const failedCount = session.list.failedCount.value
  return (
    <div class="toolbar">
      <Filter />
      <div class="tools">
        <button
          type="button"
          aria-pressed={onlyFailed.value}
          aria-description={counted(failedCount, 'failure')}
          onClick={() => (onlyFailed.value = !onlyFailed.value)}
        >
          Only failures{' '}
          <span class={`count badge ${failedCount === 0 ? '' : 'bad'}`} aria-hidden="true">
            {failedCount > failuresShownMax ? `${failuresShownMax}+` : failedCount}
          </span>
        </button>
        <Button
          label="Pause"
          aria-pressed={isPaused.value}
          disabled={isCapture}
          onClick={() => session.togglePause()}
        />
        <Button label="Clear" disabled={isCapture} onClick={() => session.clear()} />
        <CaptureButtons />
      </div>
    </div>
  )
}

function Filter(): JSX.Element {
  const { filterText, filterProblem } = session
  const problem = filterProblem.value === 'not shown' ? undefined : filterProblem.value
  const apply = (event: Event): void => {
    event.preventDefault()
    void session.setFilter(filterText.value.trim())
  }
  return (
    <form class="filter" role="search" onSubmit={apply}>
      <input
        type="search"
        aria-label="Filter"
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : 'filter-problem'}
        placeholder="any text, or type:track sig:wrong"
        autocomplete="off"
        spellcheck={false}
        value={filterText.value}
        onInput={({ currentTarget }) => session.typeFilter(currentTarget.value)}
      />
      {problem === undefined ? null : <Problem {...problem} />}
    </form>
  )
}

function Problem({ offset, length, message, hint }: MatchProblem): JSX.Element {
  const { value: text } = session.filterText
  const { value: applied } = session.filter
  const end = offset + Math.max(1, length)
  return (
    <div class="filter-problem" id="filter-problem" role="alert">
      <code>
        {text.slice(0, offset)}
        <mark>{text.slice(offset, end) || ' '}</mark>
        {text.slice(end)}
      </code>
      <p>
        {message}. {hint.split('\n')[0]}
      </p>
      <p class="muted">The list still shows {applied === '' ? 'all requests' : applied}.</p>
    </div>
  )
}
