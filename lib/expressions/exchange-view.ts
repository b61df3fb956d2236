// What an expression sees of one exchange. Every name and field is a getter: a value that is not read is not computed.

import type { Exchange } from '../core/exchange.ts'
import type { ExchangeFacts } from '../core/facts.ts'
import type { ResponseHead } from '../core/head.ts'
import type { ClientAddress } from '../core/types.ts'
import { CEL_FIELDS, celFieldsOf } from './context-names.ts'
import type { CelVariable, CelShape } from './context-names.ts'
import { ABSENT_CLAIMS, FieldsView, HeadersMap } from './header-maps.ts'
import { jsonToCel } from './json-values.ts'

const NO_FACTS: ExchangeFacts = Object.freeze({})

/** The names available to an expression; `facts` may still change between two evaluations. */
export class ExpressionView implements Record<CelVariable, unknown> {
  readonly #exchange: Exchange
  readonly #facts: ExchangeFacts

  constructor(exchange: Exchange, facts: ExchangeFacts = NO_FACTS) {
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
    return this.#facts.jwt ?? ABSENT_CLAIMS
  }

  get apiKey(): ReadonlyMap<string, unknown> {
    return this.#facts.apiKey ?? ABSENT_CLAIMS
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
    return new FACT_VIEWS.Backend(this.#exchange.choice.backend ?? undefined)
  }

  get response(): ResponseView {
    return new ResponseView(this.#exchange.response.reply?.head)
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

  /** As the client requested it, before any rewrite. */
  get pathAndQuery(): string {
    return this.#exchange.originalTarget
  }

  get version(): string {
    return this.#exchange.request.version
  }

  get headers(): HeadersMap {
    return new HeadersMap(this.#exchange.request)
  }

  /** Every line of each field, as a list. */
  get headerValues(): FieldsView {
    return new FieldsView(this.#exchange.request, keepLines)
  }

  get startTime(): string {
    return new Date(performance.timeOrigin + this.#exchange.startedAt).toISOString()
  }
}

function keepLines(lines: readonly string[]): readonly string[] {
  return lines
}

export class SourceView {
  readonly #peer: ClientAddress

  constructor(peer: ClientAddress) {
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

  get headerValues(): FieldsView | undefined {
    return this.#head === undefined ? undefined : new FieldsView(this.#head, keepLines)
  }
}

/** Reads names from the keys `gateway/<gateway>[/<listener>]` and `<listener key>/<namespace>/<route>`. */
export class ProxyView {
  readonly #exchange: Exchange
  readonly bind: string | undefined

  constructor(exchange: Exchange, bind: string | undefined) {
    this.#exchange = exchange
    this.bind = bind
  }

  get gateway(): object | undefined {
    const { listenerKey, gatewayNamespace: namespace } = this.#exchange.choice
    const name = listenerKey.split('/')[1]
    if (name === undefined) return undefined
    return new FACT_VIEWS.ProxyGateway({ namespace, name })
  }

  get listener(): object | undefined {
    const name = this.#exchange.choice.listenerKey.split('/')[2]
    return name === undefined ? undefined : new FACT_VIEWS.ProxyListener({ name })
  }

  get route(): object | undefined {
    const {
      choice: { listenerKey: listener, routeKey: route },
    } = this.#exchange
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

type FactViewClass = new (facts: object | undefined) => object

const FACT_SHAPES = [
  'BasicAuth',
  'Backend',
  'Mcp',
  'McpTool',
  'McpItem',
  'Llm',
  'ProxyGateway',
  'ProxyListener',
  'ProxyRoute',
] as const satisfies readonly CelShape[]

type FactShape = (typeof FACT_SHAPES)[number]

/** Creates a class whose getters convert a fact to a CEL value when it is read. */
function createFactViewClass(shape: FactShape): FactViewClass {
  class View {
    readonly #facts: object | undefined

    constructor(facts: object | undefined) {
      this.#facts = facts
    }

    static read(view: View, field: string): unknown {
      return view.#facts === undefined ? undefined : Reflect.get(view.#facts, field)
    }
  }
  for (const [field, type] of Object.entries(CEL_FIELDS[shape]))
    Object.defineProperty(View.prototype, field, {
      get(this: View) {
        return toFactValue(View.read(this, field), type)
      },
    })
  return View
}

/** Undefined stays undefined: the library treats it as a missing key. */
function toFactValue(fact: unknown, type: string): unknown {
  if (fact === undefined) return undefined
  if (type === 'int') return typeof fact === 'number' ? BigInt(Math.trunc(fact)) : undefined
  if (type === 'dyn') return jsonToCel(fact)
  if (celFieldsOf(type) === undefined) return fact
  return new FACT_VIEWS[type as FactShape](fact as object)
}

export const FACT_VIEWS = Object.fromEntries(
  FACT_SHAPES.map((shape) => [shape, createFactViewClass(shape)]),
) as Readonly<Record<FactShape, FactViewClass>>
