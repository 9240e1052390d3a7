import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'
import type { PostgresServer } from './postgres.ts'

const socketName = '.s.PGSQL.5432'

/** Reads along on a connection. */
export interface Watch {
  /** Gets bytes of the client. */
  readonly asked: (bytes: Buffer) => void
  /** Gets bytes of the server. */
  readonly answered: (bytes: Buffer) => void
}

/** Carries connections to a server, and can lose what it answers. */
export class PostgresLine {
  /** Makes the watch of each new connection; none by default. */
  watch: (() => Watch) | undefined
  /** Ends each connection with the next answer. */
  losesAnswers = false
  /** Lets nothing through on connections that are made from now on. */
  isMute = false
  readonly #server: PostgresServer
  readonly #folder: string
  readonly #clients = new Set<Socket>()
  readonly #silent = new Set<Socket>()
  readonly #listener = createServer({ allowHalfOpen: true }, (client) => this.#carry(client))

  private constructor(server: PostgresServer, folder: string) {
    this.#server = server
    this.#folder = folder
  }

  /** Opens a line to a server until the test ends. */
  static async to(server: PostgresServer): Promise<PostgresLine> {
    const line = await PostgresLine.open(server, await temporaryFolder())
    onTestFinished(() => line.close())
    return line
  }

  /** Opens a line to a server, with its socket in a folder. */
  static async open(server: PostgresServer, folder: string): Promise<PostgresLine> {
    const line = new PostgresLine(server, folder)
    line.#listener.listen(join(folder, socketName))
    await once(line.#listener, 'listening')
    return line
  }

  /** Takes no connections any more, and ends those that are open. */
  close(): void {
    this.#listener.close()
    this.hangUp()
  }

  /** Connections that are open. */
  get open(): number {
    return this.#clients.size
  }

  /** What leads by it, for a URL that leads to its server. */
  through(url: string): string {
    return url.replace(this.#server.socketFolder, this.#folder)
  }

  /** Carries nothing more on the connections that are open, and ends none of them. */
  fallSilent(): void {
    for (const client of this.#clients) this.#silent.add(client)
  }

  /** Ends the connections that are open. */
  hangUp(): void {
    for (const client of this.#clients) client.destroy()
  }

  #carry(client: Socket): void {
    const upstream = connect(join(this.#server.socketFolder, socketName))
    this.#clients.add(client)
    if (this.isMute) this.#silent.add(client)
    client.on('error', () => undefined)
    upstream.on('error', () => client.destroy())
    client.on('close', () => {
      this.#clients.delete(client)
      upstream.destroy()
    })
    const isSilent = (): boolean => this.#silent.has(client)
    const watch = this.watch?.()
    client.on('data', (bytes: Buffer) => {
      watch?.asked(bytes)
      if (!isSilent()) upstream.write(bytes)
    })
    client.on('end', () => {
      if (!isSilent()) client.end()
    })
    upstream.on('data', (bytes: Buffer) => {
      watch?.answered(bytes)
      if (this.losesAnswers) client.destroy()
      else if (!isSilent()) client.write(bytes)
    })
    upstream.on('end', () => {
      if (!isSilent()) client.end()
    })
  }
}
