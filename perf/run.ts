// `npm run perf`: starts the peers side by side, measures in interleaved rounds, reports.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { findHttp2Peers } from './h2-peers.ts'
import { findLlmPeers } from './llm-peers.ts'
import { findMcpPeers } from './mcp-peers.ts'
import type { Measure, Subject } from './measure.ts'
import { findAuthPeers } from './auth-peers.ts'
import { authMcp, authRoute } from './measure-auth.ts'
import { bulkDown, bulkUp } from './measure-bulk.ts'
import { h2Tls, h2Up, h2c } from './measure-h2.ts'
import { idle, idleMany } from './measure-idle.ts'
import { findLimits, limitsCheck, limitsKeys } from './measure-limits.ts'
import { llmSmall, llmSse, llmTtfb } from './measure-llm.ts'
import { mcpBusy, mcpNew, mcpOne } from './measure-mcp.ts'
import { open, openFirst } from './measure-open.ts'
import { rate, small, wrk } from './measure-small.ts'
import { sse } from './measure-sse.ts'
import { findStart, start as starting } from './measure-start.ts'
import { down, up } from './measure-stall.ts'
import { uiOpen } from './measure-ui.ts'
import { findWorkers, workers } from './measure-workers.ts'
import { USAGE, parseOptions, type MeasureName, type Options } from './options.ts'
import { findHttpPeers, provided, type Peer, type PeerName } from './peers.ts'
import {
  ALL_CORES,
  PINNING,
  PROXY_CORE,
  endChildrenAtExit,
  leaveProxyCore,
  start,
  type Running,
} from './process.ts'
import { measureText, noiseText, resultsOf, verdictText, type Outcome } from './report.ts'
import type { Sample } from './stats.ts'
import { verdicts } from './targets.ts'
import { findUiPeers } from './ui-peers.ts'

const MEASURES: Readonly<Record<MeasureName, Measure>> = {
  small,
  wrk,
  rate,
  sse,
  open,
  'open-first': openFirst,
  down,
  up,
  'bulk-down': bulkDown,
  'bulk-up': bulkUp,
  idle,
  'idle-many': idleMany,
  h2c,
  'h2-tls': h2Tls,
  'h2-up': h2Up,
  'mcp-busy': mcpBusy,
  'mcp-one': mcpOne,
  'mcp-new': mcpNew,
  'auth-route': authRoute,
  'auth-mcp': authMcp,
  'llm-sse': llmSse,
  'llm-small': llmSmall,
  'llm-ttfb': llmTtfb,
  'limits-check': limitsCheck,
  'limits-keys': limitsKeys,
  'ui-open': uiOpen,
  start: starting,
  workers,
}
const FIND = {
  http: findHttpPeers,
  mcp: findMcpPeers,
  auth: findAuthPeers,
  llm: findLlmPeers,
  limits: findLimits,
  ui: findUiPeers,
  h2c: findHttp2Peers('h2c'),
  'h2-tls': findHttp2Peers('h2-tls'),
  'h2-up': findHttp2Peers('h2-up'),
  start: findStart,
  workers: findWorkers,
} as const
/** A run that takes longer than this is stuck and is ended with all its processes. */
const RUN_DEADLINE_MS = 45 * 60_000
const WEIGHINGS = 3
/** Share of a round: after only a quarter, much code of a larger proxy was still interpreted in the first rounds. */
const REHEARSAL = 2

/** Removes peers that do not start from `peers`, and adds the reason to `missing` once. */
type Bench = { options: Options; folder: string; peers: readonly Peer[]; missing: string[] }

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  const folder = mkdtempSync(join(tmpdir(), 'perf-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  endChildrenAtExit()
  leaveProxyCore()
  setTimeout(() => {
    console.error('the run took too long and was given up')
    process.exit(1)
  }, RUN_DEADLINE_MS).unref()

  const missing: string[] = []
  const names = options.only.filter((name) => name !== 'wrk' || provided('wrk', options.install))
  if (names.length < options.only.length) missing.push('wrk is not on PATH: skipped')
  const peers: Peer[] = []
  for (const speaks of new Set(names.map((name) => MEASURES[name].speaks))) {
    const found = FIND[speaks](options, folder)
    peers.push(...found.peers)
    missing.push(...found.missing)
  }
  for (const line of missing) console.log(line)

  const bench: Bench = { options, folder, peers, missing }
  const outcomes = new Map<MeasureName, Outcome>()
  for (const name of names) {
    console.error(`${Math.round(process.uptime())} s: measuring ${name}`)
    outcomes.set(name, await measured(MEASURES[name], bench))
  }
  const text = reportText(options, outcomes, missing)
  console.log(text)
  if (!options.write) return
  const root = join(import.meta.dirname, '../../perf')
  const notes = join(root, 'NOTES.md')
  const tail = existsSync(notes) ? `\n${readFileSync(notes, 'utf8')}` : ''
  writeFileSync(join(root, 'RESULTS.md'), text + tail)
}

function reportText(
  options: Options,
  outcomes: ReadonlyMap<MeasureName, Outcome>,
  missing: readonly string[],
): string {
  const results = resultsOf(outcomes)
  const processor = cpus()[0]?.model ?? 'unknown processor'
  const intro =
    `# Results\n\nWritten by \`npm run perf\` on ${new Date().toISOString().slice(0, 10)}; ` +
    `README.md says how to read it.\n\n` +
    `Node ${process.version}, ${cpus().length} × ${processor}, ${process.arch}; ${PINNING}; ` +
    `medians of ${options.rounds} rounds of ${options.seconds} s, ` +
    `of memory ${Math.min(options.rounds, WEIGHINGS)} processes.\n` +
    `${noiseText(outcomes.values())}\n` +
    missing.map((line) => `\n${line}\n`).join('')
  const sections = [...outcomes].map(([name, outcome]) =>
    measureText(outcome, results.get(name) ?? new Map()),
  )
  // A partial run does not report what it left out on purpose.
  const isWhole = options.only.length === Object.keys(MEASURES).length
  const judged = verdicts(results).filter(({ state }) => isWhole || state !== 'not measured')
  return [intro, verdictText(judged), ...sections].join('\n')
}

async function measured(measure: Measure, bench: Bench): Promise<Outcome> {
  const outcome: Outcome = { measure, rounds: new Map(), failures: [] }
  const file = join(import.meta.dirname, measure.backend ?? 'backend.js')
  const command = (port: number): string[] => [process.execPath, file, `${port}`, bench.folder]
  const backend = await start(command, undefined)
  try {
    if (measure.fresh) await weigh(outcome, bench, backend)
    else await race(outcome, bench, backend)
  } finally {
    await backend.stop()
  }
  return outcome
}

/** Runs every peer in new processes, because what a runtime holds after its start varies. */
async function weigh(outcome: Outcome, bench: Bench, backend: Running): Promise<void> {
  const rounds = Math.min(bench.options.rounds, WEIGHINGS)
  for (let round = 0; round < rounds; round++) {
    for (const peer of peersOf(bench, outcome)) {
      const proxy = await started(bench, peer, backend)
      if (proxy === undefined) continue
      await once(outcome, { name: peer.name, proxy, backendPort: backend.port, ...bench })
      await proxy.stop()
    }
  }
}

/** Starts all peers, then runs each in turn, round by round, so that noise affects all of them. */
async function race(outcome: Outcome, bench: Bench, backend: Running): Promise<void> {
  const backendPort = backend.port
  const subjects: Subject[] = [{ name: 'direct', proxy: backend, backendPort, ...bench }]
  const { rounds } = bench.options
  for (const peer of peersOf(bench, outcome)) {
    const proxy = await started(bench, peer, backend)
    if (proxy !== undefined) subjects.push({ name: peer.name, proxy, backendPort, ...bench })
  }
  for (const subject of subjects) await rehearse(outcome, subject)
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) await once(outcome, subject)
  }
  for (const { proxy } of subjects.slice(1)) await proxy.stop()
}

/** The first pass compiles the hot code of the peers, and its result is discarded. */
async function rehearse(outcome: Outcome, subject: Subject): Promise<void> {
  const { measure } = outcome
  const options = { ...subject.options, seconds: subject.options.seconds * REHEARSAL }
  const round = async (): Promise<Sample> => {
    if (measure.rehearse === undefined) return measure.round({ ...subject, options })
    await measure.rehearse(subject)
    return {}
  }
  await once({ ...outcome, measure: { ...measure, round }, rounds: new Map() }, subject)
}

function peersOf({ peers }: Bench, { measure }: Outcome): Peer[] {
  return peers.filter(({ speaks }) => speaks === measure.speaks)
}

async function started(bench: Bench, peer: Peer, backend: Running): Promise<Running | undefined> {
  try {
    const cores = peer.cores === 'all' ? ALL_CORES : PROXY_CORE
    const proxy = await start((port) => peer.command(port, backend.port), cores)
    await proxy.atRest()
    return proxy
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    bench.peers = bench.peers.filter((other) => other !== peer)
    bench.missing.push(`${peer.name} did not start and is skipped: ${reason}`)
    console.log(bench.missing.at(-1))
    return undefined
  }
}

async function once(outcome: Outcome, subject: Subject): Promise<void> {
  const name: PeerName = subject.name
  try {
    const sample = await outcome.measure.round(subject)
    // An empty sample: the measure does not compare this peer.
    if (Object.keys(sample).length === 0) return
    outcome.rounds.set(name, [...(outcome.rounds.get(name) ?? []), sample])
  } catch (error) {
    const line = `${name} failed a round: ${String(error)}`
    if (!outcome.failures.includes(line)) outcome.failures.push(line)
  }
}

main()
  // Sockets that a peer's client left open must not keep this process running.
  .then(() => process.exit(0))
  .catch((error: unknown) => {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
    process.exitCode = 1
  })
