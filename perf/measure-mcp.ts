// `tools/call` on one MCP session through a peer to the echo server: many in flight, one at a time; and what a new
// session costs.
import { setTimeout as sleep } from 'node:timers/promises'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { openHttp } from './mcp-http.ts'
import { callsInFlight } from './mcp-load.ts'
import { SERVER_COMMAND } from './mcp-peers.ts'
import type { Opener } from './mcp-session.ts'
import { openStdio } from './mcp-stdio.ts'
import { cpuSpent, type Column, type Measure, type Subject } from './measure.ts'
import type { Cpu } from './process.ts'
import { Latencies, percentile, type Sample } from './stats.ts'

const IN_FLIGHT = 32
const WARM_SECONDS = 0.5
/** Pause between two sessions: a server that ends still uses the core of the load after its session was answered. */
const PAUSE_MS = 200
const FEWEST_SESSIONS = 3

const COLUMNS: readonly Column[] = [
  { key: 'rate', title: 'calls/s', digits: 0 },
  { key: 'cpu', title: 'CPU µs/call', digits: 1 },
  { key: 'user', title: 'of it user', digits: 1 },
  { key: 'busy', title: 'core busy %', digits: 0 },
  { key: 'capacity', title: 'calls/s a core', digits: 0 },
  { key: 'p50', title: 'p50 µs', digits: 0 },
  { key: 'p99', title: 'p99 µs', digits: 0 },
]

export const mcpBusy: Measure = {
  title: `MCP tools/call on one session, ${IN_FLIGHT} in flight`,
  speaks: 'mcp',
  columns: COLUMNS,
  leading: 'rate',
  fresh: false,
  round: async (subject) => called(subject, IN_FLIGHT),
}

export const mcpOne: Measure = {
  title: 'MCP tools/call on one session, one at a time',
  speaks: 'mcp',
  columns: [
    ...COLUMNS.filter(({ key }) => key !== 'busy' && key !== 'capacity'),
    { key: 'addedP50', title: 'added p50 µs', digits: 0 },
    { key: 'addedP99', title: 'added p99 µs', digits: 0 },
  ],
  leading: 'p50',
  fresh: false,
  round: async (subject) => called(subject, 1),
}

/** In milliseconds, because each session starts a process (not with mcp-proxy, whose sessions share one). */
export const mcpNew: Measure = {
  title: 'A new MCP session: initialize to its answer, one at a time',
  speaks: 'mcp',
  columns: [
    { key: 'sessions', title: 'sessions', digits: 0 },
    { key: 'cpu', title: 'CPU ms', digits: 1 },
    { key: 'p50', title: 'p50 ms', digits: 1 },
    { key: 'slowest', title: 'slowest ms', digits: 1 },
    { key: 'addedP50', title: 'added p50 ms', digits: 1 },
  ],
  leading: 'p50',
  fresh: false,
  round: async (subject) => greeted(subject),
}

function openerOf({ name, proxy }: Subject): Opener {
  if (name === 'direct') return async (_inFlight, events) => openStdio(SERVER_COMMAND, events)
  return async (inFlight, events) => openHttp(proxy.port, inFlight, events)
}

async function called(subject: Subject, inFlight: number): Promise<Sample> {
  const cpu: Cpu[] = []
  const window = await callsInFlight(openerOf(subject), inFlight, {
    warmSeconds: WARM_SECONDS,
    seconds: subject.options.seconds,
    edge: () => cpu.push(subject.proxy.cpu()),
  })
  return {
    rate: window.answers / window.seconds,
    p50: percentile(window.latencies, 0.5),
    p99: percentile(window.latencies, 0.99),
    ...cpuSpent(cpu, window.answers, window.seconds),
  }
}

async function greeted(subject: Subject): Promise<Sample> {
  const open = openerOf(subject)
  const failure = new Deferred()
  const events = { answered: () => {}, failed: failure.reject }
  const millis = new Latencies()
  const before = subject.proxy.cpu()
  const until = nowMicros() + subject.options.seconds * 1e6
  while (nowMicros() < until || millis.count < FEWEST_SESSIONS) {
    const session = await failure.guard(open(1, events))
    millis.add(session.greeting / 1000)
    await failure.guard(session.end())
    await sleep(PAUSE_MS)
  }
  const sorted = millis.sorted()
  return {
    sessions: sorted.length,
    cpu: (subject.proxy.cpu().total - before.total) / 1000 / sorted.length,
    p50: percentile(sorted, 0.5),
    slowest: percentile(sorted, 1),
  }
}
