// Watches `/debug/trace` during a case and checks the events of the traced request.

import type { NetConnectOpts } from 'node:net'
import { RawClient } from '../spec/support/raw-client.ts'
import { parseEvents } from './events.ts'
import { jsonFits } from './json.ts'
import { quote } from './match.ts'

interface TraceEvent {
  readonly eventEnd: number
  readonly message: { readonly type: string }
}

export class TraceWatch {
  readonly #client: RawClient

  private constructor(client: RawClient) {
    this.#client = client
  }

  /** Resolves when the gateway watches; `expression` selects the request, empty takes the next one. */
  static async open(target: NetConnectOpts, expression: string): Promise<TraceWatch> {
    const client = await RawClient.connect(target)
    const query = expression === '' ? '' : `?expression=${encodeURIComponent(expression)}`
    // HTTP/1.0, so that the response is not chunked.
    client.send(
      `POST /debug/trace${query} HTTP/1.0\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`,
    )
    await client.until(/\r\n\r\n: ready\n\n/)
    return new TraceWatch(client)
  }

  /** Waits for the end of the trace and returns its differences from the expected one. */
  async check(expected: string): Promise<string[]> {
    const text = Buffer.from(await this.#client.untilClosed(), 'latin1').toString()
    const content = text.slice(text.indexOf('\r\n\r\n') + 4)
    const data = parseEvents(content).map((event) => event.get('data') ?? '')
    return compareTrace(expected, data)
  }

  close(): void {
    this.#client.destroy()
  }
}

/** Compares events, each as JSON text, with the expected lines. Pure. */
export function compareTrace(expected: string, data: readonly string[]): string[] {
  const events = data.map((text) => JSON.parse(text) as TraceEvent)
  const wrong = checkOrder(events)
  const lines = expected.split('\n').filter((line) => line.trim() !== '')
  const types = lines.map(typeOf)
  // Events of types that the case does not list are ignored.
  const named = data.filter((_text, at) => types.includes(events[at]!.message.type))
  if (named.length !== lines.length)
    wrong.push(`trace of ${formatTypes(named)}, expected ${types.join(', ')}`)
  for (const [at, line] of lines.entries()) {
    const event = named[at]
    if (event === undefined || lineFits(line, event)) continue
    wrong.push(`traced ${quote(event)}, expected ${quote(line)}`)
    break
  }
  return wrong
}

/** Checks every trace: its first and last event, and that time does not go back. */
function checkOrder(events: readonly TraceEvent[]): string[] {
  const wrong: string[] = []
  const types = events.map(({ message }) => message.type)
  if (types[0] !== 'requestStarted') wrong.push(`trace begins with ${types[0] ?? 'nothing'}`)
  if (types.indexOf('requestFinished') !== types.length - 1)
    wrong.push(`trace does not end once, with requestFinished: ${types.join(', ')}`)
  const ends = events.map(({ eventEnd }) => eventEnd)
  if (ends.some((end, at) => at > 0 && end < ends[at - 1]!))
    wrong.push(`trace goes back in time: ${ends.join(', ')}`)
  return wrong
}

function typeOf(line: string): string {
  return /"type": ?"(\w+)"/.exec(line)?.[1] ?? ''
}

/** A line is a message, or the event that contains it. */
function lineFits(line: string, event: string): boolean {
  if (/"message": ?\{/.test(line)) return jsonFits(line, event)
  const { message } = JSON.parse(event) as TraceEvent
  return jsonFits(line, JSON.stringify(message))
}

function formatTypes(data: readonly string[]): string {
  return data.map((text) => (JSON.parse(text) as TraceEvent).message.type).join(', ') || 'nothing'
}
