import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { listen } from '../../../src/http/index.ts'
import { createRuntime, silentLog } from '../../../src/runtime/index.ts'
import { readServiceConfiguration, Service } from '../../../src/service/index.ts'
import { run, start, type Finished, type RunSettings } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

export const token = 'not-a-real-token'

/** A configuration in its own folder, and commands that use it. */
export interface Project {
  readonly folder: string
  /** The path of the configuration. */
  readonly path: string
  /** The URL of the store, for `--store`. */
  readonly store: string
  /** Writes a file in the same folder, and returns its path. */
  readonly file: (name: string, text: string | Buffer) => Promise<string>
  /** Runs a command with this configuration. */
  readonly run: (argv: readonly string[], settings?: RunSettings) => Promise<Finished>
  /** Starts a command with this configuration. */
  readonly start: (argv: readonly string[], settings?: RunSettings) => ReturnType<typeof start>
}

/** Creates a configuration with one source, whose calls go to this URL. */
export async function newProject(url: string, changes: object = {}): Promise<Project> {
  const folder = await temporaryFolder()
  const path = join(folder, 'evroute.config.json')
  const document = {
    listen: { port: 0 },
    admin: { port: 0, token },
    store: 'sqlite:./evroute.db',
    network: { allow: ['127.0.0.0/8'] },
    sources: [{ id: 'website', writeKeys: ['wk_example'] }],
    destinations: [{ id: 'crm', type: 'Webhooks', sources: ['website'], endpoints: [{ url }] }],
    ...changes,
  }
  await writeFile(path, JSON.stringify(document))
  return {
    folder,
    path,
    store: `sqlite:${join(folder, 'evroute.db')}`,
    file: async (name, text) => {
      await writeFile(join(folder, name), text)
      return join(folder, name)
    },
    run: (argv, settings) => run([...argv, '--config', path], settings),
    start: (argv, settings) => start([...argv, '--config', path], settings),
  }
}

/** Runs the service of a configuration until the test ends. */
export async function serving({ path }: Project): Promise<{ readonly api: readonly string[] }> {
  const { configuration } = await readServiceConfiguration(path, { env: {}, log: silentLog })
  const service = await Service.start({ configuration, runtime: createRuntime({ log: silentLog }) })
  onTestFinished(() => service.close())
  return { api: ['--api', service.address.admin ?? '', '--token', token] }
}

/** Starts a server that handles every request with this listener, until the test ends. */
export async function serverThat(answer: RequestListener): Promise<string> {
  const listening = await listen(answer, { host: '127.0.0.1', port: 0 })
  onTestFinished(() => listening.close(0))
  return listening.url
}

/** The duration at the end of the summary, which differs from run to run. */
export const withoutTime = (stderr: string): string => stderr.replace(/ \([\d.]+m?s\)\n$/, '\n')
