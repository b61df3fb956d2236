// Any legal message, at any split, is relayed with the same head and the same body, in both directions.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../support/deadline.ts'
import type { Backend, Connection } from '../support/backend.ts'
import { fc } from '../support/fast-check.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RawClient } from '../support/raw-client.ts'

const property = suite('relay/property')
const stage = new Stage()
property.after.each(() => stage.clear())

const RUNS = 150

/** Hop-by-hop headers, or ones with a special meaning: legal to send, but not relayed. */
const HOP = ['connection', 'keep-alive', 'te', 'trailer', 'proxy-connection', 'upgrade', 'host']
const OWN = [
  'content-length',
  'transfer-encoding',
  'expect',
  'date',
  'content-type',
  'cache-control',
]

const token = fc.string({
  unit: fc.constantFrom(..."!#$%&'*+-.^_`|~09azAZ".split('')),
  minLength: 1,
  maxLength: 12,
})
const name = token.filter((text) => ![...HOP, ...OWN].includes(text.toLowerCase()))
/** Latin1 text with no white space around it. */
const value = fc
  .string({
    unit: fc
      .integer({ min: 32, max: 255 })
      .filter((c) => c !== 127)
      .map(char),
    maxLength: 30,
  })
  .map((text) => text.replace(/^ +| +$/g, ''))
const space = fc.constantFrom('', ' ', '  ', '\t', ' \t ')
const fields = fc.array(fc.tuple(name, space, value, space), { maxLength: 8 })
const content = fc
  .uint8Array({ maxLength: 300 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'))
const trailers = fc.array(fc.tuple(name, value), { maxLength: 2 })
const chunks = fc.array(
  fc.tuple(
    content.filter((text) => text !== ''),
    fc.boolean(),
    fc.constantFrom('', ';a', ';a=b', ';a="b c"'),
  ),
  { maxLength: 5 },
)
const body = fc.oneof(
  fc.constant({ kind: 'none' as const }),
  fc.record({ kind: fc.constant('length' as const), content }),
  fc.record({ kind: fc.constant('chunked' as const), chunks, trailers }),
)
const cuts = fc.array(fc.nat(), { maxLength: 6 })

type Fields = [name: string, before: string, value: string, after: string][]
type Body =
  | { kind: 'none' }
  | { kind: 'length'; content: string }
  | { kind: 'chunked'; chunks: [string, boolean, string][]; trailers: [string, string][] }

interface Message {
  fields: string[]
  body: string
  trailers: string[]
}

function char(code: number): string {
  return String.fromCharCode(code)
}

function fieldLines(written: Fields): string {
  return written.map(([key, before, text, after]) => `${key}:${before}${text}${after}\r\n`).join('')
}

/** The message on the wire, after its first line. */
function wireOf(written: Fields, carried: Body): string {
  const lines = fieldLines(written)
  if (carried.kind === 'none') return `${lines}content-length: 0\r\n\r\n`
  if (carried.kind === 'length')
    return `${lines}Content-Length: ${carried.content.length}\r\n\r\n${carried.content}`
  const parts = carried.chunks.map(([text, isUpper, extension]) => {
    const size = text.length.toString(16)
    return `${isUpper ? size.toUpperCase() : size}${extension}\r\n${text}\r\n`
  })
  const last = carried.trailers.map(([key, text]) => `${key}: ${text}\r\n`).join('')
  return `${lines}Transfer-Encoding: chunked\r\n\r\n${parts.join('')}0\r\n${last}\r\n`
}

/** The meaning of a message: relevant headers, content, trailers. */
function meaningOf(written: Fields, carried: Body): Message {
  const meant = {
    fields: written.map(([key, , text]) => `${key.toLowerCase()}=${text}`),
    trailers: [] as string[],
  }
  if (carried.kind === 'none') return { ...meant, body: '' }
  if (carried.kind === 'length') return { ...meant, body: carried.content }
  meant.trailers = carried.trailers.map(([key, text]) => `${key.toLowerCase()}=${text}`)
  return { ...meant, body: carried.chunks.map(([text]) => text).join('') }
}

/** Reads a message after its first line; null while it is incomplete. An independent reader, simple and strict. */
function readMessage(text: string): (Message & { length: number }) | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const all = readFields(text.substring(text.indexOf('\r\n') + 2, end))
  const skipped = [...HOP, ...OWN]
  const read = all.filter((field) => !skipped.includes(field.substring(0, field.indexOf('='))))
  const length = Number(
    all.find((field) => field.startsWith('content-length='))?.substring(15) ?? 0,
  )
  let at = end + 4
  if (!all.includes('transfer-encoding=chunked'))
    return text.length < at + length
      ? null
      : { fields: read, body: text.substring(at, at + length), trailers: [], length: at + length }
  let joined = ''
  for (;;) {
    const line = text.indexOf('\r\n', at)
    if (line < 0) return null
    const size = parseInt(text.substring(at, line), 16)
    at = line + 2
    if (size === 0) break
    if (text.length < at + size + 2) return null
    joined += text.substring(at, at + size)
    at += size + 2
  }
  if (text.startsWith('\r\n', at))
    return { fields: read, body: joined, trailers: [], length: at + 2 }
  const last = text.indexOf('\r\n\r\n', at)
  if (last < 0) return null
  return {
    fields: read,
    body: joined,
    trailers: readFields(text.substring(at, last)),
    length: last + 4,
  }
}

function readFields(text: string): string[] {
  if (text === '') return []
  return text.split('\r\n').map((line) => {
    const colon = line.indexOf(':')
    const trimmed = line.substring(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
    return `${line.substring(0, colon).toLowerCase()}=${trimmed}`
  })
}

function split(text: string, at: number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  const places = [...new Set(at.map((place) => place % bytes.length))].sort((a, b) => a - b)
  const from = [0, ...places.filter((place) => place > 0)]
  return from.map((place, i) => bytes.subarray(place, from[i + 1] ?? bytes.length))
}

async function connectionAfter(backend: Backend, read: number): Promise<Connection> {
  await backend.until((text) => readMessage(text.substring(read)) !== null)
  return backend.connections[0]!
}

property('requests reach the backend unchanged', async () => {
  const backend = await stage.backend([])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  let read = 0
  const holds = fc.asyncProperty(fields, body, cuts, async (written, carried, at) => {
    const text = `POST /p HTTP/1.1\r\nhost: a.test\r\n${wireOf(written, carried)}`
    await client.sendApart(split(text, at))
    const connection = await connectionAfter(backend, read)
    const { length, ...message } = readMessage(backend.received.substring(read))!
    read += length
    assert.equal(message, meaningOf(written, carried))
    connection.socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    await answered(client)
  })
  await deadline(fc.assert(holds, { numRuns: RUNS }), 60_000, 'all requests')
})

/** Reads one bare response. */
async function answered(client: RawClient): Promise<void> {
  const text = await client.until(/\r\n\r\n/)
  client.take(text.length)
}

property('responses reach the client unchanged', async () => {
  const backend = await stage.backend([])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  let read = 0
  const holds = fc.asyncProperty(fields, body, cuts, async (written, carried, at) => {
    client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    const { socket } = await connectionAfter(backend, read)
    read = backend.received.length
    for (const part of split(`HTTP/1.1 200 OK\r\n${wireOf(written, carried)}`, at)) {
      socket.write(part)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await client.until((text) => readMessage(text) !== null)
    const { length, ...message } = readMessage(client.text)!
    client.take(length)
    assert.equal(message, meaningOf(written, carried))
    assert.is(client.text, '')
  })
  await deadline(fc.assert(holds, { numRuns: RUNS }), 60_000, 'all answers')
})

property.run()
