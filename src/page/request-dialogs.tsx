import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { EventRecord } from '../receiver/index.ts'
import { readSamples, type RequestEdit } from './api.ts'
import { Dialog, type Dialogs } from './dialog.tsx'
import type { Session } from './session.ts'
import { bytesOf, textOf } from './text.ts'
import { useRead } from './use-read.ts'

interface Parts {
  readonly session: Session
  readonly dialogs: Dialogs
}

/** Changes a request before it is sent again. */
export function EditDialog({
  record,
  session,
  dialogs,
}: Parts & { readonly record: EventRecord }): JSX.Element {
  const body = textOf(bytesOf(record))
  return (
    <Dialog title={`Edit and resend #${record.seq}`} dialogs={dialogs}>
      {body === undefined ? (
        <p class="problem">Its body is not text: what you write replaces it.</p>
      ) : null}
      <RequestForm
        initial={{ path: record.path, headers: headersText(record), body: body ?? '' }}
        dialogs={dialogs}
        send={(edit) => void session.resend(record, edit)}
      />
    </Dialog>
  )
}

/** Makes a webhook of a sample of its type. */
export function ComposeDialog({ session, dialogs }: Parts): JSX.Element {
  const reading = useRead(readSamples, [])
  const [type, setType] = useState('track')
  return (
    <Dialog title="Compose a webhook" dialogs={dialogs}>
      {reading.kind === 'read' ? (
        <RequestForm
          key={type}
          initial={{
            path: '/',
            headers: 'content-type: application/json',
            body: JSON.stringify(JSON.parse(reading.value[type] ?? '{}'), null, 2),
          }}
          dialogs={dialogs}
          send={(request) => void session.send(request)}
        >
          <label>
            Type
            <select name="type" onChange={({ currentTarget }) => setType(currentTarget.value)}>
              {Object.keys(reading.value).map((each) => (
                <option key={each} selected={each === type}>
                  {each}
                </option>
              ))}
            </select>
          </label>
        </RequestForm>
      ) : (
        <p class="empty">{reading.kind === 'failed' ? reading.message : 'Reading the samples…'}</p>
      )}
    </Dialog>
  )
}

interface FormParts {
  readonly initial: Readonly<Record<'path' | 'headers' | 'body', string>>
  readonly dialogs: Dialogs
  readonly send: (request: RequestEdit) => void
  readonly children?: ComponentChildren
}

function RequestForm({ initial, dialogs, send, children }: FormParts): JSX.Element {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    dialogs.close()
    const target = textOfField(fields, 'target')
    send({
      ...(target.startsWith('/') ? { path: target } : { url: target }),
      headers: headersOf(textOfField(fields, 'headers')),
      // A form has other line breaks than the text that was typed.
      body: textOfField(fields, 'body').replaceAll('\r\n', '\n'),
    })
  }
  return (
    <form onSubmit={submit}>
      {children}
      <label>
        URL or path
        <input
          name="target"
          required
          pattern="/.*|https?://.+"
          title="A path that begins with /, or a URL"
          defaultValue={initial.path}
        />
      </label>
      <label>
        Headers, one a line
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
        A path is one of the receiver. A whole URL sends it there instead. Both are signed with the
        secret of the receiver, if it has one.
      </p>
      <div class="actions">
        <button type="submit" class="primary">
          Send
        </button>
        <button type="button" onClick={() => dialogs.close()}>
          Cancel
        </button>
      </div>
    </form>
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
