// The trace of a case: waits for a request as `/debug/trace` has it, and judges the events that came.

import type { NetConnectOpts } from 'node:net'
import { RawClient } from '../spec/support/raw-client.ts'
import { eventsIn } from './events.ts'
import { jsonFits } from './json.ts'
import { quote } from './match.ts'

interface Told {
  readonly eventEnd: number
  readonly message: { readonly type: string }
}

export class TraceWatch {
  readonly #client: RawClient

  private constructor(client: RawClient) {
    this.#client = client
  }

  /** Waits until it waits; `expression` picks the request, '' takes the next. */
  static async open(target: NetConnectOpts, expression: string): Promise<TraceWatch> {
    const client = await RawClient.connect(target)
    const query = expression === '' ? '' : `?expression=${encodeURIComponent(expression)}`
    // Without chunks, so that what comes is the stream.
    client.send(
      `POST /debug/trace${query} HTTP/1.0\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`,
    )
    await client.until(/\r\n\r\n: ready\n\n/)
    return new TraceWatch(client)
  }

  /** What is wrong with the trace of the request, once that is over. */
  async judge(expected: string): Promise<string[]> {
    const text = Buffer.from(await this.#client.untilClosed(), 'latin1').toString()
    const content = text.slice(text.indexOf('\r\n\r\n') + 4)
    const data = eventsIn(content).map((event) => event.get('data') ?? '')
    return differencesOf(expected, data)
  }

  close(): void {
    this.#client.destroy()
  }
}

/** Pure. `data` is one event each, as JSON. */
export function differencesOf(expected: string, data: readonly string[]): string[] {
  const told = data.map((text) => JSON.parse(text) as Told)
  const wrong = disorder(told)
  const lines = expected.split('\n').filter((line) => line.trim() !== '')
  const types = lines.map(typeOf)
  // Types that a case does not speak of may stand in between.
  const named = data.filter((_text, at) => types.includes(told[at]!.message.type))
  if (named.length !== lines.length)
    wrong.push(`trace of ${saidTypes(named)}, expected ${types.join(', ')}`)
  for (const [at, line] of lines.entries()) {
    const event = named[at]
    if (event === undefined || lineFits(line, event)) continue
    wrong.push(`traced ${quote(event)}, expected ${quote(line)}`)
    break
  }
  return wrong
}

/** What holds for every trace: where it begins and ends, and that time does not go back. */
function disorder(told: readonly Told[]): string[] {
  const wrong: string[] = []
  const types = told.map(({ message }) => message.type)
  if (types[0] !== 'requestStarted') wrong.push(`trace begins with ${types[0] ?? 'nothing'}`)
  if (types.indexOf('requestFinished') !== types.length - 1)
    wrong.push(`trace does not end once, with requestFinished: ${types.join(', ')}`)
  const ends = told.map(({ eventEnd }) => eventEnd)
  if (ends.some((end, at) => at > 0 && end < ends[at - 1]!))
    wrong.push(`trace goes back in time: ${ends.join(', ')}`)
  return wrong
}

function typeOf(line: string): string {
  return /"type": ?"(\w+)"/.exec(line)?.[1] ?? ''
}

/** A line is a message, or the event around it. */
function lineFits(line: string, event: string): boolean {
  if (/"message": ?\{/.test(line)) return jsonFits(line, event)
  const { message } = JSON.parse(event) as Told
  return jsonFits(line, JSON.stringify(message))
}

function saidTypes(data: readonly string[]): string {
  return data.map((text) => (JSON.parse(text) as Told).message.type).join(', ') || 'nothing'
}
