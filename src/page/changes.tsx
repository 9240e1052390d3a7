import type { JSX } from 'preact'
import type { PayloadChanges } from '../receiver/index.ts'
import { read } from './api.ts'
import { Button } from './button.tsx'
import { session } from './session.ts'
import { Pair, Shown } from './shown.tsx'
import { counted } from './text.ts'
import { useRead } from './use-read.ts'

/** The differences from the request that was chosen for a comparison. */
export function Comparison({ seq }: { readonly seq: number }): JSX.Element | null {
  const other = session.compared.value
  if (other == null) return null
  return (
    <section class="comparison card" aria-label="Comparison">
      <div class="actions">
        <h3>
          #{seq} compared with #{other}
        </h3>
        <Button label="End comparison" class="link push" onClick={() => session.leave()} />
      </div>
      <Changes key={other} {...{ seq, other }} />
    </section>
  )
}

/** The differences from another payload; by default, from the previous one of the same user or group. */
export function Changes({
  seq,
  other,
}: {
  readonly seq: number
  readonly other?: number
}): JSX.Element {
  const reading = useRead(() => read('changes', { seq, with: other }), [seq, other])
  return <Shown reading={reading}>{(changes) => <ChangeList seq={seq} {...changes} />}</Shown>
}

function ChangeList({
  seq,
  previous,
  changes,
  more,
}: PayloadChanges & { readonly seq: number }): JSX.Element {
  if (previous === null) return <p class="muted">There is no earlier event to compare with.</p>
  if (changes.length === 0) {
    return (
      <p class="muted">
        Apart from messageId and timestamp, the payload is the same as in #{previous}.
      </p>
    )
  }
  return (
    <>
      <p class="muted">
        From #{previous} to #{seq}
      </p>
      <dl class="pairs changes">
        {changes.map(({ path, before, after }) => (
          <Pair key={path} name={path}>
            {before === null ? <span class="muted">absent</span> : <del>{before}</del>}
            <span class="muted"> → </span>
            {after === null ? <span class="muted">absent</span> : <ins>{after}</ins>}
          </Pair>
        ))}
      </dl>
      {more === 0 ? null : <p class="muted">{counted(more, 'more change')} not shown</p>}
    </>
  )
}
