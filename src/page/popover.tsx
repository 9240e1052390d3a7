import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Button } from './button.tsx'

/** The label of the open panel. Only one is open, because panels cover each other. */
const opened = signal('')

/** A button that opens a panel below it. The panel's content is in the document only while the panel is open. */
export function Popover({
  label,
  children,
}: {
  readonly label: string
  readonly children: (close: () => void) => ComponentChildren
}): JSX.Element {
  const isOpen = opened.value === label
  const id = label.toLowerCase().replaceAll(' ', '-')
  const close = (): void => {
    if (opened.value === label) opened.value = ''
  }
  useEffect(() => close, [])
  return (
    <div
      class="popover"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return
        event.stopPropagation()
        close()
        event.currentTarget.querySelector('button')?.focus()
      }}
    >
      <Button
        label={label}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => (opened.value = isOpen ? '' : label)}
      />
      {isOpen ? (
        <div id={id} class="panel">
          {children(close)}
        </div>
      ) : null}
    </div>
  )
}
