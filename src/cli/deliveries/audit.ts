import { recordLine } from '../../model/index.ts'
import { auditEquations, equationText, type AuditEquation } from '../../delivery/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import type { ReadersRun } from '../store-access/readers.ts'

/** Prints the equations that the counts of a store must satisfy. Returns 1 if one does not hold. */
export async function auditStore({ deliveries, io, json, style }: ReadersRun): Promise<ExitCode> {
  const audit = await deliveries.audit()
  const equations = auditEquations(audit)
  const wrong = equations.filter(({ difference }) => difference !== 0)
  if (json) {
    await writeData(io, recordLine(audit))
  } else {
    await writeData(io, equations.map((equation) => lineOf(equation, style)).join(''))
    if (wrong.length > 0) io.stderr.write(`${failureText(wrong.length, equations.length)}\n`)
  }
  return wrong.length === 0 ? exitCodes.ok : exitCodes.internal
}

function lineOf(equation: AuditEquation, style: Style): string {
  const { difference, whole, parts } = equation
  if (parts.length === 0 && difference === 0) return `${style.good('✔')} no ${whole.name}\n`
  const text = equationText(equation, formatCount)
  if (difference === 0) return `${style.good('✔')} ${text}\n`
  const side = difference > 0 ? 'too many' : 'too few'
  return `${style.bad('✖')} ${text}: ${style.bad(`${formatCount(Math.abs(difference))} ${side} on the left`)}\n`
}

function failureText(wrong: number, all: number): string {
  return `The ledger does not balance: ${wrong} of ${all} equations ${wrong === 1 ? 'does' : 'do'} not hold`
}
