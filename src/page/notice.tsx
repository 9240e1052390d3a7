import type { Signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** The outcome of an action, with an optional next step such as undo. */
export interface Notice {
  readonly text: string
  readonly isProblem: boolean
  readonly offer?: { readonly label: string; readonly act: () => void } | undefined
  /** The state that the notice is about. The notice closes when the state ends. */
  readonly cause?: 'no connection' | 'next answer' | undefined
}

const confirmationMs = 6_000
/** How long to show problems, which take longer to read, and offers, which a person has to decide on. */
const longMs = 20_000

/** Shows the latest notice until its time is up or a person closes it. */
export function ShownNotice({
  notice,
}: {
  readonly notice: Signal<Notice | undefined>
}): JSX.Element {
  const { value } = notice
  return (
    <div class="notices" role="status" aria-live="polite">
      {value === undefined ? null : (
        // The key restarts the time for each notice.
        <Box key={value} shown={value} close={() => (notice.value = undefined)} />
      )}
    </div>
  )
}

/** A notice. Its timer stops while the pointer or the focus is on it, and starts over afterwards. */
function Box({
  shown: { text, isProblem, offer },
  close,
}: {
  readonly shown: Notice
  readonly close: () => void
}): JSX.Element {
  const [isHovered, setHovered] = useState(false)
  const [isFocused, setFocused] = useState(false)
  const isHeld = isHovered || isFocused
  useEffect(() => {
    if (isHeld) return undefined
    const isLong = isProblem || offer !== undefined
    const timer = setTimeout(close, isLong ? longMs : confirmationMs)
    return () => clearTimeout(timer)
  }, [isHeld])
  return (
    <div
      class={`notice ${isProblem ? 'problem' : ''}`}
      onMouseEnter={() => setHovered(true)}
      onMouseLeave={() => setHovered(false)}
      onFocusIn={() => setFocused(true)}
      onFocusOut={() => setFocused(false)}
    >
      <span>{text}</span>
      {offer === undefined ? null : (
        <button
          type="button"
          class="link"
          onClick={() => {
            close()
            offer.act()
          }}
        >
          {offer.label}
        </button>
      )}
      <button type="button" class="link" aria-label="Dismiss" onClick={close}>
        ✕
      </button>
    </div>
  )
}
