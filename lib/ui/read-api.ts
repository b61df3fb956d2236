// Everything that the page is told, from what the gateway knows; and what is remembered for it: samples, lines, histories.

import type { Refusal } from '../base/config/error.ts'
import { ShownParts } from '../base/config/shown-parts.ts'
import type { Addresses } from '../base/config/shown-parts.ts'
import type { Config } from '../base/config/types.ts'
import { every } from '../base/every.ts'
import type { Every } from '../base/every.ts'
import type { LimitsView, McpView, Sample, Topic, Workers } from './api.ts'
import type { Ask } from './ask.ts'
import { configView, configYaml } from './config.ts'
import type { Shown } from './config.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import { LimitHistory } from './limit-history.ts'
import { limitsView } from './limits.ts'
import { Lines } from './lines.ts'
import { LiveStreams } from './live-streams.ts'
import { DrawnMap } from './map.ts'
import { mcpPlaces } from './mcp-places.ts'
import type { McpPlace } from './mcp-places.ts'
import { mcpView } from './mcp.ts'
import { runtimeOf } from './runtime.ts'
import { Sampler } from './sampler.ts'
import type { UiSources } from './service.ts'
import { traceAnswer } from './trace.ts'

const BEAT_MS = 1_000
/** So many beats make one sample while nobody reads them as they come. */
export const QUIET_BEATS = 5

/** What stands beside the traffic, as far as the page tells of it. */
export interface PageSurroundings {
  readonly addresses: Addresses
  /** Of the last attempt to load another configuration; null when it was taken. */
  readonly refusal: () => Refusal | null
  /** Null, or left out, where one process is all there is. */
  readonly workers?: () => Workers | null
}

/** What is made of a configuration once, when it is first wanted. */
class Drawn {
  readonly config: Config
  readonly parts: ShownParts
  readonly #addresses: Addresses
  #map: DrawnMap | null = null
  #yaml: string | null = null
  #places: readonly McpPlace[] | null = null

  constructor(config: Config, addresses: Addresses) {
    this.config = config
    this.parts = new ShownParts(config)
    this.#addresses = addresses
  }

  get map(): DrawnMap {
    return (this.#map ??= new DrawnMap(this.config, this.parts))
  }

  get shown(): Pick<Shown, 'parts' | 'yaml'> {
    this.#yaml ??= configYaml(this.config, this.#addresses)
    return { parts: this.parts, yaml: this.#yaml }
  }

  get places(): readonly McpPlace[] {
    return (this.#places ??= mcpPlaces(this.config))
  }
}

export class ReadApi implements UiSources {
  readonly #facts: GatewayFacts
  readonly #sampler: Sampler
  readonly #lines: Lines
  readonly #history = new LimitHistory()
  readonly #streams: LiveStreams
  readonly #every: Every
  #around: PageSurroundings | null = null
  #drawn: Drawn | null = null
  /** Calls off what is done every second; null while nothing is remembered. */
  #callOff: (() => void) | null = null
  /** Beats since the last sample. */
  #quiet = 0

  constructor(facts: GatewayFacts, timer: Every = every) {
    this.#facts = facts
    this.#every = timer
    this.#lines = new Lines(facts.log)
    this.#sampler = new Sampler(facts, facts.machine)
    this.#streams = new LiveStreams({
      lines: this.#lines,
      limits: () => this.limits(),
      mcp: () => this.mcp(),
      config: () => ({ generation: facts.inForce().generation, refusal: this.#refusal }),
    })
  }

  /** The interfaces beside the traffic are about to be opened. */
  start(around: PageSurroundings): void {
    this.#around = around
    this.#drawn = null
    this.follow()
  }

  /** Remembers while somebody could look, here or on a listener; to be called when another configuration is in force. */
  follow(): void {
    const hasAdmin = this.#around !== null && this.#around.addresses.admin.kind !== 'off'
    if (!hasAdmin && this.#facts.inForce().config.ui === null) return this.stop()
    if (this.#callOff !== null) return
    this.#lines.start()
    this.#sampler.begin()
    this.#callOff = this.#every(BEAT_MS, () => this.#beat())
  }

  stop(): void {
    this.#callOff?.()
    this.#callOff = null
    this.#lines.stop()
    this.#sampler.forget()
  }

  readonly runtime: UiSources['runtime'] = ({ query }, place) => {
    const samples = query.get('samples') === '0' ? [] : this.#sampler.samples
    const workers = this.#around?.workers?.() ?? null
    return runtimeOf(this.#facts, { place, samples, isRefused: this.#refusal !== null, workers })
  }

  readonly map: UiSources['map'] = () => this.#current.map.view(this.#facts)

  readonly limits = (): LimitsView =>
    limitsView(this.#facts.limits(), this.#current.parts.showing, this.#history)

  readonly logs: UiSources['logs'] = ({ query }) => this.#lines.logs(numberOf(query.get('after')))

  readonly mcp = (): McpView => mcpView(this.#current.places, this.#facts)

  readonly config: UiSources['config'] = () =>
    configView(this.#facts.inForce(), { ...this.#current.shown, refusal: this.#refusal })

  readonly trace: UiSources['trace'] = (ask) => traceAnswer(ask, this.#facts.watch)

  readonly live = (ask: Ask): ReturnType<LiveStreams['answer']> => this.#streams.answer(ask)

  /** Whether somebody reads it as it comes. */
  isWanted(topic: Topic): boolean {
    return this.#streams.isWanted(topic)
  }

  readonly generation = (): number => this.#facts.inForce().generation

  get #refusal(): Refusal | null {
    return this.#around?.refusal() ?? null
  }

  get #current(): Drawn {
    const { config } = this.#facts.inForce()
    if (this.#drawn?.config !== config)
      this.#drawn = new Drawn(config, this.#around?.addresses ?? config.process)
    return this.#drawn
  }

  #beat(): void {
    this.#lines.settle()
    this.#history.take(Date.now(), this.#facts.tightest)
    this.#streams.tick(this.#sample())
  }

  /** Every connection is looked at for one: that is not done every second for nobody. */
  #sample(): Sample | null {
    this.#quiet++
    if (this.#quiet < QUIET_BEATS && !this.#streams.isWanted('runtime')) return null
    this.#quiet = 0
    return this.#sampler.take()
  }
}

/** Anything else is as good as none. */
function numberOf(text: string | null): number {
  const number = Number(text ?? '')
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}
