import { inTurn } from '../in-turn.ts'
import { Program } from '../program.ts'
import { ratiosOf, type BenchCase, type BenchReport } from '../report.ts'
import { Sink } from '../sink/sink.ts'
import { median } from '../table.ts'
import type { CoresAnswer, CoresQuestion, CoresSettings } from './cores-program.ts'

const rounds = 5
const webhooks = 40_000
const threadCounts = [0, 1, 2, 4] as const

const fakeEndpoint = new URL('fake-endpoint.ts', import.meta.url)

type CoresProgram = Program<CoresQuestion, CoresAnswer>

/** Compares the rate and the CPU time with sender threads to those of a main thread that sends. */
export async function benchCores(): Promise<BenchReport> {
  const sink = await Sink.start()
  try {
    return {
      bench: 'cores',
      measured: `signed webhooks to 8 destinations with and without sender threads, from the first accepted to the last settled, ${rounds} rounds; CPU time in microseconds per webhook`,
      cases: [
        ...(await casesTo(undefined, 'fake endpoint')),
        ...(await casesTo(sink.origin, 'sockets')),
      ],
      mustReach: 'on two cores no slower than the main thread alone, for at most 10 % more CPU',
      packages: ['undici'],
    }
  } finally {
    await sink.end()
  }
}

/** @param origin - undefined for the fake endpoint in the process */
async function casesTo(origin: string | undefined, kind: string): Promise<readonly BenchCase[]> {
  const programs = new Map<string, CoresProgram>()
  try {
    for (const senderThreads of threadCounts) {
      const settings: CoresSettings =
        origin === undefined ? { senderThreads } : { senderThreads, origin }
      const url = new URL('cores-program.ts', import.meta.url)
      const preload = origin === undefined ? fakeEndpoint : undefined
      programs.set(nameOf(senderThreads, kind), await Program.start(url, settings, preload))
    }
    const results = await inTurn([...programs.keys()], rounds, async (name) => {
      const program = programs.get(name)
      if (program === undefined) throw new Error(`There is no program for ${name}`)
      return await program.ask({ webhooks })
    })
    const alone = results.get(nameOf(0, kind)) ?? []
    return Array.from(results, ([name, measured]) => caseOf(name, measured, alone))
  } finally {
    for (const program of programs.values()) await program.end()
  }
}

function nameOf(threads: number, kind: string): string {
  return threads === 0
    ? `${kind}, main thread`
    : `${kind}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`
}

function caseOf(
  name: string,
  measured: readonly CoresAnswer[],
  alone: readonly CoresAnswer[],
): BenchCase {
  const of = (field: keyof CoresAnswer): number => median(measured.map((each) => each[field]))
  const rates = (answers: readonly CoresAnswer[]): readonly number[] =>
    answers.map(({ perSecond }) => perSecond)
  return {
    name,
    rate: of('perSecond'),
    unit: 'webhooks/s',
    beside: {
      'main thread': ratiosOf(rates(measured), rates(alone)),
      "main thread's CPU": ratiosOf(measured.map(totalCpuUs), alone.map(totalCpuUs)),
    },
    figures: {
      mainCpuUs: of('mainCpuUs'),
      sendersCpuUs: of('sendersCpuUs'),
      storeCpuUs: of('storeCpuUs'),
      otherCpuUs: of('otherCpuUs'),
      idleShare: of('idleShare'),
    },
  }
}

function totalCpuUs({ mainCpuUs, sendersCpuUs, storeCpuUs, otherCpuUs }: CoresAnswer): number {
  return mainCpuUs + sendersCpuUs + storeCpuUs + otherCpuUs
}
