import { useEffect, useState } from 'preact/hooks'

/** State of a read from the server. */
export type Reading<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'read'; readonly value: Value }

/** Reads again when a dependency changes. Keeps the previous value until the next one arrives. */
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

/** The message of an error, for a person. */
export function messageOf(error: unknown): string {
  if (hasNoAnswer(error)) return 'There is no answer. Is evroute still running?'
  return error instanceof Error ? error.message : String(error)
}

/** Whether the server could not be reached: fetch rejects with a TypeError then. */
export function hasNoAnswer(error: unknown): boolean {
  return error instanceof TypeError
}

/** Counts up at an interval: a dependency that makes `useRead` poll. */
export function useTick(everyMs: number): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setCount((before) => before + 1), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return count
}
