import type { JSX } from 'preact'
import type { PlannedAnswers } from '../receiver/index.ts'
import { setNextAnswer, setPlan } from './actions.ts'
import { read } from './api.ts'
import { Button } from './button.tsx'
import { Choice, Field, filledFields } from './field.tsx'
import { Popover } from './popover.tsx'
import { session } from './session.ts'
import { Shown } from './shown.tsx'
import { countText } from './text.ts'
import { usePolled } from './use-read.ts'

const answers = [200, 400, 404, 410, 429, 500, 503, 'reset', 'hang', 'empty', 'malformed'] as const

export function Answers(): JSX.Element {
  return (
    <Popover label="Next answer">
      {(close) => (
        <>
          <NextAnswer close={close} />
          <Plan />
        </>
      )}
    </Popover>
  )
}

function NextAnswer({ close }: { readonly close: () => void }): JSX.Element {
  const choose = (event: SubmitEvent): void => {
    const fields = filledFields(event)
    const answer = answers.find((each) => String(each) === fields['answer'])
    close()
    if (answer !== undefined) void setNextAnswer(answer, fields['delay']?.trim() ?? '')
  }
  return (
    <form onSubmit={choose}>
      <Choice label="The next webhook gets" name="answer" options={answers} chosen={503} />
      <Field label="After" name="delay" placeholder="at once, or 2s" />
      <Button label="Set" type="submit" class="primary" />
    </form>
  )
}

function Plan(): JSX.Element {
  const version = session.version.value
  const reading = usePolled(() => read('plan'), [version, session.list.version.value])
  return <Shown reading={reading}>{(planned) => <PlanForm key={version} {...planned} />}</Shown>
}

function PlanForm({ next, plans }: PlannedAnswers): JSX.Element {
  const text = plans.map(({ plan }) => plan).join('\n')
  return (
    <form onSubmit={(event) => void setPlan(filledFields(event)['plan'] ?? '', text)}>
      <p class="muted">
        {next.length === 0 ? '' : `Next: ${next.join(', ')}. `}
        {plans.length === 0
          ? 'No plan: webhooks get their usual answer.'
          : plans.map(({ plan, given }) => `${plan} (${countText(given)} given)`).join('; ')}
      </p>
      <label>
        Plans, one per line: 503x2,reset answers 503 twice, then resets
        <textarea name="plan" rows={2} spellcheck={false}>
          {text}
        </textarea>
      </label>
      <Button label="Set plan" type="submit" />
    </form>
  )
}
