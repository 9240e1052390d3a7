import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { Answers } from './answers.tsx'
import { CaptureButtons } from './captures.tsx'
import type { Dialogs } from './dialog.tsx'
import { Expectations } from './expectations.tsx'
import type { Session } from './session.ts'
import { countText } from './text.ts'

/** What is done to the list and to the receiver. */
export function Toolbar({
  session,
  dialogs,
}: {
  readonly session: Session
  readonly dialogs: Dialogs
}): JSX.Element {
  const { isPaused, onlyFailed, list } = session
  const held = list.heldCount.value
  return (
    <div class="toolbar" role="toolbar" aria-label="List">
      <Filter session={session} />
      <button
        type="button"
        aria-pressed={onlyFailed.value}
        onClick={() => (onlyFailed.value = !onlyFailed.value)}
      >
        Only failures
      </button>
      <button type="button" aria-pressed={isPaused.value} onClick={() => session.togglePause()}>
        Pause
      </button>
      {held > 0 ? <span class="held">{countText(held)} new</span> : null}
      <button type="button" onClick={() => session.clear()}>
        Clear
      </button>
      <Answers session={session} />
      <Expectations session={session} />
      <button type="button" onClick={() => dialogs.show({ kind: 'compose' })}>
        Compose
      </button>
      <CaptureButtons session={session} />
    </div>
  )
}

function Filter({ session }: { readonly session: Session }): JSX.Element {
  const input = useRef<HTMLInputElement>(null)
  const problem = session.filterProblem.value
  const apply = (event: Event): void => {
    event.preventDefault()
    void session.setFilter(input.current?.value.trim() ?? '')
  }
  return (
    <form class="filter" role="search" onSubmit={apply}>
      <input
        ref={input}
        id="filter"
        type="search"
        aria-label="Filter"
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : 'filter-problem'}
        placeholder="type:track event:Order*  (enter applies)"
        autocomplete="off"
        spellcheck={false}
        onSearch={apply}
      />
      {problem === undefined ? null : (
        <div class="filter-problem" id="filter-problem" role="alert">
          <code>
            {input.current?.value.slice(0, problem.offset)}
            <mark>
              {input.current?.value.slice(
                problem.offset,
                problem.offset + Math.max(1, problem.length),
              ) || ' '}
            </mark>
            {input.current?.value.slice(problem.offset + Math.max(1, problem.length))}
          </code>
          <p>
            {problem.message}. {problem.hint.split('\n')[0]}
          </p>
        </div>
      )}
    </form>
  )
}
