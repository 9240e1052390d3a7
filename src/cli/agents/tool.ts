import { realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { z } from 'zod'

/** A tool that `evroute mcp` offers to a coding agent. Its input is checked before it runs. */
export interface AgentTool {
  readonly name: string
  readonly description: string
  readonly input: z.ZodObject
  readonly output: z.ZodObject
  run(input: unknown, signal: AbortSignal): Promise<object> | object
}

interface ToolParts<Shape extends z.core.$ZodLooseShape> extends Omit<AgentTool, 'input' | 'run'> {
  readonly input: Shape
  run(input: z.output<z.ZodObject<Shape>>, signal: AbortSignal): Promise<object> | object
}

/** Makes a tool from the fields of its input. It refuses other fields. */
export function tool<Shape extends z.core.$ZodLooseShape>(parts: ToolParts<Shape>): AgentTool {
  return { ...parts, input: z.strictObject(parts.input) }
}

/** Maximum length of a text in an input. */
export const textMax = 1_000

/** Makes the schema of a short text. */
export const text = () => z.string().max(textMax)

/** The schema of a secret to sign or verify with. */
export const secret = text()
  .refine(
    isOwnSecret,
    'A secret can be text, env:EVROUTE_..., or @ followed by a file below this folder',
  )
  .optional()
  .describe('The shared secret: text, env:EVROUTE_... or @file. Default: EVROUTE_SECRET.')

/** The schema of records in an output. */
export const records = z.array(z.record(z.string(), z.unknown()))

/** The schema of the number of records that an output leaves out. */
export const omitted = z
  .int()
  .describe('The number of results left out. Use a lower limit or a narrower filter to see them.')

/** Whether an agent may sign with a secret. Signatures with other files or variables would help to guess them. */
function isOwnSecret(secret: string): boolean {
  if (!secret.startsWith('@')) return !/^env:(?!EVROUTE_(?!ADMIN_TOKEN$|STORE$))/.test(secret)
  const path = relative(realPath('.'), realPath(secret.slice(1)))
  return !isAbsolute(path) && !/^\.\.([/\\]|$)/.test(path)
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // A missing file is reported when the secret is read.
    return resolve(path)
  }
}
