import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { EventRecord } from '../receiver/index.ts'
import { resend, send } from './actions.ts'
import { read, type RequestEdit } from './api.ts'
import { Button } from './button.tsx'
import { closeDialog, dialog, Dialog, ReadDialog } from './dialog.tsx'
import { Choice, Field, filledFields } from './field.tsx'
import { bytesOf, textOf } from './text.ts'

export function EditDialog({ record }: { readonly record: EventRecord }): JSX.Element {
  const body = textOf(bytesOf(record))
  const shown = formatted(body ?? '')
  // If the body is unchanged, send it as it arrived: reformatting could hide why an application refuses it.
  const sent = (edit: RequestEdit): RequestEdit =>
    edit.body === shown ? { ...edit, body: body ?? '' } : edit
  return (
    <Dialog title={`Edit and resend #${record.seq}`}>
      {body === undefined ? (
        <p class="problem">The body is not text. Your text will replace it.</p>
      ) : null}
      <RequestForm
        initial={{ path: record.path, headers: headersText(record), body: shown }}
        send={(edit) => resend(record, { edit: sent(edit) })}
      />
    </Dialog>
  )
}

/** A form for a new webhook, filled with a sample of the chosen type. */
export function ComposeDialog(): JSX.Element {
  const [type, setType] = useState('track')
  return (
    <ReadDialog title="Compose a webhook" read={() => read('samples')}>
      {({ samples }) => (
        <>
          <Choice
            label="Type"
            options={Object.keys(samples)}
            chosen={type}
            onChange={({ currentTarget }) => setType(currentTarget.value)}
          />
          <RequestForm
            key={type}
            initial={{
              path: '/',
              headers: 'content-type: application/json',
              body: formatted(samples[type] ?? ''),
            }}
            send={(request) => send(request, { what: 'Sent' })}
          />
        </>
      )}
    </ReadDialog>
  )
}

interface FormParts {
  readonly initial: Readonly<Record<'path' | 'headers' | 'body', string>>
  /** Returns false if the request was not sent, or not answered. */
  readonly send: (request: RequestEdit) => Promise<boolean>
}

/** A form that sends a request. It stays open, with its text, until there is an answer. */
function RequestForm({ initial, send }: FormParts): JSX.Element {
  const [isSending, setSending] = useState(false)
  const submit = async (event: SubmitEvent): Promise<void> => {
    const { target = '', headers = '', body = '' } = filledFields(event)
    if (isSending) return
    setSending(true)
    const sentFrom = dialog.value
    const isSent = await send({
      ...(target.startsWith('/') ? { path: target } : { url: target }),
      headers: headersOf(headers),
      // Undo FormData's conversion of line breaks to CRLF.
      body: body.replaceAll('\r\n', '\n'),
    })
    if (isSent && dialog.value === sentFrom) closeDialog()
    setSending(false)
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Field
        label="URL or path"
        name="target"
        required
        pattern="/.*|https?://.+"
        title="A path that begins with /, or a URL"
        defaultValue={initial.path}
      />
      <label>
        Headers, one per line
        <textarea name="headers" rows={5} spellcheck={false}>
          {initial.headers}
        </textarea>
      </label>
      <label>
        Body
        <textarea name="body" rows={12} spellcheck={false}>
          {initial.body}
        </textarea>
      </label>
      <p class="muted">
        A path goes to this receiver, and a URL to that server. The request is signed with the
        secret of this receiver, if it has one.
      </p>
      <div class="actions">
        <Button label="Send" type="submit" class="primary" aria-disabled={isSending} />
        <Button label="Cancel" onClick={closeDialog} />
      </div>
    </form>
  )
}

/** Writes each member of compact JSON on its own line. Returns other texts as they are. */
function formatted(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}

/** Headers that the receiver sets when it sends a request. */
const madeHeaders = new Set(['host', 'content-length', 'connection', 'x-signature'])

function headersText({ headers }: EventRecord): string {
  return Object.entries(headers)
    .filter(([name]) => !madeHeaders.has(name))
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

function headersOf(text: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const line of text.split('\n')) {
    const [, name, value] = /^([^:\s]+):\s*(.*?)\s*$/.exec(line) ?? []
    if (name !== undefined) headers[name] = value ?? ''
  }
  return headers
}
