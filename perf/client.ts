// The raw HTTP/1.1 client of the load generator: keep-alive callers and event-stream readers.
import type { Socket } from 'node:net'
import { once } from 'node:events'
import { REQUEST_BODY, eachStamp } from './fixtures.ts'
import { dial } from './socket.ts'
import type { StreamEvents } from './stream-crowd.ts'

/** An opaque token; peers that verify tokens get a real one. */
const PLAIN_TOKEN = '0123456789abcdef0123456789abcdef'

/** The small POST. */
export function postText(token = PLAIN_TOKEN): string {
  return (
    'POST /echo HTTP/1.1\r\nhost: bench.test\r\nuser-agent: perf\r\naccept: application/json\r\n' +
    `content-type: application/json\r\nauthorization: Bearer ${token}\r\n` +
    `content-length: ${REQUEST_BODY.length}\r\n\r\n${REQUEST_BODY}`
  )
}

const POST = postText()
const CONNECT_DEADLINE_MS = 10_000

/** A dialled socket, once it is connected. Any later error is a fault of the peer: `failed`. */
export async function connected(socket: Socket, failed: (error: Error) => void): Promise<void> {
  await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_DEADLINE_MS) })
  socket.on('error', failed)
  socket.on('end', () => failed(new Error('the peer closed the connection')))
}

/** One keep-alive connection that sends the small POST, or another request, and reports when its response is complete. */
export class Caller {
  readonly socket: Socket
  readonly #answered: (caller: Caller) => void
  readonly #failed: (error: Error) => void
  readonly #request: string
  #head = ''
  #bodyLeft = 0
  sentAt = 0

  constructor(
    port: number,
    events: { answered: (caller: Caller) => void; failed: (error: Error) => void },
    request = POST,
  ) {
    this.#request = request
    this.#answered = events.answered
    this.#failed = events.failed
    this.socket = dial(port, (count, buffer) => this.#read(count, buffer))
  }

  async ready(): Promise<void> {
    await connected(this.socket, this.#failed)
  }

  send(now: number): void {
    this.sentAt = now
    this.socket.write(this.#request, 'latin1')
  }

  #read(count: number, buffer: Buffer): boolean {
    if (this.#bodyLeft > 0) this.#bodyLeft -= count
    else {
      const text = this.#head + buffer.toString('latin1', 0, count)
      const end = text.indexOf('\r\n\r\n')
      this.#head = end < 0 ? text : ''
      if (end < 0) return true
      this.#bodyLeft = bodySize(text) - (text.length - end - 4)
    }
    if (this.#bodyLeft === 0) this.#answered(this)
    else if (!(this.#bodyLeft > 0)) this.#failed(new Error('not the answer that was expected'))
    return true
  }
}

/** The body's length as the head declares it; NaN unless it is a 200 that declares one. */
export function bodySize(text: string): number {
  if (!text.startsWith('HTTP/1.1 200 ')) return Number.NaN
  return Number(/\r\ncontent-length: *(\d+)\r/i.exec(text)?.[1] ?? Number.NaN)
}

/** Opens one event stream and calls back for each event with the time the backend sent it. */
export async function openStream(
  port: number,
  interval: number,
  events: StreamEvents,
): Promise<Socket> {
  const socket = dial(port, (count, buffer) => {
    eachStamp(buffer.toString('latin1', 0, count), events.stamp)
    return true
  })
  await connected(socket, events.failed)
  socket.write(
    `GET /sse?interval=${interval} HTTP/1.1\r\nhost: bench.test\r\naccept: text/event-stream\r\n\r\n`,
  )
  return socket
}
