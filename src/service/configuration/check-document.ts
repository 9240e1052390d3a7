import type { z } from 'zod'
import { nearestName } from '../../model/index.ts'
import { documentSchema, type ConfigurationDocument } from './document.ts'
import { shownValue, type DocumentPath, type PlacedProblem } from './problem.ts'

type DocumentOutcome =
  | { readonly kind: 'valid'; readonly document: ConfigurationDocument }
  | { readonly kind: 'invalid'; readonly problems: readonly PlacedProblem[] }

/** Checks each setting by itself and fills in defaults. Problems don't quote a text or number that `mayBeSecret`. */
export function checkDocument(
  given: unknown,
  mayBeSecret: (path: DocumentPath) => boolean,
): DocumentOutcome {
  const result = documentSchema.safeParse(given)
  if (result.success) return { kind: 'valid', document: result.data }
  const problems = placeIssues(result.error.issues, [])
  return {
    kind: 'invalid',
    problems: problems.map(({ path, accepted, hint }) =>
      accepted === undefined
        ? { path, message: 'Cannot use this key: there is no such setting', hint }
        : { path, message: complaint(valueAt(given, path), mayBeSecret(path), accepted) },
    ),
  }
}

interface PlacedIssue {
  readonly path: DocumentPath
  /** The accepted values; undefined for an unknown key. */
  readonly accepted?: string
  readonly hint?: string
}

function placeIssues(
  issues: readonly z.core.$ZodIssue[],
  base: DocumentPath,
): readonly PlacedIssue[] {
  return issues.flatMap((issue): readonly PlacedIssue[] => {
    const path = [...base, ...(issue.path as DocumentPath)]
    if (issue.code === 'unrecognized_keys') {
      const known = issue.message.split(', ')
      return issue.keys.map((key) => ({ path: [...path, key], hint: keyHint(key, known) }))
    }
    if (issue.code === 'invalid_union') {
      // If all problems of an alternative are inside the value, that alternative was meant: report only its problems.
      const meant = issue.errors.find((inner) =>
        inner.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'),
      )
      if (meant !== undefined) return placeIssues(meant, path)
    }
    return [{ path, accepted: issue.message }]
  })
}

function keyHint(key: string, known: readonly string[]): string {
  if (key === 'pendingDeliveries') {
    return 'Set backlogMax instead. It limits the pending deliveries of each destination, and evroute accepts calls even when a backlog is full.'
  }
  const meant = nearestName(key, known)
  return meant === undefined
    ? `The settings here are ${known.join(', ')}.`
    : `Did you mean "${meant}"?`
}

function complaint(value: unknown, mayBeSecret: boolean, accepted: string): string {
  if (value === undefined) return `Cannot be left out: it must be ${accepted}`
  const isHidden = mayBeSecret && (typeof value === 'string' || typeof value === 'number')
  return `Cannot use ${isHidden ? 'this value' : shownValue(value)}: it must be ${accepted}`
}

function valueAt(document: unknown, path: DocumentPath): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Readonly<Record<string | number, unknown>>)[key],
    document,
  )
}
