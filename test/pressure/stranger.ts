import type { PressureFinding } from './scenario.ts'

/** An attack, and what was measured beside it. */
export interface Stranger {
  /** What the stranger did. */
  readonly did: string
  /** The longest wait of a good client. */
  readonly waitMs: number
  /** How much the memory of the process grew. */
  readonly grownBytes: number
  /** How often a good client was refused. */
  readonly refused: number
}

/** Judges an attack: good clients are answered within a second, and memory stays bounded. */
export function strangerFinding({ did, waitMs, grownBytes, refused }: Stranger): PressureFinding {
  const grownMb = grownBytes / 1_048_576
  return {
    must: `${did}: a good client waits 1 s at most and is never refused, memory grows by 150 MB at most`,
    measured: `waited ${waitMs.toFixed(0)} ms, refused ${refused} times, memory ${grownMb.toFixed(0)} MB`,
    holds: waitMs <= 1_000 && refused === 0 && grownMb <= 150,
  }
}
