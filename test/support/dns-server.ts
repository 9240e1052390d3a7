import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import { isIP } from 'node:net'

/** What a name is answered: addresses, no answer at all, or that the server has failed. */
export type NameRecord = readonly string[] | 'silent' | 'server-failure'

/** A question that arrived. */
export interface Question {
  readonly name: string
  readonly family: 4 | 6
}

/** A DNS server on a free UDP port of 127.0.0.1. Names that it does not have do not exist. */
export class DnsServer {
  /** What names are answered; may be changed at any time. */
  readonly names = new Map<string, NameRecord>()
  readonly questions: Question[] = []
  /** Seconds for which an answer holds. */
  ttl = 60
  /** Questions for addresses of this family get no answer. */
  ignoredFamily: 4 | 6 | undefined
  readonly #socket: Socket
  readonly #arrivals = new EventEmitter()

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', (message, sender) => this.#answer(message, sender))
  }

  /** Starts one that listens until it is closed. */
  static async start(names: Readonly<Record<string, NameRecord>> = {}): Promise<DnsServer> {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const server = new DnsServer(socket)
    for (const [name, record] of Object.entries(names)) server.names.set(name, record)
    return server
  }

  /** As `Resolver.setServers` takes it. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`
  }

  /** The names that were asked for, each question once, whatever its family. */
  get asked(): readonly string[] {
    return [...new Set(this.questions.map(({ name }) => name))]
  }

  /** Resolves once a name was asked for. */
  async received(name: string): Promise<void> {
    while (!this.asked.includes(name)) await once(this.#arrivals, 'question')
  }

  /** Listens no more. */
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

/** The one question of a message: its bytes, and what they say. */
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
  const data = isIP(address) === 6 ? bytesOf6(address) : Buffer.from(address.split('.').map(Number))
  const head = Buffer.alloc(12)
  // The name is that of the question.
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(data.length === 16 ? 28 : 1, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function bytesOf6(address: string): Buffer {
  const [before = '', after = ''] = address.split('::')
  const groupsOf = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))
  const [first, last] = [groupsOf(before), groupsOf(after)]
  const groups = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
