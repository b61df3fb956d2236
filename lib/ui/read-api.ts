// Everything that the page is told, from what the gateway knows; and what is remembered for it: samples, lines, histories.

import { ShownParts } from '../base/config/shown-parts.ts'
import type { Addresses } from '../base/config/shown-parts.ts'
import type { Config } from '../base/config/types.ts'
import type { LimitsView, McpView } from './api.ts'
import type { Ask } from './ask.ts'
import { configView, configYaml } from './config.ts'
import type { GatewayFacts } from './gateway-facts.ts'
import { LimitHistory } from './limit-history.ts'
import { limitsView } from './limits.ts'
import { Lines } from './lines.ts'
import { LiveStreams } from './live-streams.ts'
import { DrawnMap } from './map.ts'
import { mcpView } from './mcp.ts'
import { mcpPlaces } from './mcp-places.ts'
import type { McpPlace } from './mcp-places.ts'
import { runtimeOf } from './runtime.ts'
import { Sampler } from './sampler.ts'
import type { Machine } from './sampler.ts'
import type { UiSources } from './service.ts'
import { traceAnswer } from './trace.ts'

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

  get yaml(): string {
    return (this.#yaml ??= configYaml(this.config, this.#addresses))
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
  /** Where the interfaces beside the traffic are, once somebody opens them. */
  #addresses: Addresses | null = null
  #drawn: Drawn | null = null

  constructor(facts: GatewayFacts, machine?: Machine) {
    this.#facts = facts
    this.#lines = new Lines(facts.log)
    this.#sampler = new Sampler(facts, machine)
    this.#streams = new LiveStreams({
      lines: this.#lines,
      limits: () => this.limits(),
      mcp: () => this.mcp(),
      config: () => ({ generation: facts.inForce().generation, refusal: facts.refusal() }),
    })
    this.#sampler.onSample((sample) => {
      this.#lines.settle()
      this.#history.take(sample.at, facts.tightest)
      this.#streams.tick(sample)
    })
  }

  /** The interfaces beside the traffic are about to be opened, at these addresses. */
  start(addresses: Addresses): void {
    this.#addresses = addresses
    this.#drawn = null
    this.follow()
  }

  /** Remembers while somebody could look, here or on a listener; to be called when another configuration is in force. */
  follow(): void {
    const hasAdmin = this.#addresses !== null && this.#addresses.admin.kind !== 'off'
    if (!hasAdmin && this.#facts.inForce().config.ui === null) return this.stop()
    this.#lines.start()
    this.#sampler.start()
  }

  stop(): void {
    this.#lines.stop()
    this.#sampler.stop()
  }

  /** One second later: for specs, which do not wait for it. */
  sample(): void {
    this.#sampler.take()
  }

  readonly runtime: UiSources['runtime'] = (_ask, place) =>
    runtimeOf(this.#facts, place, this.#sampler.samples)

  readonly map: UiSources['map'] = () => this.#current.map.view(this.#facts)

  readonly limits = (): LimitsView =>
    limitsView(this.#facts.limits(), this.#current.parts.showing, this.#history)

  readonly logs: UiSources['logs'] = ({ query }) => this.#lines.logs(numberOf(query.get('after')))

  readonly mcp = (): McpView => mcpView(this.#current.places, this.#facts)

  readonly config: UiSources['config'] = () =>
    configView(this.#facts, this.#current.parts, this.#current.yaml)

  readonly trace: UiSources['trace'] = (ask) => traceAnswer(ask, this.#facts.watchers)

  readonly live = (ask: Ask): ReturnType<LiveStreams['answer']> => this.#streams.answer(ask)

  get #current(): Drawn {
    const { config } = this.#facts.inForce()
    if (this.#drawn?.config !== config)
      this.#drawn = new Drawn(config, this.#addresses ?? config.process)
    return this.#drawn
  }
}

/** Anything else is as good as none. */
function numberOf(text: string | null): number {
  const number = Number(text ?? '')
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}
