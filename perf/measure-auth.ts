// What a checked token and a rule cost: the same requests with a token, with and without policies that check it.
import { postText } from './client.ts'
import { fullSpeed } from './load.ts'
import { openHttp } from './mcp-http.ts'
import { callsInFlight } from './mcp-load.ts'
import { cpuSpent, type Column, type Measure, type Subject } from './measure.ts'
import type { Cpu } from './process.ts'
import { percentile, type Sample } from './stats.ts'
import type { Timing, Window } from './stopwatch.ts'
import { TOKEN } from './token.ts'

const POST = postText(TOKEN)
const CONNECTIONS = 64
const IN_FLIGHT = 32
const WARM_SECONDS = 0.5

const COLUMNS: readonly Column[] = [
  { key: 'rate', title: 'per second', digits: 0 },
  { key: 'cpu', title: 'CPU µs each', digits: 1 },
  { key: 'capacity', title: 'a core', digits: 0 },
  { key: 'p50', title: 'p50 µs', digits: 0 },
  { key: 'p99', title: 'p99 µs', digits: 0 },
]

export const authRoute: Measure = {
  title: `Small JSON POST with a token, ${CONNECTIONS} connections; guarded: jwtAuth and a rule`,
  speaks: 'auth',
  columns: COLUMNS,
  leading: 'capacity',
  fresh: false,
  round: async (subject) =>
    observed(subject, (timing) =>
      fullSpeed({ ...timing, port: subject.proxy.port, connections: CONNECTIONS, request: POST }),
    ),
}

export const authMcp: Measure = {
  title: `MCP tools/call with a token, ${IN_FLIGHT} in flight; guarded: mcpAuthentication and a rule`,
  speaks: 'auth',
  columns: COLUMNS,
  leading: 'capacity',
  fresh: false,
  round: async (subject) => {
    // The backend does not speak MCP.
    if (subject.name === 'direct') return {}
    const { port } = subject.proxy
    return observed(subject, (timing) =>
      callsInFlight(
        (inFlight, events) => openHttp(port, inFlight, events, TOKEN),
        IN_FLIGHT,
        timing,
      ),
    )
  },
}

async function observed(
  { proxy, options }: Subject,
  load: (timing: Timing) => Promise<Window>,
): Promise<Sample> {
  const cpu: Cpu[] = []
  const window = await load({
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
}
