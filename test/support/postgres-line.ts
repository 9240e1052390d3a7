import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'
import type { PostgresServer } from './postgres.ts'

const socketName = '.s.PGSQL.5432'

/** Observes the bytes on a connection. */
export interface Watch {
  /** Receives bytes from the client. */
  readonly requested: (bytes: Buffer) => void
  /** Receives bytes from the server. */
  readonly answered: (bytes: Buffer) => void
}

/** Forwards connections to a PostgreSQL server. It can lose answers, fall silent and break connections. */
export class PostgresLine {
  /** Makes the observer of each new connection; none by default. */
  watch: (() => Watch) | undefined
  /** Closes each connection when the server answers, without forwarding the answer. */
  losesAnswers = false
  /** Forwards nothing on new connections. */
  isMute = false
  readonly #server: PostgresServer
  readonly #folder: string
  readonly #clients = new Set<Socket>()
  readonly #silent = new Set<Socket>()
  readonly #listener = createServer({ allowHalfOpen: true }, (client) => this.#forward(client))

  private constructor(server: PostgresServer, folder: string) {
    this.#server = server
    this.#folder = folder
  }

  /** Opens a line to a server, which is closed when the test ends. */
  static async to(server: PostgresServer): Promise<PostgresLine> {
    const line = await PostgresLine.open(server, await temporaryFolder())
    onTestFinished(() => line.close())
    return line
  }

  /** Opens a line to a server. Clients connect to a socket in the folder. */
  static async open(server: PostgresServer, folder: string): Promise<PostgresLine> {
    const line = new PostgresLine(server, folder)
    line.#listener.listen(join(folder, socketName))
    await once(line.#listener, 'listening')
    return line
  }

  /** Stops listening and closes all connections. */
  close(): void {
    this.#listener.close()
    this.hangUp()
  }

  /** The number of open connections. */
  get open(): number {
    return this.#clients.size
  }

  /** Converts a URL of the server into one that goes through the line. */
  through(url: string): string {
    return url.replace(this.#server.socketFolder, this.#folder)
  }

  /** Forwards nothing more on the open connections, without closing them. */
  fallSilent(): void {
    for (const client of this.#clients) this.#silent.add(client)
  }

  /** Closes the open connections. */
  hangUp(): void {
    for (const client of this.#clients) client.destroy()
  }

  #forward(client: Socket): void {
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
      watch?.requested(bytes)
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
