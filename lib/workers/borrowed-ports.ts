// The ports of a worker: the supervisor has them open, and sends the connections that are this worker's.

import type { SendHandle } from 'node:child_process'
import type { Server } from 'node:net'
import type { Link } from '../base/processes/link.ts'
import type { OpenPort } from '../base/processes/open-port.ts'
import { closeHandle, socketOf } from '../base/wire/handle.ts'
import { CLOSE, CONNECTION, OPEN, CONNECTION_REFUSED, CONNECTION_TAKEN } from './messages.ts'
import type { Delivery } from './messages.ts'
import { keyOf } from './shared-ports.ts'
import type { OpenAnswer } from './shared-ports.ts'

export class BorrowedPorts {
  readonly #link: Link
  readonly #servers = new Map<string, Server>()

  constructor(link: Link) {
    this.#link = link
    link.on(CONNECTION, (body, handle) => {
      if (handle !== undefined) this.#receive(body as Delivery, handle)
    })
  }

  readonly open: OpenPort = async (server, place) => {
    const key = keyOf(place)
    // Before it is asked for: the first connection may be as fast as the answer.
    this.#servers.set(key, server)
    try {
      const answer = (await this.#link.ask(OPEN, place)) as OpenAnswer
      if ('port' in answer) return { port: answer.port, close: () => this.#close(key) }
      throw Object.assign(new Error(answer.message), { code: answer.code })
    } catch (error) {
      this.#servers.delete(key)
      throw error
    }
  }

  #close(key: string): void {
    if (this.#servers.delete(key)) this.#link.tell(CLOSE, key)
  }

  #receive({ key, number }: Delivery, handle: SendHandle): void {
    const server = this.#servers.get(key)
    // Told before the first byte is read: a connection that was not taken can be given to another worker.
    this.#link.tell(server === undefined ? CONNECTION_REFUSED : CONNECTION_TAKEN, number)
    if (server === undefined) closeHandle(handle)
    else server.emit('connection', socketOf(handle, { pauseOnCreate: true }))
  }
}
