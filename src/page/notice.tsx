import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { messageOf } from './http.ts'

/** The outcome of an action, with an optional next step such as undo. */
export interface Notice {
  readonly text: string
  readonly isProblem?: boolean
  readonly offer?: { readonly label: string; readonly act: () => void } | undefined
}

const confirmationMs = 6_000
/** For problems and offers: a person needs more time to read a problem, or to decide on an offer. */
const longMs = 20_000

/** The latest notice, until its time is up or a person closes it. */
export const notice = signal<Notice | undefined>(undefined)

export function tell(text: string, more: Omit<Notice, 'text'> = {}): void {
  notice.value = { text, ...more }
}

/** Runs `work`. If it fails, shows the error and returns undefined. */
export async function tried<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    tell(messageOf(error), { isProblem: true })
    return undefined
  }
}

export function ShownNotice(): JSX.Element {
  const { value } = notice
  const layer = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current } = layer
    // An open dialog covers the notice. Hiding and showing the notice again puts it on top.
    if (document.querySelector('dialog[open]') !== null) current?.hidePopover()
    if (current?.matches(':popover-open') === false) current.showPopover()
  }, [value])
  return (
    <div class="notices" role="status" aria-live="polite" popover="manual" ref={layer}>
      {/* The key restarts the timer for each notice. */}
      {value === undefined ? null : <Box key={value} shown={value} />}
    </div>
  )
}

/** A notice. Its timer stops while the pointer or the focus is on it, and starts over afterwards. */
function Box({ shown: { text, isProblem, offer } }: { readonly shown: Notice }): JSX.Element {
  const [isHovered, setHovered] = useState(false)
  const [isFocused, setFocused] = useState(false)
  const isHeld = isHovered || isFocused
  const close = (): void => {
    notice.value = undefined
  }
  useEffect(() => {
    if (isHeld) return undefined
    const isLong = isProblem === true || offer !== undefined
    const timer = setTimeout(close, isLong ? longMs : confirmationMs)
    return () => clearTimeout(timer)
  }, [isHeld])
  return (
    <div
      class={`notice ${isProblem === true ? 'problem' : ''}`}
      onMouseEnter={() => setHovered(true)}
      onMouseLeave={() => setHovered(false)}
      onFocusIn={() => setFocused(true)}
      onFocusOut={() => setFocused(false)}
    >
      <span>{text}</span>
      {offer === undefined ? null : (
        <Button
          label={offer.label}
          class="link"
          onClick={() => {
            close()
            offer.act()
          }}
        />
      )}
      <Button label="✕" class="link" aria-label="Dismiss" onClick={close} />
    </div>
  )
}
