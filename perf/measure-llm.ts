// What an LLM route costs compared with a plain one, and what token limits add: per chunk, per request, to the first byte.
import { openChats, firstBytes, shortChats } from './chat-load.ts'
import {
  CHAT_BODY,
  CHAT_PATH,
  STREAM_BODY,
  WHOLE_BASE,
  WHOLE_TARGET,
  chatRequest,
} from './chat-fixtures.ts'
import { portkeyLines } from './llm-peers.ts'
import { fullSpeed } from './load.ts'
import { cpuSpent, type Measure } from './measure.ts'
import { INTERVAL_MS, STREAMS, STREAM_COLUMNS, streamed } from './measure-sse.ts'
import type { Cpu } from './process.ts'
import { percentile } from './stats.ts'
import { TOKEN } from './token.ts'

const CONNECTIONS = 64
const WARM_SECONDS = 0.5
/** Chunks of one response. */
const CHUNKS = 100
/** Chats that compile the code first. Streams of two seconds would bring only a few hundred, and rounds would run half compiled. */
const REHEARSAL = 6_000

export const llmSse: Measure = {
  title: `LLM, ${STREAMS} streamed chats of ${CHUNKS} chunks, one each ${INTERVAL_MS} ms; limited: requests, and tokens by key`,
  speaks: 'llm',
  columns: STREAM_COLUMNS,
  leading: 'cpu',
  fresh: false,
  rehearse: async ({ name, proxy }) => {
    if (name !== 'portkey') await shortChats(proxy.port, REHEARSAL, CONNECTIONS)
  },
  round: async (subject) => {
    // It delays each first chunk, and 200 of its streams would overload a core.
    if (subject.name === 'portkey') return {}
    const chats = { interval: INTERVAL_MS, chunks: CHUNKS, streams: STREAMS }
    return streamed(subject, (at, events) => openChats(subject.proxy.port, at, chats, events))
  },
}

export const llmSmall: Measure = {
  title: `LLM, a chat of 2 KB answered at once with JSON, ${CONNECTIONS} connections, as fast as it goes; policed: a warm token, a rule, two limits`,
  speaks: 'llm',
  columns: [
    { key: 'rate', title: 'req/s', digits: 0 },
    { key: 'cpu', title: 'CPU µs/req', digits: 1 },
    { key: 'user', title: 'of it user', digits: 1 },
    { key: 'busy', title: 'core busy %', digits: 0 },
    { key: 'capacity', title: 'req/s a core', digits: 0 },
    { key: 'p50', title: 'p50 µs', digits: 0 },
    { key: 'p99', title: 'p99 µs', digits: 0 },
  ],
  leading: 'capacity',
  fresh: false,
  round: async ({ name, proxy, backendPort, options }) => {
    const cpu: Cpu[] = []
    const lines = name === 'portkey' ? portkeyLines(backendPort, WHOLE_BASE) : ''
    const window = await fullSpeed({
      port: proxy.port,
      connections: CONNECTIONS,
      request: chatRequest(WHOLE_TARGET, CHAT_BODY, lines, TOKEN),
      warmSeconds: WARM_SECONDS,
      seconds: options.seconds,
      edge: () => cpu.push(proxy.cpu()),
    })
    return {
      rate: window.answers / window.seconds,
      ...cpuSpent(cpu, window.answers, window.seconds),
      p50: percentile(window.latencies, 0.5),
      p99: percentile(window.latencies, 0.99),
    }
  },
}

export const llmTtfb: Measure = {
  title: 'LLM, from a chat of 2 KB to the first byte of its stream, one at a time',
  speaks: 'llm',
  columns: [
    { key: 'rate', title: 'chats/s', digits: 0 },
    { key: 'cpu', title: 'CPU µs/chat', digits: 0 },
    { key: 'p50', title: 'p50 µs', digits: 0 },
    { key: 'p99', title: 'p99 µs', digits: 0 },
    { key: 'addedP50', title: 'added p50 µs', digits: 0 },
    { key: 'addedP99', title: 'added p99 µs', digits: 0 },
  ],
  leading: 'p50',
  fresh: false,
  round: async ({ name, proxy, backendPort, options }) => {
    const cpu: Cpu[] = []
    const lines = name === 'portkey' ? portkeyLines(backendPort) : ''
    const window = await firstBytes(proxy.port, chatRequest(CHAT_PATH, STREAM_BODY, lines, TOKEN), {
      warmSeconds: WARM_SECONDS,
      seconds: options.seconds,
      edge: () => cpu.push(proxy.cpu()),
    })
    return {
      rate: window.answers / window.seconds,
      ...cpuSpent(cpu, window.answers, window.seconds),
      p50: percentile(window.latencies, 0.5),
      p99: percentile(window.latencies, 0.99),
    }
  },
}
