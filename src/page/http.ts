export interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a request, and returns its answer. Throws an Error if no whole answer arrives. */
export async function sendRequest(path: string, init?: RequestInit): Promise<Answer> {
  try {
    const answer = await fetch(path, init)
    return { status: answer.status, text: await answer.text() }
  } catch {
    throw new Error('There is no answer. Is evroute still running?')
  }
}

/** Makes a query. Leaves out parameters that are undefined or empty. */
export function queryOf(
  parameters: Readonly<Record<string, string | number | undefined>>,
): URLSearchParams {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && value !== '',
  )
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
}

/** Adds a query to a path, if any parameter is given. */
export function withQuery(path: string, parameters: Parameters<typeof queryOf>[0]): string {
  const query = String(queryOf(parameters))
  return query === '' ? path : `${path}?${query}`
}

/** Posts a body, JSON by default. The server refuses media types that forms on other sites can send. */
export function post(
  path: string,
  body: BodyInit,
  mediaType = 'application/json',
): Promise<Answer> {
  return sendRequest(path, { method: 'POST', headers: { 'content-type': mediaType }, body })
}

/** Parses an answer. Throws an Error with the message and the hint of an error answer. */
export function jsonOf({ status, text }: Answer): unknown {
  const body = parsed(text === '' ? '{}' : text)
  if (status < 400 && body.error?.message === undefined) return body
  const { message = `The server answered ${status}`, hint } = body.error ?? {}
  throw new Error(hint === undefined ? message : `${message}.\n${hint}`)
}

function parsed(text: string): {
  readonly error?: { readonly message?: string; readonly hint?: string } | null
} {
  try {
    return JSON.parse(text) as ReturnType<typeof parsed>
  } catch {
    throw new Error('The answer does not come from evroute. Is there a proxy in between?')
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
