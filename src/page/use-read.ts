import { useEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from './http.ts'

export type Reading<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly message: string; readonly value?: Value | undefined }
  | { readonly kind: 'read'; readonly value: Value }

/**
 * Reads again when a dependency changes. Keeps the previous value until the next one arrives, even after an error.
 * Ignores an answer only if a later read was answered first. Doesn't wait for the latest read, because reads may begin
 * faster than the server answers.
 */
export function useRead<Value>(
  read: () => Promise<Value>,
  dependencies: readonly unknown[],
): Reading<Value> {
  const [reading, setReading] = useState<Reading<Value>>({ kind: 'loading' })
  const begun = useRef(0)
  const shown = useRef(0)
  useEffect(() => {
    const number = ++begun.current
    const show = (next: (before: Reading<Value>) => Reading<Value>): void => {
      if (number < shown.current) return
      shown.current = number
      setReading(next)
    }
    read().then(
      (value) => show(() => ({ kind: 'read', value })),
      (error: unknown) =>
        show((before) => ({
          value: undefined,
          ...before,
          kind: 'failed',
          message: messageOf(error),
        })),
    )
  }, dependencies)
  return reading
}

/** Reads again every five seconds and when a dependency changes. */
export function usePolled<Value>(
  read: () => Promise<Value>,
  dependencies: readonly unknown[],
  everyMs = 5_000,
): Reading<Value> {
  return useRead(read, [useTick(everyMs), ...dependencies])
}

export function useTick(everyMs: number): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setCount((before) => before + 1), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return count
}
