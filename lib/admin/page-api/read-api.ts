// The read API: builds all views for the page from facts about the gateway, and keeps samples, log lines and histories.

import type { ConfigRefusal } from '../../config/config-error.ts'
import type { Config } from '../../config/config-types.ts'
import { ConfigPartFormatter } from '../../config/show.ts'
import type { AdminAddresses } from '../../config/show.ts'
import { startInterval } from '../../core/scheduling.ts'
import type { StartInterval } from '../../core/scheduling.ts'
import { readTraceSelector } from '../../trace/trace-watchers.ts'
import type { StartTrace } from '../../trace/trace-watchers.ts'
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
/** Ticks per sample while no live stream has the topic `runtime`. */
export const TICKS_PER_QUIET_SAMPLE = 5

/** The operator interfaces, as far as the page shows them. */
export interface UiContext {
  readonly addresses: AdminAddresses
  /** Why the last reload was refused; null when it was accepted. */
  readonly refusal: () => ConfigRefusal | null
  /** Null or missing when the gateway runs in one process. */
  readonly workers?: () => WorkerCounts | null
}

/** Views that depend on the configuration only, built when they are first needed. */
class DerivedViews {
  readonly config: Config
  readonly parts: ConfigPartFormatter
  readonly #addresses: AdminAddresses
  #map: ConfigMap | null = null
  #yaml: string | null = null
  #mcpLocations: readonly McpLocation[] | null = null

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

  get mcpLocations(): readonly McpLocation[] {
    return (this.#mcpLocations ??= listMcpLocations(this.config))
  }
}

export class ReadApi implements UiSources {
  readonly #facts: GatewayFacts
  readonly #sampler: Sampler
  readonly #lines: RecentLogLines
  readonly #history = new LimitHistory()
  readonly #streams: LiveStreams
  readonly #startInterval: StartInterval
  #context: UiContext | null = null
  #derived: DerivedViews | null = null
  /** Stops the timer; null while nothing is recorded. */
  #stopTimer: (() => void) | null = null
  /** Ticks since the last sample. */
  #quietTicks = 0

  constructor(facts: GatewayFacts, timer: StartInterval = startInterval) {
    this.#facts = facts
    this.#startInterval = timer
    this.#lines = new RecentLogLines(facts.log)
    this.#sampler = new Sampler(facts, facts.machine)
    this.#streams = new LiveStreams({
      lines: this.#lines,
      limits: () => this.limits(),
      mcp: () => this.mcp(),
      config: () => ({ generation: facts.inForce().generation, refusal: this.#refusal }),
    })
  }

  /** Called before the operator interfaces are opened. */
  start(context: UiContext): void {
    this.#context = context
    this.#derived = null
    this.applyConfig()
  }

  /** Records while the page is served on the admin interface or a listener; called for each new configuration. */
  applyConfig(): void {
    const hasAdmin = this.#context !== null && this.#context.addresses.admin.kind !== 'off'
    if (!hasAdmin && this.#facts.inForce().config.ui === null) return this.stop()
    if (this.#stopTimer !== null) return
    this.#lines.start()
    this.#sampler.begin()
    this.#stopTimer = this.#startInterval(TICK_MS, () => this.#tick())
  }

  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#lines.stop()
    this.#sampler.clear()
  }

  readonly runtime: UiSources['runtime'] = ({ query }, via) => {
    const samples = query.get('samples') === '0' ? [] : this.#sampler.samples
    const workers = this.#context?.workers?.() ?? null
    return buildRuntimeView(this.#facts, {
      place: via,
      samples,
      isRefused: this.#refusal !== null,
      workers,
    })
  }

  readonly map: UiSources['map'] = () => this.#current.map.view(this.#facts)

  readonly limits = (): LimitsView =>
    buildLimitsView(this.#facts.limits(), this.#current.parts.formatter, this.#history)

  readonly logs: UiSources['logs'] = ({ query }) =>
    this.#lines.viewAfter(parseLineNumber(query.get('after')))

  readonly mcp = (): McpView => buildMcpView(this.#current.mcpLocations, this.#facts)

  readonly config: UiSources['config'] = () =>
    buildConfigView(this.#facts.inForce(), { ...this.#current.shown, refusal: this.#refusal })

  readonly trace: UiSources['trace'] = (request) => createTraceResponse(request, this.#facts.watch)

  readonly live = (request: UiRequest): ReturnType<LiveStreams['answer']> =>
    this.#streams.answer(request)

  /** Whether a live stream has the topic. */
  hasStreams(topic: LiveTopic): boolean {
    return this.#streams.hasStreams(topic)
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

  /** A sample visits every connection, so it is taken every second only for live streams. */
  #sample(): Sample | null {
    this.#quietTicks++
    if (this.#quietTicks < TICKS_PER_QUIET_SAMPLE && !this.#streams.hasStreams('runtime'))
      return null
    this.#quietTicks = 0
    return this.#sampler.take()
  }
}

/** 0 for anything but a positive integer. */
function parseLineNumber(text: string | null): number {
  const number = Number(text ?? '')
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}

/** /api/trace, like /debug/trace. */
export function createTraceResponse({ query }: UiRequest, watch: StartTrace): UiResponse {
  const decision = watch(readTraceSelector(query))
  if (decision.kind === 'refused') return createErrorResponse(decision.status, decision.reason)
  return { kind: 'events', open: decision.open }
}
