// The small JSON POST over 64 keep-alive connections: at full speed, by wrk, and at a fixed rate.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { REQUEST_BODY } from './fixtures.ts'
import { fixedRate, fullSpeed, type Plan } from './load.ts'
import { cpuSpent, type Column, type Measure, type Subject } from './measure.ts'
import type { Cpu } from './process.ts'
import { percentile, type Sample } from './stats.ts'
import type { Window } from './stopwatch.ts'

const CONNECTIONS = 64
const PER_SECOND = 2000
const WARM_SECONDS = 0.5

const COLUMNS: readonly Column[] = [
  { key: 'rate', title: 'req/s', digits: 0 },
  { key: 'cpu', title: 'CPU µs/req', digits: 1 },
  { key: 'user', title: 'of it user', digits: 1 },
  { key: 'busy', title: 'core busy %', digits: 0 },
  { key: 'capacity', title: 'req/s a core', digits: 0 },
  { key: 'p50', title: 'p50 µs', digits: 0 },
  { key: 'p99', title: 'p99 µs', digits: 0 },
]

export const small: Measure = {
  title: `Small JSON POST, ${CONNECTIONS} keep-alive connections, as fast as it goes (own client)`,
  speaks: 'http',
  columns: COLUMNS,
  leading: 'capacity',
  fresh: false,
  round: async (subject) => observed(subject, fullSpeed),
}

export const rate: Measure = {
  title: `The same at a fixed ${PER_SECOND.toLocaleString('en')} req/s (open loop)`,
  speaks: 'http',
  columns: [
    ...COLUMNS.filter(({ key }) => key !== 'busy' && key !== 'capacity'),
    { key: 'addedP50', title: 'added p50 µs', digits: 0 },
    { key: 'addedP99', title: 'added p99 µs', digits: 0 },
  ],
  leading: 'p50',
  fresh: false,
  round: async (subject) => observed(subject, (plan) => fixedRate(plan, PER_SECOND)),
}

async function observed(subject: Subject, load: (plan: Plan) => Promise<Window>): Promise<Sample> {
  const { proxy, options } = subject
  const cpu: Cpu[] = []
  const window = await load({
    port: proxy.port,
    connections: CONNECTIONS,
    warmSeconds: WARM_SECONDS,
    seconds: options.seconds,
    edge: () => cpu.push(proxy.cpu()),
  })
  return {
    rate: window.answers / window.seconds,
    p50: percentile(window.latencies, 0.5),
    p99: percentile(window.latencies, 0.99),
    ...cpuSpent(cpu, window.answers, window.seconds),
  }
}

/** A second opinion, from another client. */
export const wrk: Measure = {
  title: `Small JSON POST, ${CONNECTIONS} keep-alive connections, as fast as it goes (wrk)`,
  speaks: 'http',
  columns: COLUMNS,
  leading: 'capacity',
  fresh: false,
  round: async ({ proxy, options, folder }) => {
    const script = join(folder, 'post.lua')
    writeFileSync(script, WRK_SCRIPT)
    const seconds = Math.max(1, Math.floor(options.seconds))
    const before = proxy.cpu()
    const { stdout } = await promisify(execFile)(
      'wrk',
      [`-t1`, `-c${CONNECTIONS}`, `-d${seconds}s`, '-s', script, `http://127.0.0.1:${proxy.port}/`],
      { timeout: (seconds + 10) * 1000 },
    )
    const cpu = [before, proxy.cpu()]
    const [requests, micros, errors, p50, p99] = wrkFigures(stdout)
    if (errors > 0) throw new Error(`wrk saw ${errors} errors`)
    const took = micros / 1e6
    return { rate: requests / took, p50, p99, ...cpuSpent(cpu, requests, took) }
  },
}

const WRK_SCRIPT = `wrk.method = "POST"
wrk.path = "/echo"
wrk.body = '${REQUEST_BODY}'
wrk.headers["content-type"] = "application/json"
wrk.headers["accept"] = "application/json"
wrk.headers["authorization"] = "Bearer 0123456789abcdef0123456789abcdef"
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("figures %d %d %d %d %d\\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50), latency:percentile(99)))
end
`

function wrkFigures(stdout: string): [number, number, number, number, number] {
  const found = /^figures (\d+) (\d+) (\d+) (\d+) (\d+)$/m.exec(stdout)
  if (found === null) throw new Error('wrk printed no figures')
  const at = (index: number): number => Number(found[index])
  return [at(1), at(2), at(3), at(4), at(5)]
}
