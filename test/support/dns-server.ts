import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import { isIP } from 'node:net'

/** The answer to questions for a name: its addresses, no answer at all, or SERVFAIL. */
export type NameRecord = readonly string[] | 'silent' | 'server-failure'

/** A question that the server received. */
export interface Question {
  readonly name: string
  readonly family: 4 | 6
}

/** A DNS server on a free UDP port of 127.0.0.1. It answers NXDOMAIN for unknown names. */
export class DnsServer {
  /** The records by name. They can be changed at any time. */
  readonly names = new Map<string, NameRecord>()
  readonly questions: Question[] = []
  /** The time to live of answers, in seconds. */
  ttl = 60
  /** The server doesn't answer questions for this address family. */
  ignoredFamily: 4 | 6 | undefined
  readonly #socket: Socket
  readonly #arrivals = new EventEmitter()

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', (message, sender) => this.#answer(message, sender))
  }

  /** Starts a server that listens until it is closed. */
  static async start(names: Readonly<Record<string, NameRecord>> = {}): Promise<DnsServer> {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const server = new DnsServer(socket)
    for (const [name, record] of Object.entries(names)) server.names.set(name, record)
    return server
  }

  /** The address and port, in the form of `Resolver.setServers`. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`
  }

  /** The names in the questions, each once. */
  get queriedNames(): readonly string[] {
    return [...new Set(this.questions.map(({ name }) => name))]
  }

  /** Resolves once a question for a name has arrived. */
  async received(name: string): Promise<void> {
    while (!this.queriedNames.includes(name)) await once(this.#arrivals, 'question')
  }

  /** Stops listening. */
  async close(): Promise<void> {
    this.#socket.close()
    await once(this.#socket, 'close')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #answer(message: Buffer, sender: RemoteInfo): void {
    const { question, name, family } = readQuestion(message)
    this.questions.push({ name, family })
    this.#arrivals.emit('question')
    const record = this.names.get(name)
    if (record === 'silent' || family === this.ignoredFamily) return
    const addresses = addressesOf(record).filter((address) => isIP(address) === family)
    const header = Buffer.alloc(12)
    message.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8180 | responseCode(record), 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(addresses.length, 6)
    const answers = addresses.map((address) => answerRecord(address, this.ttl))
    this.#socket.send(Buffer.concat([header, question, ...answers]), sender.port, sender.address)
  }
}

function addressesOf(record: NameRecord | undefined): readonly string[] {
  return record === undefined || typeof record === 'string' ? [] : record
}

const noError = 0
const serverFailure = 2
const noSuchName = 3

function responseCode(record: NameRecord | undefined): number {
  if (record === undefined) return noSuchName
  return record === 'server-failure' ? serverFailure : noError
}

/** Reads the only question in a message. */
function readQuestion(message: Buffer): Question & { readonly question: Buffer } {
  const labels: string[] = []
  let at = 12
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const family = message.readUInt16BE(at + 1) === 28 ? 6 : 4
  return { name: labels.join('.').toLowerCase(), family, question: message.subarray(12, at + 5) }
}

function answerRecord(address: string, ttl: number): Buffer {
  const data =
    isIP(address) === 6 ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number))
  const head = Buffer.alloc(12)
  // A pointer to the name in the question.
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(data.length === 16 ? 28 : 1, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function ipv6Bytes(address: string): Buffer {
  const [before = '', after = ''] = address.split('::')
  const groupsOf = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))
  const [first, last] = [groupsOf(before), groupsOf(after)]
  const groups = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
