import { withQuery } from '../http.ts'
import type { Conditions } from './api.ts'

/** The current view and its parameters. */
export type Route =
  | { readonly view: PlainView }
  /** A page of the list begins with the delivery `before` a position. */
  | { readonly view: 'deliveries'; readonly conditions: Conditions; readonly before?: string }
  | { readonly view: 'destinations'; readonly search: string }
  | { readonly view: 'story' | 'audience'; readonly id: string }

export type PlainView = (typeof plainViews)[number]

const plainViews = ['overview', 'ledger', 'sources', 'audiences', 'deletions', 'replay'] as const

/** Reads the view from the fragment of the URL. */
export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [view, ...rest] = path.split('/')
  const id = decoded(rest.join('/'))
  if (view === 'audiences' && id !== '') return { view: 'audience', id }
  const parameters = new URLSearchParams(query)
  if (view === 'destinations') return { view, search: parameters.get('search') ?? '' }
  if (view !== 'deliveries') {
    return { view: plainViews.find((known) => known === view) ?? 'overview' }
  }
  if (id !== '') return { view: 'story', id }
  const { before = '', ...conditions } = Object.fromEntries(parameters)
  return { view, conditions, before }
}

export function deliveriesPath(conditions: Conditions, before = ''): string {
  return withQuery('#/deliveries', { ...conditions, before })
}

export function destinationsPath(search: string): string {
  return withQuery('#/destinations', { search })
}

export function audiencePath(key: string): string {
  return `#/audiences/${encodeURIComponent(key)}`
}

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
