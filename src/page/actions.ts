import type { EventRecord } from '../receiver/index.ts'
import { act, read, type NewRequest, type RequestEdit } from './api.ts'
import { copy } from './copy.tsx'
import { tell, tried, type Notice } from './notice.tsx'
import { session } from './session.ts'
import { reasonText, signatureTexts } from './text.ts'

/** Sends a request again. The receiver signs an edited request, and an unchanged one only if `sign` is true. */
export function resend(
  { seq, endpoint, path, headers, rawBase64 }: EventRecord,
  { edit, sign = false }: { readonly edit?: RequestEdit; readonly sign?: boolean } = {},
): Promise<boolean> {
  const where = edit?.url === undefined ? '' : ` to ${edit.url}`
  const how = edit === undefined ? ' without changes' : ` edited${where}`
  // Send what the page has, because the receiver may have dropped the request.
  return send(edit ?? { path, headers, rawBase64, sign }, {
    what: sign ? `Signed and resent #${seq}` : `Resent #${seq}${how}`,
    endpoint: endpoint ?? 1,
  })
}

/** Sends a request. Returns false if it was not sent, or not answered. */
export async function send(
  request: NewRequest,
  { what, endpoint = 1 }: { readonly what: string; readonly endpoint?: number },
): Promise<boolean> {
  const sent = await tried(() => act('send', { request, endpoint }))
  if (sent === undefined) return false
  const { status, error, seq, signature } = sent
  const end =
    status === null ? reasonText(error ?? 'there was no answer') : `the answer is ${status}`
  const isChecked = signature !== null && signature !== 'unchecked'
  const verdict = isChecked ? ` Signature ${signatureTexts[signature]}.` : ''
  // While a capture is shown, `select` would show the captured request with this number.
  const isHidden = seq === null || session.capture.value !== undefined
  const offer = isHidden
    ? undefined
    : { label: `Show #${seq}`, act: () => void session.select(seq) }
  tell(`${what}: ${end}.${verdict}`, { isProblem: status === null || status >= 400, offer })
  return status !== null
}

/** Answers the next webhook with a status or a fault, after a delay such as `2s`. */
export function setNextAnswer(answer: number | string, delay: string): Promise<boolean> {
  const after = delay === '' ? '' : ` after ${delay}`
  return actWithUndo({
    name: 'next-answer',
    body: { answer, delay: delay === '' ? undefined : delay },
    text: `The next webhook gets ${answer}${after}.`,
    undo: () =>
      actWithUndo({
        name: 'next-answer',
        body: { answer: null },
        text: 'The next webhook gets its usual answer.',
      }),
  })
}

/** Replaces the answer plans, one per line. Undo restores the plans in `before`. */
export function setPlan(text: string, before: string): Promise<boolean> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return actWithUndo({
    name: 'plan',
    body: { plan: lines.length === 0 ? ['200'] : lines },
    text: 'The plan is set. It begins with the next webhook.',
    undo: () => setPlan(before, text),
  })
}

/** Adds an expectation, which counts webhooks from now on. Returns false if the receiver did not add it. */
export async function expect(text: string): Promise<boolean> {
  const added = await tried(() => act('expect', { expect: text }))
  if (added === undefined) return false
  session.version.value += 1
  const undo = { label: 'Undo', act: () => void forget(added.id, text) }
  tell(`Expecting ${text} from now on.`, { offer: undo })
  return true
}

export async function expectLike(seq: number): Promise<void> {
  const found = await tried(() => read('expectation', { seq }))
  if (found !== undefined) await expect(found.text)
}

export function forget(id: number, text: string): Promise<boolean> {
  return actWithUndo({
    name: 'forget',
    body: { id },
    text: 'The expectation has been removed.',
    undo: () => expect(text),
  })
}

/** Copies the match condition for a value of a payload, and offers to filter by it. */
export async function copyCondition(keys: readonly string[], value: unknown): Promise<void> {
  // For a long text, the condition only asks whether the key is there.
  const isLong = typeof value === 'string' && value.length > 1_000
  const query = { keys: JSON.stringify(keys), value: isLong ? '{}' : JSON.stringify(value) }
  const condition = await tried(() => read('condition', query))
  if (condition === undefined) return
  const { text } = condition
  const offer = { label: 'Filter by it', act: () => void session.setFilter(text) }
  await copy('condition', text, { text: `Copied ${text}`, offer })
}

interface Undoable extends Pick<Notice, 'text'> {
  readonly name: 'next-answer' | 'plan' | 'forget'
  readonly body: object
  readonly undo?: () => Promise<boolean>
}

async function actWithUndo({ name, body, text, undo }: Undoable): Promise<boolean> {
  const done = await tried(() => act(name, body))
  if (done === undefined) return false
  session.version.value += 1
  tell(text, { offer: undo && { label: 'Undo', act: () => void undo() } })
  return true
}
