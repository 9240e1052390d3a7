// Preloaded in each thread: connects it to a fake endpoint in the process, which answers every request
// without a system call.
import net, { type Socket } from 'node:net'
import { Duplex } from 'node:stream'

const answer = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')

/** Answers each write with a 200, because undici writes the head and body of a request at once. */
class FakeSocket extends Duplex {
  bytesRead = 0

  constructor() {
    super()
    setImmediate(() => this.emit('connect'))
  }

  override _read(): void {
    // `_writev` pushes the answers.
  }

  override _writev(_chunks: unknown, written: () => void): void {
    written()
    setImmediate(() => {
      this.bytesRead += answer.length
      this.push(answer)
    })
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

// undici looks `net.connect` up for each new connection.
net.connect = () => new FakeSocket() as unknown as Socket
