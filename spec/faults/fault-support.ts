// Helpers of the fault specs: a request over either protocol as its client sees it, and checks that nothing remains.

import type { Test } from 'uvu'
import * as assert from 'uvu/assert'
import { bytesInFlight } from '../../lib/core/byte-budgets.ts'
import type { LiveSnapshot } from '../../lib/core/runtime-views.ts'
import { deadline } from '../support/deadline.ts'
import type { Line, RunningGateway, Stage } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'

const WAIT_MS = 30_000
const LOOK_MS = 2

export const PROTOCOLS = ['http/1.1', 'h2'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/** The end of a head. */
export const HEAD = /\r\n\r\n/
export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

export interface Seen {
  /** 0 if no response was received. */
  readonly status: number
  readonly body: string
  /** `cut`: the connection ended before the response. */
  readonly end: 'whole' | 'cut'
}

export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly fields?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends one request on its own connection, which is closed after the response. */
export async function ask(
  stage: Stage,
  { port }: { port: number },
  protocol: Protocol,
  sent: Sent = {},
): Promise<Seen> {
  return protocol === 'h2' ? requestOverHttp2(port, sent) : requestOverHttp1(stage, port, sent)
}

async function requestOverHttp1(stage: Stage, port: number, sent: Sent): Promise<Seen> {
  const client = await stage.client({ port, host: '127.0.0.1' })
  client.send(requestTextOf(sent))
  await client.settled(() => parseSeen(client.text).end === 'whole', WAIT_MS, 'an answer')
  client.destroy()
  return parseSeen(client.text)
}

/** The text of a request, with content-length if there is a body. */
export function requestTextOf({ method, path = '/', fields = {}, body = '' }: Sent = {}): string {
  const verb = method ?? (body === '' ? 'GET' : 'POST')
  const length = verb === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const all = Object.entries({ host: 'a', ...length, ...fields })
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`)
  return `${verb} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** Parses what a client has received so far. */
export function parseSeen(text: string): Seen {
  const at = text.indexOf('\r\n\r\n')
  if (at < 0) return { status: 0, body: '', end: 'cut' }
  const head = text.slice(0, at)
  const rest = text.slice(at + 4)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0)
  const length = /^content-length: (\d+)$/im.exec(head)?.[1]
  if (length !== undefined)
    return { status, body: rest, end: rest.length >= Number(length) ? 'whole' : 'cut' }
  return { status, body: contentOf(rest), end: rest.endsWith('0\r\n\r\n') ? 'whole' : 'cut' }
}

function contentOf(chunks: string): string {
  let content = ''
  for (let at = 0; ;) {
    const end = chunks.indexOf('\r\n', at)
    const size = Number.parseInt(chunks.slice(at, end), 16)
    if (end < 0 || !(size > 0)) return content
    content += chunks.slice(end + 2, end + 2 + size)
    at = end + size + 4
  }
}

async function requestOverHttp2(port: number, sent: Sent): Promise<Seen> {
  const { path = '/', fields = {}, body = '' } = sent
  const client = new Http2Client(`http://127.0.0.1:${port}`)
  try {
    const method = sent.method ?? (body === '' ? 'GET' : 'POST')
    const head = { ':method': method, ':path': path, ...fields }
    const request = client.request(head, { endStream: method === 'GET' })
    if (method !== 'GET') request.stream.end(body, 'latin1')
    const code = await request.closed()
    return { status: request.status, body: request.body, end: code === 0 ? 'whole' : 'cut' }
  } finally {
    client.close()
  }
}

/** What a gateway holds at the end: nothing except idle connections to backends. */
export interface Leftovers {
  readonly clients: number
  readonly requests: number
  /** Busy connections to backends, idle ones, and requests that wait for a connection. */
  readonly busy: number
  readonly idle: number
  readonly waiting: number
  readonly sessions: number
  readonly children: number
  /** Bytes of held bodies, and all bytes that the process has read and not written. */
  readonly held: number
  readonly inFlight: number
}

const NOTHING: Leftovers = {
  clients: 0,
  requests: 0,
  busy: 0,
  idle: 0,
  waiting: 0,
  sessions: 0,
  children: 0,
  held: 0,
  inFlight: 0,
}

function leftovers({ live }: { live: LiveSnapshot }): Leftovers {
  const { listeners, requests, pools, groups, children, held } = live
  const idle = sum(pools.map((pool) => pool.idle + pool.sessions))
  return {
    clients: sum(listeners.map(({ open }) => open)),
    requests: requests.choose + requests.forward + requests.relay,
    busy: sum(pools.map(({ open }) => open)) - idle,
    idle,
    waiting: sum(pools.map(({ waiting }) => waiting)),
    sessions: sum(groups.map(({ open }) => open)),
    children: children.length,
    held: held.llm.used + held.mcp.used,
    inFlight: bytesInFlight.total,
  }
}

/** Waits until nothing except `kept` remains, and asserts that. */
export async function assertNothingLeft(
  gateway: { live: LiveSnapshot },
  kept: Partial<Leftovers> = {},
): Promise<void> {
  const wanted = { ...NOTHING, ...kept }
  const until = performance.now() + WAIT_MS
  const isReached = (): boolean => JSON.stringify(leftovers(gateway)) === JSON.stringify(wanted)
  while (!isReached() && performance.now() < until) await pause()
  assert.equal(leftovers(gateway), wanted)
}

/** Waits until the condition is true; the error names what was waited for. */
export async function until(isTrue: () => boolean, what: string): Promise<void> {
  const last = performance.now() + WAIT_MS
  while (!isTrue()) {
    if (performance.now() > last) throw new Error(`${what} did not happen in ${WAIT_MS} ms`)
    await pause()
  }
}

async function pause(): Promise<void> {
  const moment = new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  await deadline(moment, WAIT_MS, 'a pause')
}

/** Asserts the status and outcome of all logged requests. */
export async function assertLogged(gateway: RunningGateway, ...wanted: string[]): Promise<Line[]> {
  const lines = await gateway.logged(wanted.length)
  assert.equal(
    lines.map((line) => `${String(line['http.status'])} ${String(line['outcome'])}`),
    wanted,
  )
  return lines
}

/** Resources that keep a process alive; those of the runner are counted before the suite. */
const HANDLES = ['TCPSocketWrap', 'TCPServerWrap', 'TLSWrap', 'PipeWrap', 'ProcessWrap', 'Timeout']

/** Asserts that no socket, child or timer remains after the suite. */
export function assertNoHandleLeft(faults: Test): void {
  const countOf = (kind: string): number =>
    process.getActiveResourcesInfo().filter((name) => name === kind).length
  const before = new Map<string, number>()
  faults.before(() => {
    for (const kind of HANDLES) before.set(kind, countOf(kind))
  })
  faults.after(async () => {
    for (const kind of HANDLES)
      await until(() => countOf(kind) <= before.get(kind)!, `every ${kind} to be gone`)
  })
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
