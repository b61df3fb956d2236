// MCP sessions over Streamable HTTP: raw HTTP/1.1, one keep-alive connection for each call in flight.
import type { Socket } from 'node:net'
import { connected } from './client.ts'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { answerIn, fieldIn, messageIn, type Answer } from './mcp-answer.ts'
import { INITIALIZE, INITIALIZED, PROTOCOL_VERSION, answerFault, callText } from './mcp-messages.ts'
import type { McpSession, SessionEvents } from './mcp-session.ts'
import { dial } from './socket.ts'

const ANSWER_DEADLINE_MS = 10_000
const LONGEST_ANSWER = 65_536

export async function openHttp(
  port: number,
  inFlight: number,
  events: SessionEvents,
  token = '',
): Promise<McpSession> {
  const failure = new Deferred()
  const failed = (error: Error): void => {
    failure.reject(error)
    events.failed(error)
  }
  const lanes = Array.from({ length: inFlight }, () => new Lane(port, failed))
  try {
    return await failure.guard(begun(lanes, { port, token }, { ...events, failed }))
  } catch (error) {
    for (const lane of lanes) lane.close()
    throw error
  }
}

async function begun(
  lanes: readonly Lane[],
  to: Destination,
  events: SessionEvents,
): Promise<McpSession> {
  const first = lanes[0]!
  await Promise.all(lanes.map((lane) => lane.ready()))
  const sent = nowMicros()
  const greeted = await first.ask(requestHead('POST', to), INITIALIZE)
  const greeting = nowMicros() - sent
  const id = fieldIn(greeted, 'mcp-session-id')
  if (greeted.status !== 200 || id === undefined) throw new Error(`no session: ${greeted.head}`)
  const post = requestHead('POST', to, id)
  const noted = await first.ask(post, INITIALIZED)
  if (noted.status !== 202) throw new Error(`not 202 for a notification: ${noted.head}`)
  return {
    greeting,
    call: caller(lanes, post, events),
    end: async () => {
      await first.ask(requestHead('DELETE', to, id), '')
      for (const lane of lanes) lane.close()
    },
  }
}

/** `token` is '' for none. */
type Destination = { port: number; token: string }

function requestHead(
  method: 'POST' | 'DELETE',
  { port, token }: Destination,
  session?: string,
): string {
  const head =
    `${method} /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nuser-agent: perf\r\n` +
    'accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n' +
    (token === '' ? '' : `authorization: Bearer ${token}\r\n`)
  if (session === undefined) return head
  return `${head}mcp-protocol-version: ${PROTOCOL_VERSION}\r\nmcp-session-id: ${session}\r\n`
}

function caller(lanes: readonly Lane[], head: string, events: SessionEvents): McpSession['call'] {
  const idle = [...lanes]
  return (id) => {
    const lane = idle.pop()
    if (lane === undefined) throw new Error('more calls in flight than connections')
    lane.send(head, callText(id), (answer) => {
      const fault = answer.status === 200 ? answerFault(messageIn(answer), id) : answer.head
      if (fault !== null) return events.failed(new Error(fault))
      idle.push(lane)
      events.answered(id)
    })
  }
}

/** One keep-alive connection with at most one request on it. */
class Lane {
  readonly #socket: Socket
  readonly #failed: (error: Error) => void
  #text = ''
  #answered: (answer: Answer) => void = () => {}
  #state: 'open' | 'closed' = 'open'

  constructor(port: number, failed: (error: Error) => void) {
    this.#failed = (error) => {
      if (this.#state === 'open') failed(error)
    }
    this.#socket = dial(port, (count, buffer) => this.#read(count, buffer))
  }

  async ready(): Promise<void> {
    await connected(this.#socket, this.#failed)
  }

  send(head: string, body: string, answered: (answer: Answer) => void): void {
    this.#answered = answered
    this.#socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`, 'latin1')
  }

  /** A request that is not measured: a promise with a deadline. */
  async ask(head: string, body: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new Error('no answer in time'))
      const timer = setTimeout(late, ANSWER_DEADLINE_MS)
      this.send(head, body, (answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
    })
  }

  close(): void {
    this.#state = 'closed'
    this.#socket.destroy()
  }

  #read(count: number, buffer: Buffer): boolean {
    this.#text += buffer.toString('latin1', 0, count)
    try {
      const answer = answerIn(this.#text)
      if (answer !== null) {
        this.#text = ''
        this.#answered(answer)
      } else if (this.#text.length > LONGEST_ANSWER) throw new Error('the answer is too long')
    } catch (error) {
      this.#failed(error as Error)
    }
    return true
  }
}
