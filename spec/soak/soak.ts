// A soak: mixed traffic against one gateway, then checks that every request is accounted for and nothing is leaked.

import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { askAdmin } from './admin.ts'
import { CAST } from './actors.ts'
import type { Scene } from './actors.ts'
import { CHAT_TOKENS, SoakBackend } from './backend.ts'
import { CHAT_BUDGET, soakConfig } from './config.ts'
import { Ledger } from './ledger.ts'
import type { End } from './ledger.ts'
import { SoakedGateway } from './process.ts'
import type { Line, Weight } from './process.ts'
import { Folder } from '../support/folder.ts'

/** The share of the time after which the heap is stable and is measured for the first time. */
const SETTLED = 1 / 3

/** The heap growth without a leak: code that runs for the first time, tables that are filled. */
const HEAP_SHARE = 0.1
const HEAP_BYTES = 4 * 1024 * 1024

/** Allowance for sockets of pools, the inspector and files being read. */
const SPARE_DESCRIPTORS = 4

/** Each of these must occur: otherwise the soak did not test it. */
const SEEN: readonly (readonly [kind: string, end: End])[] = [
  ['echo', 'whole'],
  ['limited', 'whole'],
  ['stream', 'whole'],
  ['stream', 'broken'],
  ['upload', 'whole'],
  ['upload', 'broken'],
  ['cut', 'broken'],
  ['v1', 'whole'],
  ['session', 'whole'],
  ['session', 'broken'],
  ['trace', 'whole'],
]

const REST_MS = 60_000
const LOOK_MS = 100

export interface SoakReport {
  readonly sent: number
  readonly ends: Record<string, number>
  readonly outcomes: Record<string, number>
  readonly reloads: number
  readonly weights: readonly Weight[]
  /** Everything that is wrong; empty if the soak passed. */
  readonly complaints: readonly string[]
}

export interface SoakOptions {
  readonly seconds: number
  readonly seed: number
  readonly tell: (text: string) => void
}

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const folder = new Folder()
  const backend = new SoakBackend()
  try {
    const run = new Soak(options, folder, await backend.listen())
    return await run.run()
  } finally {
    backend.close()
    folder.close()
  }
}

class Soak {
  readonly #options: SoakOptions
  readonly #folder: Folder
  readonly #backendPort: number
  readonly #ledger = new Ledger()
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 60_000 })
  readonly #complaints: string[] = []
  readonly #weights: Weight[] = []
  #reloads = 0
  #reloaded = 0
  #state: 'acting' | 'resting' = 'resting'

  constructor(options: SoakOptions, folder: Folder, backendPort: number) {
    this.#options = options
    this.#folder = folder
    this.#backendPort = backendPort
  }

  async run(): Promise<SoakReport> {
    const admin = this.#folder.at('admin.sock')
    const file = this.#configure()
    const gateway = await SoakedGateway.start(file, admin, (line) => this.#hear(line))
    try {
      const scene = this.#scene(gateway, admin)
      const { seconds } = this.#options
      await this.#act(scene, seconds * SETTLED)
      await this.#weigh(gateway, admin)
      await this.#act(scene, seconds * (1 - SETTLED))
      await this.#weigh(gateway, admin)
      await this.#checkBudget(admin)
    } finally {
      this.#agent.destroy()
      const code = await gateway.stop()
      if (code !== 0) this.#complaints.push(`the gateway ended with ${code}`)
    }
    this.#check()
    return this.#report()
  }

  #scene(gateway: SoakedGateway, admin: string): Scene {
    const reload = (): void => {
      this.#configure()
      gateway.reload()
    }
    return {
      port: gateway.port,
      admin,
      ledger: this.#ledger,
      agent: this.#agent,
      reload,
      random: randomOf(this.#options.seed),
    }
  }

  #configure(): string {
    const text = soakConfig(this.#backendPort, 0, ++this.#reloads)
    return this.#folder.replace('soak.yaml', text)
  }

  #hear(line: Line): void {
    const { message, level } = line
    if (message === 'request')
      this.#ledger.logged(String(line['http.path']), String(line['outcome']))
    if (message === 'reloaded config') this.#reloaded++
    if (level === 'error') this.#ledger.fault(`logged: ${JSON.stringify(line)}`)
  }

  async #act(scene: Scene, seconds: number): Promise<void> {
    this.#state = 'acting'
    const acting = CAST.flatMap(([act, count, pause]) =>
      Array.from({ length: count }, async () => {
        while (this.#state === 'acting') {
          await act(scene).catch((error: Error) =>
            this.#ledger.fault(`${act.name}: ${error.message}`),
          )
          await sleep(pause * (0.5 + scene.random()))
        }
      }),
    )
    await sleep(seconds * 1000)
    this.#state = 'resting'
    await Promise.all(acting)
  }

  /** Measures the gateway when it is idle and its timeouts have released everything. */
  async #weigh(gateway: SoakedGateway, admin: string): Promise<void> {
    this.#agent.destroy()
    const began = performance.now()
    let left = await leftOf(admin, gateway)
    while (left.length > 0 && performance.now() - began < REST_MS) {
      await sleep(LOOK_MS)
      left = await leftOf(admin, gateway)
    }
    this.#complaints.push(...left.map((what) => `left at rest: ${what}`))
    const weight = await gateway.weigh()
    this.#weights.push(weight)
    this.#options.tell(
      `at rest after ${this.#ledger.sent} requests: heap ${mib(weight.heap)} MiB, ` +
        `RSS ${mib(weight.rss)} MiB, ${weight.descriptors} descriptors, ` +
        JSON.stringify(weight.resources),
    )
  }

  /** The remaining budget must be the configured one minus the tokens of complete chats, exactly. */
  async #checkBudget(admin: string): Promise<void> {
    const dump = await askAdmin(admin, '/config_dump')
    const remaining = /"key": ?"soak",\s*"remaining": ?(\d+)/.exec(dump)?.[1]
    const wanted = CHAT_BUDGET - CHAT_TOKENS * this.#ledger.count('v1', 'whole')
    if (Number(remaining) !== wanted)
      this.#complaints.push(`the budget has ${remaining} left, not ${wanted}`)
  }

  #check(): void {
    const { faults, faultCount, outcomes } = this.#ledger
    this.#complaints.push(...faults)
    if (faultCount > faults.length)
      this.#complaints.push(`and ${faultCount - faults.length} more like these`)
    const unaccounted = this.#ledger.unaccounted()
    if (unaccounted.length > 0)
      this.#complaints.push(
        `${unaccounted.length} unaccounted: ${unaccounted.slice(0, 5).join('; ')}`,
      )
    const chats = this.#ledger.count('v1', 'whole')
    if (outcomes.get('v1 complete') !== chats)
      this.#complaints.push(`${chats} chats, and ${outcomes.get('v1 complete')} lines`)
    if (this.#reloaded === 0) this.#complaints.push('no reload was seen')
    for (const [kind, end] of SEEN)
      if (this.#ledger.count(kind, end) === 0) this.#complaints.push(`no ${kind} ended as ${end}`)
    this.#checkWeights()
  }

  #checkWeights(): void {
    const [first, last] = [this.#weights[0], this.#weights.at(-1)]
    if (first === undefined || last === undefined || first === last) return
    const maxHeap = first.heap * (1 + HEAP_SHARE) + HEAP_BYTES
    if (last.heap > maxHeap)
      this.#complaints.push(`the heap grew from ${mib(first.heap)} to ${mib(last.heap)} MiB`)
    if (last.descriptors > first.descriptors + SPARE_DESCRIPTORS)
      this.#complaints.push(`descriptors: ${first.descriptors}, then ${last.descriptors}`)
    for (const [kind, count] of Object.entries(last.resources))
      if (count > (first.resources[kind] ?? 0) + SPARE_DESCRIPTORS)
        this.#complaints.push(`${kind}: ${first.resources[kind] ?? 0}, then ${count}`)
  }

  #report(): SoakReport {
    return {
      sent: this.#ledger.sent,
      ends: this.#ledger.ends,
      outcomes: Object.fromEntries(this.#ledger.outcomes),
      reloads: this.#reloaded,
      weights: this.#weights,
      complaints: this.#complaints,
    }
  }
}

interface Counts {
  readonly connections: Record<string, number>
  readonly exchanges: Record<string, number>
  readonly event_streams: number
  readonly mcp_sessions: Record<string, number>
  readonly children: number
  readonly held_bytes: Record<string, { readonly used: number }>
  readonly trace_watchers: number
  readonly pools: readonly { readonly open: number }[]
}

/** The resources that the gateway reports, and its real child processes. */
async function leftOf(admin: string, gateway: SoakedGateway): Promise<string[]> {
  const { counts } = JSON.parse(await askAdmin(admin, '/memory')) as { counts: Counts }
  const sum = (all: Record<string, number>): number =>
    Object.values(all).reduce((total, count) => total + count, 0)
  const figures = {
    connections: sum(counts.connections),
    exchanges: sum(counts.exchanges),
    'event streams': counts.event_streams,
    'MCP sessions': sum(counts.mcp_sessions),
    children: counts.children,
    processes: gateway.children().length,
    'held bytes': sum(
      Object.fromEntries(Object.entries(counts.held_bytes).map(([what, { used }]) => [what, used])),
    ),
    watchers: counts.trace_watchers,
    'connections to backends': counts.pools.reduce((total, { open }) => total + open, 0),
  }
  return Object.entries(figures).flatMap(([what, count]) => (count === 0 ? [] : `${count} ${what}`))
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1)
}

/** mulberry32, a small generator with the same result on every machine. */
function randomOf(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
