import type { Conditions } from './api.ts'

/** Which view is shown. */
export type Route =
  | { readonly view: 'overview' | 'destinations' }
  | { readonly view: 'deliveries'; readonly conditions: Conditions }
  | { readonly view: 'story'; readonly id: string }

/** Reads the view from the address behind `#`. */
export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [view, ...rest] = path.split('/')
  if (view === 'destinations') return { view }
  if (view !== 'deliveries') return { view: 'overview' }
  if (rest.length > 0) return { view: 'story', id: decoded(rest.join('/')) }
  return { view, conditions: Object.fromEntries(new URLSearchParams(query)) }
}

/** The address of the deliveries that meet some conditions. */
export function deliveriesPath(conditions: Conditions): string {
  const given = Object.entries(conditions).filter(([, value]) => value !== '')
  return `#/deliveries?${new URLSearchParams(given)}`
}

/** The address of a delivery's story. */
export function storyPath(id: string): string {
  return `#/deliveries/${encodeURIComponent(id)}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
