// What an expression sees of one exchange. Every name and field is a getter: what is not read is not made.

import type { Exchange } from '../exchange.ts'
import type { Peer } from '../types.ts'
import type { ResponseHead } from '../wire/head.ts'
import type { Facts } from './facts.ts'
import type { Name } from './fields.ts'
import { FACT_VIEWS } from './fact-view.ts'
import { ABSENT, HeadersMap } from './headers-map.ts'

const NO_FACTS: Facts = Object.freeze({})

/** The names an expression starts from; `facts` may still be filled in between two evaluations. */
export class View implements Record<Name, unknown> {
  readonly #exchange: Exchange
  readonly #facts: Facts

  constructor(exchange: Exchange, facts: Facts = NO_FACTS) {
    this.#exchange = exchange
    this.#facts = facts
  }

  get request(): RequestView {
    return new RequestView(this.#exchange)
  }

  get source(): SourceView {
    return new SourceView(this.#exchange.source)
  }

  get jwt(): ReadonlyMap<string, unknown> {
    return this.#facts.jwt ?? ABSENT
  }

  get apiKey(): ReadonlyMap<string, unknown> {
    return this.#facts.apiKey ?? ABSENT
  }

  get basicAuth(): object {
    return new FACT_VIEWS.BasicAuth(this.#facts.basicAuth)
  }

  get mcp(): object {
    return new FACT_VIEWS.Mcp(this.#facts.mcp)
  }

  get llm(): object {
    return new FACT_VIEWS.Llm(this.#facts.llm)
  }

  get backend(): object {
    return new FACT_VIEWS.Backend(this.#exchange.backend ?? undefined)
  }

  get response(): ResponseView {
    return new ResponseView(this.#exchange.reply?.head)
  }

  get proxy(): ProxyView {
    return new ProxyView(this.#exchange, this.#facts.bind)
  }

  get env(): EnvView {
    return new EnvView()
  }
}

export class RequestView {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get method(): string {
    return this.#exchange.request.method
  }

  get uri(): string {
    return `${this.scheme}://${this.#exchange.request.authority}${this.pathAndQuery}`
  }

  /** Without the port. */
  get host(): string {
    return this.#exchange.request.authority.replace(/:\d*$/, '')
  }

  get scheme(): string {
    return this.#exchange.source.secure ? 'https' : 'http'
  }

  get path(): string {
    const at = this.pathAndQuery.indexOf('?')
    return at < 0 ? this.pathAndQuery : this.pathAndQuery.slice(0, at)
  }

  /** As the client asked for it, before any rewrite. */
  get pathAndQuery(): string {
    return this.#exchange.target
  }

  get version(): string {
    return this.#exchange.request.version
  }

  get headers(): HeadersMap {
    return new HeadersMap(this.#exchange.request)
  }

  get startTime(): string {
    return new Date(performance.timeOrigin + this.#exchange.started).toISOString()
  }
}

export class SourceView {
  readonly #peer: Peer

  constructor(peer: Peer) {
    this.#peer = peer
  }

  get address(): string {
    return this.#peer.address
  }

  get port(): bigint {
    return BigInt(this.#peer.port)
  }
}

export class ResponseView {
  readonly #head: ResponseHead | undefined

  constructor(head: ResponseHead | undefined) {
    this.#head = head
  }

  get code(): bigint | undefined {
    return this.#head === undefined ? undefined : BigInt(this.#head.status)
  }

  get headers(): HeadersMap | undefined {
    return this.#head === undefined ? undefined : new HeadersMap(this.#head)
  }
}

/** Names out of the keys: `gateway/<gateway>[/<listener>]` and `<listener key>/<namespace>/<route>`. */
export class ProxyView {
  readonly #exchange: Exchange
  readonly bind: string | undefined

  constructor(exchange: Exchange, bind: string | undefined) {
    this.#exchange = exchange
    this.bind = bind
  }

  get gateway(): object | undefined {
    const name = this.#exchange.listener.split('/')[1]
    if (name === undefined) return undefined
    return new FACT_VIEWS.ProxyGateway({ namespace: 'default', name })
  }

  get listener(): object | undefined {
    const name = this.#exchange.listener.split('/')[2]
    return name === undefined ? undefined : new FACT_VIEWS.ProxyListener({ name })
  }

  get route(): object | undefined {
    const { listener, route } = this.#exchange
    if (listener === '' || !route.startsWith(`${listener}/`)) return undefined
    const [namespace, ...name] = route.slice(listener.length + 1).split('/')
    return new FACT_VIEWS.ProxyRoute({ namespace, name: name.join('/'), kind: 'HTTPRoute' })
  }
}

/** A few well-known variables, never the whole environment. */
export class EnvView {
  get podName(): string | undefined {
    return process.env['POD_NAME']
  }

  get namespace(): string | undefined {
    return process.env['NAMESPACE']
  }

  get gateway(): string | undefined {
    return process.env['GATEWAY']
  }
}
