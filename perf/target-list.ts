// Every target: the figures of one run that it compares, and its bound.
import { manyStreams } from './many-streams.ts'
import type { MeasureName } from './options.ts'
import type { PeerName } from './peers.ts'

export type Target = {
  name: string
  sense: 'at least' | 'at most'
  bound: number | undefined
  aim?: number
  value: (figure: Figure) => number
}

/** A median, or NaN if it was not measured. */
export type Figure = (measure: MeasureName, peer: PeerName, key: string) => number

/** Targets of streams: plain ones, and those of an LLM route with token limits. */
const STREAM_TARGETS: readonly Target[] = [
  {
    name: 'LLM stream, token-limited: p50 added to a chunk, gateway ÷ haproxy',
    sense: 'at most',
    bound: 1,
    value: (figure) =>
      figure('llm-sse', 'limited', 'addedP50') / figure('llm-sse', 'haproxy', 'addedP50'),
  },
  {
    name: 'LLM stream, token-limited: p99 of a chunk, gateway ÷ haproxy',
    sense: 'at most',
    bound: 2,
    value: (figure) => figure('llm-sse', 'limited', 'p99') / figure('llm-sse', 'haproxy', 'p99'),
  },
  {
    name: 'LLM stream, token-limited: CPU per chunk, gateway ÷ pipe',
    sense: 'at most',
    bound: 0.5,
    value: (figure) => figure('llm-sse', 'limited', 'cpu') / figure('llm-sse', 'pipe', 'cpu'),
  },
  {
    name: 'LLM stream, token-limited: CPU per chunk, gateway ÷ nginx',
    sense: 'at most',
    bound: undefined,
    aim: 1,
    value: (figure) => figure('llm-sse', 'limited', 'cpu') / figure('llm-sse', 'nginx', 'cpu'),
  },
  {
    name: 'SSE, plain route: CPU per chunk, gateway ÷ pipe',
    sense: 'at most',
    bound: 0.5,
    value: (figure) => figure('sse', 'gateway', 'cpu') / figure('sse', 'pipe', 'cpu'),
  },
  {
    name: 'SSE: CPU per chunk, relay ÷ pipe (the floor)',
    sense: 'at most',
    bound: undefined,
    value: (figure) => figure('sse', 'relay', 'cpu') / figure('sse', 'pipe', 'cpu'),
  },
  {
    name: 'SSE: user CPU per chunk, gateway ÷ pipe (without the kernel)',
    sense: 'at most',
    bound: undefined,
    value: (figure) => figure('sse', 'gateway', 'user') / figure('sse', 'pipe', 'user'),
  },
  {
    name: 'SSE, plain route: p50 of a chunk, gateway ÷ haproxy',
    sense: 'at most',
    bound: 1.2,
    value: (figure) => figure('sse', 'gateway', 'p50') / figure('sse', 'haproxy', 'p50'),
  },
]

export const TARGETS: readonly Target[] = [
  fast('pipe', 4),
  { ...fast('relay', 0.55), aim: 0.7 },
  asMeasured('pipe'),
  asMeasured('relay'),
  fast('nginx', undefined),
  fast('haproxy', undefined),
  policed('llm', 'the same without policies', { bound: 0.75, aim: 0.9 }),
  policed('portkey', 'portkey', { bound: 30 }),
  ...STREAM_TARGETS,
  ...openTargets('open-first', 'the first a process gets to do'),
  ...openTargets('open', 'code compiled'),
  ...idleTargets('idle', 5_000),
  ...idleTargets('idle-many', manyStreams()),
  ...transferTargets('down', 'download'),
  ...transferTargets('up', 'upload'),
  overHttp2('h2c', 'h2c'),
  overHttp2('h2-tls', 'TLS and h2'),
  overHttp2('h2-up', 'h2c, and h2 to the backend'),
  started('listening', 'start to listening', 250),
  started('gwctl', 'gwctl version', 120),
  started('empty', 'an empty Node, for comparison', undefined),
  {
    name: 'two workers: req/s, two ÷ one, the load on the same two cores',
    sense: 'at least',
    bound: 1.8,
    value: (figure) =>
      figure('workers', 'two workers', 'rate') / figure('workers', 'gateway', 'rate'),
  },
  {
    name: 'MCP, 32 in flight: calls/s, gateway ÷ the better peer',
    sense: 'at least',
    bound: 3,
    value: (figure) => figure('mcp-busy', 'gateway', 'rate') / betterPeer(figure, 'rate'),
  },
  {
    name: 'MCP, 32 in flight: calls/s a core, gateway ÷ the better peer',
    sense: 'at least',
    bound: undefined,
    value: (figure) => figure('mcp-busy', 'gateway', 'capacity') / betterPeer(figure, 'capacity'),
  },
  {
    name: 'MCP, one at a time: p50 added to direct stdio, ms',
    sense: 'at most',
    bound: 1,
    value: (figure) => figure('mcp-one', 'gateway', 'addedP50') / 1000,
  },
  guarded('auth-route', 'small POST'),
  guarded('auth-mcp', 'MCP tools/call'),
  {
    name: 'MCP: p50 of a new session, gateway ÷ supergateway',
    sense: 'at most',
    bound: undefined,
    value: (figure) =>
      figure('mcp-new', 'gateway', 'p50') / figure('mcp-new', 'supergateway', 'p50'),
  },
  {
    name: 'LLM stream: CPU per chunk, limited ÷ not',
    sense: 'at most',
    bound: 1.1,
    value: (figure) => figure('llm-sse', 'limited', 'cpu') / figure('llm-sse', 'llm', 'cpu'),
  },
  {
    name: 'LLM stream: CPU per chunk, LLM route ÷ plain',
    sense: 'at most',
    bound: undefined,
    value: (figure) => figure('llm-sse', 'llm', 'cpu') / figure('llm-sse', 'plain', 'cpu'),
  },
  besidePlain('llm', 'LLM route'),
  besidePlain('limited', 'limited LLM route'),
  firstByte('nginx'),
  firstByte('portkey'),
  {
    name: 'LLM: p50 to the first byte added to direct, limited, ms',
    sense: 'at most',
    bound: undefined,
    value: (figure) => figure('llm-ttfb', 'limited', 'addedP50') / 1000,
  },
  limitCost('requests', 'checked'),
  limitCost('tokens', 'checked and settled'),
  limitCost('keyed', 'checked and settled by one of 1,024 keys'),
  limitCost('cold', 'the same by one of 65,536, none of them in a cache'),
  {
    name: 'limits: a rule with 65,536 keys, heap in MB',
    sense: 'at most',
    bound: 20,
    value: (figure) => figure('limits-keys', 'gateway', 'heap'),
  },
  {
    name: 'limits: the same, all keys pushed out four times',
    sense: 'at most',
    bound: 20,
    value: (figure) => figure('limits-keys', 'gateway', 'laterHeap'),
  },
  {
    name: 'limits: the same, RSS in MB',
    sense: 'at most',
    bound: undefined,
    value: (figure) => figure('limits-keys', 'gateway', 'laterRss'),
  },
  {
    name: 'web page: small POST, req/s a core, open ÷ closed',
    sense: 'at least',
    bound: 0.98,
    value: (figure) => figure('ui-open', 'gateway', 'share'),
  },
  {
    name: 'web page: the same, open in Chromium on the core of the load',
    sense: 'at least',
    bound: undefined,
    value: (figure) => figure('ui-open', 'gateway', 'browserShare'),
  },
  {
    name: 'web page: the same, closed ÷ no admin interface',
    sense: 'at least',
    bound: undefined,
    value: (figure) =>
      figure('ui-open', 'gateway', 'closed') / figure('ui-open', 'plain', 'closed'),
  },
]

/** 200 streams opened at once. */
function openTargets(measure: MeasureName, when: string): Target[] {
  const p99To = (peer: PeerName) => (figure: Figure) =>
    figure(measure, 'gateway', 'p99') / figure(measure, peer, 'p99')
  const name = `opening 200 streams, ${when}: p99 to the first byte, gateway ÷`
  return [
    { name: `${name} pipe`, sense: 'at most', bound: 0.35, value: p99To('pipe') },
    { name: `${name} nginx`, sense: 'at most', bound: undefined, aim: 3, value: p99To('nginx') },
  ]
}

/** By what a fully busy core would serve. */
function policed(peer: PeerName, what: string, held: { bound: number; aim?: number }): Target {
  return {
    name: `LLM, 2 KB, token + rule + two limits: req/s a core ÷ ${what}`,
    sense: 'at least',
    ...held,
    value: (figure) =>
      figure('llm-small', 'policed', 'capacity') / figure('llm-small', peer, 'capacity'),
  }
}

function idleTargets(measure: 'idle' | 'idle-many', streams: number): Target[] {
  const count = streams.toLocaleString('en')
  return [
    {
      name: `${count} idle SSE streams: KiB each`,
      sense: 'at most',
      bound: 12,
      aim: 8,
      value: (figure) => figure(measure, 'gateway', 'each'),
    },
    {
      name: `${count} idle SSE streams: p99 of other traffic, with streams ÷ alone`,
      sense: 'at most',
      bound: 1.1,
      value: (figure) => figure(measure, 'gateway', 'ratio'),
    },
  ]
}

function transferTargets(measure: 'down' | 'up', what: string): Target[] {
  const bulk = measure === 'down' ? 'bulk-down' : 'bulk-up'
  return [
    {
      name: `${what} of 64 MiB, reader stalled: growth, MiB`,
      sense: 'at most',
      bound: 8,
      value: (figure) => figure(measure, 'gateway', 'stalled'),
    },
    {
      name: `${what} of 64 MiB, to the end: growth, MiB`,
      sense: 'at most',
      bound: 8,
      value: (figure) => figure(measure, 'gateway', 'whole'),
    },
    {
      name: `${what} of 64 MiB, fast reader: MiB/s, gateway ÷ nginx`,
      sense: 'at least',
      bound: 0.5,
      aim: 0.8,
      value: (figure) => figure(bulk, 'gateway', 'rate') / figure(bulk, 'nginx', 'rate'),
    },
  ]
}

function overHttp2(measure: 'h2c' | 'h2-tls' | 'h2-up', what: string): Target {
  return {
    name: `${what}: req/s a core, gateway ÷ a node:http2 proxy`,
    sense: 'at least',
    bound: 1.3,
    value: (figure) => figure(measure, 'gateway', 'capacity') / figure(measure, 'pipe', 'capacity'),
  }
}

function started(key: string, what: string, bound: number | undefined): Target {
  return {
    name: `${what}, ms`,
    sense: 'at most',
    bound,
    value: (figure) => figure('start', 'gateway', key),
  }
}

function besidePlain(peer: 'llm' | 'limited', what: string): Target {
  return {
    name: `LLM, a chat of 2 KB: req/s a core, ${what} ÷ plain`,
    sense: 'at least',
    bound: undefined,
    value: (figure) =>
      figure('llm-small', peer, 'capacity') / figure('llm-small', 'plain', 'capacity'),
  }
}

/** Compares what each adds to direct. */
function firstByte(peer: 'nginx' | 'portkey'): Target {
  return {
    name: `LLM: p50 added to the first byte, limited ÷ ${peer}`,
    sense: 'at most',
    bound: undefined,
    value: (figure) =>
      figure('llm-ttfb', 'limited', 'addedP50') / figure('llm-ttfb', peer, 'addedP50'),
  }
}

/** Only reported, because the memory bandwidth of the machine is the limit, not our code. */
function limitCost(key: 'requests' | 'tokens' | 'keyed' | 'cold', what: string): Target {
  return {
    name: `limits: ${key === 'requests' ? 'requests' : 'tokens'} ${what}, µs`,
    sense: 'at most',
    bound: key === 'cold' ? undefined : 2,
    value: (figure) => figure('limits-check', 'gateway', key),
  }
}

/** At most 12 % fewer requests with a token that was checked before. */
function guarded(measure: 'auth-route' | 'auth-mcp', what: string): Target {
  return {
    name: `${what} with a warm token: a core's worth, guarded ÷ not`,
    sense: 'at least',
    bound: 0.88,
    value: (figure) =>
      figure(measure, 'guarded', 'capacity') / figure(measure, 'gateway', 'capacity'),
  }
}

/** NaN unless both were measured: a missing peer cannot be compared. */
function betterPeer(figure: Figure, key: string): number {
  return Math.max(figure('mcp-busy', 'supergateway', key), figure('mcp-busy', 'mcp-proxy', key))
}

/** By what a fully busy core would serve: the same as req/s, but fair when the load was the limit. */
function fast(peer: PeerName, bound: number | undefined): Target {
  return {
    name: `small POST: req/s a core, gateway ÷ ${peer}`,
    sense: 'at least',
    bound,
    value: (figure) => figure('small', 'gateway', 'capacity') / figure('small', peer, 'capacity'),
  }
}

/** The ratio without correction. Where `core busy` is low it compares the load with itself. */
function asMeasured(peer: PeerName): Target {
  return {
    name: `small POST: req/s as measured, gateway ÷ ${peer}`,
    sense: 'at least',
    bound: undefined,
    value: (figure) => figure('small', 'gateway', 'rate') / figure('small', peer, 'rate'),
  }
}
