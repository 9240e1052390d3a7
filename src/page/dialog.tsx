import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { EventRecord } from '../receiver/index.ts'

/** Which dialog is open. */
export type OpenDialog =
  | { readonly kind: 'none' | 'keys' | 'handlers' | 'compose' }
  | { readonly kind: 'edit'; readonly record: EventRecord }
  | { readonly kind: 'text'; readonly title: string; readonly text: string }

/** Opens and closes dialogs. At most one is open. */
export class Dialogs {
  readonly open = signal<OpenDialog>({ kind: 'none' })

  /** Opens a dialog in place of the open one. */
  show(dialog: OpenDialog): void {
    this.open.value = dialog
  }

  close(): void {
    this.open.value = { kind: 'none' }
  }
}

/** A dialog with a title. Escape closes it. */
export function Dialog({
  title,
  dialogs,
  children,
}: {
  readonly title: string
  readonly dialogs: Pick<Dialogs, 'close'>
  readonly children: ComponentChildren
}): JSX.Element {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => element.current?.showModal(), [])
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onClose={() => dialogs.close()}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  )
}

/** The button of a dialog without a form. */
export function CloseButton({ dialogs }: { readonly dialogs: Dialogs }): JSX.Element {
  return (
    <div class="actions">
      <button type="button" onClick={() => dialogs.close()}>
        Close
      </button>
    </div>
  )
}
