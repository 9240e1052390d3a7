import { Socket } from 'node:net'

/** The sockets of a store's connections, to close all of them at once if the server does not answer. */
export class Sockets {
  readonly #open = new Set<Socket>()
  #isCut = false

  /** Makes the socket of a new connection. */
  open(): Socket {
    const socket = new Socket()
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    // Let `pg` connect first: connecting would reopen a destroyed socket.
    if (this.#isCut) process.nextTick(cut, socket)
    return socket
  }

  /** Closes all sockets, and later ones too. Pending statements fail. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#open) cut(socket)
  }
}

function cut(socket: Socket): void {
  socket.destroy(new Error('connection terminated, because the server did not answer in time'))
}
