import { collectDefaultMetrics, Registry, type MetricValueWithName } from 'prom-client'
import { Breather } from '../../runtime/index.ts'

/** Lines to write before checking whether to yield. */
const linesAtOnce = 100

/** Writes metrics as prom-client does, but yields in between: a thousand destinations make 50,000 lines. */
export async function metricsText(registry: Registry): Promise<string> {
  const breather = new Breather()
  const lines: string[] = []
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = registry.getSingleMetric(name)
    if (metric === undefined) continue
    const { help, type, values } = await metric.get()
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    for (const [index, value] of values.entries()) {
      if (index % linesAtOnce === 0) await breather.breathe()
      lines.push(lineOf(name, value))
    }
    lines.push('')
  }
  return lines.join('\n')
}

function lineOf(
  name: string,
  { metricName = name, labels, value }: Partial<MetricValueWithName<string>>,
): string {
  const pairs = Object.entries(labels ?? {}).map(([label, of]) => `${label}="${escaped(of)}"`)
  const shown = value === Infinity ? '+Inf' : String(value)
  return `${metricName}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${shown}`
}

function escaped(value: string | number | undefined): string {
  return String(value).replace(/[\\"\n]/g, (character) =>
    character === '\n' ? '\\n' : `\\${character}`,
  )
}

let processRegistry: Registry | undefined

/** Returns the metrics of this process. Creates them only once, because prom-client cannot stop collecting them. */
export function processMetrics(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry()
    collectDefaultMetrics({ register: processRegistry })
  }
  return processRegistry
}
