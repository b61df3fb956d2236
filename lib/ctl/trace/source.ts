// Where the events of a trace come from: the admin interface of a gateway, or a file of JSON lines.

import { createReadStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { checkedLine } from '../../trace-view/trace-file.ts'
import { EventReader } from '../../base/sse/reader.ts'
import { bodyOf, open, statusText, told } from '../admin.ts'
import type { Target } from '../target.ts'

/** Events one by one, each as the JSON it was sent as. */
export interface Source {
  readonly label: string
  /** `live`: what comes is of a request that is still to be made. */
  readonly kind: 'live' | 'saved'
  readonly lines: AsyncIterable<string>
  close(): void
}

/** A body of 2 MiB is the largest part of an event, unless the gateway was told to keep more. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024
/** It says `: ready` when it watches; one that says nothing is taken at its word after this. */
const READY_TIMEOUT = 2_000
const LF = 10

export async function fromGateway(target: Target, expression: string | undefined): Promise<Source> {
  const query = expression === undefined ? '' : `?expression=${encodeURIComponent(expression)}`
  const response = await openStream(target, `/debug/trace${query}`)
  if (response.statusCode !== 200) {
    const words = told(await bodyOf(response))
    throw new Error(`trace stream returned ${statusText(response)}: ${words}`)
  }
  await ready(response)
  let state: 'open' | 'closed' = 'open'
  return {
    label: target.label,
    kind: 'live',
    lines: eventsOf(response, () => state),
    close() {
      state = 'closed'
      response.destroy()
    },
  }
}

export function fromFile(file: string): Source {
  const stream: Readable = file === '-' ? process.stdin : createReadStream(file)
  return {
    label: file === '-' ? 'standard input' : file,
    kind: 'saved',
    lines: savedLines(stream, file),
    close: () => stream.destroy(),
  }
}

async function openStream(target: Target, path: string): Promise<IncomingMessage> {
  try {
    return await open(target, { method: 'POST', path })
  } catch (error) {
    throw new Error(`failed to open trace stream: ${(error as Error).message}`, { cause: error })
  }
}

/** Until its first bytes are there to be read. */
async function ready(response: IncomingMessage): Promise<void> {
  await new Promise<void>((resolve) => {
    const late = setTimeout(done, READY_TIMEOUT)
    function done(): void {
      clearTimeout(late)
      response.off('readable', done).off('end', done).off('error', done)
      resolve()
    }
    response.once('readable', done).once('end', done).once('error', done)
  })
}

async function* eventsOf(
  response: IncomingMessage,
  state: () => 'open' | 'closed',
): AsyncGenerator<string> {
  const found: string[] = []
  const reader = new EventReader(
    {
      event: (_name, data) => void found.push(data.toString()),
      retry: () => {},
      tooLong: () => {
        throw new Error(`the trace has an event above ${MAX_EVENT_BYTES} bytes`)
      },
    },
    MAX_EVENT_BYTES,
  )
  try {
    for await (const bytes of response as AsyncIterable<Buffer>) {
      reader.write(bytes, 0, bytes.length)
      yield* found.splice(0)
    }
  } catch (error) {
    // Our own end of it is no fault; what is missing otherwise has to be told.
    if (state() === 'closed') return
    throw new Error(`the trace stream broke off: ${(error as Error).message}`, { cause: error })
  }
}

/** Without the empty ones; throws at one that is no event. */
async function* savedLines(stream: Readable, file: string): AsyncGenerator<string> {
  let number = 0
  try {
    for await (const line of splitLines(stream)) {
      number++
      if (line.trim() !== '') yield checkedLine(line)
    }
  } catch (error) {
    const place = number === 0 ? '' : ` line ${number}`
    throw new Error(`failed to read trace file ${file}${place}: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

async function* splitLines(stream: Readable): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let length = 0
  for await (const bytes of stream as AsyncIterable<Buffer>) {
    let from = 0
    for (let to = bytes.indexOf(LF); to >= 0; to = bytes.indexOf(LF, from)) {
      yield Buffer.concat([...parts, bytes.subarray(from, to)]).toString()
      parts = []
      length = 0
      from = to + 1
    }
    length += bytes.length - from
    if (length > MAX_EVENT_BYTES) throw new Error(`a line is above ${MAX_EVENT_BYTES} bytes`)
    parts.push(bytes.subarray(from))
  }
  if (length > 0) yield Buffer.concat(parts).toString()
}
