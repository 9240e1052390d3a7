import type { ComponentChildren, JSX } from 'preact'
import { visibleText } from './text.ts'
import type { Reading } from './use-read.ts'

/** Shows the value of a read, its error, or that it is still loading. */
export function Shown<Value>({
  reading,
  children,
}: {
  readonly reading: Reading<Value>
  readonly children: (value: Value) => ComponentChildren
}): JSX.Element {
  if (reading.kind === 'loading') return <p class="empty">Reading…</p>
  if (reading.kind === 'failed') return <p class="empty problem">{reading.message}</p>
  return <>{children(reading.value)}</>
}

/** A name and its value in a list of facts. */
export function Pair({
  name,
  children,
}: {
  readonly name: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div>
      <dt>{visibleText(name)}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** A section with a heading, and an optional control beside the heading. */
export function Part({
  title,
  aside,
  children,
}: {
  readonly title: string
  readonly aside?: JSX.Element
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class="part-of-detail">
      <div class="part-head">
        <h3>{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  )
}
