import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { EventRecord } from '../receiver/index.ts'
import type { Session } from './session.ts'
import { bytesOf, textOf } from './text.ts'

/** Which dialog is open. */
type Open =
  | { readonly kind: 'none' | 'keys' }
  | { readonly kind: 'edit'; readonly record: EventRecord }
  | { readonly kind: 'text'; readonly title: string; readonly text: string }

/** Opens dialogs; one at a time. */
export class Dialogs {
  readonly open = signal<Open>({ kind: 'none' })

  /** Edits a request before it is sent again. */
  edit(record: EventRecord): void {
    this.open.value = { kind: 'edit', record }
  }

  /** Shows a text that can be copied by hand. */
  show(title: string, text: string): void {
    this.open.value = { kind: 'text', title, text }
  }

  /** Shows the keys. */
  keys(): void {
    this.open.value = { kind: 'keys' }
  }

  /** Closes the one that is open. */
  close(): void {
    this.open.value = { kind: 'none' }
  }
}

/** The dialog that is open, if any. */
export function OpenDialog({
  session,
  dialogs,
}: {
  readonly session: Session
  readonly dialogs: Dialogs
}): JSX.Element | null {
  const open = dialogs.open.value
  switch (open.kind) {
    case 'none':
      return null
    case 'edit':
      return <EditDialog record={open.record} {...{ session, dialogs }} />
    case 'text':
      return (
        <Dialog title={open.title} dialogs={dialogs}>
          <textarea readOnly rows={8} aria-label={open.title} value={open.text} />
          <div class="actions">
            <button type="button" onClick={() => dialogs.close()}>
              Close
            </button>
          </div>
        </Dialog>
      )
    case 'keys':
      return <KeysDialog dialogs={dialogs} />
  }
}

function Dialog({
  title,
  dialogs,
  children,
}: {
  readonly title: string
  readonly dialogs: Dialogs
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

const keys = [
  ['j, k', 'older or newer request'],
  ['enter', 'read the request'],
  ['r', 'resend'],
  ['e', 'edit and resend'],
  ['c', 'copy as curl'],
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
      <div class="actions">
        <button type="button" onClick={() => dialogs.close()}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

interface EditParts {
  readonly record: EventRecord
  readonly session: Session
  readonly dialogs: Dialogs
}

function EditDialog({ record, session, dialogs }: EditParts): JSX.Element {
  const body = textOf(bytesOf(record))
  const send = (event: SubmitEvent): void => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    const edit = {
      path: textOfField(fields, 'path'),
      headers: headersOf(textOfField(fields, 'headers')),
      // A form has other line breaks than the text that was typed.
      body: textOfField(fields, 'body').replaceAll('\r\n', '\n'),
    }
    dialogs.close()
    void session.resend(record.seq, edit)
  }
  return (
    <Dialog title={`Edit and resend #${record.seq}`} dialogs={dialogs}>
      {body === undefined ? (
        <p class="problem">Its body is not text: what you write replaces it.</p>
      ) : null}
      <form onSubmit={send}>
        <label>
          Path
          <input name="path" required pattern="/.*" value={record.path} />
        </label>
        <label>
          Headers, one a line
          <textarea name="headers" rows={5} spellcheck={false}>
            {headersText(record)}
          </textarea>
        </label>
        <label>
          Body
          <textarea name="body" rows={12} spellcheck={false}>
            {body ?? ''}
          </textarea>
        </label>
        <p class="muted">It is signed anew with the secret of the receiver.</p>
        <div class="actions">
          <button type="submit" class="primary">
            Send
          </button>
          <button type="button" onClick={() => dialogs.close()}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** What the receiver writes itself. */
const madeHeaders = new Set(['host', 'content-length', 'connection', 'x-signature'])

function headersText({ headers }: EventRecord): string {
  return Object.entries(headers)
    .filter(([name]) => !madeHeaders.has(name))
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function textOfField(fields: FormData, name: string): string {
  const value = fields.get(name)
  return typeof value === 'string' ? value : ''
}

function headersOf(text: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const line of text.split('\n')) {
    const [, name, value] = /^([^:\s]+):\s*(.*?)\s*$/.exec(line) ?? []
    if (name !== undefined) headers[name] = value ?? ''
  }
  return headers
}
