import type { Signal } from '@preact/signals'
import type { JSX } from 'preact'

/** The outcome of an action, with an optional next step such as undo. */
export interface Notice {
  readonly text: string
  readonly isProblem: boolean
  readonly offer?: { readonly label: string; readonly act: () => void } | undefined
}

/** Shows the latest notice until it is dismissed. */
export function ShownNotice({
  notice,
}: {
  readonly notice: Signal<Notice | undefined>
}): JSX.Element {
  const { value } = notice
  return (
    <div class="notices" role="status" aria-live="polite">
      {value === undefined ? null : (
        <div class={`notice ${value.isProblem ? 'problem' : ''}`}>
          <span>{value.text}</span>
          {value.offer === undefined ? null : (
            <button type="button" class="link" onClick={value.offer.act}>
              {value.offer.label}
            </button>
          )}
          <button
            type="button"
            class="link"
            aria-label="Dismiss"
            onClick={() => (notice.value = undefined)}
          >
            ✕
          </button>
        </div>
      )}
    </div>
  )
}
