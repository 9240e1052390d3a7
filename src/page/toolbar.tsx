import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { Session } from './session.ts'
import { countText } from './text.ts'

const answers = [200, 400, 404, 410, 429, 500, 503, 'reset', 'hang', 'empty', 'malformed'] as const

/** What is done to the list: filter, pause, clear, plan the next answer. */
export function Toolbar({ session }: { readonly session: Session }): JSX.Element {
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
      <NextAnswer session={session} />
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

function NextAnswer({ session }: { readonly session: Session }): JSX.Element {
  const isOpen = useSignal(false)
  const choose = (event: SubmitEvent): void => {
    event.preventDefault()
    const chosen = new FormData(event.currentTarget as HTMLFormElement).get('answer')
    const answer = answers.find((each) => String(each) === chosen)
    isOpen.value = false
    if (answer !== undefined) void session.setNextAnswer(answer)
  }
  return (
    <div class="popover">
      <button
        type="button"
        aria-expanded={isOpen.value}
        aria-controls="next-answer"
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        Next answer
      </button>
      <form id="next-answer" hidden={!isOpen.value} onSubmit={choose}>
        <label>
          The next webhook gets
          <select name="answer">
            {answers.map((answer) => (
              <option key={answer} selected={answer === 503}>
                {answer}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary">
          Set
        </button>
      </form>
    </div>
  )
}
