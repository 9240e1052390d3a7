import type { ComponentChildren, JSX } from 'preact'
import { dateText, durationText, visibleText } from './text.ts'
import { useTick, type Reading } from './use-read.ts'

/** How often ages such as "5 min ago" are updated. */
const agesMs = 5_000

/** Shows the value of a read once it has arrived. Shows an error above the last value. */
export function Shown<Value>({
  reading,
  children,
}: {
  readonly reading: Reading<Value>
  readonly children: (value: Value) => ComponentChildren
}): JSX.Element {
  if (reading.kind === 'loading') return <p class="muted">Reading…</p>
  return (
    <>
      {reading.kind === 'failed' ? <p class="problem">{reading.message}</p> : null}
      {reading.value === undefined ? null : children(reading.value)}
    </>
  )
}

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

/** A section with a heading. The control `aside` is beside the heading. */
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

/** A time, and how long ago it was or how soon it will be. */
export function Moment({ at }: { readonly at: string }): JSX.Element {
  useTick(agesMs)
  const awayMs = Date.parse(at) - Date.now()
  const away = durationText(Math.abs(awayMs))
  return (
    <time dateTime={at} title={at}>
      {dateText(at)}
      {new Date(at).toLocaleTimeString('sv')} ({awayMs > 0 ? `in ${away}` : `${away} ago`})
    </time>
  )
}
