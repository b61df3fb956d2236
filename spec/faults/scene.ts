// What the fault specs share: one request over either protocol as its client sees it, and what it leaves behind.

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
  /** 0: nothing came. */
  readonly status: number
  readonly body: string
  /** `cut`: it ended before the answer did. */
  readonly end: 'whole' | 'cut'
}

export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly fields?: Readonly<Record<string, string>>
  readonly body?: string
}

/** One request on a connection of its own, which is closed behind the answer. */
export async function ask(
  stage: Stage,
  { port }: { port: number },
  protocol: Protocol,
  sent: Sent = {},
): Promise<Seen> {
  return protocol === 'h2' ? overHttp2(port, sent) : overHttp1(stage, port, sent)
}

async function overHttp1(stage: Stage, port: number, sent: Sent): Promise<Seen> {
  const client = await stage.client({ port, host: '127.0.0.1' })
  client.send(textOf(sent))
  await client.settled(() => seenIn(client.text).end === 'whole', WAIT_MS, 'an answer')
  client.destroy()
  return seenIn(client.text)
}

/** With its length, if there is a body. */
export function textOf({ method, path = '/', fields = {}, body = '' }: Sent = {}): string {
  const verb = method ?? (body === '' ? 'GET' : 'POST')
  const length = verb === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const all = Object.entries({ host: 'a', ...length, ...fields })
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`)
  return `${verb} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** What a client has understood so far. */
export function seenIn(text: string): Seen {
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

async function overHttp2(port: number, sent: Sent): Promise<Seen> {
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

/** What a gateway holds: nothing but idle connections to backends, once all is over. */
export interface Leftovers {
  readonly clients: number
  readonly requests: number
  /** Connections to backends that carry something, idle ones, and requests without one. */
  readonly busy: number
  readonly idle: number
  readonly waiting: number
  readonly sessions: number
  readonly children: number
  /** Bytes of bodies; and all that the process has read, and not sent yet. */
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

/** Waits until nothing is left but this, and holds the gateway to it. */
export async function leaves(
  gateway: { live: LiveSnapshot },
  kept: Partial<Leftovers> = {},
): Promise<void> {
  const wanted = { ...NOTHING, ...kept }
  const until = performance.now() + WAIT_MS
  const isThere = (): boolean => JSON.stringify(leftovers(gateway)) === JSON.stringify(wanted)
  while (!isThere() && performance.now() < until) await aMoment()
  assert.equal(leftovers(gateway), wanted)
}

/** Until it holds; a fault says what was waited for. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const last = performance.now() + WAIT_MS
  while (!holds()) {
    if (performance.now() > last) throw new Error(`waited ${WAIT_MS} ms in vain for ${what}`)
    await aMoment()
  }
}

async function aMoment(): Promise<void> {
  const moment = new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  await deadline(moment, WAIT_MS, 'a moment')
}

/** All requests that were logged, as status and outcome: no fewer than these, and none twice. */
export async function logs(gateway: RunningGateway, ...wanted: string[]): Promise<Line[]> {
  const lines = await gateway.logged(wanted.length)
  assert.equal(
    lines.map((line) => `${String(line['http.status'])} ${String(line['outcome'])}`),
    wanted,
  )
  return lines
}

/** What keeps a process alive; what the runner itself has is there before. */
const HANDLES = ['TCPSocketWrap', 'TCPServerWrap', 'TLSWrap', 'PipeWrap', 'ProcessWrap', 'Timeout']

/** Holds a suite to that no socket, child or timer outlives it. */
export function leavesNoHandle(faults: Test): void {
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
