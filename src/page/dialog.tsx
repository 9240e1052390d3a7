import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { EventRecord } from '../receiver/index.ts'
import { Button } from './button.tsx'
import { Shown } from './shown.tsx'
import { useRead } from './use-read.ts'

type OpenDialog =
  | { readonly kind: 'keys' | 'handlers' | 'compose' }
  | { readonly kind: 'edit'; readonly record: EventRecord }

export const dialog = signal<OpenDialog | undefined>(undefined)

export function closeDialog(): void {
  dialog.value = undefined
}

interface DialogParts {
  readonly title: string
  readonly close?: () => void
  readonly children: ComponentChildren
}

/** A dialog with a title. Escape closes it. */
export function Dialog({ title, close = closeDialog, children }: DialogParts): JSX.Element {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => element.current?.showModal(), [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={close}>
      <h2 id={id}>{title}</h2>
      {children}
      {/* A dialog focuses its first control, so this button comes last. */}
      <Button label="✕" class="link close" aria-label="Close" onClick={close} />
    </dialog>
  )
}

/** A dialog that opens once its content is read, because it focuses its first control. */
export function ReadDialog<Value>({
  title,
  read,
  children,
}: {
  readonly title: string
  readonly read: () => Promise<Value>
  readonly children: (value: Value) => ComponentChildren
}): JSX.Element | null {
  const reading = useRead(read, [])
  if (reading.kind === 'loading') return null
  return (
    <Dialog title={title}>
      <Shown reading={reading}>{children}</Shown>
    </Dialog>
  )
}
