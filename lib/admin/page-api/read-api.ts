// Everything that the page is told, from what the gateway knows; and what is remembered for it: samples, lines, histories.

import type { ConfigRefusal } from '../../config/config-error.ts'
import type { Config } from '../../config/config-types.ts'
import { ConfigPartFormatter } from '../../config/show.ts'
import type { AdminAddresses } from '../../config/show.ts'
import { startInterval } from '../../core/scheduling.ts'
import type { StartInterval } from '../../core/scheduling.ts'
import type { DecideWatch } from '../../trace/trace-watchers.ts'
import { buildConfigView, formatConfigYaml } from './config-view.ts'
import type { ShownConfig } from './config-view.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import { buildLimitsView, LimitHistory } from './limits-view.ts'
import { LiveStreams } from './live-updates.ts'
import { RecentLogLines } from './recent-log-lines.ts'
import { ConfigMap } from './map-view.ts'
import { listMcpLocations } from './mcp-locations.ts'
import type { McpLocation } from './mcp-locations.ts'
import { buildMcpView } from './mcp-view.ts'
import type { LimitsView, LiveTopic, McpView, Sample, WorkerCounts } from './page-api-types.ts'
import { createErrorResponse } from './page-request.ts'
import type { UiRequest, UiResponse } from './page-request.ts'
import type { UiSources } from './page-service.ts'
import { buildRuntimeView } from './runtime-view.ts'
import { Sampler } from './traffic-samples.ts'

const TICK_MS = 1_000
/** So many beats make one sample while nobody reads them as they come. */
export const TICKS_PER_QUIET_SAMPLE = 5

/** What stands beside the traffic, as far as the page tells of it. */
export interface UiContext {
  readonly addresses: AdminAddresses
  /** Of the last attempt to load another configuration; null when it was taken. */
  readonly refusal: () => ConfigRefusal | null
  /** Null, or left out, where one process is all there is. */
  readonly workers?: () => WorkerCounts | null
}

/** What is made of a configuration once, when it is first wanted. */
class DerivedViews {
  readonly config: Config
  readonly parts: ConfigPartFormatter
  readonly #addresses: AdminAddresses
  #map: ConfigMap | null = null
  #yaml: string | null = null
  #places: readonly McpLocation[] | null = null

  constructor(config: Config, addresses: AdminAddresses) {
    this.config = config
    this.parts = new ConfigPartFormatter(config)
    this.#addresses = addresses
  }

  get map(): ConfigMap {
    return (this.#map ??= new ConfigMap(this.config, this.parts))
  }

  get shown(): Pick<ShownConfig, 'parts' | 'yaml'> {
    this.#yaml ??= formatConfigYaml(this.config, this.#addresses)
    return { parts: this.parts, yaml: this.#yaml }
  }

  get places(): readonly McpLocation[] {
    return (this.#places ??= listMcpLocations(this.config))
  }
}

export class ReadApi implements UiSources {
  readonly #facts: GatewayFacts
  readonly #sampler: Sampler
  readonly #lines: RecentLogLines
  readonly #history = new LimitHistory()
  readonly #streams: LiveStreams
  readonly #every: StartInterval
  #context: UiContext | null = null
  #derived: DerivedViews | null = null
  /** Calls off what is done every second; null while nothing is remembered. */
  #stopTimer: (() => void) | null = null
  /** Beats since the last sample. */
  #quietTicks = 0

  constructor(facts: GatewayFacts, timer: StartInterval = startInterval) {
    this.#facts = facts
    this.#every = timer
    this.#lines = new RecentLogLines(facts.log)
    this.#sampler = new Sampler(facts, facts.machine)
    this.#streams = new LiveStreams({
      lines: this.#lines,
      limits: () => this.limits(),
      mcp: () => this.mcp(),
      config: () => ({ generation: facts.inForce().generation, refusal: this.#refusal }),
    })
  }

  /** The interfaces beside the traffic are about to be opened. */
  start(around: UiContext): void {
    this.#context = around
    this.#derived = null
    this.applyConfig()
  }

  /** Remembers while somebody could look, here or on a listener; to be called when another configuration is in force. */
  applyConfig(): void {
    const hasAdmin = this.#context !== null && this.#context.addresses.admin.kind !== 'off'
    if (!hasAdmin && this.#facts.inForce().config.ui === null) return this.stop()
    if (this.#stopTimer !== null) return
    this.#lines.start()
    this.#sampler.begin()
    this.#stopTimer = this.#every(TICK_MS, () => this.#tick())
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#lines.stop()
    this.#sampler.clear()
  }

  readonly runtime: UiSources['runtime'] = ({ query }, place) => {
    const samples = query.get('samples') === '0' ? [] : this.#sampler.samples
    const workers = this.#context?.workers?.() ?? null
    return buildRuntimeView(this.#facts, {
      place,
      samples,
      isRefused: this.#refusal !== null,
      workers,
    })
  }

  readonly map: UiSources['map'] = () => this.#current.map.view(this.#facts)

  readonly limits = (): LimitsView =>
    buildLimitsView(this.#facts.limits(), this.#current.parts.formatter, this.#history)

  readonly logs: UiSources['logs'] = ({ query }) =>
    this.#lines.logs(parseLineNumber(query.get('after')))

  readonly mcp = (): McpView => buildMcpView(this.#current.places, this.#facts)

  readonly config: UiSources['config'] = () =>
    buildConfigView(this.#facts.inForce(), { ...this.#current.shown, refusal: this.#refusal })

  readonly trace: UiSources['trace'] = (ask) => createTraceResponse(ask, this.#facts.watch)

  readonly live = (ask: UiRequest): ReturnType<LiveStreams['answer']> => this.#streams.answer(ask)

  /** Whether somebody reads it as it comes. */
  hasReaders(topic: LiveTopic): boolean {
    return this.#streams.hasReaders(topic)
  }

  readonly generation = (): number => this.#facts.inForce().generation

  get #refusal(): ConfigRefusal | null {
    return this.#context?.refusal() ?? null
  }

  get #current(): DerivedViews {
    const { config } = this.#facts.inForce()
    if (this.#derived?.config !== config)
      this.#derived = new DerivedViews(config, this.#context?.addresses ?? config.process)
    return this.#derived
  }

  #tick(): void {
    this.#lines.copyTexts()
    this.#history.take(Date.now(), this.#facts.tightest)
    this.#streams.tick(this.#sample())
  }

  /** Every connection is looked at for one: that is not done every second for nobody. */
  #sample(): Sample | null {
    this.#quietTicks++
    if (this.#quietTicks < TICKS_PER_QUIET_SAMPLE && !this.#streams.hasReaders('runtime'))
      return null
    this.#quietTicks = 0
    return this.#sampler.take()
  }
}

/** Anything else is as good as none. */
function parseLineNumber(text: string | null): number {
  const number = Number(text ?? '')
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}

// /api/trace: as /debug/trace.

export function createTraceResponse({ query }: UiRequest, watch: DecideWatch): UiResponse {
  const wish = watch(query.get('expression'))
  if (wish.kind === 'refused') return createErrorResponse(wish.status, wish.reason)
  return { kind: 'events', open: wish.open }
}
