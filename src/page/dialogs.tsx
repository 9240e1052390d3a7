import type { JSX } from 'preact'
import { CloseButton, Dialog, type Dialogs } from './dialog.tsx'
import { HandlersDialog } from './handlers-dialog.tsx'
import type { PageParts } from './parts.ts'
import { ComposeDialog, EditDialog } from './request-dialogs.tsx'

/** The dialog that is open, if any. */
export function ShownDialog({ session, dialogs }: PageParts): JSX.Element | null {
  const open = dialogs.open.value
  switch (open.kind) {
    case 'none':
      return null
    case 'edit':
      return <EditDialog record={open.record} {...{ session, dialogs }} />
    case 'compose':
      return <ComposeDialog {...{ session, dialogs }} />
    case 'handlers':
      return <HandlersDialog {...{ session, dialogs }} />
    case 'text':
      return (
        <Dialog title={open.title} dialogs={dialogs}>
          <textarea readOnly rows={8} aria-label={open.title} value={open.text} />
          <CloseButton dialogs={dialogs} />
        </Dialog>
      )
    case 'keys':
      return <KeysDialog dialogs={dialogs} />
  }
}

const keys = [
  ['j, k', 'older or newer request'],
  ['home, end', 'newest or oldest request, in the list'],
  ['enter', 'read the request'],
  ['r', 'resend'],
  ['e', 'edit and resend'],
  ['c', 'copy as curl'],
  ['d', 'compare with another request'],
  ['p', 'pause'],
  ['/', 'filter'],
  ['esc', 'close'],
] as const

function KeysDialog({ dialogs }: { readonly dialogs: Dialogs }): JSX.Element {
  return (
    <Dialog title="Keys" dialogs={dialogs}>
      <dl class="pairs">
        {keys.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <CloseButton dialogs={dialogs} />
    </Dialog>
  )
}
