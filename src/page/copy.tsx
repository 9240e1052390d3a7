import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { Dialog } from './dialog.tsx'
import { notice, type Notice } from './notice.tsx'

/** A text that the browser did not copy. */
const uncopied = signal<{ readonly title: string; readonly text: string } | undefined>(undefined)

/** Copies a text and says so. Shows the text instead if the browser denies access to the clipboard. */
export async function copy(
  title: string,
  text: string,
  said: Notice = { text: `The ${title} has been copied.` },
): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    notice.value = said
  } catch {
    uncopied.value = { title, text }
  }
}

export function UncopiedDialog(): JSX.Element | null {
  const { value } = uncopied
  if (value === undefined) return null
  const { title, text } = value
  const close = (): void => {
    uncopied.value = undefined
  }
  return (
    <Dialog title={title} close={close}>
      <textarea readOnly rows={8} aria-label={title} value={text} />
    </Dialog>
  )
}
