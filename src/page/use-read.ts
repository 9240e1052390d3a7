import { useEffect, useState } from 'preact/hooks'

/** State of a read from the server. */
export type Reading<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly message: string; readonly value?: Value | undefined }
  | { readonly kind: 'read'; readonly value: Value }

/** Reads again when a dependency changes. Keeps the previous value until the next one arrives, also after an error. */
export function useRead<Value>(
  read: () => Promise<Value>,
  dependencies: readonly unknown[],
): Reading<Value> {
  const [reading, setReading] = useState<Reading<Value>>({ kind: 'loading' })
  useEffect(() => {
    let isWanted = true
    read().then(
      (value) => isWanted && setReading({ kind: 'read', value }),
      (error: unknown) => {
        const message = messageOf(error)
        if (isWanted)
          setReading((before) => ({ value: undefined, ...before, kind: 'failed', message }))
      },
    )
    return () => {
      isWanted = false
    }
  }, dependencies)
  return reading
}

export function messageOf(error: unknown): string {
  if (hasNoAnswer(error)) return 'There is no answer. Is evroute still running?'
  if (error instanceof SyntaxError)
    return 'The answer does not come from evroute. Is a proxy in between?'
  return error instanceof Error ? error.message : String(error)
}

/** Whether the server could not be reached, in which case fetch rejects with a TypeError. */
export function hasNoAnswer(error: unknown): boolean {
  return error instanceof TypeError
}

/** Reads again every five seconds and when a dependency changes. */
export function usePolled<Value>(
  read: () => Promise<Value>,
  dependencies: readonly unknown[],
  everyMs = 5_000,
): Reading<Value> {
  return useRead(read, [useTick(everyMs), ...dependencies])
}

/** Counts up at an interval. */
function useTick(everyMs: number): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setCount((before) => before + 1), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return count
}
