import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

/** Draws the terminal of the README from a real run: `listen` beside a few `send`. */

const binary = fileURLToPath(new URL('../../bin/evroute.js', import.meta.url))
const order = '--event "Order Completed" --user-id u_1 revenue:=39.95'
const commands = [`send track --secret s3cret ${order}`, 'send identify --secret wrong plan=pro']

/** A process with the output that it has written so far. */
class Command {
  readonly ended: Promise<unknown>
  readonly #child: ChildProcess
  #output = ''
  #grew: () => void = () => undefined

  constructor(line: string) {
    const args = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)
    this.#child = spawn(process.execPath, [binary, ...args], {
      env: { FORCE_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text
        this.#grew()
      })
    }
    this.ended = once(this.#child, 'close')
  }

  get lines(): readonly string[] {
    return this.#output.trimEnd().split('\n')
  }

  /** Waits for a text. */
  async says(pattern: RegExp): Promise<void> {
    while (!pattern.test(stripVTControlCharacters(this.#output))) {
      const grown = new Promise<void>((resolve) => (this.#grew = resolve))
      await Promise.race([grown, this.ended.then(() => Promise.reject(new Error(this.#output)))])
    }
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGINT')
    await this.ended
  }
}

/** The lines of both terminals, with their escape sequences. */
async function record(): Promise<readonly string[]> {
  const listening = 'listen --secret s3cret'
  const receiver = new Command(listening)
  await receiver.says(/Ctrl-C/)
  const senders: string[] = []
  for (const [index, line] of commands.entries()) {
    const sender = new Command(line)
    await sender.ended
    await receiver.says(new RegExp(`#${index + 1} `))
    senders.push('', prompt(line), ...sender.lines)
  }
  await receiver.says(/Signature was/)
  await receiver.stop()
  // On a terminal, the suggested command contains the secret. In a pipe, as here, it doesn't.
  const shown = receiver.lines.map((line) => line.replace('--secret ...', '--secret s3cret'))
  return [prompt(listening), ...shown, '', rule, ...senders.slice(1)]
}

const prompt = (line: string): string => `\u001b[2m$\u001b[22m npx evroute ${line}`
const rule = '\u001b[2m────────────────────────────────────────────────\u001b[22m'

/** The class that begins with each escape sequence. An empty name ends the classes of that kind. */
const classes: Readonly<Record<string, readonly [kind: 'weight' | 'color', name: string]>> = {
  1: ['weight', 'bold'],
  2: ['weight', 'dim'],
  22: ['weight', ''],
  31: ['color', 'red'],
  32: ['color', 'green'],
  33: ['color', 'yellow'],
  36: ['color', 'cyan'],
  39: ['color', ''],
}

function textOf(line: string): string {
  const current = { weight: '', color: '' }
  // A split at a group yields texts and codes in turn.
  const parts = line.split(/\u001b\[(\d+)m/)
  const spans = parts.map((part, index) => {
    if (index % 2 === 1) {
      const [kind, name] = classes[part] ?? []
      if (kind !== undefined) current[kind] = name ?? ''
      return ''
    }
    const names = Object.values(current).filter((name) => name !== '')
    const text = part.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    return names.length === 0 ? text : `<tspan class="${names.join(' ')}">${text}</tspan>`
  })
  return spans.join('')
}

const font = { size: 14, width: 8.43, line: 21 }
const margin = 20

function drawing(lines: readonly string[]): string {
  const columns = Math.max(...lines.map((line) => stripVTControlCharacters(line).length))
  const width = Math.ceil(columns * font.width) + 2 * margin
  const height = lines.length * font.line + 2 * margin
  const texts = lines.map((line, index) => {
    const y = margin + (index + 0.75) * font.line
    return `<text x="${margin}" y="${y}" xml:space="preserve">${textOf(line)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}">
<style>
text { font: ${font.size}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328 }
rect { fill: #f6f8fa; stroke: #d1d9e0 }
.bold { font-weight: bold } .dim { fill: #59636e }
.red { fill: #c41e2a } .green { fill: #116329 } .yellow { fill: #7d4e00 } .cyan { fill: #0a5d70 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } rect { fill: #151b23; stroke: #3d444d } .dim { fill: #9198a1 }
  .red { fill: #ff7b72 } .green { fill: #56d364 } .yellow { fill: #e3b341 } .cyan { fill: #76e3ea }
}
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${texts.join('\n')}
</svg>
`
}

const picture = new URL('../../docs/images/terminal.svg', import.meta.url)
await writeFile(picture, drawing(await record()))
