// What the gateway is held to, judged on the medians of one run.
import type { MeasureName } from './options.ts'
import type { PeerName } from './peers.ts'
import type { Sample } from './stats.ts'

/** Medians per measure and peer. */
export type Results = ReadonlyMap<MeasureName, ReadonlyMap<PeerName, Sample>>

/** `bound` undefined: a ratio that is only reported. */
export type Verdict = {
  name: string
  value: number
  bound: number | undefined
  state: 'met' | 'missed' | 'reported' | 'not measured'
}

type Target = {
  name: string
  sense: 'at least' | 'at most'
  bound: number | undefined
  value: (figure: Figure) => number
}

/** A median, or NaN if it was not measured. */
type Figure = (measure: MeasureName, peer: PeerName, key: string) => number

const TARGETS: readonly Target[] = [
  fast('pipe', 4),
  fast('relay', 0.55),
  asMeasured('pipe'),
  asMeasured('relay'),
  fast('nginx', undefined),
  fast('haproxy', undefined),
  {
    name: 'SSE: CPU per chunk, gateway ÷ pipe',
    sense: 'at most',
    bound: 0.55,
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
    name: 'SSE: p50 per chunk, gateway ÷ haproxy',
    sense: 'at most',
    bound: 1.2,
    value: (figure) => figure('sse', 'gateway', 'p50') / figure('sse', 'haproxy', 'p50'),
  },
  {
    name: 'download of 64 MiB, reader stalled: growth, MiB',
    sense: 'at most',
    bound: 16,
    value: (figure) => figure('down', 'gateway', 'stalled'),
  },
  {
    name: 'upload of 64 MiB, backend stalled: growth, MiB',
    sense: 'at most',
    bound: 16,
    value: (figure) => figure('up', 'gateway', 'stalled'),
  },
  {
    name: 'download of 64 MiB, to the end: growth, MiB',
    sense: 'at most',
    bound: undefined,
    value: (figure) => figure('down', 'gateway', 'whole'),
  },
  {
    name: 'upload of 64 MiB, to the end: growth, MiB',
    sense: 'at most',
    bound: undefined,
    value: (figure) => figure('up', 'gateway', 'whole'),
  },
  {
    name: '5,000 idle SSE streams: KiB each',
    sense: 'at most',
    bound: 14,
    value: (figure) => figure('idle', 'gateway', 'each'),
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

function besidePlain(peer: 'llm' | 'limited', what: string): Target {
  return {
    name: `LLM, a chat of 2 KB: req/s a core, ${what} ÷ plain`,
    sense: 'at least',
    bound: undefined,
    value: (figure) =>
      figure('llm-small', peer, 'capacity') / figure('llm-small', 'plain', 'capacity'),
  }
}

/** Of what is added to direct. */
function firstByte(peer: 'nginx' | 'portkey'): Target {
  return {
    name: `LLM: p50 added to the first byte, limited ÷ ${peer}`,
    sense: 'at most',
    bound: undefined,
    value: (figure) =>
      figure('llm-ttfb', 'limited', 'addedP50') / figure('llm-ttfb', peer, 'addedP50'),
  }
}

/** Where the memory of the machine is the limit, and not our code, it is only reported. */
function limitCost(key: 'requests' | 'tokens' | 'keyed' | 'cold', what: string): Target {
  return {
    name: `limits: ${key === 'requests' ? 'requests' : 'tokens'} ${what}, µs`,
    sense: 'at most',
    bound: key === 'cold' ? undefined : 2,
    value: (figure) => figure('limits-check', 'gateway', key),
  }
}

/** At most 12 % fewer with a token that was checked before. */
function guarded(measure: 'auth-route' | 'auth-mcp', what: string): Target {
  return {
    name: `${what} with a warm token: a core's worth, guarded ÷ not`,
    sense: 'at least',
    bound: 0.88,
    value: (figure) =>
      figure(measure, 'guarded', 'capacity') / figure(measure, 'gateway', 'capacity'),
  }
}

/** NaN unless both were measured: nobody is better than a peer that was not there. */
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

/** The plain ratio beside it. Where `core busy` is low it compares the load with itself. */
function asMeasured(peer: PeerName): Target {
  return {
    name: `small POST: req/s as measured, gateway ÷ ${peer}`,
    sense: 'at least',
    bound: undefined,
    value: (figure) => figure('small', 'gateway', 'rate') / figure('small', peer, 'rate'),
  }
}

export function verdicts(results: Results): (Verdict & Pick<Target, 'sense'>)[] {
  const figure: Figure = (measure, peer, key) =>
    results.get(measure)?.get(peer)?.[key] ?? Number.NaN
  return TARGETS.map(({ name, sense, bound, value: valueOf }) => {
    const value = valueOf(figure)
    return { name, sense, bound, value, state: stateOf(value, sense, bound) }
  })
}

function stateOf(
  value: number,
  sense: Target['sense'],
  bound: number | undefined,
): Verdict['state'] {
  if (Number.isNaN(value)) return 'not measured'
  if (bound === undefined) return 'reported'
  const isMet = sense === 'at least' ? value >= bound : value <= bound
  return isMet ? 'met' : 'missed'
}
