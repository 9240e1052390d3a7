/** Resolves with the result of the work, or with undefined as soon as the signal aborts. */
export async function stoppable<Result>(
  work: Promise<Result>,
  stop: AbortSignal,
): Promise<Result | undefined> {
  let end = (): void => undefined
  const stopped = new Promise<undefined>((resolve) => (end = () => resolve(undefined)))
  if (stop.aborted) end()
  stop.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([work, stopped])
  } finally {
    stop.removeEventListener('abort', end)
  }
}

/** Yields the parts of an iteration. Throws the signal's reason as soon as it aborts, even while waiting for a part. */
export async function* stoppableStream<Part>(
  parts: AsyncIterable<Part>,
  stop: AbortSignal,
): AsyncGenerator<Part, void> {
  const iterator = parts[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await stoppable(iterator.next(), stop)
      stop.throwIfAborted()
      if (next === undefined || next.done === true) return
      yield next.value
    }
  } finally {
    // Don't wait after an abort: closing waits for the next part, which may never come.
    const closed = iterator.return?.()
    if (stop.aborted) closed?.catch(() => undefined)
    else await closed
  }
}
