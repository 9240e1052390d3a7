import type { PressureFinding } from './scenario.ts'

/** An attack, and its effect on good clients and on memory. */
export interface Stranger {
  /** What the attacker did. */
  readonly did: string
  /** The longest wait of a good client. */
  readonly waitMs: number
  /** How much the memory of the process grew. */
  readonly grownBytes: number
  /** How often a good client was refused. */
  readonly refused: number
}

/** Requires that good clients are answered within a second, and that memory stays bounded. */
export function strangerFinding({ did, waitMs, grownBytes, refused }: Stranger): PressureFinding {
  const grownMb = grownBytes / 1_048_576
  return {
    must: `${did}: a good client waits at most 1 s and is never refused, and memory grows by at most 150 MB`,
    measured: `waited ${waitMs.toFixed(0)} ms, refused ${refused} times, memory grew by ${grownMb.toFixed(0)} MB`,
    holds: waitMs <= 1_000 && refused === 0 && grownMb <= 150,
  }
}
