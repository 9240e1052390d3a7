import { useEffect, useState } from 'preact/hooks'

/** Something that is read from the server. */
export type Reading<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'read'; readonly value: Value }

/** Reads something again whenever a dependency changes, and shows the value before until the next one is there. */
export function useRead<Value>(
  read: () => Promise<Value>,
  dependencies: readonly unknown[],
): Reading<Value> {
  const [reading, setReading] = useState<Reading<Value>>({ kind: 'loading' })
  useEffect(() => {
    let isWanted = true
    const set = (next: Reading<Value>): void => {
      if (isWanted) setReading(next)
    }
    read().then(
      (value) => set({ kind: 'read', value }),
      (error: unknown) => set({ kind: 'failed', message: messageOf(error) }),
    )
    return () => {
      isWanted = false
    }
  }, dependencies)
  return reading
}

/** Says what went wrong, for a person. */
export function messageOf(error: unknown): string {
  // A browser says of a server that is gone no more than that.
  if (error instanceof TypeError) return 'There is no answer. Is it still running?'
  return error instanceof Error ? error.message : String(error)
}

/** Counts up in an interval, so that something is read again. */
export function useTick(everyMs: number): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setCount((before) => before + 1), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return count
}
