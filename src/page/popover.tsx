import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'

/** A button that opens a panel below it. The panel's content is in the document only while the panel is open. */
export function Popover({
  label,
  children,
}: {
  readonly label: string
  readonly children: (close: () => void) => ComponentChildren
}): JSX.Element {
  const isOpen = useSignal(false)
  const id = label.toLowerCase().replaceAll(' ', '-')
  const close = (): void => {
    isOpen.value = false
  }
  return (
    <div
      class="popover"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen.value) return
        event.stopPropagation()
        close()
        event.currentTarget.querySelector('button')?.focus()
      }}
    >
      <button
        type="button"
        aria-expanded={isOpen.value}
        aria-controls={id}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {label}
      </button>
      <div id={id} class="panel" hidden={!isOpen.value}>
        {isOpen.value ? children(close) : null}
      </div>
    </div>
  )
}
