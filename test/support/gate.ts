/** A promise, `opened`, and the function that resolves it. */
export interface Gate {
  readonly opened: Promise<void>
  readonly open: () => void
}

/** Makes a closed gate. Code that awaits `opened` continues once `open` is called. */
export function gate(): Gate {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
