import type { JSX } from 'preact'
import { durationText } from './text.ts'

/** A time, and how long ago it was or how soon it comes. */
export function Moment({ at }: { readonly at: string }): JSX.Element {
  const awayMs = Date.parse(at) - Date.now()
  const away = durationText(Math.abs(awayMs))
  return (
    <time dateTime={at} title={at}>
      {new Date(at).toLocaleString('sv')} ({awayMs > 0 ? `in ${away}` : `${away} ago`})
    </time>
  )
}
