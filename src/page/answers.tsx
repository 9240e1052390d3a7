import type { JSX } from 'preact'
import { readPlan } from './api.ts'
import { Choice, Field, filledFields } from './field.tsx'
import type { SessionParts } from './parts.ts'
import { Popover } from './popover.tsx'
import { countText } from './text.ts'
import { useRead } from './use-read.ts'

const answers = [200, 400, 404, 410, 429, 500, 503, 'reset', 'hang', 'empty', 'malformed'] as const

/** Forms for the answer to the next webhook, and for the plan that follows. */
export function Answers({ session }: SessionParts): JSX.Element {
  return (
    <Popover label="Next answer">
      {(close) => (
        <>
          <NextAnswer session={session} close={close} />
          <Plan session={session} />
        </>
      )}
    </Popover>
  )
}

function NextAnswer({
  session,
  close,
}: SessionParts & { readonly close: () => void }): JSX.Element {
  const choose = (event: SubmitEvent): void => {
    const fields = filledFields(event)
    const answer = answers.find((each) => String(each) === fields['answer'])
    close()
    if (answer !== undefined) void session.setNextAnswer(answer, fields['delay']?.trim() ?? '')
  }
  return (
    <form onSubmit={choose}>
      <Choice label="The next webhook gets" name="answer" options={answers} chosen={503} />
      <Field label="After" name="delay" placeholder="at once, or 2s" />
      <button type="submit" class="primary">
        Set
      </button>
    </form>
  )
}

function Plan({ session }: SessionParts): JSX.Element {
  const version = session.version.value
  const reading = useRead(readPlan, [version, session.list.version.value])
  if (reading.kind === 'loading') return <p class="muted">Reading the plan…</p>
  if (reading.kind === 'failed') return <p class="problem">{reading.message}</p>
  if (reading.value === undefined) return <p class="muted">A capture does not answer.</p>
  const { next, plans } = reading.value
  const set = (event: SubmitEvent): void => {
    const before = plans.map(({ plan }) => plan).join('\n')
    void session.setPlan(filledFields(event)['plan'] ?? '', before)
  }
  return (
    <form onSubmit={set}>
      <p class="muted">
        {next.length === 0 ? '' : `Next: ${next.join(', ')}. `}
        {plans.length === 0
          ? 'No plan: webhooks get their usual answer.'
          : plans.map(({ plan, given }) => `${plan} (${countText(given)} given)`).join('; ')}
      </p>
      <label>
        Plans such as 503x3,200; one per line
        <textarea name="plan" rows={2} spellcheck={false} key={version}>
          {plans.map(({ plan }) => plan).join('\n')}
        </textarea>
      </label>
      <button type="submit">Set plan</button>
    </form>
  )
}
