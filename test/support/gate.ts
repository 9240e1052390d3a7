/** A promise and the function that resolves it. */
export interface Gate {
  readonly opened: Promise<void>
  readonly open: () => void
}

/** Makes a gate that is shut: what waits for `opened` goes on once somebody calls `open`. */
export function gate(): Gate {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
