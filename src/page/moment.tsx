import type { JSX } from 'preact'
import { durationText } from './text.ts'

/** A moment, and how far it is from now. */
export function Moment({ at }: { readonly at: string }): JSX.Element {
  const awayMs = Date.parse(at) - Date.now()
  const away = durationText(Math.abs(awayMs))
  return (
    <time dateTime={at} title={at}>
      {new Date(at).toLocaleString('sv')} ({awayMs > 0 ? `in ${away}` : `${away} ago`})
    </time>
  )
}
